"""Fronts against brute force."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from neuromap.explorer.answer.limits import OBJECTIVES
from neuromap.explorer.search.front import dominated_by, excluded_by, front_of
from neuromap.explorer.search.measurements import Figures, compared

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


ENERGIES = st.sampled_from([0.0, 90.0, 98.0, 99.0, 99.5, 100.0, 100.5, 101.0, 102.0, 110.0, np.nan])
WITH_ENERGY = st.integers(0, 10).flatmap(
    lambda n: st.tuples(arrays(np.float64, (n, 2), elements=st.sampled_from([1.0, 2.0, 3.0])),
                        arrays(np.float64, (n, 1), elements=ENERGIES)).map(np.hstack)
)  # fmt: skip
TOLERANCES = st.sampled_from([0.0, 0.001, 0.0075, 0.015, 0.1])


def tolerantly_beats(a, b, tolerance):
    """As good in all and better in one, where energies within the tolerance are equal."""
    if np.isnan(a[-1]) != np.isnan(b[-1]) or (a[:-1] > b[:-1]).any() or a[-1] > b[-1] * (1 + tolerance):
        return False
    return bool((a[:-1] < b[:-1]).any() or a[-1] < b[-1] * (1 - tolerance))


def kernel(table, tolerance):
    """By its definition: a row is in it if none that is in it beats it; tried in all ways."""
    n = len(table)
    beaten = [[tolerantly_beats(a, b, tolerance) for a in table] for b in table]
    sets = [
        chosen for chosen in itertools.product([False, True], repeat=n)
        if all(chosen[k] is not any(chosen[j] and beaten[k][j] for j in range(n)) for k in range(n))
    ]  # fmt: skip
    (only,) = sets  # there is one and no other
    return list(only)


@given(WITH_ENERGY.filter(lambda table: len(table) < 8), TOLERANCES)
def test_the_front_with_a_tolerance_is_the_one_set_that_beats_all_else(table, tolerance):
    assert front_of(table, tolerance).tolist() == kernel(table, tolerance)
    beaten = [any(tolerantly_beats(other, row, tolerance) for other in table) for row in table]
    assert dominated_by(table, table, tolerance).tolist() == beaten


@given(WITH_ENERGY, WITH_ENERGY, TOLERANCES)
def test_rows_that_a_bound_excludes_change_no_front(known, others, tolerance):
    # whatever the true figures are: they are at least the bounds, and known rows are kept
    excluded = excluded_by(others, known, tolerance)
    left = np.vstack([known, others[~excluded]])
    everything = np.vstack([left, others[excluded] * 1.004])
    assert front_of(everything, tolerance).tolist() == front_of(left, tolerance).tolist() + [False] * excluded.sum()


@given(TABLES, st.floats(1e-5, 0.4), st.lists(st.floats(-1, 1), min_size=12, max_size=12))
def test_differences_far_below_the_tolerance_change_no_front(table, tolerance, noise):
    """Energies are whole numbers of joules here; parts per million of noise lie on top."""
    noisy = table.copy()
    noisy[:, -1] *= 1 + 1e-6 * np.array(noise[: len(table)])
    assert front_of(noisy, tolerance).tolist() == front_of(table, tolerance).tolist()


def test_energies_that_creep_lose_nothing_beyond_the_tolerance():
    """Each row is within the tolerance of the next, and the last far below the first: it stays on the front."""
    rows = [[k, 100 * 0.996**k] for k in range(5)]
    assert front_of(rows, 0.01).tolist() == [True, False, False, True, False]
    assert dominated_by(rows, rows, 0.01).tolist() == [False, True, True, True, True]


SECONDS = st.floats(1e-9, 1e3)


def test_measured_seconds_that_differ_by_less_than_a_thousandth_of_a_percent_decide_nothing():
    slower, larger = (
        Figures(1e-3, 2e-3 * more, 2e-3, 1e-3, 0.0, cores, 1.0) for more, cores in ((1 + 1e-8, 4), (1, 5))
    )
    for is_timed, expected in ((False, [True, True]), (True, [True, False])):
        seen = [compared(one, OBJECTIVES, is_timed=is_timed) for one in (slower, larger)]
        assert front_of(seen).tolist() == expected


@given(one=SECONDS, other=SECONDS)
def test_measured_seconds_keep_their_order_and_are_known_to_a_thousandth_of_a_percent(one, other):
    low, high = (
        compared(Figures(seconds, 1, 1, 1, 0, 1, 1), OBJECTIVES, is_timed=True).first_response
        for seconds in sorted((one, other))
    )
    assert low <= high
    assert abs(low - min(one, other)) <= 0.5e-5 * min(one, other) * (1 + 1e-9)
    if low == high:
        assert abs(one - other) <= 1e-5 * max(one, other) * (1 + 1e-9)
