"""Rates as evenly spread spikes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.array_types import Bools

_GOLDEN = (5**0.5 - 1) / 2


def even_spikes(rates: NDArray[np.floating], n_frames: int) -> Bools:
    """Convert rates from 0 to 1, shape (n, size), to spikes, shape (n_frames, n, size); none in frame 0."""
    # Neurons of equal rates would spike together and reach their readers in one tick, so neuron j is ahead by the
    # fractional part of j times the golden ratio, which spreads any number of neurons evenly.
    ahead = np.arange(rates.shape[-1]) * _GOLDEN % 1
    spikes: Bools = np.zeros((n_frames, *rates.shape), np.bool_)
    before = np.floor(np.broadcast_to(ahead, rates.shape))
    for frame in range(1, n_frames):
        now = np.floor(frame * rates.astype(np.float64) + ahead)
        spikes[frame], before = now > before, now
    return spikes
