"""Lanes: vectors of integers as first-class values in compiled code, and the building blocks of intrinsics.

A core's neurons sit side by side in the lanes of a vector. This module has the kernels' operations on them;
``words.py`` has those on single elements, words of bits and whole arrays. The LLVM code is written in groups of 32
lanes and names no instruction set: LLVM turns it into masked AVX-512, AVX2 or NEON instructions.

Types
    ``Lanes(bits, groups)`` holds ``32 * groups`` integers, a mask, ``Lanes(1, groups)``, as many truth values.
    ``groups`` is part of the type; functions that need it take a tuple of that length (``width``).
Memory
    ``load(width, array, index)``, ``store(array, index, lanes)``, ``load_mask``, ``store_mask``: ``array`` is flat and
    contiguous, ``index`` counts its elements; masks are arrays of uint32, one per group.
Arithmetic
    ``a + b``, ``a - b``, ``a * b``, ``a & b``, ``a | b``, ``a ^ b``, ``shift_right``, ``least``, ``greatest``,
    ``widen``, ``broadcast``, ``ramp``
Masks
    ``a >= b``, ``a < b``, ``a != b``, ``where(mask, a, b)``, ``add_where(mask, a, b)``, ``m & n``, ``m | n``,
    ``~m``, ``any_lane``

This module is imported only when a fast engine is made: Numba is slow to import.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import reduce
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, overload, register_model

# Options of functions called only from compiled code: no reference counting of every array at every call, and no
# entry points for Python and C, which take longer to compile than the functions.
CALLED = {"error_model": "numpy", "_nrt": False, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}

INLINED = {**CALLED, "forceinline": True}

# Lanes of one group: a row of synapse bits is read as one uint32 per group.
GROUP = 32

BIT, BYTE, INT32, WORD = ir.IntType(1), ir.IntType(8), ir.IntType(32), ir.IntType(64)


class LanesType(types.Type):
    """``32 * groups`` signed integers of ``bits`` bits; truth values (masks) have one bit."""

    def __init__(self, bits: int, groups: int) -> None:
        self.bits, self.groups = bits, groups
        super().__init__(name=f"Lanes({bits}, {groups})")

    @property
    def vector(self) -> ir.VectorType:
        """Type of one group."""
        return ir.VectorType(ir.IntType(self.bits), GROUP)


@register_model(LanesType)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, dmm: Any, fe_type: LanesType) -> None:
        super().__init__(dmm, fe_type, ir.ArrayType(fe_type.vector, fe_type.groups))


def made(emit: Callable[..., Any], result: Any, *arguments: Any) -> Any:
    """Type and code of an intrinsic; ``emit(builder, *values)`` makes the code, from pointers in place of arrays."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        pairs = zip(arguments, values, strict=True)
        given = (context.make_array(t)(context, builder, v).data if is_array(t) else v for t, v in pairs)
        value = emit(builder, *given)
        return context.get_dummy_value() if result is types.void else value

    return result(*arguments), generate


def made_by_group(emit: Callable[..., Any], result: LanesType, *arguments: Any) -> Any:
    """As :func:`made`, for lanes; ``emit(builder, group, *values)`` makes a group, from one of each lanes argument."""

    def groups(builder: Any, *values: Any) -> Any:
        made_lanes = ir.Constant(ir.ArrayType(result.vector, result.groups), ir.Undefined)
        pairs = list(zip(arguments, values, strict=True))
        for group in range(result.groups):
            given = (builder.extract_value(v, group) if isinstance(t, LanesType) else v for t, v in pairs)
            made_lanes = builder.insert_value(made_lanes, emit(builder, group, *given), group)
        return made_lanes

    return made(groups, result, *arguments)


def element(builder: Any, data: Any, index: Any, kind: Any = None) -> Any:
    """Pointer to an element of a flat array, as one to a value of another type if ``kind`` is given."""
    here = builder.gep(data, [index], inbounds=True)
    return here if kind is None else builder.bitcast(here, kind.as_pointer())


def splat(builder: Any, scalar: Any, vector: ir.VectorType, lanes: int = GROUP) -> Any:
    """Broadcast a scalar to every lane."""
    undefined = ir.Constant(vector, ir.Undefined)
    first = builder.insert_element(undefined, scalar, INT32(0))
    return builder.shuffle_vector(first, undefined, ir.Constant(ir.VectorType(INT32, lanes), None))


def call_llvm(builder: Any, name: str, result: Any, arguments: list[Any]) -> Any:
    """Call a function by name: an LLVM intrinsic, or a symbol added to LLVM."""
    function_type = ir.FunctionType(result, [argument.type for argument in arguments])
    return builder.call(cgutils.get_or_insert_function(builder.module, function_type, name), arguments)


