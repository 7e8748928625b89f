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
