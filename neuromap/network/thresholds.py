"""Thresholds of a node: one per neuron, given as one number, one per feature, or one per neuron."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import frozen
from neuromap.errors import NetworkError
from neuromap.network.transforms.limits import show_shape

__all__ = ["spread_threshold", "threshold_shapes"]


def threshold_shapes(shape: tuple[int, int, int]) -> tuple[tuple[int, ...], ...]:
    """List the shapes that a threshold tensor of a node may have."""
    return ((math.prod(shape),), shape, (shape[2],))


def spread_threshold(values: NDArray[np.int64], shape: tuple[int, int, int]) -> NDArray[np.int64]:
    """Give every neuron its threshold."""
    # shapes: returns (size,)
    size = math.prod(shape)
    if values.ndim == 0:
        return np.broadcast_to(frozen(values), (size,))
    if values.shape not in threshold_shapes(shape):
        allowed = ", ".join(show_shape(s) for s in dict.fromkeys(threshold_shapes(shape)))
        raise NetworkError(f"threshold: found shape {show_shape(values.shape)}; allowed are {allowed}")
    per_feature = values.shape != (size,) and values.ndim == 1
    return frozen((np.broadcast_to(values, shape) if per_feature else values).reshape(size))
