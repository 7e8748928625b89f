"""Tick-level schedules: edges that ask for more than one tick, against enumeration and networkx."""

import itertools
import random
import time
from fractions import Fraction
from itertools import pairwise
from math import ceil

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuromap.errors import InputError
from neuromap.network.network import Network
from neuromap.rollout.pattern import RolloutPattern
from neuromap.rollout.schedule.execution import EXECUTIONS
from neuromap.rollout.schedule.node_times import MAX_LATENCY, maximum_cycle_ratio
from neuromap.rollout.schedule.rollout import Rollout


def with_all_outputs(net):
    return Network.from_edges(net.edges, outputs=[v for v in net.nodes if v not in net.inputs])


def draw_case(data, rollouts, free_inputs=False, **sizes):
    """A network whose computed nodes are all outputs, a valid pattern, and latencies of some of its edges."""
    net, pattern = data.draw(rollouts(**sizes))
    net = with_all_outputs(net)
    inputs = set(net.inputs)
    eligible = [key for key in net.edges if not (free_inputs and key[0] in inputs)]
    latencies = data.draw(st.dictionaries(st.sampled_from(eligible), st.integers(1, 9))) if eligible else {}
    return net, RolloutPattern(net, pattern.values), latencies


def times(rollout):
    """Everything that a schedule says, as plain values."""
    return {
        "period": rollout.frame_period,
        "phases": dict(rollout.phases),
        "delays": dict(rollout.delays),
        "first": dict(rollout.first_responses),
        "full": {o: (f.steps, f.is_exact) for o, f in rollout.full_responses.items()},
    }


def stretched(figures, k):
    """The figures of a schedule whose every step takes k ticks."""
    return {
        "period": k * figures["period"],
        "phases": {v: k * phi for v, phi in figures["phases"].items()},
        "delays": {e: k * d for e, d in figures["delays"].items()},
        "first": {o: k * t for o, t in figures["first"].items()},
        "full": {o: (k * t, exact) for o, (t, exact) in figures["full"].items()},
    }


# What a schedule must keep.


@pytest.mark.theorem
@given(execution=st.sampled_from(EXECUTIONS), data=st.data())
@settings(deadline=None, max_examples=1000)
def test_every_edge_has_its_latency_and_inputs_are_sampled_as_late_as_possible(rollouts, execution, data):
    net, pattern, latencies = draw_case(data, rollouts)
    r = Rollout(net, pattern, execution, latencies)
    assert r.is_tick_level
    assert r.latencies == {key: latencies.get(key, 1) for key in net.edges}
    i = 5
    for u, v in net.edges:
        # Frame i of v needs frame i - R of u, known at (i - R - 1) P + phi(u).
        known_v = (i - 1) * r.frame_period + r.phases[v]
        known_u = (i - 1 - pattern[u, v]) * r.frame_period + r.phases[u]
        assert r.delays[u, v] == known_v - known_u >= r.latencies[u, v]
    for u in net.inputs:
        assert min(d - r.latencies[key] for key, d in r.delays.items() if key[0] == u) == 0


@given(data=st.data())
@settings(deadline=None, max_examples=200)
def test_windowed_phases_are_longest_paths_inside_a_frame(rollouts, data):
    net, pattern, latencies = draw_case(data, rollouts)
    r = Rollout(net, pattern, "windowed", latencies)
    frame = nx.DiGraph()
    for (u, v), c in r.latencies.items():
        # All of frame 0, and the inputs, are known at time 0.
        begin = "known" if pattern[u, v] or u in net.inputs else u
        if frame.has_edge(begin, v):
            c = max(c, frame.edges[begin, v]["weight"])
        frame.add_edge(begin, v, weight=c)
    for v in net.outputs:
        paths = nx.all_simple_edge_paths(frame, "known", v)
        assert r.phases[v] == max(sum(frame.edges[e]["weight"] for e in path) for path in paths)
    assert r.frame_period == nx.dag_longest_path_length(frame)


@pytest.mark.theorem
@given(data=st.data())
@settings(deadline=None, max_examples=1000)
def test_windowed_delays_are_bounded(rollouts, data):
    net, pattern, latencies = draw_case(data, rollouts)
    r = Rollout(net, pattern, "windowed", latencies)
    for (u, v), d in r.delays.items():
        assert d <= (max(1, pattern[u, v]) + 1) * r.frame_period - (u not in net.inputs)


