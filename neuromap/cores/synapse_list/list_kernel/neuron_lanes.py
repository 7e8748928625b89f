"""The current-and-voltage neuron as vector instructions: 64 neurons of a core, 16 at a time.

What a decay leaves of a value is a product of doubles, cut toward zero. It is exact: values have 32 bits and what is
kept of one, in parts of 2**16 or larger ones, has 17, so the product fits the 53 bits of a double. Currents wrap modulo
2**32 on the way, which wraps them into any narrower width just the same. Voltages are added up and stopped at their
rails as doubles, so nothing can leave 32 bits unseen.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from neuromap.simulation.engine.kernel.emission import INT32, WORD, address, splat

_LANES = 16
_INTS, _DOUBLES, _FLOATS = (ir.VectorType(kind, _LANES) for kind in (ir.IntType(32), ir.DoubleType(), ir.FloatType()))


class _Widths(NamedTuple):
    """Scalars in every lane."""

    half: Any
    mask: Any
    due_shift: Any
    sum_half: Any
    sum_mask: Any
    sum_wraps: Any
    rail: Any
    tick: Any


class _Parameters(NamedTuple):
    """What is kept of currents and voltages (doubles), threshold, bias (double)."""

    keep_current: Any
    keep_voltage: Any
    threshold: Any
    bias: Any
    options: tuple[Any, ...] = ()
    """Where neurons have them: least voltage (double), reset, where the threshold is taken off, and the bias again, as
    an integer."""


@intrinsic
def tick_lanes(typing_context: Any, state: Any, image: Any, lane: Any, due: Any, tick: Any) -> Any:
    """Take 64 neurons, from ``lane`` on, through a tick; bits of those that fire, and of those that changed."""
    # What is due to them lies from ``due`` on; it is set to 0.

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        unit = _Unit(context, builder, signature.args, arguments)
        return unit.generate(lambda group: unit.parameters(group, splatted=False))

    return types.UniTuple(types.uint64, 2)(state, image, lane, due, tick), generate


@intrinsic
def tick_uniform_lanes(typing_context: Any, state: Any, image: Any, lane: Any, due: Any, tick: Any) -> Any:
    """Do the same where all neurons of the core have the parameters of the first of them."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        unit = _Unit(context, builder, signature.args, arguments)
        shared = unit.parameters(0, splatted=True)
        return unit.generate(lambda group: shared)

    return types.UniTuple(types.uint64, 2)(state, image, lane, due, tick), generate


