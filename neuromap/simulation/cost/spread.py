"""How far a figure spreads over several stimuli, and how well its mean is known."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from neuromap.arrays.read_only_mapping import ReadOnlyMapping

__all__ = ["CONFIDENCE", "Spread", "spread_of"]

CONFIDENCE = 0.95
"""Level of the confidence intervals."""
QUANTILES: Mapping[int, float] = ReadOnlyMapping(
    {1: 12.706204736174694, 2: 4.302652729749462, 3: 3.1824463052837078, 4: 2.7764451051977934, 9: 2.262157162798205}
)
"""Quantiles of Student's t at that level, two-sided, by degrees of freedom: those of SciPy, slow to import."""


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
    """Say how far values spread."""
    # values: one per stimulus, at least one
    n = len(values)
    if n < 2:
        return Spread(n, mean)
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (n - 1))
    return Spread(n, mean, deviation, _quantile(n - 1) * deviation / math.sqrt(n))


def _quantile(freedom: int) -> float:
    """Give the factor of Student's t for the confidence, two-sided."""
    if freedom in QUANTILES:
        return QUANTILES[freedom]
    from scipy.special import stdtrit  # slow to import

    return float(stdtrit(freedom, (1 + CONFIDENCE) / 2))
