"""Thresholds clipped to where they still matter."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from neuromap.mapping.legalise.legalised import Matrix

__all__ = ["clip_thresholds"]


def clip_thresholds(theta: NDArray[np.int64], matrices: Iterable[Matrix]) -> NDArray[np.int64]:
    """Clip thresholds to [sum of negative weights, sum of positive weights + 1]; same spikes (docs/mapping.md)."""
    # shapes: theta (n,); matrices (n, any); returns (n,)
    low = np.zeros(len(theta), np.int64)
    high = np.ones(len(theta), np.int64)
    for matrix in matrices:
        low += np.asarray(matrix.minimum(0).sum(axis=1), np.int64)
        high += np.asarray(matrix.maximum(0).sum(axis=1), np.int64)
    return np.clip(theta, low, high)
