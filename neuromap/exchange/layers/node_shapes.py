"""Shapes of nodes: rows, columns and features, whatever the order in which a source stores them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from neuromap.formats.layers.operator import TensorShape

__all__ = ["element_order", "node_shape"]


def node_shape(shape: TensorShape | None, *, features_first: bool = False) -> tuple[int, int, int] | None:
    """Give the rows, columns and features of a tensor."""
    # gives ``None`` where it is not known
    if shape is None:
        return None
    axes = _inner(shape)
    if len(axes) <= 1:
        return (1, 1, axes[0] if axes else 1)
    if len(axes) == 2:
        return (axes[1], 1, axes[0]) if features_first else (axes[0], 1, axes[1])
    return (math.prod(axes[1:-1]), axes[-1], axes[0])


def element_order(shape: TensorShape, *, features_first: bool = False) -> NDArray[np.int64]:
    """Give, neuron by neuron of the node, the element of the tensor that it stands for."""
    # shapes: returns (n_neurons,)
    axes = _inner(shape)
    elements = np.arange(math.prod(axes), dtype=np.int64)
    if len(axes) < 2 or (len(axes) == 2 and not features_first):
        return elements
    return np.moveaxis(elements.reshape(axes), 0, -1).ravel()


def _inner(shape: Sequence[int]) -> tuple[int, ...]:
    if len(shape) == 3 and shape[0] != 1 and shape[1] == 1:
        return (shape[0], shape[2])  # a sequence whose batch is its second axis
    return tuple(shape[1:]) if len(shape) > 1 and shape[0] == 1 else tuple(shape)
