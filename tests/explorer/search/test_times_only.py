"""Where all objectives are times, few patterns are listed, and the fronts are those of all patterns."""

from __future__ import annotations

import numpy as np
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

import neuromap as nm
from neuromap.explorer.candidates.named_patterns import LeastResponses, NamedPatterns
from neuromap.explorer.explore import explore
from neuromap.network import build_network
from neuromap.rollout.behaviour import class_key

EXECUTIONS = ("windowed", "pipelined")


def times_of(pattern, execution):
    """First, full, worst-case reaction and frame period of a rollout, in update steps."""
    rollout, outputs = nm.Rollout(pattern.network, pattern, execution), pattern.network.outputs
    first = min(rollout.first_response(o) for o in outputs)
    full = max(rollout.full_response(o) for o in outputs)
    return first, full, rollout.worst_case_reaction(), rollout.frame_period


def not_beaten(points):
    return {p for p in points if not any(q != p and all(x <= y for x, y in zip(q, p, strict=True)) for q in points)}


def times_of_rows(rows):
    return {
        (r.first_response_ticks, r.full_response_ticks, r.worst_case_reaction_ticks, r.frame_period_ticks) for r in rows
    }


@settings(deadline=None, max_examples=45, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(data=st.data())
def test_fronts_are_those_of_every_pattern(data, networks):
    net = data.draw(networks())
    patterns = list(nm.rollout.enumerate_valid(net))
    weights_for = data.draw(st.sampled_from(patterns))
    executions = data.draw(st.sampled_from([EXECUTIONS, *((e,) for e in EXECUTIONS)]))
    found = explore(
        net, given=weights_for, executions=executions, objectives="times", n_frames=3, n_stimuli=1, verify=False
    )
    assert found.gap.is_exact
    event(f"listed {'all' if found.n_candidates == len(patterns) * len(executions) else 'few'}")
    times = {(p, e): times_of(p, e) for p in patterns for e in executions}
    key = class_key(weights_for)
    mine = {t for (p, _), t in times.items() if class_key(p) == key}
    assert times_of_rows(found.front) == not_beaten(set(times.values()))
    assert times_of_rows(found.class_front) == not_beaten(mine)


@settings(deadline=None, max_examples=90)
@given(data=st.data())
def test_no_pattern_is_below_the_curve_of_its_class(data, networks):
    net = data.draw(networks())
    for pattern in nm.rollout.enumerate_valid(net):
        points = NamedPatterns(pattern, (), {}).curve
        first, full, reaction, period = times_of(pattern, "windowed")
        bound = [point for point in points if point.period <= period][-1]
        assert first >= bound.least.first
        assert full >= bound.least.full
        assert reaction >= bound.least.slowest + period - 1


@settings(deadline=None, max_examples=30)
@given(data=st.data())
def test_with_one_output_the_fastest_phases_come_down_to_the_curve(data, networks):
    net = data.draw(networks())
    net = nm.Network.from_edges(list(net.edges), outputs=net.outputs[:1])
    for pattern in list(nm.rollout.enumerate_valid(net))[:40]:
        rollout = nm.Rollout(net, pattern, "windowed")
        found = LeastResponses.of(nm.rollout.fastest_phases(rollout).rollout)
        bounds = {point.period: point.least for point in NamedPatterns(pattern, (), {}).curve}
        if (bound := bounds.get(rollout.frame_period)) is not None and is_all_seen(net):
            assert found[:2] == bound[:2]
            assert found.full >= bound.full


def is_all_seen(net):
    """Whether every node reaches an output."""
    seen = set(net.outputs)
    for _ in net.nodes:
        seen |= {u for u, v in net.edges if v in seen}
    return seen == set(net.nodes)


def residual(n_blocks, rng):
    """The graph of a residual network, three layers to a block and a skip edge around each."""
    edges = [("I", "S0")]
    for k in range(n_blocks):
        edges += [(f"S{k}", f"A{k}"), (f"A{k}", f"B{k}"), (f"B{k}", f"S{k + 1}"), (f"S{k}", f"S{k + 1}")]
    nodes = dict.fromkeys(v for edge in edges for v in edge)
    return build_network(
        {v: (4, None if v == "I" else 1) for v in nodes}, {e: rng.choice([-1, 1], (4, 4)) for e in edges}
    )


def test_a_graph_with_more_patterns_than_can_be_listed_is_exact():
    net = residual(16, np.random.default_rng(1))
    assert nm.rollout.count_valid(net) == 2**65
    found = explore(net, given="sequential", objectives="times", n_frames=3, n_stimuli=1, verify=False)
    assert found.gap.is_exact
    assert found.n_mapped < 10
    assert times_of_rows(found.front) == {(17, 49, 17, 1)}
    assert times_of_rows(found.class_front) == {(49, 49, 49, 1)}


def test_other_objectives_say_how_far_every_pattern_is_from_the_best():
    net = residual(8, np.random.default_rng(1))
    found = explore(net, n_frames=3, n_stimuli=1, verify=False, most_mapped=2)
    assert not found.gap.is_exact
    assert "of 8,589,934,592 valid ones were searched; any other one is matched in every time" in (found.gap.statement)
