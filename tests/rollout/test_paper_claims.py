"""Claims of Fischer, Köhler, Pfeil 2018 about what patterns compute and how long a frame takes, by name."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuromap.errors import InputError, PatternError
from neuromap.network import build_network
from neuromap.network.network import Network
from neuromap.rollout import frame_time
from neuromap.rollout.behaviour import equivalent
from neuromap.rollout.pattern import RolloutPattern
from neuromap.rollout.schedule.rollout import Rollout
from neuromap.simulation import reference


def path_delays(pattern, source, output):
    """By how many frames the output is later than its input, along every path."""
    graph = nx.DiGraph(list(pattern.network.edges))
    return sorted(sum(pattern[e] for e in path) for path in nx.all_simple_edge_paths(graph, source, output))


def seen_frames(network, pattern, n_frames, frame):
    """Input frames that change frame ``frame`` of the output, among all inputs of one neuron."""
    rollout = Rollout(network, pattern)
    found = set()
    for i in range(n_frames):
        for background in (0, 1):
            frames = np.full((n_frames, 1), background)
            before = reference(rollout, {"I": frames})["O"][frame]
            frames[i] ^= 1
            if (reference(rollout, {"I": frames})["O"][frame] != before).any():
                found.add(i)
    return found


SKIP_EDGES = {("I", "A"): [[1]], ("A", "B"): [[1]], ("B", "O"): [[1]], ("A", "O"): [[1]], ("I", "O"): [[1]]}


def test_skip_edges_streaming_integrates_several_input_frames_sequential_one():
    # O counts how many of its three paths carry a spike: it fires if any does.
    net = build_network({"I": (1, None), "A": (1, 1), "B": (1, 1), "O": (1, 1)}, SKIP_EDGES)
    streaming, sequential = RolloutPattern.streaming(net), RolloutPattern.sequential(net)
    assert path_delays(streaming, "I", "O") == [1, 2, 3]
    assert seen_frames(net, streaming, n_frames=8, frame=6) == {5, 4, 3}
    assert path_delays(sequential, "I", "O") == [0, 0, 0]
    assert seen_frames(net, sequential, n_frames=8, frame=6) == {6}


def test_plain_feed_forward_chain_streaming_and_sequential_compute_the_same_function_streaming_more_often():
    rng = np.random.default_rng(1)
    sizes = {"I": 4, "A": 5, "B": 3, "O": 4}
    ways = [("I", "A"), ("A", "B"), ("B", "O")]
    net = build_network(
        {n: (k, None if n == "I" else 1) for n, k in sizes.items()},
        {(u, v): rng.integers(-1, 3, (sizes[v], sizes[u])) for u, v in ways},
    )
    streaming, sequential = RolloutPattern.streaming(net), RolloutPattern.sequential(net)
    frames = {"I": rng.integers(0, 2, (30, 4))}
    late, prompt = (reference(Rollout(net, p), frames)["O"] for p in (streaming, sequential))
    assert prompt.any(axis=0).any()
    assert not prompt.all()
    assert np.array_equal(late[4:], prompt[1:-3])  # the same frames, three later
    assert equivalent(sequential, streaming) == {"I": 0, "A": 1, "B": 2, "O": 3}
    a, b = Rollout(net, streaming), Rollout(net, sequential)
    assert (a.frame_period, b.frame_period) == (1, 3)
    assert a.first_response("O") == b.first_response("O") == 3
    assert a.sampling_frequency(1e-3) == pytest.approx(3 * b.sampling_frequency(1e-3))


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_edges_that_bridge_more_than_one_frame_are_subsumed_by_copy_nodes(rollouts, data):
    net, pattern = data.draw(rollouts())
    u, v = data.draw(st.sampled_from([e for e in net.edges if e[0] != e[1]]))
    # The edge as it would bridge one frame more, against a copy of u between two edges.
    edges = [e for e in net.edges if e != (u, v)]
    copied = Network.from_edges([*edges, (u, "copy"), ("copy", v)])
    values = {e: pattern[e] for e in edges} | {(u, "copy"): 1, ("copy", v): pattern[u, v]}
    by_copy = RolloutPattern.from_values(copied, {e: values[e] for e in copied.edges})
    assert by_copy.is_valid
    bridging = {**dict(pattern.items()), (u, v): pattern[u, v] + 1}
    graph, with_copy = nx.DiGraph(list(net.edges)), nx.DiGraph(list(copied.edges))
    for a in net.inputs:
        for b in net.nodes:
            if b != a:
                direct = sorted(sum(bridging[e] for e in path) for path in nx.all_simple_edge_paths(graph, a, b))
                sums = sorted(sum(by_copy[e] for e in p) for p in nx.all_simple_edge_paths(with_copy, a, b))
                assert sums == direct


def test_a_copy_node_delays_by_the_frame_it_bridges():
    one = {"I": (1, None), "A": (1, 1), "copy": (1, 1), "O": (1, 2)}
    edges = {("I", "A"): [[1]], ("I", "copy"): [[1]], ("copy", "O"): [[1]], ("A", "O"): [[1]]}
    net = build_network(one, edges)
    pattern = RolloutPattern.from_streaming_edges(net, [("I", "copy"), ("copy", "O")])
    # O fires in frame i iff I fired in frames i and i - 2: an edge I -> O that bridges two frames.
    spikes = np.array([[0], [1], [0], [1], [1], [0], [1], [0]])
    assert reference(Rollout(net, pattern), {"I": spikes})["O"][:, 0].nonzero()[0].tolist() == [3, 6]


def test_unequal_node_times_streaming_takes_the_slowest_node_sequential_the_sum_along_its_longest_chain():
    net = Network.from_edges([("I", "A"), ("A", "B"), ("B", "O"), ("A", "O"), ("A", "A")])
    times = {"A": 2.0, "B": 0.5, "O": 4.0}
    assert frame_time(RolloutPattern.streaming(net), times) == 4.0
    assert frame_time(RolloutPattern.sequential(net), times) == 2.0 + 0.5 + 4.0
    hybrid = RolloutPattern.from_streaming_edges(net, [("A", "A"), ("A", "O"), ("B", "O")])
    assert frame_time(hybrid, times) == max(2.0 + 0.5, 4.0)


@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_frame_time_is_the_heaviest_chain_of_sequential_edges(rollouts, data):
    net, pattern = data.draw(rollouts())
    computed = [n for n in net.nodes if n not in net.inputs]
    times = {n: data.draw(st.integers(0, 9)) for n in computed}
    graph = nx.DiGraph(pattern.sequential_edges)
    graph.add_nodes_from(net.nodes)
    chains = [[a] for a in graph]
    chains += [c for a in graph for b in graph if a != b for c in nx.all_simple_paths(graph, a, b)]
    assert frame_time(pattern, times) == max(sum(times.get(n, 0) for n in c) for c in chains)
    assert frame_time(pattern, dict.fromkeys(computed, 1)) == pattern.inference_factor
    assert frame_time(RolloutPattern.streaming(net), times) == max(times.values())


@pytest.mark.parametrize(
    ("times", "message"),
    [
        ({"A": 1}, "node O of network network has none"),
        ({"A": 1, "O": -1}, "node O takes -1"),
        ({"A": 1, "O": float("nan")}, "node O takes nan"),
        ({"A": 1, "O": 1, "I": 1}, "I is not a computed node"),
        ({"A": 1, "O": 1, "x": 1}, "x is not a computed node"),
    ],
)
def test_node_times_are_one_per_computed_node(times, message):
    net = Network.from_edges([("I", "A"), ("A", "O")])
    with pytest.raises(InputError, match=message):
        frame_time(RolloutPattern.streaming(net), times)


def test_frame_time_refuses_invalid_patterns():
    net = Network.from_edges([("I", "A"), ("A", "A")])
    with pytest.raises(PatternError, match="A -> A"):
        frame_time(RolloutPattern(net, (0, 0)), {"A": 1})
