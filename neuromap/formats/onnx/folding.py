"""Constants that follow from constants: weights that the graph binarises or scales, shapes that it puts together."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.errors import InputError
from neuromap.files.messages import show, show_name
from neuromap.files.regular_file import check_regular
from neuromap.formats.layers.operator import Operator, TensorShape, settings_of_frame

_MOST = 2**28
"""Most elements of a constant that is computed."""
Array = NDArray[Any]


def _cast(a: Mapping[str, Any], x: Array) -> Array:
    import onnx

    return x.astype(onnx.helper.tensor_dtype_to_np_dtype(a["to"]))


def _axes(a: Mapping[str, Any], given: tuple[Array, ...]) -> tuple[int, ...] | None:
    axes = given[0].ravel().tolist() if given and given[0] is not None else a.get("axes")
    return None if axes is None else tuple(int(n) for n in axes)


def _unsqueeze(a: Mapping[str, Any], x: Array, *given: Array) -> Array:
    return np.expand_dims(x, _axes(a, given) or (0,))


def _squeeze(a: Mapping[str, Any], x: Array, *given: Array) -> Array:
    return np.squeeze(x, _axes(a, given))


def _reshape(a: Mapping[str, Any], x: Array, shape: Array) -> Array:
    wanted = [x.shape[k] if n == 0 and not a.get("allowzero") else int(n) for k, n in enumerate(shape.tolist())]
    return x.reshape(wanted)


def _divide(x: Array, y: Array) -> Array:
    if np.issubdtype(x.dtype, np.integer):
        return (np.trunc(x / y)).astype(x.dtype)
    result: Array = x / y
    return result


def _dequantise(a: Mapping[str, Any], x: Array, scale: Array, zero: Stored = None) -> Array:
    def along(part: Array) -> Array:
        if part.ndim != 1 or part.size == 1:
            return part
        return part.reshape([-1 if k == a.get("axis", 1) % x.ndim else 1 for k in range(x.ndim)])

    shifted = x.astype(np.int32) - (0 if zero is None else along(zero).astype(np.int32))
    result: Array = shifted.astype(scale.dtype) * along(scale)
    return result


_COMPUTED: Mapping[str, Callable[..., Any]] = {
    "Identity": lambda a, x: x,
    "Sign": lambda a, x: np.sign(x),
    "Neg": lambda a, x: -x,
    "Abs": lambda a, x: np.abs(x),
    "Sqrt": lambda a, x: np.sqrt(x),
    "Floor": lambda a, x: np.floor(x),
    "Ceil": lambda a, x: np.ceil(x),
    "Round": lambda a, x: np.round(x),
    "Reciprocal": lambda a, x: np.reciprocal(x),
    "Not": lambda a, x: ~x,
    "Add": lambda a, x, y: x + y,
    "Sub": lambda a, x, y: x - y,
    "Mul": lambda a, x, y: x * y,
    "Div": lambda a, x, y: _divide(x, y),
    "Max": lambda a, *xs: np.maximum.reduce(np.broadcast_arrays(*xs)),
    "Min": lambda a, *xs: np.minimum.reduce(np.broadcast_arrays(*xs)),
    "Greater": lambda a, x, y: x > y,
    "GreaterOrEqual": lambda a, x, y: x >= y,
    "Less": lambda a, x, y: x < y,
    "LessOrEqual": lambda a, x, y: x <= y,
    "Equal": lambda a, x, y: x == y,
    "Where": lambda a, c, x, y: np.where(c, x, y),
    "Cast": _cast,
    "Clip": lambda a, x, low=None, high=None: np.clip(x, a.get("min", low), a.get("max", high)),
    "Transpose": lambda a, x: np.transpose(x, a.get("perm")),
    "Reshape": _reshape,
    "Flatten": lambda a, x: x.reshape(math.prod(x.shape[: a.get("axis", 1)]), -1),
    "Unsqueeze": _unsqueeze,
    "Squeeze": _squeeze,
    "Concat": lambda a, *xs: np.concatenate(xs, a["axis"]),
    "Gather": lambda a, x, k: np.take(x, k, a.get("axis", 0)),
    "Slice": lambda a, x, start, end, *rest: _slice(x, start, end, *rest),
    "ReduceProd": lambda a, x, *axes: np.prod(x, _axes(a, axes), keepdims=bool(a.get("keepdims", 1))),
    "ReduceMean": lambda a, x, *axes: np.mean(x, _axes(a, axes), keepdims=bool(a.get("keepdims", 1))),
    "DequantizeLinear": _dequantise,
    "Split": lambda a, x, sizes=None: _split(a, x, sizes),
}
"""Of attributes and what an operator takes; ``None`` in place of what it is not given. Split gives a list."""


def _slice(x: Array, start: Array, end: Array, *rest: Stored) -> Array:
    given = [None if part is None else part.tolist() for part in (*rest, None, None)]
    axes, steps = given[0] or range(len(start)), given[1] or [1] * len(start)
    where = [slice(None)] * x.ndim
    for axis, first, last, step in zip(axes, start.tolist(), end.tolist(), steps, strict=True):
        where[axis] = slice(first, None if step < 0 and last < -x.shape[axis] else last, step)
    return x[tuple(where)]


def part_lengths(a: Mapping[str, Any], length: int | None, parts: int, given: Stored = None) -> Sequence[int] | None:
    """Give the lengths of the parts that Split makes, in any opset."""
    # gives ``None`` where they are not known
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


def _split(a: Mapping[str, Any], x: Array, sizes: Stored) -> list[Array]:
    axis = a.get("axis", 0)
    lengths = part_lengths(a, x.shape[axis], a["parts"], sizes) or ()
    return np.split(x, np.cumsum(lengths)[:-1], axis)


def folded(
    op: str, attributes: Mapping[str, Any], arrays: list[Stored], shape: TensorShape | None, parts: int = 1
) -> list[Array]:
    """Compute constants."""
    # arrays: what it takes; ``None`` in the place of what it is not given
    compute = _COMPUTED.get(op)
    if compute is None or (op != "Split" and parts != 1):
        return []
    known = [array for array in arrays if array is not None]
    sizes = [max((array.size for array in known), default=0)]
    if op not in ("Gather", "Slice", "Concat", "Squeeze", "Reshape", "Transpose", "ReduceProd", "ReduceMean", "Split"):
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
            found = compute({**attributes, "parts": parts}, *arrays)
            return [np.asarray(array) for array in (found if isinstance(found, list) else [found])]
    except Exception:  # whatever NumPy raises of arrays that do not fit: then the number is not known, nothing more
        return []


# What is known while the operators of an ONNX file are read one after the other.


class Reading:
    """Tensors and operators that are known so far."""

    # constants: tensors that no input changes; ``None`` where their numbers are not at hand. It is added to

    def __init__(
        self,
        shapes: Mapping[str, TensorShape | None],
        constants: dict[str, Stored],
        constant_shapes: dict[str, TensorShape],
        batch: int,
    ) -> None:
        self.constants = constants
        self.constant_shapes = constant_shapes
        self.operators: list[Operator] = []
        self.unread: list[str] = []
        self.origins = {name: name for name in constant_shapes}
        """Stored tensors that constants are computed from."""
        self._shapes, self._batch = shapes, batch

    def is_constant(self, tensor: str) -> bool:
        """Tell whether no input changes a tensor; one that is not given does not change either."""
        return not tensor or tensor in self.constants

    def constant(self, tensor: str) -> Stored:
        """Give the numbers of a constant, or ``None``."""
        return self.constants.get(tensor)

    def whole_shape(self, tensor: str) -> TensorShape | None:
        """Give the shape of a tensor for the whole batch."""
        array = self.constants.get(tensor)
        if array is not None:
            return array.shape
        return self.constant_shapes.get(tensor) or self._shapes.get(tensor)

    def frame_shape(self, tensor: str) -> TensorShape | None:
        """Give the shape of a tensor for one frame."""
        shape = self._shapes.get(tensor)
        if shape and shape[0] == self._batch:
            return (1, *shape[1:])
        return shape

    def per_frame(self, work: int | None) -> int | None:
        """Give the part of one frame of a batch's multiply-accumulates."""
        return None if work is None else work // self._batch

    def add(
        self,
        node: Any,
        label: str,
        kind: str,
        reads: Sequence[str],
        *,
        settings: Mapping[str, Any] | None = None,
        constants: Sequence[NDArray[Any]] = (),
        work: int | None = 0,
        gives: str | None = None,
        called: str = "",
    ) -> None:
        """Take an operator over."""
        tensor = node.output[0] if gives is None else gives
        source = self.whole_shape(reads[0]) if reads else None
        self.operators.append(
            Operator(
                name=label,
                kind=kind,
                reads=tuple(reads),
                gives=tensor,
                shape=self.frame_shape(tensor),
                work=self.per_frame(work),
                called=called or node.op_type,
                settings=settings_of_frame(kind, settings or {}, source, self._batch),
                constants=tuple(constants),
            )
        )


