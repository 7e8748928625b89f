"""A budget is kept whatever drops out, and nothing drops out that could be chosen."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuromap.errors import InputError
from neuromap.searcher.halving import Standing, beaten_by, default_budget, full_plan, plan_of, standard_error


@given(st.integers(1, 40), st.integers(1, 100), st.data())
def test_the_budget_is_kept_and_nobody_goes_without(n_classes, full, data):
    trunks = data.draw(st.integers(1, n_classes))
    least = default_budget(n_classes, 1, trunks)
    budget = data.draw(st.integers(least, least + 40 * n_classes))
    plan = plan_of(budget, n_classes, full, trunks)
    assert plan.trunk * trunks + sum(plan.rungs) == budget
    assert 1 <= plan.trunk <= full
    spent, left_over, live = plan.trunk * trunks, 0, n_classes
    for rung in range(len(plan.rungs)):
        epochs = plan.epochs(rung, live, left_over)
        assert 1 <= epochs <= full
        left_over += plan.rungs[rung] - epochs * live
        spent += epochs * live
        live = data.draw(st.integers(1, live))
    assert spent <= budget


@given(st.integers(1, 64), st.integers(1, 100))
def test_the_default_budget_is_a_part_of_full_trainings(n_classes, full):
    assert plan_of(default_budget(n_classes, full), n_classes, full).trunk >= 1
    if n_classes > 2 and full >= 40:
        assert default_budget(n_classes, full) <= full_plan(n_classes, full).budget // 4 + n_classes


def test_a_budget_that_leaves_somebody_out_is_refused():
    with pytest.raises(InputError, match=r"^budget 4: 4 behaviour classes in 1 rung take 5 epochs or more; "):
        plan_of(4, 4, 10)


@st.composite
def standings(draw):
    """Rows of some classes at two moments; earlier rows of a class may have no answer at the first."""
    accuracy = st.sampled_from([np.nan, 0.4, 0.5, 0.6, 0.7, 0.9])
    row = st.tuples(accuracy, st.sampled_from([0.4, 0.5, 0.6, 0.7, 0.9]))
    found = []
    for rows in draw(st.lists(st.lists(row, min_size=1, max_size=3), min_size=1, max_size=5)):
        costs = [[draw(st.integers(4, 6))] for _ in rows]
        found.append(Standing(np.array(rows, float), np.array(costs, float)))
    return found


@given(standings(), st.sampled_from([0.0, 1.0, 2.0]))
def test_who_is_dropped_is_beaten_in_everything_by_those_who_stay(found, margin):
    """At every moment, for every row: some row that stays is better by the margin, and costs no more."""
    beaten = beaten_by(found, margin, 100)
    stay = [one for one, by in zip(found, beaten, strict=True) if by is None]
    assert stay
    for one, by in zip(found, beaten, strict=True):
        wins = [
            all(
                not (
                    other.accuracy[k, moment] >= row[moment] + margin * standard_error(row[moment], 100)
                    and other.accuracy[k, moment] > row[moment]
                    and (other.costs[k] <= costs).all()
                )
                for other in stay
                for k in range(len(other.accuracy))
            )
            for (row, costs), moment in itertools.product(zip(one.accuracy, one.costs, strict=True), (0, 1))
            if not np.isnan(row[moment])
        ]
        assert (by is None) == any(wins)
