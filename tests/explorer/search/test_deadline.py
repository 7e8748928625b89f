"""Accuracy at a deadline as an objective: every row of every trained class mapped and run on the chip, by hand."""

from __future__ import annotations

import itertools
import math
import re
from dataclasses import replace

import jsonschema
import numpy as np
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

import neuromap as nm
from neuromap.accuracy import accuracy_of_reference, accuracy_on_chip
from neuromap.datasets.tracks import ImageSet
from neuromap.errors import InputError, NetworkError, NeuromapError, PatternError, StimulusError
from neuromap.explorer.answer.advice import deadline_line
from neuromap.explorer.answer.limits import Limits
from neuromap.explorer.document import exploration_schema, to_dict
from neuromap.explorer.explore import explore
from neuromap.mapping.map_rollout import map_with_stages
from neuromap.network import build_network
from neuromap.rollout.behaviour import equivalent
from neuromap.simulation.choose_frames import RandomFrames, choose_stimuli
from neuromap.simulation.cost.steady_figures import steady_figures
from neuromap.simulation.engine.engine_choice import EngineChoice
from neuromap.sweep.run_store import load_runs

SKIP = [("I", "A"), ("A", "B"), ("B", "O"), ("A", "O"), ("A", "A")]
TWO_WAYS = [("I", "A"), ("I", "B"), ("A", "O"), ("B", "O")]
"""Two edges leave the input: patterns of one class differ in their first frames."""


def network(edges, seed, *, least_threshold=1, code="threshold", name="tiny"):
    """Three neurons a node and four in the output, two votes for each of two classes; any small weights."""
    rng = np.random.default_rng(seed)
    size = {"I": 4, "A": 3, "B": 3, "O": 4}
    nodes = {n: ((2, 2, 1) if n == "I" else (1, 1, s), None) for n, s in size.items()}
    nodes |= {n: (nodes[n][0], rng.integers(least_threshold, 3, size[n])) for n in "ABO"}
    matrices = {(u, v): rng.integers(-1, 3, (size[v], size[u])) for u, v in edges}
    made = build_network(nodes, matrices, outputs=["O"], name=name)
    return replace(made, tables={"inputs": {"I": {"code": code}}})


def images(n=12, seed=0):
    rng = np.random.default_rng(seed)
    pictures = rng.integers(0, 256, (n, 2, 2, 1)).astype(np.uint8)
    return ImageSet("squares", "test", pictures, rng.integers(0, 2, n), ("0", "1"))


def all_valid(net):
    patterns = [nm.RolloutPattern(net, values) for values in itertools.product((0, 1), repeat=len(net.edges))]
    return [pattern for pattern in patterns if pattern.is_valid]


def classes_of(net):
    classes = []
    for pattern in all_valid(net):
        mine = [members for members in classes if equivalent(members[0], pattern) is not None]
        mine[0].append(pattern) if mine else classes.append([pattern])
    return classes


def by_hand(rollout, chip, pictures, deadline):
    """Figures of one row, the less the better, its accuracy from the chip's own run."""
    mapped = map_with_stages(rollout, chip)
    step, program = mapped.program.ticks_per_step, mapped.program
    found = accuracy_on_chip(mapped.rollout, program, pictures, 8, threads=1)
    known = [frame.accuracy for frame in found.frames if frame.tick * chip.tick_seconds <= deadline * (1 + 1e-9)]
    accuracy = known[-1] if known else 0.0
    stimuli, _ = choose_stimuli(rollout.network, None, RandomFrames(4), 1)
    energy = steady_figures(program, stimuli, EngineChoice(threads=1)).joules_per_frame
    times = (rollout.first_response("O"), rollout.full_response("O"), rollout.worst_case_reaction("O"))
    return (
        *(t * step for t in times),
        program.period,
        round(1 - accuracy, 9),
        program.n_cores,
        float(f"{energy:.11g}"),
    )


def figures(row):
    times = (row.first_response_ticks, row.full_response_ticks, row.worst_case_reaction_ticks, row.frame_period_ticks)
    return (*times, round(1 - row.accuracy_at_deadline, 9), row.cores, float(f"{row.energy_joules:.11g}"))