def is_array(kind: Any, *elements: Any) -> bool:
    """Whether a type is that of flat contiguous arrays of integers, or of some types of them."""
    is_flat = isinstance(kind, types.Array) and kind.ndim == 1 and kind.layout == "C"
    return is_flat and (kind.dtype in elements if elements else isinstance(kind.dtype, types.Integer))


def _is_lanes(*kinds: Any) -> bool:
    """Whether types are lanes, and equal."""
    return isinstance(kinds[0], LanesType) and all(kind == kinds[0] for kind in kinds)


def _is_mask(kind: Any, groups: int | None = None) -> bool:
    return isinstance(kind, LanesType) and kind.bits == 1 and groups in (None, kind.groups)


@intrinsic
def load(typing_context: Any, width: Any, array: Any, index: Any) -> Any:
    """Lanes from ``array[index:]``, of the array's element type."""
    if not is_array(array):
        return None
    result = LanesType(array.dtype.bitwidth, len(width))

    def emit(builder: Any, group: int, width: Any, data: Any, index: Any) -> Any:
        here = builder.gep(element(builder, data, index, result.vector), [INT32(group)], inbounds=True)
        return builder.load(here, align=result.bits // 8)

    return made_by_group(emit, result, width, array, types.intp)


@intrinsic
def store(typing_context: Any, array: Any, index: Any, lanes: Any) -> Any:
    """Write lanes to ``array[index:]``."""
    if not (is_array(array) and _is_lanes(lanes) and array.dtype.bitwidth == lanes.bits):
        return None

    def emit(builder: Any, data: Any, index: Any, values: Any) -> None:
        start = element(builder, data, index, lanes.vector)
        for group in range(lanes.groups):
            here = builder.gep(start, [INT32(group)], inbounds=True)
            builder.store(builder.extract_value(values, group), here, align=lanes.bits // 8)

    return made(emit, types.void, array, types.intp, lanes)


@intrinsic
def load_mask(typing_context: Any, width: Any, array: Any, index: Any) -> Any:
    """Mask from ``array[index:]`` of uint32: lane k is bit k % 32 of word k // 32."""
    if not is_array(array, types.uint32):
        return None
    result = LanesType(1, len(width))

    def emit(builder: Any, group: int, width: Any, data: Any, index: Any) -> Any:
        here = builder.gep(element(builder, data, index), [INT32(group)], inbounds=True)
        return builder.bitcast(builder.load(here, align=4), result.vector)

    return made_by_group(emit, result, width, array, types.intp)


@intrinsic
def store_mask(typing_context: Any, array: Any, index: Any, mask: Any) -> Any:
    """Write a mask to ``array[index:]`` of uint32."""
    if not (is_array(array, types.uint32) and _is_mask(mask)):
        return None

    def emit(builder: Any, data: Any, index: Any, values: Any) -> None:
        start = element(builder, data, index)
        groups = [builder.extract_value(values, group) for group in range(mask.groups)]
        together = 2 if mask.groups % 2 == 0 else 1  # they are read back as 64-bit words: store them as such
        for group in range(0, mask.groups, together):
            bits = groups[group]
            if together == 2:
                order = ir.Constant(ir.VectorType(INT32, 2 * GROUP), list(range(2 * GROUP)))
                bits = builder.shuffle_vector(bits, groups[group + 1], order)
            word_type = ir.IntType(GROUP * together)
            here = builder.gep(start, [INT32(group)], inbounds=True)
            builder.store(builder.bitcast(bits, word_type), builder.bitcast(here, word_type.as_pointer()), align=4)

    return made(emit, types.void, array, types.intp, mask)


# --- arithmetic ----------------------------------------------------------------------------------------------


@intrinsic
def broadcast(typing_context: Any, width: Any, scalar: Any) -> Any:
    """Lanes that all hold ``scalar``, of the scalar's type."""
    if not isinstance(scalar, types.Integer):
        return None
    result = LanesType(scalar.bitwidth, len(width))
    return made_by_group(lambda b, group, width, value: splat(b, value, result.vector), result, width, scalar)


@intrinsic
def ramp(typing_context: Any, width: Any, start: Any) -> Any:
    """Lanes ``start, start + 1, start + 2, ...``, of the type of ``start``."""
    if not isinstance(start, types.Integer):
        return None
    result = LanesType(start.bitwidth, len(width))

    def emit(builder: Any, group: int, width: Any, value: Any) -> Any:
        steps = [ir.IntType(result.bits)(GROUP * group + lane) for lane in range(GROUP)]
        return builder.add(splat(builder, value, result.vector), ir.Constant(result.vector, steps))

    return made_by_group(emit, result, width, start)


@intrinsic
def widen(typing_context: Any, integer: Any, lanes: Any) -> Any:
    """Lanes of the type ``integer`` (a Numba integer class), sign-extended; a no-op if they are already that wide."""
    if not (_is_lanes(lanes) and isinstance(integer, types.NumberClass)):
        return None
    result = LanesType(integer.dtype.bitwidth, lanes.groups)
    if result == lanes:
        return made(lambda builder, integer, values: values, result, integer, lanes)
    return made_by_group(lambda b, group, integer, values: b.sext(values, result.vector), result, integer, lanes)


@intrinsic
def shift_right(typing_context: Any, lanes: Any, by: Any) -> Any:
    """Logical shift of every lane by a constant number of bits."""
    if not (_is_lanes(lanes) and isinstance(by, types.Integer)):
        return None

    def emit(builder: Any, group: int, values: Any, by: Any) -> Any:
        amount = builder.trunc(by, ir.IntType(lanes.bits)) if lanes.bits < 64 else by
        return builder.lshr(values, splat(builder, amount, lanes.vector))

    return made_by_group(emit, lanes, lanes, types.intp)


def _binary(emit: Callable[..., Any], result_of: Callable[[Any], Any] = lambda type_: type_) -> Any:
    """Make an intrinsic of two equal lane types; ``emit(builder, a, b)`` makes the code of one group."""

    @intrinsic
    def operation(typing_context: Any, a: Any, b: Any) -> Any:
        def group(builder: Any, number: int, left: Any, right: Any) -> Any:
            return emit(builder, left, right)

        return made_by_group(group, result_of(a), a, b) if _is_lanes(a, b) else None

    return operation


least = _binary(lambda builder, a, b: builder.select(builder.icmp_signed("<", a, b), a, b))
greatest = _binary(lambda builder, a, b: builder.select(builder.icmp_signed(">", a, b), a, b))


# --- masks ---------------------------------------------------------------------------------------------------


@intrinsic
def where(typing_context: Any, mask: Any, a: Any, b: Any) -> Any:
    """Lanes of ``a`` where the mask is set, else of ``b``."""
    if not (_is_lanes(a, b) and _is_mask(mask, a.groups)):
        return None
    return made_by_group(lambda builder, group, *values: builder.select(*values), a, mask, a, b)


@intrinsic
def add_where(typing_context: Any, mask: Any, a: Any, b: Any) -> Any:
    """Add ``b`` to ``a`` where the mask is set."""
    if not (_is_lanes(a, b) and _is_mask(mask, a.groups)):
        return None

    def emit(builder: Any, group: int, set_: Any, left: Any, right: Any) -> Any:
        return builder.add(left, builder.select(set_, right, ir.Constant(a.vector, None)))

    return made_by_group(emit, a, mask, a, b)


@intrinsic
def any_lane(typing_context: Any, mask: Any) -> Any:
    """Whether the mask is set in any lane."""
    if not _is_mask(mask):
        return None

    def emit(builder: Any, values: Any) -> Any:
        words = [builder.bitcast(builder.extract_value(values, g), INT32) for g in range(mask.groups)]
        return builder.icmp_unsigned("!=", reduce(builder.or_, words), INT32(0))

    return made(emit, types.boolean, mask)


@intrinsic
def _inverted(typing_context: Any, mask: Any) -> Any:
    return made_by_group(lambda builder, group, values: builder.not_(values), mask, mask) if _is_mask(mask) else None


# --- operators -----------------------------------------------------------------------------------------------


def _define(symbol: Any, operation: Any) -> None:
    """Overload ``symbol`` with ``operation`` between two values of one lane type."""

    # Numba compares the signatures of both functions, including annotations, and a lambda has none.
    @overload(symbol, jit_options=INLINED)
    def between(a, b):  # type: ignore[no-untyped-def]
        return (lambda a, b: operation(a, b)) if _is_lanes(a, b) else None


def _compare(relation: str) -> Any:
    return _binary(lambda builder, a, b: builder.icmp_signed(relation, a, b), lambda of: LanesType(1, of.groups))


_define(operator.add, _binary(ir.IRBuilder.add))
_define(operator.sub, _binary(ir.IRBuilder.sub))
_define(operator.mul, _binary(ir.IRBuilder.mul))
_define(operator.and_, _binary(ir.IRBuilder.and_))
_define(operator.or_, _binary(ir.IRBuilder.or_))
_define(operator.xor, _binary(ir.IRBuilder.xor))
_define(operator.ge, _compare(">="))
_define(operator.lt, _compare("<"))
_define(operator.ne, _compare("!="))


@overload(operator.invert, jit_options=INLINED)
def _not(mask):  # type: ignore[no-untyped-def]
    return (lambda mask: _inverted(mask)) if _is_mask(mask) else None