def constraints(net, pattern, latencies, period):
    """The difference constraints of a period as shortest paths: phi(u) - phi(v) <= R P - c."""
    graph = nx.DiGraph()
    for u, v in net.edges:
        graph.add_edge(u, v, weight=pattern[u, v] * period - latencies[u, v])
    return graph


@pytest.mark.theorem
@given(data=st.data())
@settings(deadline=None, max_examples=1000)
def test_pipelined_period_is_the_smallest_feasible(rollouts, data):
    net, pattern, latencies = draw_case(data, rollouts)
    r = Rollout(net, pattern, "pipelined", latencies)
    found = next(p for p in range(1, 200) if not nx.negative_edge_cycle(constraints(net, pattern, r.latencies, p)))
    assert r.frame_period == found <= Rollout(net, pattern, "windowed", latencies).frame_period


@given(data=st.data())
@settings(deadline=None, max_examples=150)
def test_pipelined_phases_are_the_least_from_inputs_at_zero(rollouts, data):
    net, pattern, latencies = draw_case(data, rollouts)
    r = Rollout(net, pattern, "pipelined", latencies)
    graph = constraints(net, pattern, r.latencies, r.frame_period)
    graph.add_weighted_edges_from(("root", u, 0) for u in net.inputs)
    shortest = nx.single_source_bellman_ford_path_length(graph, "root")
    assert all(r.phases[v] == -shortest[v] for v in net.outputs)
    assert all(r.phases[u] >= 0 for u in net.inputs)


@given(data=st.data())
@settings(deadline=None, max_examples=200)
def test_cycle_ratio_equals_the_maximum_over_all_cycles(rollouts, data):
    net, pattern, latencies = draw_case(data, rollouts, max_nodes=7, max_extra=14)
    ratios = []
    for cycle in nx.simple_cycles(nx.DiGraph(list(net.edges))):
        keys = list(zip(cycle, cycle[1:] + cycle[:1], strict=True))
        ratios.append(Fraction(sum(latencies.get(k, 1) for k in keys), sum(pattern[k] for k in keys)))
    expected = max(ratios, default=None)
    assert maximum_cycle_ratio(pattern, latencies) == expected
    assert Rollout(net, pattern, "pipelined", latencies).cycle_ratio == expected


@given(execution=st.sampled_from(EXECUTIONS), data=st.data())
@settings(deadline=None, max_examples=150)
def test_responses_are_extremes_over_paths(rollouts, execution, data):
    net, pattern, latencies = draw_case(data, rollouts, max_nodes=6, max_extra=10)
    r = Rollout(net, pattern, execution, latencies)
    graph = nx.DiGraph(list(net.edges))
    for v in net.outputs:
        by_input = {u: list(nx.all_simple_edge_paths(graph, u, v)) for u in net.inputs}
        firsts = [min(sum(r.delays[key] for key in path) for path in paths) for paths in by_input.values() if paths]
        paths = list(itertools.chain.from_iterable(by_input.values()))
        sums = [sum(r.delays[key] for key in path) for path in paths]
        assert (r.first_response(v), r.full_response(v)) == (min(sums), max(sums))
        assert r.full_response_is_exact(v)
        assert r.worst_case_reaction(v) == max(firsts) + r.frame_period - 1
        # No path is faster than its edges.
        assert all(s >= sum(r.latencies[key] for key in path) for s, path in zip(sums, paths, strict=True))


# Against schedules in update steps.


@given(execution=st.sampled_from(EXECUTIONS), data=st.data())
@settings(deadline=None, max_examples=100)
def test_latency_one_is_the_schedule_in_update_steps(rollouts, execution, data):
    net, pattern, latencies = draw_case(data, rollouts)
    steps = Rollout(net, pattern, execution)
    assert not steps.is_tick_level
    assert set(steps.latencies.values()) == {1}
    assert times(steps.with_latencies(dict.fromkeys(latencies, 1))) == times(steps)


@given(k=st.integers(1, 7), data=st.data())
@settings(deadline=None, max_examples=150)
def test_equal_latencies_stretch_a_windowed_schedule(rollouts, k, data):
    net, pattern, _ = draw_case(data, rollouts)
    steps = Rollout(net, pattern, "windowed")
    ticks = steps.with_latencies(dict.fromkeys(net.edges, k))
    assert times(ticks) == stretched(times(steps), k)
    assert all(ticks.worst_case_reaction(v) == steps.worst_case_reaction(v, k) for v in net.outputs)