def not_beaten(points):
    def beats(a, b):
        return a != b and all(x <= y for x, y in zip(a, b, strict=True))

    return {p for p in points if not any(beats(q, p) for q in points)}


@settings(deadline=None, max_examples=6, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_front_and_rows_are_those_of_running_everything(data, chip):
    edges = data.draw(st.sampled_from([SKIP, TWO_WAYS]))
    least, code = data.draw(st.sampled_from([0, 1])), data.draw(st.sampled_from(["threshold", "bernoulli"]))
    seeds = data.draw(st.lists(st.integers(0, 99), min_size=1, max_size=3, unique=True))
    small, deadline, pictures = chip(axons=16, neurons=16), data.draw(st.sampled_from([0.003, 0.004, 0.006])), images()
    base = network(edges, 0)
    trained = {}
    for members, seed in zip(classes_of(base), seeds, strict=False):
        trained[data.draw(st.sampled_from(members))] = network(edges, seed, least_threshold=least, code=code)
    options = {"n_frames": 4, "n_stimuli": 1, "verify": False, "energy_tolerance": 0.0}
    found = explore(base, small, trained=trained, images=pictures, deadline=deadline, **options)
    assert found.gap.is_exact
    event(f"{len(found.rows)} rows, {found.n_mapped} mapped")
    net_of = {
        pattern.values: net
        for chosen, net in trained.items()
        for pattern in all_valid(base)
        if equivalent(chosen, pattern) is not None
    }
    rows, points = {}, set()
    for row in found.rows:
        net = net_of[row.candidate.values]  # none of another class is a row
        rollout = nm.Rollout(net, nm.RolloutPattern(net, row.candidate.values), row.candidate.execution)
        rows[row.candidate] = by_hand(rollout, small, pictures, deadline)
        points.add(rows[row.candidate])
        accuracy = 1 - rows[row.candidate][4]
        assert row.accuracy_bound >= accuracy - 1e-9
        if row.status == "mapped":
            assert figures(row) == rows[row.candidate]
    assert len(found.rows) == found.n_rows  # few enough to be listed all, mapped or not
    assert {figures(row) for row in found.front} == not_beaten(points)
    assert found.class_front == found.front
    assert sum(row.n_patterns for row in found.rows) >= len(net_of)


@settings(deadline=None, max_examples=10)
@given(
    edges=st.sampled_from([SKIP, TWO_WAYS]),
    seed=st.integers(0, 999),
    least=st.sampled_from([0, 1]),
    n_frames=st.integers(1, 4),
)
def test_patterns_share_a_curve_only_where_theirs_are_equal(edges, seed, least, n_frames):
    from neuromap.explorer.candidates.pattern_space import trained_networks
    from neuromap.explorer.search.search_rows import DeadlineAccuracy

    net, pictures = network(edges, seed, least_threshold=least), images(20)
    for members in classes_of(net):
        shared = DeadlineAccuracy(1.0, pictures, trained_networks(net, [(members[0], net)]))
        (one,) = shared._by_network
        for pattern in members:
            curve = accuracy_of_reference(nm.Rollout(net, pattern), pictures, n_frames)
            assert shared.of(one, pattern.values, n_frames) == curve[-1]
            assert shared.at_most(one, pattern.values, n_frames) == max(curve)
            assert shared.class_at_most(one, members[0].values, n_frames, exact=True) >= curve[-1]


@pytest.fixture(scope="module")
def both():
    """Streaming and sequential weights of one graph."""
    return {"streaming": network(SKIP, 1, name="a"), "sequential": network(SKIP, 2, name="b")}


@pytest.fixture(scope="module")
def found(both):
    return explore(network(SKIP, 0), trained=both, images=images(), deadline=0.003, n_frames=4, n_stimuli=1)


def test_rows_of_other_classes_are_named_and_no_row(found):
    assert {row.behaviour_class for row in found.rows} == {one.behaviour_class for one in found.deadline.trained}
    assert not any(row.needs_retraining for row in found.rows)
    assert found.deadline.n_untrained == found.n_classes - 2 == len(found.deadline.untrained)
    text = " ".join(found.to_text().split())
    for number, pattern in found.deadline.untrained:
        assert f"{number} ({pattern})" in text
        chosen = [tuple(edge.split(" -> ")) for edge in pattern.split(", ")]
        pattern = nm.RolloutPattern.from_streaming_edges(found.network, chosen)
        assert all(equivalent(pattern, row_pattern(found, row)) is None for row in found.rows)
    assert "neuromap train NET --pattern" in text
    assert re.search(r"After 3 ms (streaming|sequential).* is right most often: [\d.]+ %", text)


def row_pattern(found, row):
    return nm.RolloutPattern(found.network, row.candidate.values)


def test_documents_with_a_deadline_are_of_format_3_and_others_of_format_2(found):
    validator = jsonschema.Draft202012Validator(exploration_schema())
    document = to_dict(found, Limits(accuracy_at_deadline=0.5))
    assert document["format"] == "neuromap-exploration-3"
    validator.validate(document)
    assert document["limits"]["accuracy_at_deadline"] == 0.5
    assert [row["accuracy_at_deadline"] for row in document["rows"]] == [row.accuracy_at_deadline for row in found.rows]
    plain = to_dict(replace(found, deadline=None))
    assert plain["format"] == "neuromap-exploration-2"
    assert "accuracy" not in str(plain)
    validator.validate(plain)
    assert not validator.is_valid({**plain, "deadline": document["deadline"]})
    assert not validator.is_valid({key: value for key, value in document.items() if key != "deadline"})
    assert "accuracy at deadline" in found.to_svg() or len({row.accuracy_at_deadline for row in found.rows}) == 1
    assert "Accuracy at deadline" in found.to_html()


def test_results_serve_every_deadline(both, found, tmp_path):
    store = tmp_path / "a.sqlite"
    options = {"trained": both, "images": images(), "n_frames": 4, "n_stimuli": 1, "store": store}
    explore(network(SKIP, 0), deadline=0.003, **options)
    rows = load_runs(store).rows
    again = explore(network(SKIP, 0), deadline=0.003, **options)
    assert [row.accuracy_at_deadline for row in again.rows] == [row.accuracy_at_deadline for row in found.rows]
    assert load_runs(store).rows == rows
    assert len({row.run.network_digest for row in rows}) == 2


@pytest.mark.parametrize("most", [0, 1, None])
def test_right_most_often_is_said_of_what_was_searched(most):
    net = network(SKIP, 0)
    found = explore(
        net, trained={"streaming": net}, images=images(), deadline=0.006, most_mapped=most, n_frames=4, n_stimuli=1
    )
    best = max((row.accuracy_at_deadline or 0 for row in found.rows if row.status == "mapped"), default=0)
    rivals = [row for row in found.rows if row.status == "not mapped" and row.accuracy_bound > best]
    assert bool(rivals) == (most == 0) or most == 1
    assert ("of the rows that were mapped" in deadline_line(found)) == (bool(rivals) and most != 0)


BASE, A = network(SKIP, 0), network(SKIP, 1)
OTHER_EDGE = network([*SKIP[:-1], ("B", "B")], 1)
GIVEN = {"trained": {"streaming": A}, "images": images(), "deadline": 0.003}


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"trained": {"streaming": OTHER_EDGE}}, NetworkError, "has no edge A -> A"),
        ({"trained": {"streaming": nm.Network.from_edges(SKIP)}}, NetworkError, "node I has no shape"),
        ({"trained": {"streaming": A, "11111": A}}, InputError, "streaming and 11111 are of one behaviour class"),
        ({"trained": {"backwards": A}}, PatternError, "backwards"),
        ({"trained": {"110": A}}, PatternError, "pattern '110' has R of 3 edges, network tiny has 5"),
        ({"trained": {}}, InputError, "none given"),
        ({"trained": 3}, InputError, "give patterns with networks"),
        ({"deadline": None}, InputError, "deadline is not"),
        ({"images": None}, InputError, "images is not"),
        ({"images": []}, InputError, "images"),
        ({"trained": None}, InputError, "trained is not"),
        ({"deadline": 0.001}, InputError, "deadline 1 ms: is before the first response of every row, 2 ms"),
        ({"deadline": 9.0}, InputError, "8999 frames are known by then; at most 1000"),
        ({"deadline": math.inf}, InputError, "must be above 0, and finite"),
        ({"images": replace(images(), images=np.zeros((12, 3, 3, 1), np.uint8))}, StimulusError, "3"),
        ({"trained": {"streaming": replace(A, tables={})}}, NetworkError, 'code = "real" gives intensities'),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(changes, error, words):
    with pytest.raises(error, match=re.escape(words)) as caught:
        explore(BASE, n_frames=4, n_stimuli=1, verify=False, **{**GIVEN, **changes})
    assert isinstance(caught.value, NeuromapError)
    assert "\n" not in str(caught.value)


