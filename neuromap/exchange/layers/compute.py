"""Operators of a graph on sums of spikes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
from scipy.sparse import csr_array, eye_array, hstack, kron

from neuromap.arrays.array_types import Floats, Ints
from neuromap.errors import NotSupportedError
from neuromap.exchange.layers.decide import Pending, SpikeSums
from neuromap.formats.layers import FUNCTIONS, Operator, TensorShape
from neuromap.network.weights import MAX_NEURONS

_MOVES = ("reshape", "transpose", "slice", "concat", "pad")


def compute(one: Operator, tensors: Mapping[str, SpikeSums]) -> SpikeSums:
    """Apply an operator."""
    if one.shape is None:
        raise NotSupportedError("its shape is not known")
    if math.prod(one.shape) > MAX_NEURONS:
        raise NotSupportedError(f"it has more than 2**24 = {MAX_NEURONS} elements")
    read = [tensors[tensor] for tensor in one.reads]
    first, shape = read[0], one.shape
    if one.kind == "function":
        name = one.setting("function", "")
        if name not in FUNCTIONS:
            raise NotSupportedError(f"{one.called} takes more than two values")
        return first.with_function(name, one.constants) if name != "same" else first
    if one.kind in _MOVES:
        elements, constant = moved_elements(one, [part.shape for part in read], shape)
        return _joined(read).picked(elements, shape, constant)
    if one.kind == "conv":
        return _with_bias(first.through(conv_matrix(one, first.shape, shape), shape), one, axis=1)
    if one.kind == "dense":
        return _with_bias(first.through(dense_matrix(one, first.shape), shape), one, axis=len(shape) - 1)
    if one.kind == "average":
        return first.through(mean_matrix(one, first.shape, shape), shape)
    if one.kind == "max_pool":
        return _greatest(one, first)
    if one.kind == "add":
        return _sum(one, read)
    raise NotSupportedError(f"{one.called} is not a sum")


def _joined(read: list[SpikeSums]) -> SpikeSums:
    """Put tensors one after the other."""
    if len(read) == 1:
        return read[0]
    plain = [part.summed() for part in read]
    starts = np.cumsum([0, *(part.size for part in plain)])
    shape = (1, int(starts[-1]))
    weights: dict[str, csr_array] = {}
    for part, start in zip(plain, starts[:-1].tolist(), strict=True):
        for name, matrix in part.weights.items():
            entries = matrix.tocoo()
            moved = csr_array((entries.data, (entries.row + start, entries.col)), shape=(shape[1], matrix.shape[1]))
            weights[name] = csr_array(weights[name] + moved) if name in weights else moved
    return SpikeSums(shape, weights, np.concatenate([part.offset for part in plain]))


def _with_bias(found: SpikeSums, one: Operator, axis: int) -> SpikeSums:
    """Add a bias, as a function that waits: it is added to a sum that is exact."""
    if len(one.constants) < 2:
        if len(one.constants) == 1 or not one.setting("biased"):
            return found
        raise NotSupportedError("its bias is unknown")
    along = [1] * len(found.shape)
    along[axis] = -1
    bias = one.constants[1]
    if bias.size > 1:
        bias = bias.reshape(along)
    spread = np.broadcast_to(bias, found.shape).reshape(-1).astype(np.float32)
    return replace(found, pending=(Pending("plus", (spread,)),))


def _sum(one: Operator, read: list[SpikeSums]) -> SpikeSums:
    """Add tensors of one shape."""
    shape = one.shape or ()
    total: SpikeSums | None = None
    for part, sign in zip(read, one.setting("signs", (1,) * len(read)), strict=True):
        plain = part.summed()
        if plain.shape != shape:
            elements = np.broadcast_to(np.arange(plain.size).reshape(plain.shape), shape).ravel()
            plain = plain.picked(elements, shape)
        weights = {name: csr_array(matrix * sign) for name, matrix in plain.weights.items()}
        if total is None:
            total = SpikeSums(shape, weights, plain.offset * sign)
            continue
        merged = {**total.weights}
        for name, matrix in weights.items():
            merged[name] = csr_array(merged[name] + matrix) if name in merged else matrix
        total = SpikeSums(shape, merged, total.offset + plain.offset * sign)
    assert total is not None
    return total


def _greatest(one: Operator, read: SpikeSums) -> SpikeSums:
    """Take the greatest of windows of spikes that are worth the same: an OR, or an AND where silence is worth more."""
    if read.pending or read.spikes_per_element().min(initial=1) < 1 or read.spikes_per_element().max(initial=1) > 1:
        raise NotSupportedError("it takes the greatest of what are not spikes")
    step = np.concatenate([matrix.data for matrix in read.weights.values()])
    if len(np.unique(step)) != 1 or len(np.unique(read.offset)) != 1:
        raise NotSupportedError("it takes the greatest of spikes that are not worth the same")
    windows = window_matrix(one, read.shape, one.shape or ())
    weights = {name: csr_array(windows @ (matrix / step[0])) for name, matrix in read.weights.items()}
    size = windows.shape[0]
    counts = np.asarray(windows.sum(axis=1), np.float32)
    high, low = np.float32(read.offset[0] + max(step[0], 0)), np.float32(read.offset[0] + min(step[0], 0))
    is_any = Pending("greater_or_equal", (np.ones(size, np.float32),))
    is_some_silent = Pending("less", (counts,))
    pending = (is_any if step[0] > 0 else is_some_silent, Pending("where", (np.asarray(high), np.asarray(low))))
    return SpikeSums(one.shape or (), weights, np.zeros(size), pending)


def all_weights(found: SpikeSums) -> csr_array:
    """Put the weights from all nodes beside each other."""
    return csr_array(hstack(list(found.weights.values()))) if found.weights else csr_array((found.size, 0))


# Linear operators of a graph as sparse matrices, on elements in the order in which the source stores them.


MOST_ENTRIES = 2**26
"""Most entries of one such matrix that are not zero."""


def conv_matrix(one: Operator, source: TensorShape, target: TensorShape) -> csr_array:
    """Build the matrix of a convolution: (n_target, n_source) of float64."""
    if not one.constants:
        raise NotSupportedError("its weights are unknown")
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
        raise NotSupportedError("its weights are unknown, or not a matrix for its last axis")
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
        raise NotSupportedError(
            f"where its {one.called} puts elements is not known; write the model without it"
        ) from None
    if moved.size != math.prod(target):
        raise NotSupportedError(f"where its {one.called} puts elements is not known; write the model without it")
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
    values: Sequence[Floats], rows: Sequence[Ints], columns: Sequence[Ints], shape: tuple[int, int]
) -> csr_array:
    entries = (np.concatenate([*rows, []]).astype(np.int64), np.concatenate([*columns, []]).astype(np.int64))
    return csr_array((np.concatenate([*values, []]), entries), shape=shape)
