"""Fronts against brute force."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from neuromap.explorer.search.front import dominated_by, front_of

FIGURES = st.sampled_from([0.0, 1.0, 2.0, np.nan, np.inf])
TABLES = st.tuples(st.integers(0, 12), st.integers(1, 4)).flatmap(lambda s: arrays(np.float64, s, elements=FIGURES))


def beats(a, b):
    if any(np.isnan(x) != np.isnan(y) for x, y in zip(a, b, strict=True)):
        return False
    known = [(x, y) for x, y in zip(a, b, strict=True) if not np.isnan(x)]
    return all(x <= y for x, y in known) and any(x < y for x, y in known)


@given(TABLES)
def test_front(table):
    expected = [not any(beats(other, row) for other in table) for row in table]
    assert front_of(table).tolist() == expected


@given(TABLES, st.data())
def test_dominated(table, data):
    others = data.draw(arrays(np.float64, (data.draw(st.integers(0, 5)), table.shape[1]), elements=FIGURES))
    assert dominated_by(table, others).tolist() == [any(beats(other, row) for other in others) for row in table]


def test_ties_are_kept():
    assert front_of([[1, 2], [1, 2], [2, 1], [2, 2]]).tolist() == [True, True, True, False]


@given(st.integers(1, 10**6), st.integers(-9, 9), st.integers(0, 9))
def test_the_same_time_in_other_ticks_is_equal(ticks, power, finer):
    # so many ticks, and ten times, a hundred times ... as many of a finer tick: one time, two floating-point products
    coarse, fine = ticks * 10.0**power, (ticks * 10**finer) * 10.0 ** (power - finer)
    rows = [[coarse, 1.0], [fine, 1.0]]
    assert front_of(rows).tolist() == [True, True]
    assert not dominated_by(rows, rows).any()
    assert dominated_by([[coarse, 2.0], [fine, 2.0]], rows).all()
    more = (ticks + 1) * 10.0**power
    assert front_of([*rows, [more, 1.0]]).tolist() == [True, True, False]


def test_products_of_chips_with_other_ticks():
    assert 11 * 1e-3 != 110 * 1e-4
    assert front_of([[11 * 1e-3, 1], [110 * 1e-4, 1]]).all()
    assert front_of([[0.0, 1], [5e-324, 1], [1e308, 0], [-np.inf, 2]]).tolist() == [True, False, True, True]
    assert front_of([[9.999999999999999, 1], [10.0, 1], [0.1 + 0.2, 3], [0.3, 3]]).tolist() == [True] * 4
