"""Acyclic sums: reduced, over subsets of nodes and by a sweep, against each other and their definition."""

import itertools
import math

import networkx as nx
from hypothesis import given, settings
from hypothesis import strategies as st

from neuromap.rollout.cycles.cycle_structure import count_block, lightest_block, lightest_count_block, sweep_block
from neuromap.rollout.cycles.indexed_network import COUNTING, LIGHTEST_COUNT, reduce_graph


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_acyclic_sums_by_subsets_and_by_sweep_agree(digraphs, data):
    pairs = data.draw(digraphs(largest=6, most=18, loops=False))
    weight = st.tuples(st.integers(0, 5), st.integers(0, 5))
    weights = {p: data.draw(weight) for p in pairs}
    by_subsets = count_block(weights)
    assert sweep_block(weights, COUNTING) == by_subsets
    reduced = reduce_graph(weights.items(), COUNTING)
    assert reduced.factor * math.prod(count_block(b) for b in reduced.blocks) == by_subsets
    assert count_block(weights, bits=7) == by_subsets % 128


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_weighted_acyclic_sums_are_their_definition(digraphs, data):
    pairs = data.draw(digraphs(largest=5, most=10, loops=False))
    weight = st.tuples(st.integers(0, 5), st.integers(0, 5))
    weights = {p: data.draw(weight) for p in pairs}
    expected = 0
    for values in itertools.product((0, 1), repeat=len(pairs)):
        if nx.is_directed_acyclic_graph(nx.DiGraph([p for p, r in zip(pairs, values, strict=True) if not r])):
            expected += math.prod(weights[p][r] for p, r in zip(pairs, values, strict=True))
    assert count_block(weights) == expected


def test_reduced_edges_of_weight_zero_count_all_their_ways():
    """Found by the test below: edges of no weight are joined into one that is sequential in several ways."""
    pairs = [(0, 1), (0, 2), (0, 3), (1, 0), (1, 2), (2, 0), (3, 1)]
    reduced = reduce_graph([(p, ((0, 1), (0, 1))) for p in pairs], LIGHTEST_COUNT)
    parts = [lightest_count_block(b) for b in reduced.blocks]
    acyclic = sum(
        nx.is_directed_acyclic_graph(nx.DiGraph([p for p, r in zip(pairs, values, strict=True) if not r]))
        for values in itertools.product((0, 1), repeat=len(pairs))
    )
    assert LIGHTEST_COUNT.product([reduced.factor, *parts]) == (0, acyclic)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_lightest_sets_by_three_ways_agree(digraphs, data):
    pairs = data.draw(digraphs(largest=6, most=16, loops=False))
    weights = {p: ((0, 1), (data.draw(st.integers(0, 3)), data.draw(st.integers(1, 3)))) for p in pairs}
    found = lightest_count_block(weights)
    assert found == sweep_block(weights, LIGHTEST_COUNT)
    assert found is not None
    assert found[0] == lightest_block({p: (0, b[0]) for p, (_, b) in weights.items()})
    reduced = reduce_graph(weights.items(), LIGHTEST_COUNT)
    parts = [lightest_count_block(b) for b in reduced.blocks]
    assert LIGHTEST_COUNT.product([reduced.factor, *parts]) == found
