"""Operations of the kernels on single elements, words of bits and whole arrays, and prefetching.

``get`` and ``put`` are ``array[index]`` without support for negative indices. ``copy_values`` and ``clear_values``
would take a second to compile as loops.
"""

from __future__ import annotations

from typing import Any

import llvmlite.binding
from llvmlite import ir
from numba import config, types, uint64
from numba.core import cgutils
from numba.extending import intrinsic, overload

from neuromap.simulation.engine.kernel.lanes import (
    BIT,
    BYTE,
    GROUP,
    INLINED,
    INT32,
    WORD,
    call_llvm,
    element,
    is_array,
    made,
    splat,
)
from neuromap.simulation.engine.kernel.layout import extent


@overload(extent, jit_options=INLINED)
def _extent(size):  # type: ignore[no-untyped-def]
    return (lambda size: len(size)) if isinstance(size, types.BaseTuple) else (lambda size: size)


@intrinsic
def get(typing_context: Any, array: Any, index: Any) -> Any:
    """``array[index]`` as an index-sized integer (words of 64 bits as they are)."""
    if not is_array(array):
        return None
    kind = array.dtype

    def emit(builder: Any, data: Any, index: Any) -> Any:
        value = builder.load(element(builder, data, index), align=kind.bitwidth // 8)
        if kind.bitwidth == 64:
            return value
        return builder.sext(value, WORD) if kind.signed else builder.zext(value, WORD)

    return made(emit, kind if kind.bitwidth == 64 else types.intp, array, types.intp)


@intrinsic
def put(typing_context: Any, array: Any, index: Any, value: Any) -> Any:
    """``array[index] = value``, truncated to the element width."""
    if not (is_array(array) and isinstance(value, (types.Integer, types.Boolean))):
        return None

    def emit(builder: Any, data: Any, index: Any, word: Any) -> None:
        builder.store(word, element(builder, data, index), align=array.dtype.bitwidth // 8)

    return made(emit, types.void, array, types.intp, array.dtype)


def _prefetch(locality: int) -> Any:
    @intrinsic
    def operation(typing_context: Any, array: Any, index: Any) -> Any:
        def emit(builder: Any, data: Any, index: Any) -> None:
            here = builder.bitcast(builder.gep(data, [index]), BYTE.as_pointer())
            to_read, data_cache = INT32(0), INT32(1)
            call_llvm(builder, "llvm.prefetch.p0", ir.VoidType(), [here, to_read, INT32(locality), data_cache])

        return made(emit, types.void, array, types.intp) if is_array(array) else None

    return operation


# Prefetch the cache line of array[index]; nothing is read, so any index is safe. The first-level cache handles few
# misses at a time, so whole runs of lines are better prefetched one level farther.
prefetch = _prefetch(3)
prefetch_far = _prefetch(2)


@intrinsic
def count_row(typing_context: Any, width: Any, array: Any, index: Any) -> Any:
    """Count the set bits of ``array[index : index + len(width)]`` of uint32."""
    if not is_array(array, types.uint32):
        return None
    groups = len(width)

    def emit(builder: Any, width: Any, data: Any, index: Any) -> Any:
        vector = ir.VectorType(INT32, groups)
        words = builder.load(element(builder, data, index, vector), align=4)
        ones = call_llvm(builder, f"llvm.ctpop.v{groups}i32", vector, [words])
        return builder.zext(call_llvm(builder, f"llvm.vector.reduce.add.v{groups}i32", INT32, [ones]), WORD)

    return made(emit, types.intp, width, array, types.intp)


def list_ones(array: Any, position: int, base: int, word: int) -> int:
    """Write ``base`` + the positions of the set bits of a uint64 to ``array[position:]``; return their number."""
    # Up to 64 elements may be overwritten, however few bits are set. The array is uint16, uint32 or uint64.
    return len([put(array, position, base + bit) for bit in range(64) if word >> bit & 1])  # for type checkers


@overload(list_ones, jit_options=INLINED)
def _list_ones(array, position, base, word):  # type: ignore[no-untyped-def]
    if target_has("avx512vbmi2"):
        return lambda array, position, base, word: _compress(array, position, base, word)

    def one_by_one(array, position, base, word):  # type: ignore[no-untyped-def]
        n = position
        while word != uint64(0):
            put(array, n, base + trailing_zeros(word))
            n += 1
            word &= word - uint64(1)
        return n - position

    return one_by_one


# Words seldom have more set bits than this: so many are written without a branch.
_OFTEN = 16


@intrinsic
def _compress(typing_context: Any, array: Any, position: Any, base: Any, word: Any) -> Any:
    """List all positions at once, without unpredictable branches."""
    bits = array.dtype.bitwidth

    def emit(builder: Any, data: Any, position: Any, base: Any, word: Any) -> Any:
        kind, whole = ir.IntType(bits), 2 * GROUP
        bytes_, mask = ir.VectorType(BYTE, whole), builder.bitcast(word, ir.VectorType(BIT, whole))
        numbers = ir.Constant(bytes_, [BYTE(k) for k in range(whole)])
        unused = ir.Constant(bytes_, None)
        positions = call_llvm(builder, "llvm.experimental.vector.compress.v64i8", bytes_, [numbers, mask, unused])
        first = base if bits == WORD.width else builder.trunc(base, kind)

        def write(start: int, n: int) -> None:
            some = ir.Constant(ir.VectorType(INT32, n), list(range(start, start + n)))
            wide = ir.VectorType(kind, n)
            offsets = builder.zext(builder.shuffle_vector(positions, unused, some), wide)
            here = element(builder, data, builder.add(position, WORD(start)), wide)
            builder.store(builder.add(offsets, splat(builder, first, wide, n)), here, align=bits // 8)

        found = builder.ctpop(word)
        write(0, _OFTEN)
        with builder.if_then(builder.icmp_unsigned(">", found, WORD(_OFTEN)), likely=False):
            write(_OFTEN, whole - _OFTEN)
        return found

    return made(emit, types.intp, array, types.intp, types.intp, types.uint64)


_BYTES = ir.VectorType(BYTE, 64)


@intrinsic
def nonzero_bytes(typing_context: Any, array: Any, index: Any) -> Any:
    """Mask of the nonzero ones among the 64 elements ``array[index:]`` of uint8, as a uint64."""

    def emit(builder: Any, data: Any, index: Any) -> Any:
        values = builder.load(element(builder, data, index, _BYTES), align=1)
        return builder.bitcast(builder.icmp_unsigned("!=", values, ir.Constant(_BYTES, None)), WORD)

    return made(emit, types.uint64, array, types.intp) if is_array(array, types.uint8) else None


@intrinsic
def clear_bytes(typing_context: Any, array: Any, index: Any) -> Any:
    """Set the 64 elements ``array[index:]`` of uint8 to 0."""

    def emit(builder: Any, data: Any, index: Any) -> None:
        builder.store(ir.Constant(_BYTES, None), element(builder, data, index, _BYTES), align=1)

    return made(emit, types.void, array, types.intp) if is_array(array, types.uint8) else None


@intrinsic
def copy_values(typing_context: Any, to: Any, values: Any, index: Any, n: Any) -> Any:
    """Copy ``n`` elements of ``values``, from ``index`` on, to the same place in an array of the same type."""
    if not (is_array(to) and is_array(values, to.dtype)):
        return None

    def emit(builder: Any, data: Any, source: Any, index: Any, n: Any) -> None:
        here, there = (element(builder, start, index) for start in (data, source))
        cgutils.raw_memcpy(builder, here, there, n, to.dtype.bitwidth // 8)

    return made(emit, types.void, to, values, types.intp, types.intp)


@intrinsic
def clear_values(typing_context: Any, array: Any) -> Any:
    """Set all elements of an array to 0."""
    if not is_array(array):
        return None

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        whole = context.make_array(array)(context, builder, arguments[0])
        n_bytes = builder.mul(whole.nitems, WORD(array.dtype.bitwidth // 8))
        cgutils.memset(builder, whole.data, n_bytes, 0)
        return context.get_dummy_value()

    return types.void(array), generate


def target_has(feature: str) -> bool:
    """Whether Numba compiles for a processor with this feature (this one, or ``NUMBA_CPU_FEATURES``)."""
    if config.CPU_FEATURES is not None:
        return f"+{feature}" in config.CPU_FEATURES.split(",")
    return bool(llvmlite.binding.get_host_cpu_features().get(feature, False))


@intrinsic
def trailing_zeros(typing_context: Any, word: Any) -> Any:
    """Position of the lowest set bit of a nonzero uint64."""
    return made(lambda builder, word: builder.cttz(word, BIT(1)), types.intp, word) if word == types.uint64 else None


@intrinsic
def count_ones(typing_context: Any, word: Any) -> Any:
    """Count the set bits of a uint64 or uint32."""
    if word not in (types.uint64, types.uint32):
        return None
    return made(lambda builder, word: builder.ctpop(word), types.intp, types.uint64)
