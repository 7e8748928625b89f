"""Behaviour classes: what equivalent patterns share, what tells others apart, and how many classes there are."""

import random
import time
import tomllib
from itertools import pairwise, product
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuromap.errors import InputError, PatternError
from neuromap.network.network import Network
from neuromap.rollout.patterns import class_count
from neuromap.rollout.patterns.behaviour import behaviour_classes, class_key, count_behaviour_classes, equivalent
from neuromap.rollout.patterns.class_count import connected_acyclic_sets
from neuromap.rollout.patterns.pattern import RolloutPattern
from neuromap.rollout.schedule.rollout import Rollout

STRUCTURES = Path(__file__).parents[3] / "examples" / "structures"


def structure(name):
    table = tomllib.loads((STRUCTURES / f"{name}.toml").read_text())
    return Network.from_edges((tuple(key.split(" -> ")) for key in table["edges"]), name=name)


def shifted(pattern, shift):
    """The pattern R + rho(v) - rho(u), or None where it leaves 0 and 1."""
    values = [r + shift[v] - shift[u] for (u, v), r in pattern.items()]
    return RolloutPattern(pattern.network, tuple(values)) if set(values) <= {0, 1} else None


def class_of(pattern):
    """All patterns of a class, found by moving every set of nodes by one frame, again and again."""
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


# A simulator of frames, as small as can be: x_v[i] = [sum of W x_u[i - R] >= theta].


def simulate(pattern, weights, thetas, stimulus, n_frames):
    """Frames 0 to n_frames of every node; frame 0 and all before it are zero."""
    net = pattern.network
    x = {v: np.zeros((n_frames + 1, len(thetas[v])), dtype=np.int64) for v in net.nodes}
    for u in net.inputs:
        x[u][1:] = stimulus[u]
    for i in range(1, n_frames + 1):
        for v in pattern.node_order:
            if v not in net.inputs:
                total = sum(weights[u, v] @ x[u][i - pattern[u, v]] for u, w in net.edges if w == v)
                x[v][i] = total >= thetas[v]
    return x


@given(seed=st.integers(0, 2**32 - 1), data=st.data())
@settings(deadline=None, max_examples=100)
def test_equivalent_patterns_give_equal_shifted_frames(rollouts, seed, data):
    net, p = data.draw(rollouts(max_nodes=5, max_extra=6))
    q = data.draw(st.sampled_from(sorted(class_of(p), key=lambda x: x.values)))
    shift = equivalent(p, q)
    rng = np.random.default_rng(seed)
    size = {v: rng.integers(1, 5) for v in net.nodes}
    weights = {(u, v): rng.integers(-1, 4, (size[v], size[u])) for u, v in net.edges}
    thetas = {v: rng.integers(1, 4, size[v]) for v in net.nodes}
    n_frames = 20
    stimulus = {u: rng.integers(0, 2, (n_frames, size[u])) for u in net.inputs}
    x = simulate(p, weights, thetas, stimulus, n_frames)
    y = simulate(q, weights, thetas, stimulus, n_frames)
    for v in net.nodes:
        for i in range(n_frames + 1):
            if 0 <= i - shift[v] <= n_frames:
                assert np.array_equal(y[v][i], x[v][i - shift[v]])


def differing_walks(p, q):
    """Two walks from inputs to one node whose relative delay differs between the patterns."""
    walks = {u: [u] for u in p.network.inputs}
    front = list(walks)
    for u in front:
        for a, v in p.network.edges:
            if a == u and v not in walks:
                walks[v] = [*walks[u], v]
                front.append(v)

    def gain(walk):
        return sum(q[key] - p[key] for key in pairwise(walk))

    for u, v in p.network.edges:
        one, two = walks[v], [*walks[u], v]
        if gain(one) != gain(two):
            return one, two
    return None