def test_one_schedule_has_one_worst_case_reaction():
    """SR streaming, two ticks to a step: 5 ticks, whether it was stretched or scheduled in ticks."""
    net = Network.from_edges([("I", "H1"), ("H1", "H2"), ("H2", "O"), ("H1", "O"), ("H1", "H1")])
    steps = Rollout(net, "streaming")
    ticks = steps.with_latencies(dict.fromkeys(net.edges, 2))
    assert steps.worst_case_reaction("O", 2) == ticks.worst_case_reaction("O") == 5


@pytest.mark.theorem
@given(execution=st.sampled_from(EXECUTIONS), data=st.data())
@settings(deadline=None, max_examples=1000)
def test_in_ticks_a_network_is_never_slower_to_sample_than_stretched(rollouts, execution, data):
    net, pattern, latencies = draw_case(data, rollouts)
    steps, k = Rollout(net, pattern, execution), max(latencies.values(), default=1)
    assert steps.with_latencies(latencies).frame_period <= k * steps.frame_period
    assert Rollout(net, pattern, "pipelined").frame_period <= Rollout(net, pattern, "windowed").frame_period


@given(k=st.integers(1, 7), data=st.data())
@settings(deadline=None, max_examples=150)
def test_equal_latencies_stretch_a_pipelined_schedule_or_fit_a_shorter_period(rollouts, k, data):
    net, pattern, _ = draw_case(data, rollouts)
    steps = Rollout(net, pattern, "pipelined")
    ticks = steps.with_latencies(dict.fromkeys(net.edges, k))
    ratio = steps.cycle_ratio
    # A stretched schedule rounds the ratio up to whole steps, one in ticks to whole ticks.
    assert ticks.cycle_ratio == (None if ratio is None else k * ratio)
    assert ticks.frame_period == (1 if ratio is None else ceil(k * ratio)) <= k * steps.frame_period
    if ticks.frame_period == k * steps.frame_period:
        assert times(ticks) == stretched(times(steps), k)


def test_three_edges_two_of_them_streaming_show_the_difference():
    net = Network.from_edges([("I", "A"), ("A", "B"), ("B", "C"), ("C", "A")], outputs=["C"])
    steps = Rollout(net, RolloutPattern.from_streaming_edges(net, [("B", "C"), ("C", "A")]), "pipelined")
    ticks = steps.with_latencies(dict.fromkeys(net.edges, 2))
    assert (steps.cycle_ratio, steps.frame_period) == (Fraction(3, 2), 2)
    assert (ticks.cycle_ratio, ticks.frame_period) == (3, 3)


def subdivided(net, pattern, latencies):
    """The same network with every latency spelt out: c - 1 nodes on each edge, R on the first piece."""
    values = {}
    for u, v in net.edges:
        way = [u, *(f"{u}>{v}.{j}" for j in range(1, latencies.get((u, v), 1))), v]
        pieces = list(pairwise(way))
        values |= dict.fromkeys(pieces, 0) | {pieces[0]: pattern[u, v]}
    longer = Network.from_edges(values, outputs=net.outputs)
    return longer, RolloutPattern(longer, tuple(values[key] for key in longer.edges))


@given(execution=st.sampled_from(EXECUTIONS), data=st.data())
@settings(deadline=None, max_examples=200)
def test_a_latency_is_as_many_edges_in_a_row(rollouts, execution, data):
    net, pattern, latencies = draw_case(data, rollouts, free_inputs=True)
    r = Rollout(net, pattern, execution, latencies)
    spelt = Rollout(*subdivided(net, pattern, latencies), execution)
    assert r.frame_period == spelt.frame_period
    assert r.cycle_ratio == spelt.cycle_ratio
    assert all(r.phases[v] == spelt.phases[v] for v in net.nodes)
    assert (r.first_responses, r.full_responses) == (spelt.first_responses, spelt.full_responses)


@given(execution=st.sampled_from(EXECUTIONS), data=st.data())
@settings(deadline=None, max_examples=100)
def test_more_latency_never_shortens_the_frame_period(rollouts, execution, data):
    net, pattern, latencies = draw_case(data, rollouts)
    key = data.draw(st.sampled_from(list(net.edges)))
    before = Rollout(net, pattern, execution, latencies)
    after = before.with_latencies({**latencies, key: latencies.get(key, 1) + data.draw(st.integers(1, 5))})
    assert after.frame_period >= before.frame_period