def ints(attributes: Mapping[str, Any], key: str, length: int, default: int, least: int = 0) -> tuple[int, ...]:
    """Take a list of integers of an attribute."""
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
Stored = NDArray[Any] | None
"""``None`` where a tensor is constant, but its numbers are not at hand."""


def stored_shape(tensor: Any) -> tuple[int, ...]:
    """Give the shape of a stored tensor."""
    shape = tuple(int(n) for n in tensor.dims)
    if any(n < 0 for n in shape) or len(shape) > 16:
        raise InputError(f"tensor {show_name(tensor.name)}: found shape {show(list(shape))}; lengths are 0 or more")
    return shape


def stored_array(tensor: Any, folder: Path) -> Stored:
    """Give the numbers of a stored tensor."""
    # tensor: its numbers in it, or a name of a file, where they start in it and how many bytes they take
    # gives ``None`` for texts
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
        raise InputError(f"{where}: its place in {show(name)} is no number; write the file again") from None
    try:
        size = check_regular(path, "file of weights", InputError).st_size
    except InputError as error:
        raise InputError(f"{where}: {show(name)} {error}") from None
    if length != wanted or wanted > _MOST_BYTES or start < 0 or start + length > size:
        raise InputError(
            f"{where}: wants {wanted} bytes, has {length} from {start} of {show(name)}, which has {size}; write both "
            "files again"
        )
    with path.open("rb") as stream:
        stream.seek(start)
        return bytes(stream.read(length))
