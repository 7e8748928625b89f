"""Exploring ``pipelined:best``: times as of ``Rollout``, the exact front with them, rows in files and documents."""

from __future__ import annotations

import csv
import json
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from jsonschema import validate

import neuromap as nm
from neuromap.arrays.parts_of_ticks import in_parts
from neuromap.explorer.candidates.pattern_space import pattern_space
from neuromap.explorer.candidates.schedules import graph_of, schedules_of
from neuromap.explorer.document import exploration_schema
from neuromap.explorer.explore import explore

EXECUTIONS = ("windowed", "pipelined", "pipelined:best")


@pytest.fixture(scope="module")
def ring():
    """Two frames on their way around three edges, under one pattern class; three under another."""
    eye, node = np.eye(2, dtype=int), ((1, 1, 2), 1)
    nodes = {"I": ((1, 1, 2), None), "a": node, "b": node, "c": node, "O": node}
    return nm.build_network(nodes, dict.fromkeys([("I", "a"), ("a", "b"), ("b", "c"), ("c", "a"), ("c", "O")], eye))


@settings(deadline=None, max_examples=40)
@given(data=st.data())
def test_times_are_those_of_rollout(data, interleaved_edges):
    edges = data.draw(interleaved_edges())
    net = nm.Network.from_edges(edges)
    graph = graph_of(net)
    values = np.concatenate(list(pattern_space(graph, [nm.RolloutPattern.streaming(net)]).chunks()))
    own = np.array([[edges[edge] for edge in net.edges]], np.uint8)
    values = np.concatenate([own, values[:: max(1, len(values) // 10)]])
    found = schedules_of(graph, values, "pipelined:best")
    event(f"unequal intervals: {found.frames[0] > 1}")
    for k, row in enumerate(values.tolist()):
        rollout = nm.Rollout(net, nm.RolloutPattern(net, tuple(row)), "pipelined:best")
        assert Fraction(int(found.period[k]), int(found.frames[k])) == rollout.frame_period
        assert found.phases[k].tolist() == in_parts(rollout.phases.values(), rollout.frame_period).tolist()
        assert found.delays[k].tolist() == list(rollout.delays.values())
        assert found.first[k] == min(rollout.first_responses.values())
        assert found.slowest[k] == rollout.slowest_response()


@pytest.mark.thorough
@pytest.mark.parametrize("splitters", ["slack", "anywhere"])
@pytest.mark.parametrize("streaming", [[("c", "a")], [("a", "b"), ("b", "c")]])
def test_the_front_is_that_of_brute_force(splitters, streaming, ring, chip, brute_force, point_of):
    pattern = nm.RolloutPattern.from_streaming_edges(ring, streaming)
    brute = brute_force(ring, chip(), pattern, executions=EXECUTIONS, n_frames=4, splitters=splitters)
    options = {"n_frames": 4, "n_stimuli": 1, "energy_tolerance": 0, "splitters": splitters}
    found = explore(ring, chip(), pattern, executions=EXECUTIONS, **options)
    assert found.gap.is_exact
    assert all(row.verified for row in found.rows if row.status == "mapped")
    assert {point_of(row) for row in found.front} == brute.front
    assert {point_of(row) for row in found.class_front} == brute.class_front


def test_rows_say_the_fraction_and_survive_in_a_store(ring, chip, tmp_path):
    pattern = nm.RolloutPattern.from_streaming_edges(ring, [("a", "b"), ("b", "c")])
    options = {"executions": EXECUTIONS, "within": "class", "n_frames": 4, "store": tmp_path / "a.sqlite"}
    found, again = (explore(ring, chip(), pattern, **options) for _ in range(2))
    assert again.to_json() == found.to_json()
    best = next(row for row in again.rows if row.frame_period_ticks == Fraction(3, 2))
    assert best.candidate.execution == "pipelined:best"
    assert best.sampling_frequency_hz == pytest.approx(2000 / 3)
    assert best.worst_case_reaction_ticks == best.first_response_ticks + 2 - 1
    document = json.loads(found.to_json())
    validate(document, exploration_schema())
    (row,) = (row for row in document["rows"] if "intervals" in row)
    assert row["frame_period_ticks"] == 1.5
    assert row["intervals"] == {"frames": 2, "ticks": 3, "largest_gap_ticks": 2}
    (line,) = (line for line in csv.DictReader(found.to_csv().splitlines()) if line["execution"] == "pipelined:best")
    assert (line["frame_period_ticks"], line["intervals.largest_gap_ticks"]) == ("1.5", "2")
    assert "frame period 3/2: a mean, 2 frames every 3 ticks, 2 or less apart" in found.to_text()
