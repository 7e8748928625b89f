"""Behaviour classes: the relation, what equivalent patterns share, and how many classes there are."""

import random
import time
import tomllib
from itertools import product
from pathlib import Path

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuromap.errors import InputError, PatternError
from neuromap.network.network import Network
from neuromap.rollout import behaviour
from neuromap.rollout.behaviour import (
    behaviour_classes,
    class_key,
    connected_acyclic_sets,
    count_behaviour_classes,
    equivalent,
)
from neuromap.rollout.pattern import RolloutPattern
from neuromap.rollout.schedule.rollout import Rollout

STRUCTURES = Path(__file__).parents[2] / "examples" / "structures"


def structure(name):
    table = tomllib.loads((STRUCTURES / f"{name}.toml").read_text())
    return Network.from_edges((tuple(key.split(" -> ")) for key in table["edges"]), name=name)


def shifted(pattern, shift):
    """The pattern R + rho(v) - rho(u), or None where it leaves 0 and 1."""
    values = [r + shift[v] - shift[u] for (u, v), r in pattern.items()]
    return RolloutPattern(pattern.network, tuple(values)) if set(values) <= {0, 1} else None


def all_seen(net):
    return Network.from_edges(net.edges, outputs=[v for v in net.nodes if v not in net.inputs])


def class_of(pattern):
    """All patterns of a class whose nodes are all seen, found by moving every set of nodes by one frame, and again."""
    free = [v for v in pattern.network.nodes if v not in pattern.network.inputs]
    found, front = {pattern}, [pattern]
    for p in front:
        for bits in product((0, 1), repeat=len(free)):
            for sign in (-1, 1):
                moved = dict.fromkeys(pattern.network.nodes, 0)
                moved.update({v: sign * bit for v, bit in zip(free, bits, strict=True)})
                q = shifted(p, moved)
                if q is not None and q not in found:
                    found.add(q)
                    front.append(q)
    return found


# The relation.


@given(data=st.data())
@settings(deadline=None, max_examples=50)
def test_classes_are_those_of_single_moves(rollouts, data):
    drawn, p = data.draw(rollouts(max_nodes=5, max_extra=4, most=1))
    net = all_seen(drawn)
    p = RolloutPattern(net, p.values)
    classes = behaviour_classes(net)
    mine = next(c for c in classes if p in c)
    assert set(mine) == class_of(p)


@given(data=st.data())
@settings(deadline=None, max_examples=80)
def test_equivalent_iff_in_one_class(rollouts, with_outputs, data):
    net, p = data.draw(with_outputs(rollouts(max_nodes=5, max_extra=3, most=1)))
    classes = behaviour_classes(net)
    patterns = [q for c in classes for q in c]
    assert len(patterns) == len(set(patterns))
    q = data.draw(st.sampled_from(patterns))
    shift = equivalent(p, q)
    assert (shift is not None) == any(p in c and q in c for c in classes) == (class_key(p) == class_key(q))
    if shift is not None:
        reached = {v for v in net.nodes if any(nx.has_path(net.graph, v, o) for o in net.outputs)}
        assert list(shift) == [v for v in net.nodes if v in reached]
        assert all(shift[u] == 0 for u in net.inputs if u in reached)
        assert all(q[u, v] == p[u, v] + shift[v] - shift[u] for u, v in net.edges if v in reached)
        assert equivalent(q, p) == {v: -rho for v, rho in shift.items()}


@given(data=st.data())
@settings(deadline=None, max_examples=100)
def test_pipelined_execution_depends_on_the_class_only(rollouts, data):
    net, p = data.draw(rollouts(max_nodes=6, max_extra=6))
    net = all_seen(net)
    p = RolloutPattern(net, p.values)
    q = data.draw(st.sampled_from(sorted(class_of(p), key=lambda x: x.values)))
    shift = equivalent(p, q)
    a, b = Rollout(net, p, "pipelined"), Rollout(net, q, "pipelined")
    assert a.frame_period == b.frame_period
    assert a.cycle_ratio == b.cycle_ratio
    assert a.delays == b.delays
    assert (a.first_responses, a.full_responses) == (b.first_responses, b.full_responses)
    assert all(b.phases[v] == a.phases[v] - a.frame_period * shift[v] for v in net.nodes)


def test_windowed_execution_differs_within_the_one_class_of_ff():
    net = structure("ff")
    streaming = RolloutPattern.streaming(net)
    sequential = RolloutPattern(net, (0, 0, 0))
    assert equivalent(streaming, sequential) == {"I": 0, "H1": -1, "H2": -2, "O": -3}
    assert Rollout(net, streaming).frame_period == 1
    assert Rollout(net, sequential).frame_period == 3


def test_streaming_and_sequential_differ_where_an_edge_skips():
    net = structure("s")
    assert equivalent(RolloutPattern.streaming(net), RolloutPattern(net, (0, 0, 0, 0))) is None


def test_patterns_of_different_networks_and_invalid_ones_are_refused():
    s, sr = structure("s"), structure("sr")
    with pytest.raises(PatternError, match="different edges"):
        equivalent(RolloutPattern.streaming(s), RolloutPattern.streaming(sr))
    with pytest.raises(PatternError, match="H1 -> H1"):
        equivalent(RolloutPattern.streaming(sr), RolloutPattern(sr, (0,) * 5))


# Counting.

