"""Draws of faults: a function of seed, kind and place, so that what fails at a rate fails at every higher one.

The words are hashed one after the other with ``mix`` of :mod:`neuromap.simulation.engine.noise`; the upper 53 bits of
the last hash, as a part of 2**53, are the draw. A fault is there where the draw is below the rate: never at 0, always
at 1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neuromap.faults.fault_model import KINDS, Faults
from neuromap.simulation.engine.noise import mix

__all__ = ["draws", "fails"]

_GOLDEN = 0x9E3779B97F4A7C15


def draws(seed: int, kind: str, *words: NDArray[np.integer] | int) -> NDArray[np.float64]:
    """Draw a number for every place."""
    state = mix(mix(np.array([(seed + _GOLDEN) % 2**64], np.uint64)) ^ np.uint64(KINDS[kind].number))
    for word in words:
        state = mix(state ^ np.asarray(word).astype(np.uint64))
    return (state >> np.uint64(11)).astype(np.float64) * 2.0**-53


def fails(faults: Faults, kind: str, *words: NDArray[np.integer] | int) -> NDArray[np.bool_]:
    """Tell which places fail; see :func:`draws`."""
    found: NDArray[np.bool_] = draws(faults.seed, kind, *words) < faults.rate(kind)
    return found
