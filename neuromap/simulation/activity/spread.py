"""How far a figure spreads over several stimuli, and how well its mean is known."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["CONFIDENCE", "Spread", "spread_of"]

CONFIDENCE = 0.95
"""Level of the confidence intervals."""


@dataclass(frozen=True)
class Spread:
    """Mean of a figure over stimuli, and its spread.

    Attributes
    ----------
    n : int
        Stimuli.
    mean : float
        Over them.
    deviation : float or None
        Standard deviation of a sample, ``n - 1`` in its denominator; ``None`` for a single stimulus.
    half_width : float or None
        The 95 % confidence interval of the mean reaches so far to both sides, by Student's t; ``None`` for a single
        stimulus.
    """

    n: int
    mean: float
    deviation: float | None = None
    half_width: float | None = None


def spread_of(values: Sequence[float], mean: float) -> Spread:
    """Say how far values spread.

    Parameters
    ----------
    values : sequence of float
        One per stimulus, at least one.
    mean : float
        Their mean, as its maker rounded it.

    Returns
    -------
    Spread
    """
    n = len(values)
    if n < 2:
        return Spread(n, mean)
    from scipy.special import stdtrit

    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (n - 1))
    return Spread(n, mean, deviation, float(stdtrit(n - 1, (1 + CONFIDENCE) / 2)) * deviation / math.sqrt(n))
