"""Rates as spikes that are spread evenly."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.array_types import Bools

_GOLDEN = (5**0.5 - 1) / 2


def even_spikes(rates: NDArray[np.floating], n_frames: int) -> Bools:
    """Give spikes, shape (n_frames, n, size), of rates from 0 to 1, shape (n, size); none in frame 0."""
    # Equal rates would spike together, and what reads them would get all in one tick: so neuron j is ahead by the
    # fractional part of j times the golden ratio, which leaves the least gaps for any number of neurons.
    ahead = np.arange(rates.shape[-1]) * _GOLDEN % 1
    spikes: Bools = np.zeros((n_frames, *rates.shape), np.bool_)
    before = np.floor(np.broadcast_to(ahead, rates.shape))
    for frame in range(1, n_frames):
        now = np.floor(frame * rates.astype(np.float64) + ahead)
        spikes[frame], before = now > before, now
    return spikes
