"""Operators of a graph on sums of spikes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from scipy.sparse import csr_array, hstack

from neuromap.errors import NotSupportedError
from neuromap.exchange.layers.frame_code.matrices import (
    conv_matrix,
    dense_matrix,
    mean_matrix,
    moved_elements,
    window_matrix,
)
from neuromap.exchange.layers.frame_code.values import Pending, SpikeSums
from neuromap.formats.layers.functions import FUNCTIONS
from neuromap.formats.layers.operator import Operator
from neuromap.network.transforms.limits import MAX_NEURONS

__all__ = ["compute"]

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
    raise NotSupportedError(f"{one.called} is no sum")


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
        raise NotSupportedError("its bias is not at hand")
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
        raise NotSupportedError("it takes the greatest of what are no spikes")
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
