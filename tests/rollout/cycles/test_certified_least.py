"""What is called proven is proven in whole numbers, whatever a solver says."""

import itertools
import math

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuromap.network.network import Network
from neuromap.rollout.cycles.cycle_structure import cycle_structure
from neuromap.rollout.cycles.sequential_values import IntegerProgram, is_least


@st.composite
def programs(draw):
    n = draw(st.integers(1, 5))
    small = st.integers(-4, 4)
    box = [(low, low + draw(st.integers(0, 3))) for low in draw(st.lists(st.integers(-2, 1), min_size=n, max_size=n))]
    rows = []
    for _ in range(draw(st.integers(0, 4))):
        terms = {j: f for j, f in enumerate(draw(st.lists(small, min_size=n, max_size=n))) if f}
        low = draw(st.sampled_from([-math.inf, -3, -1, 0, 2]))
        high = draw(st.sampled_from([math.inf, 3, 5])) if low != -math.inf else draw(st.integers(-3, 4))
        rows.append((terms, low, high))
    return draw(st.lists(small, min_size=n, max_size=n)), rows, box


@settings(deadline=None, max_examples=80)
@given(programs())
def test_what_is_proven_is_true_and_the_truth_is_proven(program):
    price, rows, box = program
    costs = [
        sum(c * x for c, x in zip(price, point, strict=True))
        for point in itertools.product(*(range(low, high + 1) for low, high in box))
        if all(low <= sum(f * point[j] for j, f in terms.items()) <= high for terms, low, high in rows)
    ]
    least = min(costs, default=None)
    if least is None:
        assert is_least(price, rows, box, 1000, 5000)[0]
        return
    assert is_least(price, rows, box, least, 5000)[0]
    assert not is_least(price, rows, box, least + 1, 5000)[0]


def tournament(n):
    """Every two nodes joined both ways but for a path: its smallest sets are far from the bound of fractions."""
    graph = nx.DiGraph((f"N{i}", f"N{j}") for i in range(n) for j in range(n) if i != j)
    edges = [("I", "N0"), *sorted(graph.edges), (f"N{n - 1}", "O")]
    return Network.from_edges(edges)


def block_of(network):
    return next(b for b in cycle_structure(network).blocks if len(b.pairs) > 1)


def test_a_smallest_set_is_certified():
    program = IntegerProgram(block_of(tournament(5)))
    assert sum(program.smallest) == 10
    assert program.is_certified


@pytest.mark.parametrize("wrong", ["larger", "later"])
def test_a_solver_that_errs_proves_nothing(wrong):
    """An answer of 4 where 3 is possible has no certificate, nor has a smallest set that is not the first."""
    program = IntegerProgram(block_of(tournament(3)))
    first = program.smallest
    assert program.is_certified
    other = IntegerProgram(block_of(tournament(3)))
    sets = sorted(itertools.product((0, 1), repeat=len(first)))
    cover = [
        s
        for s in sets
        if not other._missed(s)
        and (sum(s) == sum(first) + 1 if wrong == "larger" else sum(s) == sum(first) and s != first)
    ]
    other.__dict__["smallest"] = cover[-1]
    other._rows = program._rows
    assert not other.is_certified