WORK = {"neuron_access_seconds": 6e-9, "synaptic_event_seconds": 4e-9, "fire_seconds": 3e-8}


@pytest.mark.parametrize("deadline", [3e-6, 4.4e-6])
def test_frames_by_the_deadline_are_those_that_timed_ticks_leave_room_for(both, chip, deadline):
    timed = chip(is_timed=True, timing=WORK, barrier_seconds=((1, 1e-6),))
    options = {"images": images(), "deadline": deadline, "n_frames": 4, "n_stimuli": 1, "verify": False}
    found = explore(network(SKIP, 0), timed, trained=both, energy_tolerance=0.0, **options)
    assert found.gap.is_exact
    mapped = [row for row in found.rows if row.status == "mapped"]
    weights = {one.behaviour_class: both[one.pattern] for one in found.deadline.trained}
    for row in mapped:
        known = [k for k in range(20) if row.seconds.first_response + k * row.seconds.frame_period <= deadline]
        assert row.frames_by_deadline == len(known)
        net = weights[row.behaviour_class]
        curve = accuracy_of_reference(nm.Rollout(net, nm.RolloutPattern(net, row.candidate.values)), images(), 20)
        assert row.accuracy_at_deadline == (curve[len(known) - 1] if known else 0.0)
    assert all(row.accuracy_bound >= (row.accuracy_at_deadline or 0.0) - 1e-9 for row in found.rows)
    assert len({row.frames_by_deadline for row in mapped}) > 1
    unlike = explore(network(SKIP, 0), chip(tick_seconds=1e-6), trained=both, **options)
    longer = {row.candidate.values: row.frames_by_deadline for row in unlike.rows if row.status == "mapped"}
    assert any(row.frames_by_deadline < longer.get(row.candidate.values, 0) for row in mapped)  # work takes time


