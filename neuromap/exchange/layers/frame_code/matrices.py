"""Linear operators of a graph as sparse matrices, on elements in the order in which the source stores them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, eye_array, kron

from neuromap.errors import NotSupportedError
from neuromap.formats.layers.operator import Operator, TensorShape

__all__ = ["MOST_ENTRIES", "conv_matrix", "dense_matrix", "mean_matrix", "moved_elements", "window_matrix"]

MOST_ENTRIES = 2**26
"""Most entries of one such matrix that are not zero."""

Ints = NDArray[np.int64]


def conv_matrix(one: Operator, source: TensorShape, target: TensorShape) -> csr_array:
    """Build the matrix of a convolution: (n_target, n_source) of float64."""
    if not one.constants:
        raise NotSupportedError("its weights are not at hand")
    kernel = one.constants[0].astype(np.float64)
    groups = int(one.setting("groups", 1))
    n_target, n_source = target[1], source[1]
    if (
        kernel.ndim != len(source)
        or n_target % groups
        or kernel.shape[0] != n_target
        or kernel.shape[1] * groups != n_source
    ):
        raise NotSupportedError(f"its weights of shape {list(kernel.shape)} do not fit {n_source} features")
    _check_windows(one, kernel.shape[2:], source, target)
    cells, places = math.prod(source[2:]), math.prod(target[2:])
    rows, columns, values = [], [], []
    entries = 0
    for offset in product(*(range(n) for n in kernel.shape[2:])):
        read, made = _touched(one, offset, source[2:], target[2:])
        at: tuple[Any, ...] = (slice(None), slice(None), *offset)
        features, taken = np.nonzero(kernel[at])
        entries += len(features) * len(made)
        if entries > MOST_ENTRIES:
            raise NotSupportedError(f"its matrix has more than 2**26 = {MOST_ENTRIES} weights")
        from_feature = taken + features // (n_target // groups) * kernel.shape[1]
        rows.append((features[:, None] * places + made).ravel())
        columns.append((from_feature[:, None] * cells + read).ravel())
        values.append(np.repeat(kernel[(features, taken, *offset)], len(made)))
    return _matrix(values, rows, columns, (n_target * places, n_source * cells))


def window_matrix(one: Operator, source: TensorShape, target: TensorShape) -> csr_array:
    """Build the matrix of 1 where a window of a pool, feature by feature, touches a cell."""
    if "kernel" not in one.settings:
        return _axes_matrix(one, source)
    _check_windows(one, one.settings["kernel"], source, target)
    cells, places, n = math.prod(source[2:]), math.prod(target[2:]), source[1]
    rows, columns = [], []
    for offset in product(*(range(k) for k in one.settings["kernel"])):
        read, made = _touched(one, offset, source[2:], target[2:])
        features = np.arange(n)[:, None]
        rows.append((features * places + made).ravel())
        columns.append((features * cells + read).ravel())
    return _matrix([np.ones(len(part)) for part in rows], rows, columns, (n * places, n * cells))


def mean_matrix(one: Operator, source: TensorShape, target: TensorShape) -> csr_array:
    """Build the matrix of a mean or a sum."""
    windows = window_matrix(one, source, target)
    if not one.setting("mean"):
        return windows
    if one.setting("counts_padding") and "kernel" in one.settings:
        return csr_array(windows / math.prod(one.settings["kernel"]))
    counts = np.maximum(windows.sum(axis=1), 1)
    windows.data = windows.data / np.repeat(counts, np.diff(windows.indptr))
    return windows


def dense_matrix(one: Operator, source: TensorShape) -> csr_array:
    """Build the matrix of a constant that the last axis is multiplied by, row by row."""
    if not one.constants or one.constants[0].ndim != 2 or one.constants[0].shape[1] != source[-1]:
        raise NotSupportedError("its weights are not at hand, or no matrix for its last axis")
    rows = math.prod(source[:-1])
    weights = csr_array(one.constants[0].astype(np.float64))
    if weights.nnz * rows > MOST_ENTRIES:
        raise NotSupportedError(f"its matrix has more than 2**26 = {MOST_ENTRIES} weights")
    return weights if rows == 1 else csr_array(kron(eye_array(rows), weights))


def moved_elements(one: Operator, shapes: Sequence[TensorShape], target: TensorShape) -> tuple[Ints, float]:
    """Give, for every element of what a move makes, which element of what it reads it is."""
    # gives elements: -1 where there is a constant instead
    # shapes: elements (n_target,)
    starts = np.cumsum([0, *(math.prod(shape) for shape in shapes)])
    grids = [np.arange(math.prod(s), dtype=np.int64).reshape(s) + k for s, k in zip(shapes, starts[:-1], strict=True)]
    try:
        moved, constant = _moved(one, grids)
    except (KeyError, ValueError, IndexError):
        raise NotSupportedError(f"where its {one.called} puts elements is not known") from None
    if moved.size != math.prod(target):
        raise NotSupportedError(f"where its {one.called} puts elements is not known")
    return moved.ravel(), constant


def _moved(one: Operator, grids: list[Ints]) -> tuple[Ints, float]:
    grid, settings = grids[0], one.settings
    if one.kind == "reshape":
        return grid, 0.0
    if one.kind == "transpose":
        return np.transpose(grid, settings["order"]), 0.0
    if one.kind == "concat":
        if not settings["whole"]:
            raise ValueError("constants")
        return np.concatenate(grids, settings["axis"]), 0.0
    if one.kind == "pad":
        pads, n = settings["pads"], grid.ndim
        if min(pads) < 0 or len(pads) != 2 * n:
            raise ValueError("pads")
        return np.pad(grid, list(zip(pads[:n], pads[n:], strict=True)), constant_values=-1), settings["value"]
    if "index" in settings:
        return np.take(grid, settings["index"], settings["axis"]), 0.0
    where = [slice(None)] * grid.ndim
    where[settings["axis"]] = slice(settings["start"], settings["stop"], settings["step"])
    return grid[tuple(where)], 0.0


def _check_windows(one: Operator, kernel: Sequence[int], source: TensorShape, target: TensorShape) -> None:
    """Hold the shape that the source says against the windows that there are: shapes may be said, not found."""
    n = len(kernel)
    stride, dilation = one.setting("stride", (1,) * n), one.setting("dilation", (1,) * n)
    pads = one.setting("pads", (0,) * 2 * n)
    if not len(source) == len(target) == n + 2:
        raise NotSupportedError(f"its shape {list(target)} does not follow from {list(source)}")
    for axis, (length, made) in enumerate(zip(source[2:], target[2:], strict=True)):
        left = length + pads[axis] + pads[axis + n] - (kernel[axis] - 1) * dilation[axis] - 1
        # maxima and means may have a last window that is not whole
        most = left // stride[axis] if one.kind == "conv" else -(-left // stride[axis])
        if not left // stride[axis] <= made - 1 <= most:
            raise NotSupportedError(f"its shape {list(target)} does not follow from {list(source)}")


def _touched(one: Operator, offset: Sequence[int], source: TensorShape, target: TensorShape) -> tuple[Ints, Ints]:
    """List the cells that one cell of a kernel reads, and the windows that it belongs to."""
    n = len(source)
    reads, windows = [], []
    for axis, at in enumerate(offset):
        start = np.arange(target[axis], dtype=np.int64) * one.setting("stride", (1,) * n)[axis]
        cell = start - one.setting("pads", (0,) * 2 * n)[axis] + at * one.setting("dilation", (1,) * n)[axis]
        inside = np.flatnonzero((cell >= 0) & (cell < source[axis]))
        reads.append(cell[inside])
        windows.append(inside)
    return _flat(reads, source), _flat(windows, target)


def _flat(along: Sequence[Ints], lengths: TensorShape) -> Ints:
    flat = np.zeros(1, np.int64)
    for cells, length in zip(along, lengths, strict=True):
        flat = (flat[:, None] * length + cells).ravel()
    return flat


def _axes_matrix(one: Operator, source: TensorShape) -> csr_array:
    axes = one.setting("axes")
    if axes is None:
        raise NotSupportedError("what its window covers is not known")
    kept = [length if axis not in axes else 1 for axis, length in enumerate(source)]
    target = np.broadcast_to(np.arange(math.prod(kept)).reshape(kept), source).ravel()
    size = math.prod(source)
    return _matrix([np.ones(size)], [target], [np.arange(size)], (math.prod(kept), size))


def _matrix(
    values: Sequence[NDArray[np.float64]], rows: Sequence[Ints], columns: Sequence[Ints], shape: tuple[int, int]
) -> csr_array:
    entries = (np.concatenate([*rows, []]).astype(np.int64), np.concatenate([*columns, []]).astype(np.int64))
    return csr_array((np.concatenate([*values, []]), entries), shape=shape)
