"""Readouts that count votes: output neurons, each of which speaks for one class."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from neuromap.exchange.layers.values import SpikeSums

__all__ = ["classes_of", "in_class_order"]


def classes_of(found: SpikeSums | None, size: int) -> NDArray[np.int64] | None:
    """Give the class that every output neuron votes for."""
    # gives ``None`` where it is no count of votes: every neuron counts once, as much as any other, and classes have
    # equally many
    # shapes: returns (size,)
    if found is None or found.pending or len(found.weights) != 1 or size % max(found.size, 1):
        return None
    (matrix,) = found.weights.values()
    columns = matrix.tocsc()
    if matrix.nnz != size or matrix.shape != (found.size, size) or (np.diff(columns.indptr) != 1).any():
        return None
    if len(np.unique(matrix.data)) != 1 or matrix.data[0] <= 0 or len(np.unique(found.offset)) != 1:
        return None
    classes = columns.indices.astype(np.int64)
    return classes if (np.bincount(classes, minlength=found.size) == size // found.size).all() else None


def in_class_order(found: SpikeSums, order: NDArray[np.int64]) -> SpikeSums:
    """Give the same readout of neurons in another order."""
    weights = {name: csr_array(part.tocsc()[:, order]) for name, part in found.weights.items()}
    return replace(found, weights=weights)