def test_a_deadline_of_barriers_alone_is_as_one_of_ticks_of_their_length(both, chip):
    options = {"trained": both, "images": images(), "deadline": 3e-6, "n_frames": 4, "n_stimuli": 1, "verify": False}
    chips = chip(tick_seconds=1e-6), chip(is_timed=True, barrier_seconds=((1, 1e-6),))
    fronts = [explore(network(SKIP, 0), each, energy_tolerance=0.0, **options).front for each in chips]
    said = [[(row.candidate.values, row.frames_by_deadline, row.accuracy_at_deadline) for row in one] for one in fronts]
    assert said[0] == said[1] != []


def test_a_deadline_before_any_timed_response_is_refused(both, chip):
    timed = chip(is_timed=True, timing=WORK, barrier_seconds=((1, 1e-6),))
    with pytest.raises(InputError, match=r"deadline 1 µs: is before the first response of every row, 2(\.\d+)? µs at"):
        explore(network(SKIP, 0), timed, trained=both, images=images(), deadline=1e-6, n_frames=4, n_stimuli=1)


def test_a_deadline_for_no_row_is_no_error():
    """No schedule that is asked for exists: the cycle of two edges allows no frame in every step."""
    net = network([("I", "A"), ("A", "B"), ("B", "A"), ("B", "O")], 0)
    pattern = next(pattern for pattern in all_valid(net) if sum(pattern.values) == 1)
    options = {"executions": ["pipelined:1"], "images": images(), "deadline": 0.009}
    found = explore(net, given=pattern, within="class", trained={pattern: net}, **options)
    assert found.rows == ()
