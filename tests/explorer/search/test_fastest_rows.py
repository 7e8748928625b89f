"""Rows with the fastest phases beside those with the least: fronts gain or stay."""

from __future__ import annotations

import json
from itertools import pairwise

import jsonschema
import numpy as np
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

import neuromap as nm
from neuromap.errors import InputError
from neuromap.explorer.candidates.named_patterns import LeastResponses
from neuromap.explorer.candidates.schedules import graph_of, schedules_of
from neuromap.network import build_network
from neuromap.rollout import fastest_phases
from neuromap.rollout.schedule.fastest_phases import responses_of_pairs, soonest_responses

BOTH = ("least", "fastest")
PLAIN = {"n_frames": 4, "n_stimuli": 1, "verify": False, "energy_tolerance": 0.0}
QUIET = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large]}


def as_good(a, b):
    return all(x <= y for x, y in zip(a, b, strict=True))


@pytest.mark.law
@settings(max_examples=4, **QUIET)
@given(data=st.data())
def test_no_front_point_is_lost_and_the_front_is_that_of_everything(
    data, networks, chip, list_chip, brute_force, fronts_of, point_of
):
    net = data.draw(networks(most_inner=3, most_extra=2, most_edges=4))
    make = data.draw(st.sampled_from([chip, list_chip]))
    small = make(axons=32, neurons=32, delay=data.draw(st.sampled_from([(1, 15), (1, 2), (2, 7)])))
    pattern = data.draw(st.sampled_from(list(nm.rollout.enumerate_valid(net))))
    gained = check(net, small, pattern, brute_force, fronts_of, point_of)
    event("gains" if gained else "stays")


def check(net, chip, pattern, brute_force, fronts_of, point_of, executions=("windowed", "pipelined")):
    """Hold a search with both phases against every row mapped with both, and against the front of the least alone."""
    points, before = {}, None
    for phases in BOTH:
        brute = brute_force(net, chip, pattern, executions=executions, n_frames=4, phases=phases)
        before = before or brute
        points |= {(values, f"{execution} {phases}"): point for (values, execution), point in brute.points.items()}
    brute = fronts_of(net, points, pattern)
    found = nm.explore(net, chip, pattern, executions=executions, phases=BOTH, **PLAIN)
    front, class_front = ({point_of(row) for row in rows} for rows in (found.front, found.class_front))
    assert found.gap.is_exact
    assert (front, class_front) == (brute.front, brute.class_front)
    for old, new in ((before.front, front), (before.class_front, class_front)):
        assert all(any(as_good(point, lost) for point in new) for lost in old)
    return (front, class_front) != (before.front, before.class_front)


@pytest.mark.parametrize("lengths", [(2, 3), (2, 2)], ids=str)
def test_chains_of_unequal_length_gain(lengths, chip, brute_force, fronts_of, point_of):
    """Each input has a chain of its own to the output, all sequential: the shorter one waits with the least phases."""
    ways = [[f"I{k}", *(f"v{k}.{j}" for j in range(1, n)), "O"] for k, n in enumerate(lengths)]
    net = of_ones([edge for way in ways for edge in pairwise(way)], ["O"])
    pattern = nm.RolloutPattern.sequential(net)
    gained = check(net, chip(), pattern, brute_force, fronts_of, point_of, ("pipelined",))
    assert gained == (len(set(lengths)) > 1)


@settings(max_examples=30, **QUIET)
@given(data=st.data(), execution=st.sampled_from(["windowed", "pipelined", "pipelined:best"]))
def test_times_of_rows_are_bounds_and_rows_that_gain_nothing_are_the_same(data, execution, networks):
    net = data.draw(networks(most_inner=5, most_edges=8))
    patterns = list(nm.rollout.enumerate_valid(net))[:20]
    values = np.array([pattern.values for pattern in patterns], np.uint8)
    found = schedules_of(graph_of(net), values, execution, soonest=True)
    for k, pattern in enumerate(patterns):
        rollout = nm.Rollout(net, pattern, execution)
        mine, own = (found.first[k], found.slowest[k], found.full[k]), LeastResponses.of(rollout)
        if not isinstance(rollout.frame_period, int):  # then phases stay as they are
            assert (mine, found.gains[k]) == (own, False)
            continue
        alone, fastest = soonest_responses(rollout), fastest_phases(rollout).rollout
        assert as_good(LeastResponses.soonest(rollout), mine)
        assert as_good(mine, LeastResponses.of(fastest))
        assert as_good(LeastResponses.of(fastest), own)
        assert found.gains[k] == (alone != responses_of_pairs(rollout))
        if not found.gains[k]:
            assert dict(fastest.phases) == dict(rollout.phases)
        if len(net.inputs) == 1 or len(net.outputs) == 1:
            assert responses_of_pairs(fastest) == alone


def of_ones(edges, outputs):
    """A network of one neuron a node, all weights 1."""
    heads = {v for _, v in edges}
    nodes = {name: ((1, 1, 1), 1 if name in heads else None) for name in dict.fromkeys(n for e in edges for n in e)}
    return build_network(nodes, {edge: np.ones((1, 1), int) for edge in edges}, outputs=outputs)


def front_times(net, phases, **how):
    found = nm.explore(net, phases=phases, within="class", **PLAIN | how | {"verify": True})
    assert found.gap.is_exact
    assert all(row.verified for row in found.rows if row.status == "mapped")
    return {(r.first_response_ticks, r.full_response_ticks, r.worst_case_reaction_ticks) for r in found.front}


def test_with_two_inputs_the_pipelined_front_gains():
    """The example of docs/explorer.md: the input of the short path need not wait for that of the long one."""
    net = of_ones([("I1", "A"), ("A", "B"), ("B", "O"), ("I2", "C"), ("C", "O")], ["O"])
    how = {"given": "sequential", "executions": "pipelined"}
    assert front_times(net, "least", **how) == {(3, 3, 3)}
    assert front_times(net, BOTH, **how) == {(2, 3, 3)}


def test_documents_say_which_phases_a_row_has():
    net = of_ones([("I1", "A"), ("A", "B"), ("B", "O"), ("I2", "C"), ("C", "O")], ["O"])
    found = nm.explore(net, given="sequential", executions="pipelined", within="class", phases=BOTH, **PLAIN)
    document = json.loads(found.to_json())
    jsonschema.validate(document, nm.load_schema("exploration"))
    assert {(row.get("phases"), row["first_response_ticks"]) for row in document["rows"]} == {("fastest", 2), (None, 3)}
    assert {row.candidate.choices for row in found.rows} == {"slack", "slack, fastest phases"}
    with pytest.raises(InputError, match="phases 'soon' is not known; choose one of least, cheapest, fastest"):
        nm.explore(net, phases="soon")


def test_with_one_input_nothing_pipelined_is_mapped_twice():
    net = of_ones([("I", "A"), ("A", "O"), ("I", "O")], ["O"])
    found = nm.explore(net, executions="pipelined", phases=BOTH, **PLAIN)
    assert {row.candidate.phases for row in found.rows} == {"least"}
    assert found.gap.is_exact
