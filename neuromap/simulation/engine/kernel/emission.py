"""Building blocks of the kernels' intrinsics: types, fragments of LLVM code and compiler options."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import models, register_model

# Options of functions called only from compiled code: no reference counting of every array at every call, and no
# entry points for Python and C, which take longer to compile than the functions.
CALLED = {"error_model": "numpy", "_nrt": False, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}

INLINED = {**CALLED, "forceinline": True}

# Lanes of one group: a row of synapse bits is read as one uint32 per group.
GROUP = 32

BIT, BYTE, INT32, WORD = ir.IntType(1), ir.IntType(8), ir.IntType(32), ir.IntType(64)


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
        super().__init__(dmm, fe_type, ir.ArrayType(ir.VectorType(BIT, GROUP), fe_type.groups))


def lane_vector(bits: int) -> ir.VectorType:
    """Type of one group of lanes."""
    return ir.VectorType(ir.IntType(bits), GROUP)


def each_group(builder: Any, llvm_type: Any, groups: int, make: Callable[[int], Any]) -> Any:
    """Aggregate the values ``make(group)`` of all groups."""
    value = ir.Constant(llvm_type, ir.Undefined)
    for group in range(groups):
        value = builder.insert_value(value, make(group), group)
    return value


def address(context: Any, builder: Any, array_type: Any, array: Any, index: Any) -> Any:
    """Pointer to an element of a flat array."""
    data = context.make_array(array_type)(context, builder, array).data
    return builder.gep(data, [index], inbounds=True)


def splat(builder: Any, scalar: Any, vector: ir.VectorType, lanes: int = GROUP) -> Any:
    """Broadcast a scalar to every lane."""
    undefined = ir.Constant(vector, ir.Undefined)
    first = builder.insert_element(undefined, scalar, INT32(0))
    return builder.shuffle_vector(first, undefined, ir.Constant(ir.VectorType(INT32, lanes), None))


def call_llvm(builder: Any, name: str, result: Any, arguments: list[Any]) -> Any:
    """Call a function by name: an LLVM intrinsic, or a symbol added to LLVM."""
    function_type = ir.FunctionType(result, [argument.type for argument in arguments])
    return builder.call(cgutils.get_or_insert_function(builder.module, function_type, name), arguments)


def is_flat(array: Any) -> bool:
    """Whether a type is that of flat contiguous arrays."""
    return isinstance(array, types.Array) and array.ndim == 1 and array.layout == "C"
