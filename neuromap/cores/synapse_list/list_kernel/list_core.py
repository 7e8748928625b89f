"""One tick of a core: lists of reached axons, its neurons, targets of its spikes."""

from __future__ import annotations

from typing import Any, NamedTuple

from llvmlite import ir
from numba import float64, int64, njit, types, uint64
from numba.extending import intrinsic

from neuromap.cores.synapse_list.list_kernel.list_image import ListImage, ListScratch, ListState, ListTeam
from neuromap.simulation.engine.kernel.barrier import atomic_or
from neuromap.simulation.engine.kernel.lanes import INLINED, INT32, WORD, element, splat
from neuromap.simulation.engine.kernel.remote import post_remote
from neuromap.simulation.engine.kernel.words import get, list_ones, prefetch, prefetch_far, put
from neuromap.simulation.engine.kernel.workspace import AXON_EVENTS, SPIKES, SYNAPTIC_EVENTS, Call, Record

_LANES = 16
_INTS, _DOUBLES, _FLOATS = (ir.VectorType(kind, _LANES) for kind in (ir.IntType(32), ir.DoubleType(), ir.FloatType()))


class _Parameters(NamedTuple):
    """Fractions kept of currents and voltages (doubles), threshold, bias (double)."""

    keep_current: Any
    keep_voltage: Any
    threshold: Any
    bias: Any
    options: tuple[Any, ...] = ()
    """Where neurons have them: least voltage (double), reset, where the threshold is subtracted, and the bias again, as
    an integer."""


