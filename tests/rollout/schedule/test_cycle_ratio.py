"""The maximum cycle ratio against an enumeration of all cycles."""

from fractions import Fraction
from math import ceil

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuromap.errors import PatternError
from neuromap.network.network import Network
from neuromap.rollout.pattern import RolloutPattern
from neuromap.rollout.schedule.node_times import maximum_cycle_ratio
from neuromap.rollout.schedule.rollout import Rollout


@pytest.mark.theorem
@given(data=st.data())
@settings(deadline=None, max_examples=1000)
def test_equals_the_maximum_over_all_cycles(rollouts, data):
    net, pattern = data.draw(rollouts(max_nodes=7, max_extra=14))
    ratios = []
    for cycle in nx.simple_cycles(nx.DiGraph(list(net.edges))):
        keys = list(zip(cycle, cycle[1:] + cycle[:1], strict=True))
        ratios.append(Fraction(len(keys), sum(pattern[k] for k in keys)))
    assert maximum_cycle_ratio(pattern) == (max(ratios) if ratios else None)


@given(data=st.data())
@settings(deadline=None, max_examples=100)
def test_its_ceiling_is_the_pipelined_period(rollouts, data):
    net, pattern = data.draw(rollouts())
    r = Rollout(net, pattern, "pipelined")
    assert r.cycle_ratio == maximum_cycle_ratio(pattern)
    assert r.frame_period == (1 if r.cycle_ratio is None else ceil(r.cycle_ratio))


def test_is_exact_where_ratios_are_close():
    # Cycles of 100 edges with 33 and of 103 with 34 streaming edges: 3.0303 and 3.0294.
    edges, streaming = [("I", "a0")], []
    for name, length, k in (("a", 100, 33), ("b", 103, 34)):
        ring = ["a0", *(f"{name}{j}" for j in range(1, length))]
        keys = list(zip(ring, ring[1:] + ring[:1], strict=True))
        edges += keys
        streaming += keys[:k]
    net = Network.from_edges(edges)
    pattern = RolloutPattern.from_streaming_edges(net, streaming)
    assert maximum_cycle_ratio(pattern) == Fraction(100, 33)


def test_one_long_cycle():
    n = 5000
    ring = [f"v{k}" for k in range(n)]
    keys = list(zip(ring, ring[1:] + ring[:1], strict=True))
    net = Network.from_edges([("I", "v0"), *keys])
    assert maximum_cycle_ratio(RolloutPattern.from_streaming_edges(net, keys[7:8])) == n
    assert maximum_cycle_ratio(RolloutPattern.from_streaming_edges(net, keys[7:10])) == Fraction(n, 3)


def test_a_self_edge_is_a_cycle_of_ratio_one():
    net = Network.from_edges([("I", "A"), ("A", "A")])
    assert maximum_cycle_ratio(RolloutPattern.from_streaming_edges(net, [("A", "A")])) == 1


def test_invalid_pattern_is_refused():
    net = Network.from_edges([("I", "A"), ("A", "B"), ("B", "A")])
    with pytest.raises(PatternError, match="A -> B -> A"):
        maximum_cycle_ratio(RolloutPattern(net, (1, 0, 0)))
