"""Arrivals of host rows as a program holds them: ticks, and parts of a tick where frames come at unequal intervals."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.times import Time

Ints = NDArray[np.int64]


def arrivals_in_ticks(exact: Ints, period: Time) -> dict[str, Ints]:
    """Give the columns ``arrival``, and ``part`` where there is one, of a host table."""
    # period: frame period in ticks
    # shapes: exact (K,)
    if period.denominator == 1:
        return {"arrival": exact.astype(np.int64)}
    tick, part = np.divmod(exact.astype(np.int64), period.denominator)
    return {"arrival": tick, "part": part}
