"""Rates as spikes that are spread evenly."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.array_types import Bools


def even_spikes(rates: NDArray[np.floating], n_frames: int) -> Bools:
    """Give spikes, shape (n_frames, ...): none in frame 0, in frames 1 to k as many as k times the rate, rounded."""
    # halves are rounded up, not to even numbers, by which a rate of 1/2 would spike twice in a row
    spikes: Bools = np.zeros((n_frames, *rates.shape), np.bool_)
    before = np.floor(0 * rates + 0.5)
    for frame in range(1, n_frames):
        now = np.floor(frame * rates.astype(np.float64) + 0.5)
        spikes[frame], before = now > before, now
    return spikes
