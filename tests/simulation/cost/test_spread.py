"""Confidence of means: Student's t, as SciPy gives it."""

from __future__ import annotations

import math
from statistics import stdev

import pytest
from scipy.special import stdtrit

from neuromap.simulation.cost.steady_figures import CONFIDENCE, spread_of


@pytest.mark.parametrize("n", range(2, 13))
def test_half_widths_are_those_of_students_t(n):
    values = [1.0 + 0.25 * k * (-1) ** k for k in range(n)]
    found = spread_of(values, sum(values) / n)
    wanted = float(stdtrit(n - 1, (1 + CONFIDENCE) / 2)) * stdev(values) / math.sqrt(n)
    assert found.half_width == pytest.approx(wanted, rel=1e-14)
