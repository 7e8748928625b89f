"""Axes of the front's picture: from values to places, with round ticks, linear or logarithmic."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from neuromap.explorer.answer.quantities import figure

__all__ = ["Axis", "make_axis"]

_WIDE = 12.0
"""Largest over smallest value from which an axis is logarithmic."""
_MOST_TICKS = 7
_LEAST_ROOM = 5e-4
"""Room at both ends, as a part of the largest value, at least: figures that differ by less are alike in the picture."""


@dataclass(frozen=True)
class Axis:
    """A scale between two values."""

    # low, high: values at the ends
    low: float
    high: float
    is_log: bool  # whether equal ratios are equally far apart
    ticks: tuple[float, ...]  # round values within the ends

    def place(self, value: float) -> float:
        """Give the place of a value: 0 at ``low``, 1 at ``high``; values beyond the ends lie at the ends."""
        if self.is_log:
            part = math.log(max(value, self.low) / self.low) / math.log(self.high / self.low)
        else:
            part = (value - self.low) / (self.high - self.low)
        return min(1.0, max(0.0, part))

    def labels(self) -> list[str]:
        """Write the ticks, with as many digits as tell them apart."""
        plain = [figure(float(f"{tick:.9g}")) for tick in self.ticks]
        if len(set(plain)) == len(plain):
            return plain
        steps = [b - a for a, b in pairwise(self.ticks)]
        digits = max(0, -math.floor(math.log10(min(steps)) + 1e-9))
        return [f"{tick:.{digits}f}" for tick in self.ticks]


def make_axis(values: Sequence[float], *, whole: bool = False) -> Axis:
    """Make the axis for some values, logarithmic where they reach over more than a decade."""
    # whole: whether only whole numbers are meant, so that ticks are whole
    least, most = min(values), max(values)
    if least > 0 and most / least > _WIDE:
        low, high = least / 1.3, most * 1.3
        return Axis(low, high, True, _log_ticks(low, high))
    room = (most - least) * 0.12 or most * 0.25 or 1.0
    room = max(room, most * _LEAST_ROOM)
    if whole:
        room = max(room, 0.5 if most > least else 1.0)
    low, high = max(0.0, least - room), most + room
    if least < 0.45 * most:
        low = 0.0  # most of the way down to 0: then the axis starts there
    step = _round_step((high - low) / 5)
    if whole:
        step = max(1.0, step)
    first = math.ceil(low / step - 1e-9)
    ticks = tuple(k * step for k in range(first, math.floor(high / step + 1e-9) + 1))
    return Axis(low, high, False, ticks)


def _round_step(value: float) -> float:
    """Find the least of 1, 2, 5 times a power of ten that is not below a value."""
    power = 10.0 ** math.floor(math.log10(value))
    return next(m * power for m in (1.0, 2.0, 5.0, 10.0) if m * power >= value * (1 - 1e-9))


def _log_ticks(low: float, high: float) -> tuple[float, ...]:
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    for digits in ((1, 2, 3, 5), (1, 2, 5), (1, 3), (1,)):
        ticks = tuple(d * 10.0**e for e in range(first, last + 1) for d in digits if low <= d * 10.0**e <= high)
        if len(ticks) <= _MOST_TICKS:
            return ticks
    return ticks[:: math.ceil(len(ticks) / _MOST_TICKS)]
