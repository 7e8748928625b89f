"""Smallest sets of streaming edges of a block: both exact searches and the heuristic."""

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuromap.rollout.cycles import sequential_values
from neuromap.rollout.cycles.cycle_structure import OrderSearch, cycle_structure
from neuromap.rollout.cycles.sequential_values import IntegerProgram, greedy_values
from neuromap.rollout.pattern import RolloutPattern


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_both_exact_searches_agree(cyclic_networks, data):
    net = data.draw(cyclic_networks())
    for block in cycle_structure(net).blocks:
        by_order, by_program = OrderSearch(block), IntegerProgram(block)
        assert by_order.smallest == by_program.smallest
        k = data.draw(st.integers(0, len(block.pairs)))
        prefix = tuple(data.draw(st.lists(st.integers(0, 1), min_size=k, max_size=k)))
        assert by_order.first_with(prefix) == by_program.first_with(prefix)


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_the_heuristic_is_valid_and_cannot_be_improved_edge_by_edge(cyclic_networks, data):
    net = data.draw(cyclic_networks())
    values = [0] * len(net.edges)
    structure = cycle_structure(net)
    for e in structure.self_edges:
        values[e] = 1
    for block in structure.blocks:
        for e, r in zip(block.edges, greedy_values(block), strict=True):
            values[e] = r
    assert RolloutPattern(net, tuple(values)).is_valid
    for e, r in enumerate(values):
        if r:
            assert not RolloutPattern(net, (*values[:e], 0, *values[e + 1 :])).is_valid


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 9), st.data())
def test_the_heuristic_leaves_out_exactly_the_edges_that_never_fit(n, data):
    node = st.integers(0, n - 1)
    pairs = [p for p in data.draw(st.lists(st.tuples(node, node), max_size=25, unique=True)) if p[0] != p[1]]
    forward = nx.DiGraph([p for p in pairs if p[0] < p[1]])
    forward.add_nodes_from(range(n))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sequential_values, "_CHUNK", data.draw(st.integers(1, n)))
        found = sequential_values._closing(n, pairs)
    assert found == {i for i, (u, v) in enumerate(pairs) if u > v and nx.has_path(forward, v, u)}