@pytest.mark.parametrize(
    ("pattern", "execution", "in_ticks", "stretched_steps"),
    [
        # frame period, first and full response; a stretched step would take two ticks
        ("streaming", "windowed", (2, 4, 6), (2, 4, 6)),
        ("streaming", "pipelined", (1, 3, 4), (2, 4, 6)),
        ("sequential", "windowed", (3, 3, 3), (6, 6, 6)),
        ("sequential", "pipelined", (1, 3, 3), (2, 6, 6)),
    ],
)
def test_one_slow_edge_does_not_stretch_the_others(pattern, execution, in_ticks, stretched_steps):
    # SR with a splitter on H1 -> O.
    net = Network.from_edges([("I", "H1"), ("H1", "H2"), ("H2", "O"), ("H1", "O"), ("H1", "H1")])
    steps = Rollout(net, pattern, execution)
    r = steps.with_latencies({("H1", "O"): 2})
    assert (r.frame_period, r.first_response("O"), r.full_response("O")) == in_ticks
    assert (2 * steps.frame_period, 2 * steps.first_response("O"), 2 * steps.full_response("O")) == stretched_steps


def test_a_rollout_with_latencies_forgets_earlier_ones():
    net = Network.from_edges([("I", "A"), ("A", "O")])
    r = Rollout(net, "sequential", latencies={("A", "O"): 4})
    assert r.with_latencies({("I", "A"): np.int64(2)}).latencies == {("I", "A"): 2, ("A", "O"): 1}
    assert r.with_latencies({}).is_tick_level
    assert (r.frame_period, r.sampling_frequency(1e-3)) == (5, pytest.approx(200.0))
    with pytest.raises(TypeError):
        r.latencies["A", "O"] = 1


# Errors.


@pytest.mark.parametrize(
    ("latencies", "message"),
    [
        ({("A", "I"): 2}, "latency of edge A -> I: is not an edge of network"),
        ({"A -> O": 2}, "latency of edge 'A -> O': is not an edge"),
        ({("A", "O"): 0}, "latency of edge A -> O: 0 ticks; give an integer from 1"),
        ({("A", "O"): -3}, "-3 ticks"),
        ({("A", "O"): 1.5}, "1.5 ticks; give an integer"),
        ({("A", "O"): True}, "True ticks; give an integer"),
        ({("A", "O"): None}, "None ticks; give an integer"),
        ({("A", "O"): MAX_LATENCY + 1}, f"{MAX_LATENCY + 1} ticks; give an integer from 1 to {MAX_LATENCY}"),
        ([2, 3], "latencies .2, 3.: not a mapping"),
    ],
)
def test_latencies_that_are_none_are_refused(latencies, message):
    net = Network.from_edges([("I", "A"), ("A", "O")])
    with pytest.raises(InputError, match=message):
        Rollout(net, "sequential", latencies=latencies)
    with pytest.raises(InputError, match=message):
        Rollout(net, "sequential").with_latencies(latencies)


def test_the_greatest_latency_is_counted_exactly():
    net = Network.from_edges([("I", "A"), ("A", "B"), ("B", "A")], outputs=["B"])
    pattern = RolloutPattern.streaming(net)
    r = Rollout(net, pattern, "pipelined", dict.fromkeys(net.edges, MAX_LATENCY))
    assert (r.frame_period, r.full_response("B")) == (MAX_LATENCY, 2 * MAX_LATENCY)


# Size.


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.parametrize("cyclic", [False, True])
def test_ten_thousand_nodes_and_a_hundred_thousand_edges_take_seconds(large_rollout, cyclic):
    rng = random.Random(4)
    net, pattern = large_rollout(cyclic)
    latencies = {key: rng.randint(1, 4) for key in net.edges}
    begin = time.process_time()
    for execution in EXECUTIONS:
        r = Rollout(net, pattern, execution, latencies)
        assert min(r.delays[key] - c for key, c in r.latencies.items()) == 0
        assert 1 <= r.first_response("9999") <= r.full_response("9999")
    # Some seconds on one slow core; ten times that is a defect, not a busy machine.
    assert time.process_time() - begin < 50
