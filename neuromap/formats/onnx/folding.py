"""Constants that follow from constants: weights that the graph binarises or scales, shapes that it puts together."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.formats.layers.operator import TensorShape
from neuromap.formats.onnx.stored_tensors import Stored

__all__ = ["folded"]

_MOST = 2**28
"""Most elements of a constant that is computed."""
Array = NDArray[Any]


def _cast(a: Mapping[str, Any], x: Array) -> Array:
    import onnx

    return x.astype(onnx.helper.tensor_dtype_to_np_dtype(a["to"]))


def _axes(a: Mapping[str, Any], given: tuple[Array, ...]) -> tuple[int, ...] | None:
    axes = given[0].ravel().tolist() if given else a.get("axes")
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


def _dequantise(a: Mapping[str, Any], x: Array, scale: Array, *zero: Array) -> Array:
    def along(part: Array) -> Array:
        if part.ndim != 1 or part.size == 1:
            return part
        return part.reshape([-1 if k == a.get("axis", 1) % x.ndim else 1 for k in range(x.ndim)])

    shifted = x.astype(np.int32) - (along(zero[0]).astype(np.int32) if zero else 0)
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
}


def _slice(x: Array, start: Array, end: Array, *rest: Array) -> Array:
    axes = rest[0].tolist() if rest else range(len(start))
    steps = rest[1].tolist() if len(rest) > 1 else [1] * len(start)
    where = [slice(None)] * x.ndim
    for axis, first, last, step in zip(axes, start.tolist(), end.tolist(), steps, strict=True):
        where[axis] = slice(first, None if step < 0 and last < -x.shape[axis] else last, step)
    return x[tuple(where)]


def folded(op: str, attributes: Mapping[str, Any], arrays: list[Stored], shape: TensorShape | None) -> Stored:
    """Compute a constant.

    Parameters
    ----------
    op : str
        Type of the operator.
    attributes : mapping of str to object
        Of the operator.
    arrays : list of (ndarray or None)
        What it takes.
    shape : tuple of int or None
        Of what it gives, where it is known.

    Returns
    -------
    ndarray or None
        ``None`` where its numbers stay unknown: no operator of the table, too large, or one that fails.
    """
    compute = _COMPUTED.get(op)
    if compute is None or any(array is None for array in arrays):
        return None
    known = [array for array in arrays if array is not None]
    sizes = [max((array.size for array in known), default=0)]
    if op not in ("Gather", "Slice", "Concat", "Squeeze", "Reshape", "Transpose", "ReduceProd", "ReduceMean"):
        try:
            sizes.append(math.prod(np.broadcast_shapes(*(array.shape for array in known[:3]))))
        except ValueError:
            return None
    if shape is not None:
        sizes.append(math.prod(shape))
    if op in ("Concat", "Gather"):
        sizes.append(sum(array.size for array in known) if op == "Concat" else known[0].size * max(1, known[-1].size))
    if max(sizes) > _MOST:
        return None
    try:
        with np.errstate(all="ignore"):
            result = np.asarray(compute(attributes, *known))
    except Exception:  # whatever NumPy raises of arrays that do not fit: then the number is not known, nothing more
        return None
    return result
