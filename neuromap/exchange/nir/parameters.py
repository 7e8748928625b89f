"""Parameters of primitives, one value per neuron."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from neuromap.errors import InputError
from neuromap.exchange.nir.shapes import Shape
from neuromap.formats.nir.nir_graph import NirNode

__all__ = ["spread"]

Floats = NDArray[np.float64]


def spread(name: str, node: NirNode, key: str, shape: Shape, default: float = 0.0) -> Floats:
    """Give a parameter one value per neuron, shape (n,), in the order of NIR."""
    values = node.parameters.get(key)
    if values is None:
        return np.full(math.prod(shape), default)
    if values.size == math.prod(shape):
        return values.ravel()
    try:
        return np.broadcast_to(values, shape).ravel()
    except ValueError:
        raise InputError(
            f"node {name} ({node.kind}): {key}: found shape {list(values.shape)}; its values have {list(shape)}"
        ) from None