@intrinsic
def tick_optional_lanes(typing_context: Any, state: Any, image: Any, lane: Any, due: Any, tick: Any) -> Any:
    """Do the same for neurons with resets or floors, or where sums wrap."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        unit = _Unit(context, builder, signature.args, arguments)
        return unit.generate(unit.with_options)

    return types.UniTuple(types.uint64, 2)(state, image, lane, due, tick), generate


class _Unit:
    """What is emitted for one call."""

    def __init__(self, context: Any, builder: Any, argument_types: Any, arguments: Any) -> None:
        self.context, self.builder = context, builder
        self.state, self.image = zip(argument_types[:2], arguments[:2], strict=True)
        self.lane, self.due, self.tick = arguments[2:]
        self.widths = self._widths()

    def generate(self, parameters: Any) -> Any:
        """Emit all lanes; the tuple of both words."""
        fired, changed = zip(*(self._group(group, parameters(group)) for group in range(64 // _LANES)), strict=True)
        words = [self._joined(bits) for bits in (fired, changed)]
        return self.context.make_tuple(self.builder, types.UniTuple(types.uint64, 2), words)

    def parameters(self, group: int, *, splatted: bool) -> _Parameters:
        """Emit the loads of the parameters."""
        keep_current, keep_voltage, threshold, bias = (
            self._splatted(self.image, name, kind) if splatted else self._load(self.image, name, self.lane, group, kind)
            for name, kind in (
                ("keep_current", _FLOATS),
                ("keep_voltage", _FLOATS),
                ("threshold", _INTS),
                ("bias", _INTS),
            )
        )
        b = self.builder
        # padding lanes of a core do as the others, and are masked out in the end
        return _Parameters(
            b.fpext(keep_current, _DOUBLES), b.fpext(keep_voltage, _DOUBLES), threshold, b.sitofp(bias, _DOUBLES)
        )

    def with_options(self, group: int) -> _Parameters:
        """Emit the loads of the parameters of neurons with options."""
        low, reset, subtract, bias = (
            self._load(self.image, name, self.lane, group, _INTS) for name in ("low", "reset", "subtract", "bias")
        )
        takes = self.builder.icmp_signed(">", subtract, ir.Constant(_INTS, None))
        options = (self.builder.sitofp(low, _DOUBLES), reset, takes, bias)
        return self.parameters(group, splatted=False)._replace(options=options)

    def _group(self, group: int, k: _Parameters) -> tuple[Any, Any]:
        b, zero, w = self.builder, ir.Constant(_INTS, None), self.widths
        u = self._load(self.state, "current", self.lane, group, _INTS)
        v = self._load(self.state, "voltage", self.lane, group, _INTS)
        due, nothing = self._due_lanes(group)
        resting = self._load(self.state, "resting", self.lane, group, _INTS)

        due = self._wrapped(due, w.sum_half, w.sum_mask) if k.options else due
        current = self._wrapped(b.add(self._kept(u, k.keep_current), due), w.half, w.mask)
        kept = b.sitofp(self._kept(v, k.keep_voltage), _DOUBLES)
        total = b.fadd(b.fadd(kept, b.sitofp(current, _DOUBLES)), k.bias)
        low, left, takes = b.fsub(ir.Constant(_DOUBLES, [0.0] * _LANES), w.rail), zero, None
        if k.options:
            low, left, takes, bias = k.options
            sums = self._wrapped(b.add(current, bias), w.half, w.mask)
            total = b.select(b.icmp_signed(">", w.sum_wraps, zero), b.fadd(kept, b.sitofp(sums, _DOUBLES)), total)
        total = b.select(b.fcmp_ordered("<", total, w.rail), total, w.rail)
        total = b.select(b.fcmp_ordered(">", total, low), total, low)
        is_awake = b.icmp_signed("<", resting, w.tick)
        voltage = b.select(is_awake, b.fptosi(total, _INTS), v)
        fires = b.and_(is_awake, b.icmp_signed(">", voltage, k.threshold))
        left = left if takes is None else b.select(takes, b.sub(voltage, k.threshold), left)
        voltage = b.select(fires, left, voltage)

        self._store("current", self.lane, group, current)
        self._store("voltage", self.lane, group, voltage)
        self._store("due", self.due, group, nothing)
        differs = b.or_(b.xor(u, current), b.xor(v, voltage))
        return fires, b.icmp_signed("!=", differs, zero)

    def _due_lanes(self, group: int) -> tuple[Any, Any]:
        """Load what is due; the zeros that take its place."""
        kind = self.state[0]
        bits = kind.types[kind.fields.index("due")].dtype.bitwidth
        vector = ir.VectorType(ir.IntType(bits), _LANES)
        due = self._load(self.state, "due", self.due, group, vector)
        if bits < 32:
            due = self.builder.sext(due, _INTS)
        return self.builder.shl(due, self.widths.due_shift), ir.Constant(vector, None)

    def _wrapped(self, values: Any, half: Any, mask: Any) -> Any:
        b = self.builder
        return b.sub(b.and_(b.add(values, half), mask), half)

    def _kept(self, values: Any, keep: Any) -> Any:
        b = self.builder
        return b.fptosi(b.fmul(b.sitofp(values, _DOUBLES), keep), _INTS)

    def _widths(self) -> _Widths:
        b = self.builder
        kind, value = self.image
        shape_kind = kind.types[kind.fields.index("shape")]
        shape = b.extract_value(value, kind.fields.index("shape"))
        *words, rail = (b.extract_value(shape, shape_kind.fields.index(name)) for name in _Widths._fields[:-1])
        *ints, tick = (splat(b, b.trunc(word, INT32), _INTS, _LANES) for word in (*words, self.tick))
        return _Widths._make([*ints, splat(b, b.sitofp(rail, ir.DoubleType()), _DOUBLES, _LANES), tick])

    def _address(self, of: Any, name: str, index: Any) -> Any:
        kind, value = of
        place = kind.fields.index(name)
        return address(self.context, self.builder, kind.types[place], self.builder.extract_value(value, place), index)

    def _load(self, of: Any, name: str, index: Any, group: int, kind: Any) -> Any:
        b = self.builder
        here = b.bitcast(self._address(of, name, index), kind.as_pointer())
        return b.load(b.gep(here, [INT32(group)], inbounds=True), align=2)

    def _splatted(self, of: Any, name: str, kind: Any) -> Any:
        return splat(self.builder, self.builder.load(self._address(of, name, self.lane)), kind, _LANES)

    def _store(self, name: str, index: Any, group: int, lanes: Any) -> None:
        b = self.builder
        here = b.bitcast(self._address(self.state, name, index), lanes.type.as_pointer())
        b.store(lanes, b.gep(here, [INT32(group)], inbounds=True), align=2)

    def _joined(self, bits: tuple[Any, ...]) -> Any:
        b, word = self.builder, WORD(0)
        for group, some in enumerate(bits):
            part = b.zext(b.bitcast(some, ir.IntType(_LANES)), WORD)
            word = b.or_(word, b.shl(part, WORD(group * _LANES)))
        return word
