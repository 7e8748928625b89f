"""Rollout windows: nodes, edges, states, update and tableau, each by its definition in the paper."""

import itertools

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuromap.errors import PatternError
from neuromap.network.network import Network
from neuromap.rollout.pattern import RolloutPattern
from neuromap.rollout.theorem1 import RolloutWindow


@st.composite
def patterns(draw):
    n = draw(st.integers(1, 4))
    pairs = [(f"n{u}", f"n{v}") for u in range(n) for v in range(n)]
    edges = [("I", f"n{v}") for v in range(n) if v == 0 or draw(st.booleans())]
    edges += [(f"n{v - 1}", f"n{v}") for v in range(1, n)]
    edges += [p for p in draw(st.lists(st.sampled_from(pairs), max_size=6, unique=True)) if p not in edges]
    net = Network.from_edges(edges)
    most = draw(st.sampled_from([1, 3]))
    values = draw(st.lists(st.integers(0, most), min_size=len(edges), max_size=len(edges)))
    return RolloutPattern(net, tuple(values))


valid_patterns = patterns().filter(lambda p: p.is_valid)


@settings(max_examples=60, deadline=None)
@given(patterns())
def test_validity_does_not_depend_on_the_size(pattern):
    for size in (1, 2, 3):
        assert RolloutWindow(pattern, size).is_valid == pattern.is_valid


@settings(max_examples=50, deadline=None)
@given(patterns(), st.integers(1, 4))
def test_definition_of_nodes_and_edges(pattern, size):
    window = RolloutWindow(pattern, size)
    net = pattern.network
    assert set(window.nodes) == set(itertools.product(range(size + 1), net.nodes))
    expected = {
        ((i, u), (j, v))
        for i, j in itertools.product(range(size + 1), repeat=2)
        for (u, v), r in pattern.items()
        if j == i + r and (i, j) != (0, 0)
    }
    assert set(window.edges) == expected
    assert len(window.edges) == size * len(net.edges) or pattern.bridging_edges
    assert all(i <= j for (i, _), (j, _) in window.edges), "no edge leads backwards"


@settings(max_examples=30, deadline=None)
@given(patterns(), st.integers(1, 3))
def test_a_window_is_a_subgraph_of_the_next_larger_one(pattern, size):
    small, large = RolloutWindow(pattern, size), RolloutWindow(pattern, size + 1)
    assert set(small.nodes) < set(large.nodes)
    assert set(small.edges) <= set(large.edges)
    inner = large.graph.subgraph(small.nodes)
    assert nx.utils.graphs_equal(nx.DiGraph(inner), nx.DiGraph(small.graph))


@settings(max_examples=60, deadline=None)
@given(valid_patterns, st.integers(1, 4))
def test_tableau_in_three_independent_ways(pattern, size):
    window = RolloutWindow(pattern, size)
    assert pattern.tableau(window=size) == window.tableau_by_updates() == window.tableau_by_paths()


@settings(max_examples=60, deadline=None)
@given(patterns(), st.integers(1, 3))
def test_updates_converge_to_the_full_state_iff_valid(pattern, size):
    window = RolloutWindow(pattern, size)
    states = window.states()
    assert states[0] == {(i, n) for i, n in window.nodes if i == 0 or n in pattern.network.inputs}
    assert all(a < b for a, b in itertools.pairwise(states))
    assert window.update(states[-1]) == states[-1]
    assert (states[-1] == window.full_state) == pattern.is_valid


def test_update_computes_what_has_all_its_sources():
    pattern = RolloutPattern.from_streaming_edges(Network.from_edges([("I", "a"), ("a", "b"), ("I", "b")]), [])
    window = RolloutWindow(pattern, 1)
    one = window.update(window.initial_state)
    assert one - window.initial_state == {(1, "a")}
    assert window.update(one) - one == {(1, "b")}


def test_size_below_1_and_invalid_patterns_are_refused():
    net = Network.from_edges([("I", "a"), ("a", "a")])
    with pytest.raises(PatternError, match="size 0"):
        RolloutWindow(RolloutPattern.streaming(net), 0)
    window = RolloutWindow(RolloutPattern.from_streaming_edges(net, []), 1)
    for ask in (window.tableau_by_paths, window.tableau_by_updates):
        with pytest.raises(PatternError, match="a -> a"):
            ask()
