"""Exact times: ticks or update steps, as fractions where frames come at unequal intervals (``docs/time.md``).

With a mean frame period P = p/q in lowest terms, frame i of a node is known at tick ``floor(start + i P)``. Its start
is a multiple of 1/q: such a q-th of a tick is a *part*. Whole numbers stay ``int``, so that equal intervals never meet
a fraction.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TypeAlias

# Ticks or update steps, exact.
Time: TypeAlias = int | Fraction


def whole(time: Time) -> Time:
    """Return a time as ``int`` if it is a whole number.

    Examples
    --------
    >>> whole(Fraction(6, 2)), whole(Fraction(3, 2))
    (3, Fraction(3, 2))
    """
    return time.numerator if time.denominator == 1 else time


def largest_gap(period: Time) -> int:
    """Most ticks, or update steps, between two frames of a node: the mean frame period, rounded up."""
    return -(-period.numerator // period.denominator)


def tick_of_frame(start: Time, period: Time, frame: int) -> int:
    """Tick of a frame: ``floor(start + frame * period)``.

    Examples
    --------
    >>> [tick_of_frame(0, Fraction(3, 2), i) for i in range(6)]
    [0, 1, 3, 4, 6, 7]
    """
    exact = start + frame * period
    return exact.numerator // exact.denominator
