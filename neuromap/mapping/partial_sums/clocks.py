"""Spikes of the host that lift, ask and empty neurons: on how many axons, of which weight."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neuromap.mapping.legalise.partial_sums import Clock

__all__ = ["clock", "clock_axons"]


def clock_axons(total: int, weight_range: tuple[int, int]) -> tuple[int, int]:
    """Share a total out among axons of one weight, as few as the range of weights allows."""
    # total: what the neuron gets at least; where it is negative, what is taken off at least. Not 0
    widest = weight_range[1] if total > 0 else -weight_range[0]
    axons = -(-abs(total) // widest)
    weight = -(-abs(total) // axons)
    return axons, weight if total > 0 else -weight


def clock(total: int, weight_range: tuple[int, int], neurons: NDArray[np.int64]) -> Clock:
    """Make the clock that gives some neurons a total; see :func:`clock_axons`."""
    axons, weight = clock_axons(total, weight_range)
    return Clock(weight, axons, neurons)
