"""Lanes and masks between memory and registers; part of the vocabulary of ``lanes.py``."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from neuromap.simulation.engine.kernel.emission import (
    BIT,
    GROUP,
    INT32,
    LanesType,
    MaskType,
    address,
    each_group,
    is_flat,
    lane_vector,
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
        together = 2 if mask.groups % 2 == 0 else 1  # they are read again as words of 64 bits: store them as such
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