CLASSES = [("ff", 8, 1), ("s", 16, 4), ("sr", 16, 4), ("dsr1", 64, 4), ("dsr2", 256, 16), ("poster", 12, 7)]


@pytest.mark.parametrize(("name", "valid", "classes"), CLASSES)
def test_classes_of_the_papers_networks(name, valid, classes):
    net = structure(name)
    found = behaviour_classes(net)
    assert sum(len(c) for c in found) == valid
    assert len(found) == classes
    assert count_behaviour_classes(net) == classes


@pytest.mark.parametrize(("name", "classes"), [("dsr3", 152), ("dsr4", 1444), ("dsr5", 27664), ("dsr6", 529984)])
def test_counts_of_the_documentation(name, classes):
    net = structure(name)
    assert count_behaviour_classes(net) == classes
    if name == "dsr3":
        assert len(behaviour_classes(net)) == classes


def test_dsr6_is_counted_without_listing():
    begin = time.process_time()
    assert count_behaviour_classes(structure("dsr0")) == 1
    dsr6 = count_behaviour_classes(structure("dsr6"))
    # Against all sets of edges of each block: the network's only cycle is a self-edge.
    net = structure("dsr6")
    graph = nx.Graph((u, v) for u, v in net.edges if u != v)
    expected = 1
    for nodes in nx.biconnected_components(graph):
        edges = list(graph.subgraph(nodes).edges)
        expected *= sum(
            nx.is_connected(nx.Graph([e for e, b in zip(edges, bits, strict=True) if b] + [(v, v) for v in nodes]))
            for bits in product((0, 1), repeat=len(edges))
        )
    assert dsr6 == expected
    assert time.process_time() - begin < 30


@pytest.mark.theorem
@given(data=st.data())
@settings(deadline=None, max_examples=1000)
def test_count_equals_the_number_of_classes_listed(rollouts, with_outputs, data):
    net, _ = data.draw(with_outputs(rollouts(max_nodes=6, max_extra=6)))
    assert count_behaviour_classes(net) == len(behaviour_classes(net))


@pytest.mark.theorem
@given(data=st.data())
@settings(deadline=None, max_examples=1000)
def test_count_equals_the_sets_of_edges_that_are_acyclic_and_connect(rollouts, with_outputs, data):
    net, _ = data.draw(with_outputs(rollouts(max_nodes=5, max_extra=4)))
    reached = {v for v in net.nodes if any(nx.has_path(net.graph, v, o) for o in net.outputs)}
    root = dict.fromkeys(net.inputs, "inputs")
    edges = [(root.get(u, u), v) for u, v in net.edges if v in reached]
    count = 0
    for bits in product((0, 1), repeat=len(edges)):
        chosen = nx.MultiDiGraph()
        chosen.add_nodes_from(root.get(v, v) for v in reached)
        chosen.add_edges_from(edge for edge, b in zip(edges, bits, strict=True) if b)
        count += nx.is_directed_acyclic_graph(chosen) and nx.is_weakly_connected(chosen)
    assert count_behaviour_classes(net) == count


@given(data=st.data())
@settings(deadline=None, max_examples=100)
def test_frontier_and_subsets_count_the_same(rollouts, data):
    net, _ = data.draw(rollouts(max_nodes=9, max_extra=14))
    by_subsets = count_behaviour_classes(net)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(behaviour, "SUBSET_NODES", 2)
        assert count_behaviour_classes(net) == by_subsets


def test_complete_graphs_count_labelled_connected_graphs():
    # Connected labelled graphs on n nodes: 1, 1, 4, 38, 728, 26704, 1866256 (OEIS A001187).
    for n, count in ((3, 4), (4, 38), (5, 728), (6, 26704), (7, 1866256)):
        assert connected_acyclic_sets(n, [(u, v) for u in range(n) for v in range(u + 1, n)]) == count


def test_complete_digraphs_count_weakly_connected_acyclic_digraphs():
    # Weakly connected labelled acyclic digraphs: 1, 2, 18, 446, 26430, 3596762 (OEIS A082402).
    for n, count in ((2, 2), (3, 18), (4, 446), (5, 26430), (6, 3596762)):
        assert connected_acyclic_sets(n, [(u, v) for u in range(n) for v in range(n) if u != v]) == count


def test_long_networks_with_skips_are_counted_exactly():
    # Every node feeds the next two: connected spanning subgraphs of a strip of triangles obey
    # c(n) = 4 c(n - 1) - 2 c(n - 2).
    n = 300
    expected = [1, 1, 4]
    while len(expected) < n:
        expected.append(4 * expected[-1] - 2 * expected[-2])
    strip = [(f"n{u}", f"n{u + d}") for u in range(n) for d in (1, 2) if u + d < n]
    assert expected[3:5] == [14, 48]
    assert count_behaviour_classes(Network.from_edges(strip)) == expected[-1]


def test_large_dense_networks_are_not_counted():
    rng = random.Random(5)
    edges = {(u, v): None for v in range(1, 60) for u in range(v) if rng.random() < 0.5 or u == v - 1}
    net = Network.from_edges([(f"n{u}", f"n{v}") for u, v in edges])
    assert count_behaviour_classes(net) is None


def test_too_many_patterns_are_not_listed():
    net = structure("dsr4")
    with pytest.raises(InputError, match=r"more than 1000 valid patterns.*count_behaviour_classes"):
        behaviour_classes(net, limit=1000)
