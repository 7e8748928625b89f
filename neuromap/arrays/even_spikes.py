"""Rates as spikes that are spread evenly."""

from __future__ import annotations

import numpy as np

from neuromap.arrays.array_types import Bools, Floats


def even_spikes(rates: Floats, n_frames: int) -> Bools:
    """Give spikes, shape (n_frames, ...): none in frame 0, and in frames 1 to k as many as k times the rate, rounded."""
    # floor(x + 1/2) and not rint, which rounds a half to even numbers and would let a rate of 1/2 spike twice in a row
    counts = np.floor(np.arange(n_frames).reshape(-1, *[1] * rates.ndim) * rates + 0.5)
    spikes: Bools = np.diff(counts, axis=0, prepend=0) > 0
    return spikes