@given(data=st.data())
@settings(deadline=None, max_examples=200)
def test_other_patterns_are_told_apart_by_some_weights_and_input(rollouts, valid_patterns, data):
    net, p = data.draw(rollouts(max_nodes=5, max_extra=6))
    q = data.draw(valid_patterns(net))
    walks = differing_walks(p, q)
    assert (walks is None) == (equivalent(p, q) is not None)
    if walks is None:
        return
    # One neuron per station of each walk hands the spike on; a last neuron wants both walks at once.
    stations = {v: [] for v in net.nodes}
    for k, walk in enumerate(walks):
        for j, v in enumerate(walk):
            stations[v].append((k, j))
    meeting = walks[0][-1]
    stations[meeting].append("both")
    thetas = {v: np.array([2 if s == "both" else 1 for s in stations[v]], dtype=int) for v in net.nodes}
    weights = {(u, v): np.zeros((len(stations[v]), len(stations[u])), dtype=int) for u, v in net.edges}
    for k, walk in enumerate(walks):
        for j, (u, v) in enumerate(pairwise(walk)):
            weights[u, v][stations[v].index((k, j + 1)), stations[u].index((k, j))] = 1
        last = stations[walk[-2]].index((k, len(walk) - 2))
        weights[walk[-2], meeting][stations[meeting].index("both"), last] = 1
    # One spike into each walk, so timed that they meet under p.
    delay = [sum(p[key] for key in pairwise(walk)) for walk in walks]
    n_frames = 2 + 2 * max(len(walk) for walk in walks)
    stimulus = {u: np.zeros((n_frames, len(stations[u])), dtype=int) for u in net.inputs}
    for k, walk in enumerate(walks):
        stimulus[walk[0]][max(delay) - delay[k], stations[walk[0]].index((k, 0))] = 1
    met = [
        simulate(r, weights, thetas, stimulus, n_frames)[meeting][:, stations[meeting].index("both")] for r in (p, q)
    ]
    assert met[0].sum() == 1
    assert met[1].sum() == 0


# The relation.


@given(data=st.data())
@settings(deadline=None, max_examples=50)
def test_classes_are_those_of_single_moves(rollouts, data):
    net, p = data.draw(rollouts(max_nodes=5, max_extra=4))
    classes = behaviour_classes(net)
    mine = next(c for c in classes if p in c)
    assert set(mine) == class_of(p)


@given(data=st.data())
@settings(deadline=None, max_examples=80)
def test_equivalent_iff_in_one_class(rollouts, data):
    net, p = data.draw(rollouts(max_nodes=5, max_extra=3))
    classes = behaviour_classes(net)
    patterns = [q for c in classes for q in c]
    assert len(patterns) == len(set(patterns))
    q = data.draw(st.sampled_from(patterns))
    shift = equivalent(p, q)
    assert (shift is not None) == any(p in c and q in c for c in classes) == (class_key(p) == class_key(q))
    if shift is not None:
        assert list(shift) == list(net.nodes)
        assert all(shift[u] == 0 for u in net.inputs)
        assert shifted(p, shift) == q
        assert equivalent(q, p) == {v: -rho for v, rho in shift.items()}


@given(data=st.data())
@settings(deadline=None, max_examples=100)
def test_pipelined_execution_depends_on_the_class_only(rollouts, data):
    net, p = data.draw(rollouts(max_nodes=6, max_extra=6))
    net = Network.from_edges(net.edges, outputs=[v for v in net.nodes if v not in net.inputs])
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


@given(data=st.data())
@settings(deadline=None, max_examples=150)
def test_count_equals_the_number_of_classes_listed(rollouts, data):
    net, _ = data.draw(rollouts(max_nodes=6, max_extra=6))
    assert count_behaviour_classes(net) == len(behaviour_classes(net))


@given(data=st.data())
@settings(deadline=None, max_examples=50)
def test_count_equals_the_sets_of_edges_that_are_acyclic_and_connect(rollouts, data):
    net, _ = data.draw(rollouts(max_nodes=5, max_extra=6))
    root = dict.fromkeys(net.inputs, "inputs")
    count = 0
    for bits in product((0, 1), repeat=len(net.edges)):
        chosen = nx.MultiDiGraph([(v, v) for v in {root.get(v, v) for v in net.nodes}])
        chosen.remove_edges_from(list(nx.selfloop_edges(chosen)))
        chosen.add_edges_from((root.get(u, u), v) for (u, v), b in zip(net.edges, bits, strict=True) if b)
        count += nx.is_directed_acyclic_graph(chosen) and nx.is_weakly_connected(chosen)
    assert count_behaviour_classes(net) == count


@given(data=st.data())
@settings(deadline=None, max_examples=100)
def test_frontier_and_subsets_count_the_same(rollouts, data):
    net, _ = data.draw(rollouts(max_nodes=9, max_extra=14))
    by_subsets = count_behaviour_classes(net)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(class_count, "SUBSET_NODES", 2)
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
