"""Unequal node times as tick-level schedules: sum along sequential chains, maximum over streaming nodes.

``frame_time`` itself is tested with the paper's claims in ``test_paper_claims.py``.
"""

import math
from fractions import Fraction

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuromap.errors import InputError
from neuromap.network.network import Network
from neuromap.rollout.pattern import RolloutPattern
from neuromap.rollout.schedule.node_times import MAX_LATENCY, frame_time, latencies_of
from neuromap.rollout.schedule.rollout import Rollout

SMALL = Network.from_edges([("I", "A"), ("A", "O")])


def computed(net):
    return [name for name in net.nodes if name not in net.inputs]


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_windowed_period_is_the_frame_time(rollouts, data):
    net, pattern = data.draw(rollouts())
    times = {name: data.draw(st.integers(1, 9)) for name in computed(net)}
    rollout = Rollout(net, pattern).with_latencies(latencies_of(net, times))
    assert rollout.frame_period == frame_time(pattern, times)
    streaming = Rollout(net, RolloutPattern.streaming(net)).with_latencies(latencies_of(net, times))
    assert streaming.frame_period == max(times.values())


@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_sequential_period_is_the_sum_along_the_longest_chain(rollouts, data):
    net, _ = data.draw(rollouts(max_nodes=6))
    graph = nx.DiGraph([(u, v) for u, v in net.edges if list(net.nodes).index(u) < list(net.nodes).index(v)])
    forward = [(u, v) for u, v in net.edges if graph.has_edge(u, v)]
    pattern = RolloutPattern.from_streaming_edges(net, [e for e in net.edges if e not in forward])
    times = {name: data.draw(st.integers(1, 9)) for name in computed(net)}
    rollout = Rollout(net, pattern).with_latencies(latencies_of(net, times))
    chains = [[name] for name in times]
    chains += [path for u in graph for v in graph if u != v for path in nx.all_simple_paths(graph, u, v)]
    assert rollout.frame_period == max(sum(times.get(name, 0) for name in chain) for chain in chains)


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_times_between_ticks_are_rounded_up_node_by_node(rollouts, data):
    net, pattern = data.draw(rollouts())
    tick = data.draw(st.integers(1, 7))
    times = {name: data.draw(st.integers(0, 40)) for name in computed(net)}
    ticks = {name: max(1, math.ceil(Fraction(time, tick))) for name, time in times.items()}
    latencies = latencies_of(net, times, tick)
    assert latencies == {(u, v): ticks[v] for u, v in net.edges}
    period = Rollout(net, pattern).with_latencies(latencies).frame_period
    assert period == frame_time(pattern, ticks)
    assert period * tick >= frame_time(pattern, times)


@settings(max_examples=50, deadline=None)
@given(data=st.data())
def test_equal_times_are_update_steps(rollouts, data):
    net, pattern = data.draw(rollouts())
    times = dict.fromkeys(computed(net), 2.5e-6)
    for execution in ("windowed", "pipelined"):
        steps = Rollout(net, pattern, execution)
        ticks = steps.with_latencies(latencies_of(net, times, 2.5e-6))
        assert (ticks.frame_period, dict(ticks.phases)) == (steps.frame_period, dict(steps.phases))


@given(n=st.integers(1, 10**5), tick=st.floats(1e-12, 1e3))
def test_whole_ticks_stay_whole_in_floating_point(n, tick):
    assert latencies_of(SMALL, {"A": n * tick, "O": 0}, tick) == {("I", "A"): n, ("A", "O"): 1}


@pytest.mark.parametrize(
    ("times", "tick", "words"),
    [
        ({"A": 1}, 1, "node O of network network has none"),
        ({"A": 1, "O": -1}, 1, "node O takes -1"),
        ({"A": 1, "O": float("nan")}, 1, "node O takes nan"),
        ({"A": 1, "O": 1, "I": 1}, 1, "I is not a computed node"),
        ({"A": 1, "O": 1}, 0, "a tick takes 0"),
        ({"A": 1, "O": 1}, -1.0, "a tick takes -1.0"),
        ({"A": 1, "O": 1}, float("nan"), "a tick takes nan"),
        ({"A": 1, "O": 1}, float("inf"), "a tick takes inf"),
        ({"A": 1, "O": MAX_LATENCY + 1}, 1, "node O takes 1e.06 ticks of 1; at most 1000000"),
        ({"A": float("inf"), "O": 1}, 1, "node A takes inf ticks"),
        ({"A": 1e300, "O": 1}, 1e-300, "node A takes inf ticks"),
    ],
)
def test_bad_times_are_one_line(times, tick, words):
    with pytest.raises(InputError, match=words) as caught:
        latencies_of(SMALL, times, tick)
    assert "\n" not in str(caught.value)
