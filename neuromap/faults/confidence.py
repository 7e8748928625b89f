"""Means over seeds and shares of them, with intervals of 95 % confidence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from neuromap.render.value import Card

LEVEL = 0.95
"""Confidence of all intervals."""


@dataclass(frozen=True)
class Estimate(Card):
    """A figure and the interval in which it lies with 95 % confidence.

    Attributes
    ----------
    value : float
        A part, 0 to 1.
    low, high : float or None
        Ends of the interval; ``None`` where there are too few values.
    """

    value: float
    low: float | None
    high: float | None


def mean_of(values: Sequence[float], most: float = 1.0) -> Estimate:
    """Give the mean with Student's t interval, cut off at 0 and at the most that a value can be."""
    from scipy.special import stdtrit  # takes a while to import

    n, mean = len(values), math.fsum(values) / len(values)
    if n < 2:
        return Estimate(mean, None, None)
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (n - 1))
    half = float(stdtrit(n - 1, (1 + LEVEL) / 2)) * deviation / math.sqrt(n)
    return Estimate(mean, max(0.0, mean - half), min(most, mean + half))


def share_of(count: int, n: int) -> Estimate:
    """Give a share of seeds with Wilson's interval (JASA 22, 1927), which holds for few seeds, and at 0 and 1 too."""
    from scipy.special import ndtri

    z = float(ndtri((1 + LEVEL) / 2))
    share, weight = count / n, 1 + z * z / n
    middle = (share + z * z / (2 * n)) / weight
    half = z / weight * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return Estimate(share, max(0.0, middle - half), min(1.0, middle + half))
