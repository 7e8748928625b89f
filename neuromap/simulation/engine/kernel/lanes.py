"""Lanes: vectors of integers as first-class values in compiled code.

A core's neurons sit side by side in the lanes of a vector. This module has the kernels' operations on them;
``words.py`` has those on single elements, words of bits and whole arrays. The LLVM code is written in groups of 32
lanes and names no instruction set: LLVM turns it into masked AVX-512, AVX2 or NEON instructions.

Types
    ``Lanes(bits, groups)`` holds ``32 * groups`` integers, ``Mask(groups)`` as many truth values. ``groups`` is
    part of the type; functions that need it take a tuple of that length (``width``).
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
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

from neuromap.simulation.engine.kernel.emission import (
    BIT,
    GROUP,
    INLINED,
    INT32,
    LanesType,
    MaskType,
    address,
    each_group,
    is_flat,
    lane_vector,
    splat,
)


@intrinsic
def load(typing_context: Any, width: Any, array: Any, index: Any) -> Any:
    """Lanes from ``array[index:]``, of the array's element type."""
    if not (is_flat(array) and isinstance(array.dtype, types.Integer)):
        return None
    result = LanesType(array.dtype.bitwidth, len(width))

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        vector = lane_vector(result.bits)
        start = address(context, builder, array, arguments[1], arguments[2])
        pointer = builder.bitcast(start, vector.as_pointer())

        def one(group: int) -> Any:
            here = builder.gep(pointer, [INT32(group)], inbounds=True)
            return builder.load(here, align=result.bits // 8)

        return each_group(builder, context.get_value_type(result), result.groups, one)

    return result(width, array, types.intp), generate


@intrinsic
def store(typing_context: Any, array: Any, index: Any, lanes: Any) -> Any:
    """Write lanes to ``array[index:]``."""
    if not (is_flat(array) and isinstance(lanes, LanesType) and array.dtype.bitwidth == lanes.bits):
        return None

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        start = address(context, builder, array, arguments[0], arguments[1])
        pointer = builder.bitcast(start, lane_vector(lanes.bits).as_pointer())
        for group in range(lanes.groups):
            here = builder.gep(pointer, [INT32(group)], inbounds=True)
            builder.store(builder.extract_value(arguments[2], group), here, align=lanes.bits // 8)
        return context.get_dummy_value()

    return types.void(array, types.intp, lanes), generate


@intrinsic
def load_mask(typing_context: Any, width: Any, array: Any, index: Any) -> Any:
    """Mask from ``array[index:]`` of uint32: lane k is bit k % 32 of word k // 32."""
    if not (is_flat(array) and array.dtype == types.uint32):
        return None
    result = MaskType(len(width))

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = address(context, builder, array, arguments[1], arguments[2])

        def one(group: int) -> Any:
            word = builder.load(builder.gep(pointer, [INT32(group)], inbounds=True), align=4)
            return builder.bitcast(word, ir.VectorType(BIT, GROUP))

        return each_group(builder, context.get_value_type(result), result.groups, one)

    return result(width, array, types.intp), generate


@intrinsic
def store_mask(typing_context: Any, array: Any, index: Any, mask: Any) -> Any:
    """Write a mask to ``array[index:]`` of uint32."""
    if not (is_flat(array) and array.dtype == types.uint32 and isinstance(mask, MaskType)):
        return None

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = address(context, builder, array, arguments[0], arguments[1])
        groups = [builder.extract_value(arguments[2], group) for group in range(mask.groups)]
        together = 2 if mask.groups % 2 == 0 else 1  # they are read back as 64-bit words: store them as such
        for group in range(0, mask.groups, together):
            bits = groups[group]
            if together == 2:
                order = ir.Constant(ir.VectorType(INT32, 2 * GROUP), list(range(2 * GROUP)))
                bits = builder.shuffle_vector(bits, groups[group + 1], order)
            word_type = ir.IntType(GROUP * together)
            here = builder.gep(pointer, [INT32(group)], inbounds=True)
            builder.store(builder.bitcast(bits, word_type), builder.bitcast(here, word_type.as_pointer()), align=4)
        return context.get_dummy_value()

    return types.void(array, types.intp, mask), generate


# --- arithmetic ----------------------------------------------------------------------------------------------


@intrinsic
def broadcast(typing_context: Any, width: Any, scalar: Any) -> Any:
    """Lanes that all hold ``scalar``, of the scalar's type."""
    if not isinstance(scalar, types.Integer):
        return None
    result = LanesType(scalar.bitwidth, len(width))

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        one = splat(builder, arguments[1], lane_vector(result.bits))
        return each_group(builder, context.get_value_type(result), result.groups, lambda group: one)

    return result(width, scalar), generate


@intrinsic
def ramp(typing_context: Any, width: Any, start: Any) -> Any:
    """Lanes ``start, start + 1, start + 2, ...``, of the type of ``start``."""
    if not isinstance(start, types.Integer):
        return None
    result = LanesType(start.bitwidth, len(width))

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        first = splat(builder, arguments[1], lane_vector(result.bits))

        def one(group: int) -> Any:
            steps = [ir.IntType(result.bits)(GROUP * group + lane) for lane in range(GROUP)]
            return builder.add(first, ir.Constant(lane_vector(result.bits), steps))

        return each_group(builder, context.get_value_type(result), result.groups, one)

    return result(width, start), generate


@intrinsic
def widen(typing_context: Any, integer: Any, lanes: Any) -> Any:
    """Lanes of the type ``integer`` (a Numba integer class), sign-extended; a no-op if they are already that wide."""
    if not (isinstance(lanes, LanesType) and isinstance(integer, types.NumberClass)):
        return None
    result = LanesType(integer.dtype.bitwidth, lanes.groups)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        if result.bits == lanes.bits:
            return arguments[1]

        def one(group: int) -> Any:
            return builder.sext(builder.extract_value(arguments[1], group), lane_vector(result.bits))

        return each_group(builder, context.get_value_type(result), result.groups, one)

    return result(integer, lanes), generate


@intrinsic
def shift_right(typing_context: Any, lanes: Any, by: Any) -> Any:
    """Logical shift of every lane by a constant number of bits."""
    if not (isinstance(lanes, LanesType) and isinstance(by, types.Integer)):
        return None

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        amount = builder.trunc(arguments[1], ir.IntType(lanes.bits)) if lanes.bits < 64 else arguments[1]
        by_lane = splat(builder, amount, lane_vector(lanes.bits))

        def one(group: int) -> Any:
            return builder.lshr(builder.extract_value(arguments[0], group), by_lane)

        return each_group(builder, context.get_value_type(lanes), lanes.groups, one)

    return lanes(lanes, types.intp), generate


def _by_group(emit: Callable[..., Any], result: Any, *arguments: Any) -> Any:
    """Type and code of an intrinsic; ``emit(builder, *groups)``, given one group of each argument, makes one group."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        def one(group: int) -> Any:
            return emit(builder, *(builder.extract_value(value, group) for value in values))

        return each_group(builder, context.get_value_type(result), result.groups, one)

    return result(*arguments), generate


def _binary(emit: Callable[..., Any], of: type, result_of: Callable[[Any], Any] = lambda type_: type_) -> Any:
    """Make an intrinsic of two equal lane (or mask) types; ``emit(builder, a, b)`` makes the code of one group."""

    @intrinsic
    def operation(typing_context: Any, a: Any, b: Any) -> Any:
        return _by_group(emit, result_of(a), a, b) if isinstance(a, of) and a == b else None

    return operation


def _least(builder: Any, a: Any, b: Any) -> Any:
    return builder.select(builder.icmp_signed("<", a, b), a, b)


def _greatest(builder: Any, a: Any, b: Any) -> Any:
    return builder.select(builder.icmp_signed(">", a, b), a, b)


least = _binary(_least, LanesType)
greatest = _binary(_greatest, LanesType)


# --- masks ---------------------------------------------------------------------------------------------------


def _picks(mask: Any, a: Any, b: Any) -> bool:
    """Whether a mask fits two arguments of equal lane types."""
    return isinstance(mask, MaskType) and isinstance(a, LanesType) and a == b and mask.groups == a.groups


@intrinsic
def where(typing_context: Any, mask: Any, a: Any, b: Any) -> Any:
    """Lanes of ``a`` where the mask is set, else of ``b``."""
    return _by_group(ir.IRBuilder.select, a, mask, a, b) if _picks(mask, a, b) else None


@intrinsic
def add_where(typing_context: Any, mask: Any, a: Any, b: Any) -> Any:
    """Add ``b`` to ``a`` where the mask is set."""

    def emit(builder: Any, set_: Any, left: Any, right: Any) -> Any:
        return builder.add(left, builder.select(set_, right, ir.Constant(lane_vector(a.bits), None)))

    return _by_group(emit, a, mask, a, b) if _picks(mask, a, b) else None


@intrinsic
def any_lane(typing_context: Any, mask: Any) -> Any:
    """Whether the mask is set in any lane."""
    if not isinstance(mask, MaskType):
        return None

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        words = [builder.bitcast(builder.extract_value(arguments[0], g), INT32) for g in range(mask.groups)]
        union = words[0]
        for word in words[1:]:
            union = builder.or_(union, word)
        return builder.icmp_unsigned("!=", union, INT32(0))

    return types.boolean(mask), generate


@intrinsic
def _invert(typing_context: Any, mask: Any) -> Any:
    return _by_group(ir.IRBuilder.not_, mask, mask) if isinstance(mask, MaskType) else None


# --- operators -----------------------------------------------------------------------------------------------


def _define(symbol: Any, of: type, operation: Any) -> None:
    """Overload ``symbol`` with ``operation`` between two values of the lane (or mask) type ``of``."""

    # Numba compares the signatures of both functions, including annotations, and a lambda has none.
    @overload(symbol, jit_options=INLINED)
    def between(a, b):  # type: ignore[no-untyped-def]
        if isinstance(a, of) and a == b:
            return lambda a, b: operation(a, b)
        return None


def _compare(relation: str) -> Any:
    return _binary(
        lambda builder, a, b: builder.icmp_signed(relation, a, b), LanesType, lambda type_: MaskType(type_.groups)
    )


_define(operator.add, LanesType, _binary(ir.IRBuilder.add, LanesType))
_define(operator.sub, LanesType, _binary(ir.IRBuilder.sub, LanesType))
_define(operator.mul, LanesType, _binary(ir.IRBuilder.mul, LanesType))
_define(operator.and_, LanesType, _binary(ir.IRBuilder.and_, LanesType))
_define(operator.or_, LanesType, _binary(ir.IRBuilder.or_, LanesType))
_define(operator.xor, LanesType, _binary(ir.IRBuilder.xor, LanesType))
_define(operator.ge, LanesType, _compare(">="))
_define(operator.lt, LanesType, _compare("<"))
_define(operator.ne, LanesType, _compare("!="))
_define(operator.and_, MaskType, _binary(ir.IRBuilder.and_, MaskType))
_define(operator.or_, MaskType, _binary(ir.IRBuilder.or_, MaskType))


@overload(operator.invert, jit_options=INLINED)
def _not(mask):  # type: ignore[no-untyped-def]
    return (lambda mask: _invert(mask)) if isinstance(mask, MaskType) else None
