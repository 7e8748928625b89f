"""Exact times of many nodes as arrays: integers that count parts of a tick (``times.py``)."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from neuromap.arrays.array_types import Ints
from neuromap.arrays.times import Time


def in_parts(times: Iterable[Time], period: Time) -> Ints:
    """Convert times to parts: q times each, where q is the denominator of the period; shape (n,)."""
    # All times must be multiples of a part. At equal intervals a part is a tick.
    q = period.denominator
    return np.array([time.numerator * (q // time.denominator) for time in times], dtype=np.int64)


def ticks_of_frames(start: Ints, period: Time, frame: Ints | int) -> Ints:
    """Ticks of frames of nodes whose frame 0 starts at ``start`` parts; shapes broadcast."""
    return (start + frame * period.numerator) // period.denominator


def frames_until(start: Ints, period: Time, tick: Ints | int) -> Ints:
    """Last frame at or before ``tick``, with starts in parts; shapes broadcast."""
    return ((tick + 1) * period.denominator - 1 - start) // period.numerator
