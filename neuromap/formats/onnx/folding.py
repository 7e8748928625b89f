"""Constant folding: weights that the graph binarises or scales, shapes that it assembles."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.errors import InputError, prefixed
from neuromap.files.foreign import check_regular
from neuromap.files.messages import show, show_name
from neuromap.formats.layers import TensorShape, integers_and_scale, is_integer

# Most elements of a computed constant.
_MOST = 2**28
Array = NDArray[Any]


# Operators that are evaluated: their results are bounded by their inputs, and they run no graph of their own.
_COMPUTED = {
    *("Abs", "Add", "Cast", "Ceil", "Clip", "Concat", "DequantizeLinear", "Div", "Equal", "Flatten", "Floor"),
    *("Gather", "Greater", "GreaterOrEqual", "Identity", "Less", "LessOrEqual", "Max", "Min", "Mul", "Neg", "Not"),
    *("Reciprocal", "ReduceMean", "ReduceProd", "Reshape", "Round", "Sign", "Slice", "Split", "Sqrt", "Squeeze"),
    *("Sub", "Transpose", "Unsqueeze", "Where"),
}
# Operators that do not broadcast their inputs; scales lie along an axis.
_OF_OTHER_SHAPES = (
    *("Gather", "Slice", "Concat", "Squeeze", "Reshape", "Transpose", "ReduceProd", "ReduceMean", "Split"),
    "DequantizeLinear",
)
# Opsets before which ONNX does not evaluate an operator, or takes its axes in the wrong order; 6 for all others.
_FIRST_EVALUATED = {"DequantizeLinear": 19, "Squeeze": 13, "Unsqueeze": 13}


def part_lengths(a: Mapping[str, Any], length: int | None, parts: int, given: Stored = None) -> Sequence[int] | None:
    """Find the lengths of the parts that Split makes, in any opset."""
    # ``None`` if they are not known
    said = a.get("split") if given is None else given.ravel().tolist()
    if said is None:
        if a.get("num_outputs", parts) != parts or parts < 1:
            raise ValueError("parts")
        if length is None:
            return None
        each = -(-length // parts)
        if "num_outputs" not in a and length % parts:
            raise ValueError("parts are not equal")
        said = [each] * (parts - 1) + [length - each * (parts - 1)]
    if len(said) != parts or min(said) < 0 or (length is not None and sum(said) != length):
        raise ValueError("lengths")
    return [int(n) for n in said]


def folded(
    node: Any, attributes: Mapping[str, Any], arrays: list[Stored], shape: TensorShape | None, opset: int
) -> list[Array]:
    """Evaluate an operator on constants, as the package ``onnx`` defines it."""
    # arrays: its inputs; ``None`` for one that is not given
    op = node.op_type
    if op not in _COMPUTED or (op != "Split" and len(node.output) != 1):
        return []
    known = [array for array in arrays if array is not None]
    if op == "Identity":
        return known  # weights that a model shares stay one array
    sizes = [max((array.size for array in known), default=0)]
    if op not in _OF_OTHER_SHAPES:
        try:
            sizes.append(math.prod(np.broadcast_shapes(*(array.shape for array in known[:3]))))
        except ValueError:
            return []
    if shape is not None:
        sizes.append(math.prod(shape))
    if op in ("Concat", "Gather"):
        sizes.append(sum(array.size for array in known) if op == "Concat" else known[0].size * max(1, known[-1].size))
    if max(sizes) > _MOST:
        return []
    try:
        with np.errstate(all="ignore"):
            return [np.asarray(array) for array in _evaluated(node, attributes, arrays, opset)]
    except Exception:  # whatever arrays that do not fit raise: then the result is just not known
        return []


_MOVES = ("Transpose", "Reshape", "Identity", "Flatten", "Squeeze", "Unsqueeze")


def exact_of(
    node: Any, attributes: Mapping[str, Any], arrays: list[Stored], known: Mapping[str, tuple[Array, Array]], opset: int
) -> tuple[Array, Array] | None:
    """Find integers and scale, of one shape, whose product is the result of an operator on constants."""
    if node.op_type in _MOVES and node.input[0] in known:
        parts = [folded(node, attributes, [part, *arrays[1:]], None, opset) for part in known[node.input[0]]]
        return (parts[0][0], parts[1][0]) if all(parts) else None
    if node.op_type != "DequantizeLinear" or attributes.get("block_size", 0) or not is_integer(arrays[0]):
        return None
    zero, axis = arrays[2] if len(arrays) > 2 else None, attributes.get("axis", 1)
    integers, scale = integers_and_scale(np.asarray(arrays[0]), np.asarray(arrays[1]), zero, axis)
    small = np.int16 if integers.size and integers.min() >= -(2**15) and integers.max() < 2**15 else np.int64
    return integers.astype(small), scale


def _evaluated(node: Any, attributes: Mapping[str, Any], arrays: list[Stored], opset: int) -> Sequence[Any]:
    import onnx
    from onnx.reference import ReferenceEvaluator

    op, count = node.op_type, len(node.output)
    # plain values only: ONNX would look for the numbers of a tensor in any file that it names
    kept = [one for one in node.attribute if isinstance(attributes.get(one.name), int | float | str | list)]
    if op == "Cast" and attributes["to"] == onnx.TensorProto.STRING:
        raise ValueError("texts are not numbers")
    if op == "Split" and arrays[0] is not None:  # ONNX takes any lengths
        part_lengths(attributes, arrays[0].shape[attributes.get("axis", 0)], count, *arrays[1:])
    elif op in ("Squeeze", "Unsqueeze") and "axes" in attributes:  # which opset 13 made an input
        kept, arrays = [], [arrays[0], np.asarray(attributes["axes"])]
    names = ["" if array is None else f"input {place}" for place, array in enumerate(arrays)]
    gives = [f"output {place}" for place in range(count)]
    function = onnx.helper.make_function(
        "neuromap", "folded", [name for name in names if name], gives,
        [onnx.NodeProto(op_type=op, input=names, output=gives, attribute=kept)],
        [onnx.helper.make_opsetid("", max(opset, _FIRST_EVALUATED.get(op, 6)))],
    )  # fmt: skip
    found: Sequence[Any] = ReferenceEvaluator(function).run(None, dict(zip(names, arrays, strict=True)), attributes={})
    return found


def ints(attributes: Mapping[str, Any], key: str, length: int, default: int, least: int = 0) -> tuple[int, ...]:
    """Read a list of integers from an attribute."""
    # length: how many there must be
    # least: what each must be at least
    found = attributes.get(key)
    if found is None:
        return (default,) * length
    values = tuple(found) if isinstance(found, Sequence | np.ndarray) and not isinstance(found, bytes | str) else ()
    if len(values) != length or not all(isinstance(n, int) and least <= n < 2**31 for n in values):
        raise InputError(
            f"attribute {show_name(key)}: found {show(found)}; expected {length} integers of {least} or more"
        )
    return values


# Tensors that an ONNX file stores: within it, or in a file beside it and nowhere else.
_MOST_BYTES = 2**31 - 1
# ``None`` if a tensor is constant, but its numbers are not available.
Stored = NDArray[Any] | None


def stored_shape(tensor: Any) -> tuple[int, ...]:
    """Shape of a stored tensor."""
    shape = tuple(int(n) for n in tensor.dims)
    if any(n < 0 for n in shape) or len(shape) > 16:
        raise InputError(f"tensor {show_name(tensor.name)}: found shape {show(list(shape))}; lengths are 0 or more")
    return shape


def stored_array(tensor: Any, folder: Path) -> Stored:
    """Read the numbers of a stored tensor."""
    # tensor: with its numbers, or with the name of a file, their start in it and their bytes
    # returns ``None`` for texts
    import onnx

    shape = stored_shape(tensor)
    if tensor.data_type in (onnx.TensorProto.STRING, onnx.TensorProto.UNDEFINED):
        return None
    try:
        dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type)
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            content = _from_file(tensor, folder, math.prod(shape) * dtype.itemsize)
            plain = onnx.TensorProto(name=tensor.name, dims=tensor.dims, data_type=tensor.data_type, raw_data=content)
            return np.asarray(onnx.numpy_helper.to_array(plain))
        return np.asarray(onnx.numpy_helper.to_array(tensor))
    except InputError:
        raise
    except Exception:  # whatever the package raises of numbers that do not fit
        raise InputError(
            f"tensor {show_name(tensor.name)}: its numbers do not fit its shape {show(list(shape))} and type; "
            "write the file again"
        ) from None


def _from_file(tensor: Any, folder: Path, wanted: int) -> bytes:
    """Read the numbers of a tensor from a file beside the model."""
    said = {entry.key: entry.value for entry in tensor.external_data}
    name, where = said.get("location", ""), f"tensor {show_name(tensor.name)}"
    if not name or name != Path(name).name or "\0" in name or "\\" in name:
        raise InputError(
            f"{where}: lies in {show(name)}; only files in the folder of the model itself are read, put it there"
        )
    path = folder / name
    if path.is_symlink():
        raise InputError(
            f"{where}: {show(name)} is a link; only files in the folder of the model are read, put it there"
        )
    try:
        start, length = int(said.get("offset", "0")), int(said.get("length", str(wanted)))
    except ValueError:
        raise InputError(f"{where}: its place in {show(name)} is not a number; write the file again") from None
    with prefixed(f"{where}: {show(name)} ", InputError):
        size = check_regular(path, "file of weights", InputError).st_size
    if length != wanted or wanted > _MOST_BYTES or start < 0 or start + length > size:
        raise InputError(
            f"{where}: wants {wanted} bytes, has {length} from {start} of {show(name)}, which has {size}; write both "
            "files again"
        )
    with path.open("rb") as stream:
        stream.seek(start)
        return bytes(stream.read(length))
