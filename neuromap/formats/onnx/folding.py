"""Constants that follow from constants: weights that the graph binarises or scales, shapes that it puts together."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.formats.layers.operator import TensorShape
from neuromap.formats.onnx.stored_tensors import Stored

__all__ = ["folded", "part_lengths"]

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
