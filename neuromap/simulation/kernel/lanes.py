"""Lanes: vectors of integers as first-class values in compiled code.

A core's neurons sit side by side in the lanes of a vector. This file is the whole vocabulary that the kernels
use for them; everything else in this folder is plain Numba. The intermediate code is written in groups of 32
lanes and names no instruction set: LLVM makes masked AVX-512, AVX2 or NEON instructions of it.

Types
    ``Lanes(bits, groups)`` holds ``32 * groups`` integers, ``Mask(groups)`` as many truth values. ``groups`` is
    part of the type; where a function needs it, it is given as a tuple of that length (``width``).
Memory
    ``load(width, array, index)``, ``store(array, index, lanes)``, ``load_mask``, ``store_mask``, ``prefetch``,
    ``prefetch_far``: ``array`` is flat and contiguous, ``index`` counts its elements; masks are arrays of uint32,
    one per group.
    ``get(array, index)`` and ``put(array, index, value)`` are ``array[index]`` for single elements, without the
    step that lets a negative index count from the end.
Arithmetic
    ``a + b``, ``a - b``, ``a * b``, ``a & b``, ``a ^ b``, ``shift_right``, ``least``, ``greatest``, ``widen``,
    ``broadcast``, ``ramp``
Masks
    ``a >= b``, ``a < b``, ``a != b``, ``where(mask, a, b)``, ``add_where(mask, a, b)``, ``m & n``, ``m | n``,
    ``~m``, ``any_lane``
Words
    ``trailing_zeros``, ``count_ones``, ``list_ones`` on uint64; ``count_row`` on rows of synapse bits;
    ``nonzero_bytes`` and ``clear_bytes`` on 64 flags

Only :mod:`neuromap.simulation.kernel` imports this, and only when a fast engine is made: Numba is slow to import.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import llvmlite.binding
from llvmlite import ir
from numba import config, types, uint64
from numba.core import cgutils
from numba.extending import intrinsic, models, overload, register_model

__all__ = [
    "CALLED",
    "INLINED",
    "LanesType",
    "MaskType",
    "add_where",
    "any_lane",
    "broadcast",
    "clear_bytes",
    "count_ones",
    "count_row",
    "get",
    "greatest",
    "least",
    "list_ones",
    "load",
    "load_mask",
    "nonzero_bytes",
    "prefetch",
    "prefetch_far",
    "put",
    "ramp",
    "shift_right",
    "store",
    "store_mask",
    "trailing_zeros",
    "where",
    "widen",
]

CALLED = {"error_model": "numpy", "_nrt": False, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
"""Options of functions that only compiled code calls: without reference counts, which would be kept for every array
at every call, and without entries for Python and C, which cost more to compile than the functions."""

INLINED = {**CALLED, "forceinline": True}

GROUP = 32
"""Lanes of one group: a row of synapse bits is read as one uint32 per group."""

_BIT, _BYTE, _INT32, _WORD = ir.IntType(1), ir.IntType(8), ir.IntType(32), ir.IntType(64)


class LanesType(types.Type):
    """``32 * groups`` signed integers of ``bits`` bits."""

    def __init__(self, bits: int, groups: int) -> None:
        self.bits, self.groups = bits, groups
        super().__init__(name=f"Lanes({bits}, {groups})")


class MaskType(types.Type):
    """``32 * groups`` truth values."""

    def __init__(self, groups: int) -> None:
        self.groups = groups
        super().__init__(name=f"Mask({groups})")


@register_model(LanesType)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, dmm: Any, fe_type: LanesType) -> None:
        vector = ir.VectorType(ir.IntType(fe_type.bits), GROUP)
        super().__init__(dmm, fe_type, ir.ArrayType(vector, fe_type.groups))


@register_model(MaskType)
class _MaskModel(models.PrimitiveModel):
    def __init__(self, dmm: Any, fe_type: MaskType) -> None:
        super().__init__(dmm, fe_type, ir.ArrayType(ir.VectorType(_BIT, GROUP), fe_type.groups))


# --- building blocks ---------------------------------------------------------------------------------------


def _vector(bits: int) -> ir.VectorType:
    return ir.VectorType(ir.IntType(bits), GROUP)


def _each(builder: Any, llvm_type: Any, groups: int, make: Callable[[int], Any]) -> Any:
    """Put ``make(group)`` of every group together."""
    value = ir.Constant(llvm_type, ir.Undefined)
    for group in range(groups):
        value = builder.insert_value(value, make(group), group)
    return value


def _address(context: Any, builder: Any, array_type: Any, array: Any, index: Any) -> Any:
    """Pointer to an element of a flat array."""
    data = context.make_array(array_type)(context, builder, array).data
    return builder.gep(data, [index], inbounds=True)


def _splat(builder: Any, scalar: Any, vector: ir.VectorType, lanes: int = GROUP) -> Any:
    undefined = ir.Constant(vector, ir.Undefined)
    first = builder.insert_element(undefined, scalar, _INT32(0))
    return builder.shuffle_vector(first, undefined, ir.Constant(ir.VectorType(_INT32, lanes), None))


def _call(builder: Any, name: str, result: Any, arguments: list[Any]) -> Any:
    """Call an intrinsic function of LLVM."""
    function_type = ir.FunctionType(result, [argument.type for argument in arguments])
    return builder.call(cgutils.get_or_insert_function(builder.module, function_type, name), arguments)


def _is_flat(array: Any) -> bool:
    return isinstance(array, types.Array) and array.ndim == 1 and array.layout == "C"


# --- memory ------------------------------------------------------------------------------------------------


@intrinsic
def load(typing_context: Any, width: Any, array: Any, index: Any) -> Any:
    """Lanes from ``array[index:]``, of the array's element type."""
    if not (_is_flat(array) and isinstance(array.dtype, types.Integer)):
        return None
    result = LanesType(array.dtype.bitwidth, len(width))

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        vector = _vector(result.bits)
        start = _address(context, builder, array, arguments[1], arguments[2])
        pointer = builder.bitcast(start, vector.as_pointer())

        def one(group: int) -> Any:
            here = builder.gep(pointer, [_INT32(group)], inbounds=True)
            return builder.load(here, align=result.bits // 8)

        return _each(builder, context.get_value_type(result), result.groups, one)

    return result(width, array, types.intp), generate


@intrinsic
def store(typing_context: Any, array: Any, index: Any, lanes: Any) -> Any:
    """Write lanes to ``array[index:]``."""
    if not (_is_flat(array) and isinstance(lanes, LanesType) and array.dtype.bitwidth == lanes.bits):
        return None

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        start = _address(context, builder, array, arguments[0], arguments[1])
        pointer = builder.bitcast(start, _vector(lanes.bits).as_pointer())
        for group in range(lanes.groups):
            here = builder.gep(pointer, [_INT32(group)], inbounds=True)
            builder.store(builder.extract_value(arguments[2], group), here, align=lanes.bits // 8)
        return context.get_dummy_value()

    return types.void(array, types.intp, lanes), generate


@intrinsic
def load_mask(typing_context: Any, width: Any, array: Any, index: Any) -> Any:
    """Mask from ``array[index:]`` of uint32: lane k is bit k % 32 of word k // 32."""
    if not (_is_flat(array) and array.dtype == types.uint32):
        return None
    result = MaskType(len(width))

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _address(context, builder, array, arguments[1], arguments[2])

        def one(group: int) -> Any:
            word = builder.load(builder.gep(pointer, [_INT32(group)], inbounds=True), align=4)
            return builder.bitcast(word, ir.VectorType(_BIT, GROUP))

        return _each(builder, context.get_value_type(result), result.groups, one)

    return result(width, array, types.intp), generate


@intrinsic
def store_mask(typing_context: Any, array: Any, index: Any, mask: Any) -> Any:
    """Write a mask to ``array[index:]`` of uint32."""
    if not (_is_flat(array) and array.dtype == types.uint32 and isinstance(mask, MaskType)):
        return None

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _address(context, builder, array, arguments[0], arguments[1])
        groups = [builder.extract_value(arguments[2], group) for group in range(mask.groups)]
        together = 2 if mask.groups % 2 == 0 else 1  # they are read again as words of 64 bits: store them as such
        for group in range(0, mask.groups, together):
            bits = groups[group]
            if together == 2:
                order = ir.Constant(ir.VectorType(_INT32, 2 * GROUP), list(range(2 * GROUP)))
                bits = builder.shuffle_vector(bits, groups[group + 1], order)
            word_type = ir.IntType(GROUP * together)
            here = builder.gep(pointer, [_INT32(group)], inbounds=True)
            builder.store(builder.bitcast(bits, word_type), builder.bitcast(here, word_type.as_pointer()), align=4)
        return context.get_dummy_value()

    return types.void(array, types.intp, mask), generate


@intrinsic
def get(typing_context: Any, array: Any, index: Any) -> Any:
    """``array[index]`` as an index-sized integer (words of 64 bits as they are)."""
    if not (_is_flat(array) and isinstance(array.dtype, types.Integer)):
        return None
    element = array.dtype
    result = element if element.bitwidth == 64 else types.intp

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        here = _address(context, builder, array, *arguments)
        value = builder.load(here, align=element.bitwidth // 8)
        if element.bitwidth == 64:
            return value
        return builder.sext(value, _WORD) if element.signed else builder.zext(value, _WORD)

    return result(array, types.intp), generate


@intrinsic
def put(typing_context: Any, array: Any, index: Any, value: Any) -> Any:
    """``array[index] = value``, cut to the width of the elements."""
    if not (
        _is_flat(array) and isinstance(array.dtype, types.Integer) and isinstance(value, (types.Integer, types.Boolean))
    ):
        return None
    element = array.dtype

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        here = _address(context, builder, array, *arguments[:2])
        word = context.cast(builder, arguments[2], value, element)
        builder.store(word, here, align=element.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(array, types.intp, value), generate


def _prefetch(locality: int) -> Any:
    @intrinsic
    def operation(typing_context: Any, array: Any, index: Any) -> Any:
        if not _is_flat(array):
            return None

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            data = context.make_array(array)(context, builder, arguments[0]).data
            here = builder.bitcast(builder.gep(data, [arguments[1]]), _BYTE.as_pointer())
            to_read, data_cache = _INT32(0), _INT32(1)
            _call(builder, "llvm.prefetch.p0", ir.VoidType(), [here, to_read, _INT32(locality), data_cache])
            return context.get_dummy_value()

        return types.void(array, types.intp), generate

    return operation


# Ask for the cache line of array[index]; nothing is read, so any index is safe. The first-level cache has few
# misses under way at a time, so whole runs of lines are better asked for one level farther.
prefetch = _prefetch(3)
prefetch_far = _prefetch(2)


# --- arithmetic --------------------------------------------------------------------------------------------


@intrinsic
def broadcast(typing_context: Any, width: Any, scalar: Any) -> Any:
    """Lanes that all hold ``scalar``, of the scalar's type."""
    if not isinstance(scalar, types.Integer):
        return None
    result = LanesType(scalar.bitwidth, len(width))

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        one = _splat(builder, arguments[1], _vector(result.bits))
        return _each(builder, context.get_value_type(result), result.groups, lambda group: one)

    return result(width, scalar), generate


@intrinsic
def ramp(typing_context: Any, width: Any, start: Any) -> Any:
    """Lanes ``start, start + 1, start + 2, ...``, of the type of ``start``."""
    if not isinstance(start, types.Integer):
        return None
    result = LanesType(start.bitwidth, len(width))

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        first = _splat(builder, arguments[1], _vector(result.bits))

        def one(group: int) -> Any:
            steps = [ir.IntType(result.bits)(GROUP * group + lane) for lane in range(GROUP)]
            return builder.add(first, ir.Constant(_vector(result.bits), steps))

        return _each(builder, context.get_value_type(result), result.groups, one)

    return result(width, start), generate


@intrinsic
def widen(typing_context: Any, integer: Any, lanes: Any) -> Any:
    """Lanes of the type ``integer`` (a Numba integer class), sign extended; no step if they are that wide."""
    if not (isinstance(lanes, LanesType) and isinstance(integer, types.NumberClass)):
        return None
    result = LanesType(integer.dtype.bitwidth, lanes.groups)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        if result.bits == lanes.bits:
            return arguments[1]

        def one(group: int) -> Any:
            return builder.sext(builder.extract_value(arguments[1], group), _vector(result.bits))

        return _each(builder, context.get_value_type(result), result.groups, one)

    return result(integer, lanes), generate


@intrinsic
def shift_right(typing_context: Any, lanes: Any, by: Any) -> Any:
    """Logical shift of every lane by a constant number of bits."""
    if not (isinstance(lanes, LanesType) and isinstance(by, types.Integer)):
        return None

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        amount = builder.trunc(arguments[1], ir.IntType(lanes.bits)) if lanes.bits < 64 else arguments[1]
        by_lane = _splat(builder, amount, _vector(lanes.bits))

        def one(group: int) -> Any:
            return builder.lshr(builder.extract_value(arguments[0], group), by_lane)

        return _each(builder, context.get_value_type(lanes), lanes.groups, one)

    return lanes(lanes, types.intp), generate


def _binary(
    emit: Callable[[Any, Any, Any], Any], of: type, result_of: Callable[[Any], Any] = lambda type_: type_
) -> Any:
    """Make an intrinsic of two equal lane (or mask) types; ``emit(builder, a, b)`` makes the code of one group."""

    @intrinsic
    def operation(typing_context: Any, a: Any, b: Any) -> Any:
        if not (isinstance(a, of) and a == b):
            return None
        result = result_of(a)

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            def one(group: int) -> Any:
                return emit(builder, *(builder.extract_value(value, group) for value in arguments))

            return _each(builder, context.get_value_type(result), result.groups, one)

        return result(a, b), generate

    return operation


def _least(builder: Any, a: Any, b: Any) -> Any:
    return builder.select(builder.icmp_signed("<", a, b), a, b)


def _greatest(builder: Any, a: Any, b: Any) -> Any:
    return builder.select(builder.icmp_signed(">", a, b), a, b)


least = _binary(_least, LanesType)
greatest = _binary(_greatest, LanesType)


# --- masks -------------------------------------------------------------------------------------------------


@intrinsic
def where(typing_context: Any, mask: Any, a: Any, b: Any) -> Any:
    """Lanes of ``a`` where the mask is set, else of ``b``."""
    if not (isinstance(mask, MaskType) and isinstance(a, LanesType) and a == b and mask.groups == a.groups):
        return None

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        def one(group: int) -> Any:
            return builder.select(*(builder.extract_value(value, group) for value in arguments))

        return _each(builder, context.get_value_type(a), a.groups, one)

    return a(mask, a, b), generate


@intrinsic
def add_where(typing_context: Any, mask: Any, a: Any, b: Any) -> Any:
    """Add ``b`` to ``a`` where the mask is set."""
    if not (isinstance(mask, MaskType) and isinstance(a, LanesType) and a == b and mask.groups == a.groups):
        return None

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        zero = ir.Constant(_vector(a.bits), None)

        def one(group: int) -> Any:
            set_, left, right = (builder.extract_value(value, group) for value in arguments)
            return builder.add(left, builder.select(set_, right, zero))

        return _each(builder, context.get_value_type(a), a.groups, one)

    return a(mask, a, b), generate


@intrinsic
def any_lane(typing_context: Any, mask: Any) -> Any:
    """Whether the mask is set in any lane."""
    if not isinstance(mask, MaskType):
        return None

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        words = [builder.bitcast(builder.extract_value(arguments[0], g), _INT32) for g in range(mask.groups)]
        union = words[0]
        for word in words[1:]:
            union = builder.or_(union, word)
        return builder.icmp_unsigned("!=", union, _INT32(0))

    return types.boolean(mask), generate


@intrinsic
def _invert(typing_context: Any, mask: Any) -> Any:
    if not isinstance(mask, MaskType):
        return None

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        def one(group: int) -> Any:
            return builder.not_(builder.extract_value(arguments[0], group))

        return _each(builder, context.get_value_type(mask), mask.groups, one)

    return mask(mask), generate


# --- operators ---------------------------------------------------------------------------------------------


def _define(symbol: Any, of: type, operation: Any) -> None:
    """Let ``symbol`` stand for ``operation`` between two values of the lane (or mask) type ``of``."""

    # Numba compares the signatures of both functions, annotations too, and a lambda has none.
    @overload(symbol, jit_options=INLINED)
    def between(a, b):  # type: ignore[no-untyped-def]
        if isinstance(a, of) and a == b:
            return lambda a, b: operation(a, b)
        return None


def _compare(relation: str) -> Any:
    return _binary(
        lambda builder, a, b: builder.icmp_signed(relation, a, b), LanesType, lambda type_: MaskType(type_.groups)
    )


_define(operator.add, LanesType, _binary(lambda builder, a, b: builder.add(a, b), LanesType))
_define(operator.sub, LanesType, _binary(lambda builder, a, b: builder.sub(a, b), LanesType))
_define(operator.mul, LanesType, _binary(lambda builder, a, b: builder.mul(a, b), LanesType))
_define(operator.and_, LanesType, _binary(lambda builder, a, b: builder.and_(a, b), LanesType))
_define(operator.xor, LanesType, _binary(lambda builder, a, b: builder.xor(a, b), LanesType))
_define(operator.ge, LanesType, _compare(">="))
_define(operator.lt, LanesType, _compare("<"))
_define(operator.ne, LanesType, _compare("!="))
_define(operator.and_, MaskType, _binary(lambda builder, a, b: builder.and_(a, b), MaskType))
_define(operator.or_, MaskType, _binary(lambda builder, a, b: builder.or_(a, b), MaskType))


@overload(operator.invert, jit_options=INLINED)
def _not(mask):  # type: ignore[no-untyped-def]
    return (lambda mask: _invert(mask)) if isinstance(mask, MaskType) else None


# --- words -------------------------------------------------------------------------------------------------


@intrinsic
def count_row(typing_context: Any, width: Any, array: Any, index: Any) -> Any:
    """Count the set bits of ``array[index : index + len(width)]`` of uint32."""
    if not (_is_flat(array) and array.dtype == types.uint32):
        return None
    groups = len(width)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        vector = ir.VectorType(_INT32, groups)
        here = builder.bitcast(_address(context, builder, array, arguments[1], arguments[2]), vector.as_pointer())
        ones = _call(builder, f"llvm.ctpop.v{groups}i32", vector, [builder.load(here, align=4)])
        return builder.zext(_call(builder, f"llvm.vector.reduce.add.v{groups}i32", _INT32, [ones]), _WORD)

    return types.intp(width, array, types.intp), generate


def list_ones(array: Any, position: int, base: int, word: int) -> int:
    """Write ``base`` + the positions of the set bits of a uint64 to ``array[position:]`` of uint16; how many there are.

    Up to 64 elements may be overwritten, however few bits are set.
    """
    raise NotImplementedError("for compiled code only")


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


@intrinsic
def _compress(typing_context: Any, array: Any, position: Any, base: Any, word: Any) -> Any:
    """All positions at once, without a branch that the processor would have to guess."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        half, whole = ir.IntType(16), 2 * GROUP
        bytes_, mask = ir.VectorType(_BYTE, whole), builder.bitcast(arguments[3], ir.VectorType(_BIT, whole))
        numbers = ir.Constant(bytes_, [_BYTE(k) for k in range(whole)])
        unused = ir.Constant(bytes_, None)
        positions = _call(builder, "llvm.experimental.vector.compress.v64i8", bytes_, [numbers, mask, unused])
        offset = _splat(builder, builder.trunc(arguments[2], half), ir.VectorType(half, whole), whole)
        words = builder.add(builder.zext(positions, offset.type), offset)
        here = _address(context, builder, array, *arguments[:2])
        builder.store(words, builder.bitcast(here, offset.type.as_pointer()), align=2)
        return builder.ctpop(arguments[3])

    return types.intp(array, types.intp, types.intp, types.uint64), generate


@intrinsic
def nonzero_bytes(typing_context: Any, array: Any, index: Any) -> Any:
    """Tell which of the 64 elements ``array[index:]`` of uint8 are not 0, as a uint64."""
    if not (_is_flat(array) and array.dtype == types.uint8):
        return None

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        bytes_ = ir.VectorType(_BYTE, 64)
        here = builder.bitcast(_address(context, builder, array, *arguments), bytes_.as_pointer())
        set_ = builder.icmp_unsigned("!=", builder.load(here, align=1), ir.Constant(bytes_, None))
        return builder.bitcast(set_, _WORD)

    return types.uint64(array, types.intp), generate


@intrinsic
def clear_bytes(typing_context: Any, array: Any, index: Any) -> Any:
    """Set the 64 elements ``array[index:]`` of uint8 to 0."""
    if not (_is_flat(array) and array.dtype == types.uint8):
        return None

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        bytes_ = ir.VectorType(_BYTE, 64)
        here = builder.bitcast(_address(context, builder, array, *arguments), bytes_.as_pointer())
        builder.store(ir.Constant(bytes_, None), here, align=1)
        return context.get_dummy_value()

    return types.void(array, types.intp), generate


def target_has(feature: str) -> bool:
    """Whether Numba compiles for a processor with this feature (this one, or ``NUMBA_CPU_FEATURES``)."""
    if config.CPU_FEATURES is not None:
        return f"+{feature}" in config.CPU_FEATURES.split(",")
    return bool(llvmlite.binding.get_host_cpu_features().get(feature, False))


@intrinsic
def trailing_zeros(typing_context: Any, word: Any) -> Any:
    """Position of the lowest set bit of a uint64 that is not 0."""
    if word != types.uint64:
        return None

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], _BIT(1))

    return types.intp(word), generate


@intrinsic
def count_ones(typing_context: Any, word: Any) -> Any:
    """Count the set bits of a uint64 or uint32."""
    if word not in (types.uint64, types.uint32):
        return None

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        ones = builder.ctpop(arguments[0])
        return ones if word == types.uint64 else builder.zext(ones, ir.IntType(64))

    return types.intp(word), generate