class _Unit:
    """Emits the code of one call: for neurons that share all parameters (``uniform``), have ``options``, or neither."""

    def __init__(self, context: Any, builder: Any, argument_types: Any, arguments: Any) -> None:
        self.context, self.builder = context, builder
        self.state, self.image = zip(argument_types[:2], arguments[:2], strict=True)
        self.lane, self.due, tick = arguments[2:]
        self.tick = self._every(tick)

    def generate(self, form: str) -> Any:
        """Emit all lanes; return the tuple of both words."""
        shared = self._parameters(0, form) if form == "uniform" else None
        groups = range(64 // _LANES)
        fired, changed = zip(*(self._group(g, shared or self._parameters(g, form)) for g in groups), strict=True)
        words = [self._joined(bits) for bits in (fired, changed)]
        return self.context.make_tuple(self.builder, types.UniTuple(types.uint64, 2), words)

    def _parameters(self, group: int, form: str) -> _Parameters:
        """Emit the loads of the parameters."""
        b = self.builder

        def load(name: str, kind: Any = _INTS) -> Any:
            if form == "uniform":
                return splat(b, b.load(self._address(self.image, name, self.lane)), kind, _LANES)
            return self._load(self.image, name, self.lane, group, kind)

        # padding lanes of a core compute as the others, and are masked out at the end
        current, voltage = (b.fpext(load(name, _FLOATS), _DOUBLES) for name in ("keep_current", "keep_voltage"))
        threshold, bias = load("threshold"), load("bias")
        options: tuple[Any, ...] = ()
        if form == "options":
            takes = b.icmp_signed(">", load("subtract"), ir.Constant(_INTS, None))
            options = (b.sitofp(load("low"), _DOUBLES), load("reset"), takes, bias)
        return _Parameters(current, voltage, threshold, b.sitofp(bias, _DOUBLES), options)

    def _group(self, group: int, k: _Parameters) -> tuple[Any, Any]:
        b, zero = self.builder, ir.Constant(_INTS, None)
        half, mask, rail = self._width("half"), self._width("mask"), b.sitofp(self._width("rail"), _DOUBLES)
        u = self._load(self.state, "current", self.lane, group, _INTS)
        v = self._load(self.state, "voltage", self.lane, group, _INTS)
        due, nothing = self._due_lanes(group)
        resting = self._load(self.state, "resting", self.lane, group, _INTS)

        due = self._wrapped(due, self._width("sum_half"), self._width("sum_mask")) if k.options else due
        current = self._wrapped(b.add(self._kept(u, k.keep_current), due), half, mask)
        kept = b.sitofp(self._kept(v, k.keep_voltage), _DOUBLES)
        total = b.fadd(b.fadd(kept, b.sitofp(current, _DOUBLES)), k.bias)
        low, left, takes = b.fsub(ir.Constant(_DOUBLES, [0.0] * _LANES), rail), zero, None
        if k.options:
            low, left, takes, bias = k.options
            sums = self._wrapped(b.add(current, bias), half, mask)
            wraps = b.icmp_signed(">", self._width("sum_wraps"), zero)
            total = b.select(wraps, b.fadd(kept, b.sitofp(sums, _DOUBLES)), total)
        total = b.select(b.fcmp_ordered("<", total, rail), total, rail)
        total = b.select(b.fcmp_ordered(">", total, low), total, low)
        is_awake = b.icmp_signed("<", resting, self.tick)
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
        """Load the sums due; return them and the zeros that replace them."""
        kind = self.state[0]
        bits = kind.types[kind.fields.index("due")].dtype.bitwidth
        vector = ir.VectorType(ir.IntType(bits), _LANES)
        due = self._load(self.state, "due", self.due, group, vector)
        if bits < 32:
            due = self.builder.sext(due, _INTS)
        return self.builder.shl(due, self._width("due_shift")), ir.Constant(vector, None)

    def _wrapped(self, values: Any, half: Any, mask: Any) -> Any:
        b = self.builder
        return b.sub(b.and_(b.add(values, half), mask), half)

    def _kept(self, values: Any, keep: Any) -> Any:
        b = self.builder
        return b.fptosi(b.fmul(b.sitofp(values, _DOUBLES), keep), _INTS)

    def _every(self, word: Any) -> Any:
        return splat(self.builder, self.builder.trunc(word, INT32), _INTS, _LANES)

    def _width(self, name: str) -> Any:
        """Broadcast a number of the shape to all lanes."""
        kind, value = self.image
        place = kind.fields.index("shape")
        shape = self.builder.extract_value(value, place)
        return self._every(self.builder.extract_value(shape, kind.types[place].fields.index(name)))

    def _address(self, of: Any, name: str, index: Any) -> Any:
        kind, value = of
        place = kind.fields.index(name)
        array = self.context.make_array(kind.types[place])(
            self.context, self.builder, self.builder.extract_value(value, place)
        )
        return element(self.builder, array.data, index)

    def _load(self, of: Any, name: str, index: Any, group: int, kind: Any) -> Any:
        b = self.builder
        here = b.bitcast(self._address(of, name, index), kind.as_pointer())
        return b.load(b.gep(here, [INT32(group)], inbounds=True), align=2)

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


def _tick_lanes(form: str) -> Any:
    """Make the intrinsic for one tick of 64 neurons."""

    @intrinsic
    def tick_lanes(typing_context: Any, state: Any, image: Any, lane: Any, due: Any, tick: Any) -> Any:
        """Run one tick of 64 neurons from ``lane`` on; return bits of those that fire, and of those that changed."""
        # Their sums lie from ``due`` on, and are set to 0.

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return _Unit(context, builder, signature.args, arguments).generate(form)

        return types.UniTuple(types.uint64, 2)(state, image, lane, due, tick), generate

    return tick_lanes


tick_lanes = _tick_lanes("")
# where all neurons of the core have the same parameters
tick_uniform_lanes = _tick_lanes("uniform")
# for neurons with resets or floors, or where sums wrap
tick_optional_lanes = _tick_lanes("options")


inlined = njit(**INLINED)


@inlined
def tick_joined(image: ListImage, state: ListState, core: int, due: int, tick: int) -> None:
    """Run one tick of a core's neurons; bits of who fired and who changed are left in ``state.words``."""
    # Sums lie from ``due`` on, and are set to 0. Products are doubles and exact.
    lanes = image.shape.lanes
    first, n_words = core * lanes, lanes >> 6
    fired = 2 * core * n_words
    for k in range(2 * n_words):
        put(state.words, fired + k, uint64(0))
    for n in range(lanes):
        _current(image, state, first + n, due + n, fired + n_words + (n >> 6), n & 63)
    for n in range(lanes):
        soma = get(image.joined, first + n)
        if soma >= 0:
            put(state.extra, first + soma, get(state.extra, first + soma) + int64(get(state.current, first + n)))
    for n in range(lanes):
        if get(image.joined, first + n) < 0:
            _voltage(image, state, first + n, tick, fired + (n >> 6), n_words, n & 63)
        else:
            put(state.voltage, first + n, 0)
        put(state.extra, first + n, 0)


@inlined
def _current(image: ListImage, state: ListState, at: int, due: int, changed: int, bit: int) -> None:
    shape, before = image.shape, int64(get(state.current, at))
    kept = int64(float64(before) * float64(image.keep_current[at]))
    added = int64(get(state.due, due)) << shape.due_shift
    added = ((added + shape.sum_half) & shape.sum_mask) - shape.sum_half
    after = ((kept + added + shape.half) & shape.mask) - shape.half
    put(state.current, at, after)
    put(state.due, due, 0)
    if after != before:
        put(state.words, changed, get(state.words, changed) | uint64(1) << uint64(bit))


@inlined
def _voltage(image: ListImage, state: ListState, at: int, tick: int, fired: int, n_words: int, bit: int) -> None:
    shape, before = image.shape, int64(get(state.voltage, at))
    added = int64(get(state.current, at)) + get(state.extra, at) + int64(get(image.bias, at))
    if shape.sum_wraps > 0:
        added = ((added + shape.half) & shape.mask) - shape.half
    has_options = get(image.has_options, at // shape.lanes) > 0
    low = int64(get(image.low, at)) if has_options else -shape.rail
    after = max(min(int64(float64(before) * float64(image.keep_voltage[at])) + added, shape.rail), low)
    if get(state.resting, at) >= tick:
        after = before
    elif after > get(image.threshold, at):
        if has_options:
            after = after - get(image.threshold, at) if get(image.subtract, at) > 0 else int64(get(image.reset, at))
        else:
            after = 0
        put(state.words, fired, get(state.words, fired) | uint64(1) << uint64(bit))
    put(state.voltage, at, after)
    if after != before:
        put(state.words, fired + n_words, get(state.words, fired + n_words) | uint64(1) << uint64(bit))


_BIT, _LENGTH = (1 << 40) - 1, (1 << 32) - 1
# Lists whose heads, and whose synapses, are prefetched before they are spread; found by measurement.
_FAR, _AHEAD = 20, 8
# Most cache lines of a list that are prefetched; the processor's own prefetching finds the rest.
_LINES = 8


@inlined
def spread(image: ListImage, state: ListState, scratch: ListScratch, core: int, tick: int) -> None:
    """Add the lists of reached axons to the sums due, each synapse after its delay."""
    shape = image.shape
    n, row = 0, tick % (shape.spike_delay + 1)
    start, words = row * shape.words, get(image.word, core)
    for k in range(words, get(image.word, core + 1)):
        word = get(state.reached, start + k)
        if word != uint64(0):
            n += list_ones(scratch.listed, n, (k - words) << 6, word)
            put(state.reached, start + k, uint64(0))
    axons = get(image.axons, core)
    for event in range(min(_FAR, n)):
        prefetch(image.lists, 2 * (axons + get(scratch.listed, event)))
    for event in range(min(_AHEAD, n)):
        _ask(image, axons + get(scratch.listed, event))
    line = 64 // shape.due_bytes
    lines = shape.slots * shape.lanes // line
    each = lines // max(n, 1) + 1
    ring = (core + 1) * shape.slots * shape.lanes if core + 1 < shape.n_cores else 0
    for event in range(n):
        prefetch(image.lists, 2 * (axons + get(scratch.listed, min(event + _FAR, n - 1))))
        _ask(image, axons + get(scratch.listed, min(event + _AHEAD, n - 1)))
        for k in range(event * each, min((event + 1) * each, lines)):
            prefetch_far(state.due, ring + k * line)
        _spread_list(image, state, scratch, core, axons + get(scratch.listed, event), tick)
    scratch.totals[AXON_EVENTS] += n


@inlined
def _ask(image: ListImage, number: int) -> None:
    first, n = get(image.lists, 2 * number) >> 16, get(image.lists, 2 * number + 1) & _LENGTH
    line = 4 if image.shape.place_bits == 16 else 3  # shifts: a division costs more than the prefetch
    for k in range(min((n >> line) + 1, _LINES)):
        prefetch_far(image.synapses, first + (k << line))


@inlined
def _spread_list(image: ListImage, state: ListState, scratch: ListScratch, core: int, number: int, tick: int) -> None:
    """Add one list; the ring of a core is rotated by the tick, so a synapse needs only an addition and a mask."""
    shape = image.shape
    size = shape.slots * shape.lanes
    head, tail = get(image.lists, 2 * number), get(image.lists, 2 * number + 1)
    base, turn = core * size, (tick & (shape.slots - 1)) * shape.lanes + (tail >> 32)
    first = head >> 16
    last = first + (tail & _LENGTH)
    shift = head & 255
    if shift == 0:
        for s in range(first, last):
            synapse = get(image.synapses, s)
            place = base + ((turn + synapse) & (size - 1))
            put(state.due, place, get(state.due, place) + (synapse >> shape.place_bits))
    else:
        for s in range(first, last):
            synapse = get(image.synapses, s)
            place = base + ((turn + synapse) & (size - 1))
            put(state.due, place, get(state.due, place) + (synapse >> shape.place_bits << shift))
    put(state.busy, core, max(get(state.busy, core), tick + (head >> 8 & 255)))
    scratch.totals[SYNAPTIC_EVENTS] += last - first


@inlined
def compute(
    image: ListImage, state: ListState, scratch: ListScratch, team: ListTeam, me: int, core: int, call: Call, time: int
) -> None:
    """Run one tick of a core's neurons and send their spikes; mark whether the core stays awake."""
    shape, tick, epoch = image.shape, call.first_tick + time, team.epoch
    lanes, n_words = shape.lanes, shape.lanes >> 6
    due = (core * shape.slots + (tick & (shape.slots - 1))) * lanes
    last_word = (lanes - shape.unused - 1) >> 6
    n, any_change = 0, uint64(0)
    has_joins = get(image.has_joins, core)
    if has_joins:
        tick_joined(image, state, core, due, tick - epoch)
    for k in range(get(state.extent, core)):
        lane = core * lanes + (k << 6)
        if has_joins:
            at = 2 * core * n_words + k
            fired, changed = get(state.words, at), get(state.words, at + n_words)
        elif get(image.has_options, core):
            fired, changed = tick_optional_lanes(state, image, lane, due + (k << 6), tick - epoch)
        elif get(image.uniform, core):
            fired, changed = tick_uniform_lanes(state, image, lane, due + (k << 6), tick - epoch)
        else:
            fired, changed = tick_lanes(state, image, lane, due + (k << 6), tick - epoch)
        if k == last_word:
            fired &= (~uint64(0)) >> uint64(shape.unused & 63)
            changed &= (~uint64(0)) >> uint64(shape.unused & 63)
        any_change |= changed | fired
        if fired != uint64(0):
            _keep(call.record, core, k, fired, time, n_words)
            n += list_ones(scratch.listed, n, k << 6, fired)
    rested = get(state.rests, core) >= tick
    for k in range(n):
        prefetch(image.start, core * lanes + get(scratch.listed, k))
    for k in range(n):
        prefetch(image.target, get(image.start, core * lanes + get(scratch.listed, k)))
    for k in range(n):
        _send(image, state, team, me, core, get(scratch.listed, k), tick)
    scratch.totals[SPIKES] += n
    # With nothing due a tick is a function of currents, voltages and who rests: once it leaves them unchanged and
    # silent, it does so until the next event.
    put(state.awake, core, any_change != uint64(0) or rested or get(state.busy, core) >= tick)


@inlined
def _keep(record: Record, core: int, word: int, fired: int, time: int, n_words: int) -> None:
    """Record the spikes of watched neurons."""
    if len(record.row) > 0:
        row = get(record.row, core)
        if row >= 0:
            for part in range(2):
                at = 2 * word + part
                bits = (fired >> uint64(32 * part)) & uint64(get(record.watched, row * 2 * n_words + at))
                put(record.fired, (time * record.n_rows + row) * 2 * n_words + at, bits & uint64(0xFFFFFFFF))


@inlined
def _send(image: ListImage, state: ListState, team: ListTeam, me: int, core: int, neuron: int, tick: int) -> None:
    """Begin the rest of a neuron that fired, and send its spike to its axons."""
    at = core * image.shape.lanes + neuron
    rests = get(image.refractory, at)
    if rests > 0:
        put(state.resting, at, tick - team.epoch + rests)
        put(state.rests, core, max(get(state.rests, core), tick + rests))
    for target in range(get(image.start, at), get(image.start, at + 1)):
        there = get(image.target, target)
        if there >> 40 >= image.shape.n_cores:
            post_remote(team.remote, me, get(team.remote.owner, (there >> 40) - image.shape.n_cores), there)
        else:
            reach_axon(image, state, team, there >> 40, there & _BIT, tick)


@inlined
def reach_some(
    image: ListImage, state: ListState, team: ListTeam, records: Any, first: int, last: int, tick: int
) -> None:
    """Reach the axons of spikes that another rank sent in ``tick``."""
    for record in range(first, last):
        there = get(records, record)
        reach_axon(image, state, team, there >> 40, there & _BIT, tick)


@inlined
def reach_axon(image: ListImage, state: ListState, team: ListTeam, core: int, bit: int, tick: int) -> None:
    """Set the bit of an axon that a spike of ``tick`` will reach."""
    row = (tick + image.shape.spike_delay) % (image.shape.spike_delay + 1)
    at = row * image.shape.words + (bit >> 6)
    one = uint64(1) << uint64(bit & 63)
    if team.n_threads == 1:
        put(state.reached, at, get(state.reached, at) | one)
    else:
        atomic_or(state.reached, at, one)
    put(state.fed, row * image.shape.n_cores + core, 1)
