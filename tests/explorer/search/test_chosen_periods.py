"""Exploring ``pipelined:P``: the same times as ``Rollout``, and the exact front with them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

import neuromap as nm
from neuromap.errors import InputError
from neuromap.explorer.candidates.pattern_space import pattern_space
from neuromap.explorer.candidates.schedules import graph_of, schedules_of
from neuromap.explorer.explore import explore
from neuromap.mapping.map_rollout import map_with_stages
from neuromap.mapping.options.options import MappingOptions, Pins
from neuromap.network.build import build_network


@settings(deadline=None, max_examples=40)
@given(data=st.data(), period=st.sampled_from([1, 2, 3, 5, 40, 1000]))
def test_times_are_those_of_rollout(data, period, networks):
    net = data.draw(networks(most_inner=5, most_extra=6, most_edges=9))
    graph = graph_of(net)
    event(f"one order: {graph.is_ordered}")
    values = np.concatenate(list(pattern_space(graph, [nm.RolloutPattern.streaming(net)]).chunks()))
    values = values[:: max(1, len(values) // 10)]
    found = schedules_of(graph, values, f"pipelined:{period}")
    for k, row in enumerate(values.tolist()):
        try:
            rollout = nm.Rollout(net, nm.RolloutPattern(net, tuple(row)), f"pipelined:{period}")
        except InputError:
            assert found.period[k] == 0
            continue
        assert found.period[k] == rollout.frame_period == period
        assert found.delays[k].tolist() == list(rollout.delays.values())
        assert found.first[k] == min(rollout.first_responses.values())
        assert found.slowest[k] == rollout.slowest_response()
        assert found.full[k] == max(full.steps for full in rollout.full_responses.values())


@pytest.mark.parametrize("largest", [3, pytest.param(5, marks=pytest.mark.thorough)])
@settings(deadline=None, max_examples=4, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(data=st.data())
def test_the_front_is_that_of_brute_force(largest, data, networks, chip, brute_force, point_of):
    net = data.draw(networks(most_edges=largest))
    executions = ("windowed", "pipelined", "pipelined:2", "pipelined:3")
    pattern = data.draw(st.sampled_from(list(nm.rollout.enumerate_valid(net))))
    brute = brute_force(net, chip(), pattern, executions=executions, n_frames=4)
    options = {"n_frames": 4, "n_stimuli": 1, "verify": False, "energy_tolerance": 0}
    found = explore(net, chip(), pattern, executions=executions, **options)
    assert found.gap.is_exact
    assert {point_of(row) for row in found.front} == brute.front
    assert {point_of(row) for row in found.class_front} == brute.class_front


def test_a_period_of_ones_own_counts_in_the_unit_of_the_schedule_that_is_made(chip):
    """Two legs take four ticks, a step two: so the schedule is in ticks, and P = 3 is three of them, not five."""
    one = np.ones((1, 1), int)
    edges = {("I", "A"): one, ("A", "O"): one, ("A", "A"): one}
    net = build_network({"I": (1, None), "A": (1, 1), "O": (1, 1)}, edges, outputs=["O"])
    small = chip(delay=(2, 15))
    split = MappingOptions(splitters="anywhere", pins=Pins(splitters=frozenset({("A", "O")})), ticks_per_step=2)
    assert map_with_stages(nm.Rollout(net, "streaming", "pipelined:3"), small, split).program.period == 3
    options = {"splitters": "anywhere", "ticks_per_step": 2, "most_mapped": 0, "n_frames": 2}
    found = explore(net, small, executions=("pipelined:3",), **options)
    assert {row.frame_period_ticks for row in found.rows} == {3}


def test_a_longer_period_can_be_worth_its_place_on_the_front(slow_path, chip):
    """Without retraining, the earliest answer of this class is pipelined every second step."""
    pattern = nm.RolloutPattern.from_streaming_edges(slow_path, [("I", "A")])
    executions = ("windowed", "pipelined", "pipelined:2", "pipelined:3")
    found = explore(slow_path, chip(), pattern, executions=executions, within="class")
    front = {(row.frame_period_ticks, row.first_response_ticks) for row in found.class_front}
    assert {(1, 2), (2, 1)} <= front
    assert all(row.frame_period_ticks < 3 for row in found.class_front)


@pytest.mark.parametrize("wrong", ["pipelined:0", "pipelined:1001", "both", ""])
def test_wrong_executions_are_refused(slow_path, wrong):
    with pytest.raises(InputError, match="execution"):
        explore(slow_path, executions=("windowed", wrong))
