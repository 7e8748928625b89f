"""Explorations in seconds, where ticks last as long as their work."""

from __future__ import annotations

import csv
import html
import io
import re
from dataclasses import replace
from functools import partial

import jsonschema
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import neuromap as nm
from neuromap.errors import InputError
from neuromap.explorer.answer.advice import map_command
from neuromap.explorer.answer.limits import Limits
from neuromap.explorer.candidates.asked import least_tick
from neuromap.explorer.document import exploration_schema, to_csv, to_dict, to_html
from neuromap.explorer.draw_front import to_svg
from neuromap.explorer.explore import explore
from neuromap.explorer.text import render_text
from neuromap.hardware.chip.chip_file import with_figures
from neuromap.mapping.map_rollout import map_with_stages
from neuromap.network import build_network
from neuromap.simulation.choose_frames import RandomFrames, choose_stimuli
from neuromap.simulation.cost.steady_figures import steady_figures

QUICK = {"n_frames": 4, "n_stimuli": 1, "verify": False, "engine": "numpy"}
QUIET = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large]}
WORK = {
    "neuron_access_seconds": 6e-9, "neuron_update_seconds": 3.7e-9, "fire_seconds": 30e-9, "spike_seconds": 5.1e-9,
    "arrival_seconds": 16e-9, "synaptic_event_seconds": 3.8e-9,
}  # fmt: skip
BARRIERS = [((1, 6e-7), (2, 1e-6)), ((1, 1e-8), (2, 2e-8), (3, 1e-7)), ((1, 1e-4),)]
TIMED = {"is_timed": True, "timing": WORK, "barrier_seconds": BARRIERS[0]}


@pytest.fixture(scope="module")
def net():
    """A skip edge and a loop: rows of several lengths, in several classes."""
    rng = np.random.default_rng(0)
    sizes = {"I": 4, "A": 5, "B": 6, "O": 3}
    edges = [("I", "A"), ("A", "B"), ("B", "O"), ("A", "O"), ("A", "A")]
    nodes = {name: ((1, 1, size), None if name == "I" else 1) for name, size in sizes.items()}
    return build_network(nodes, {(u, v): rng.integers(-1, 3, (sizes[v], sizes[u])) for u, v in edges}, outputs=["O"])


@pytest.mark.law
@settings(max_examples=4, **QUIET)
@given(data=st.data())
def test_the_front_is_that_of_everything(data, networks, chip, list_chip, brute_force, point_of):
    drawn = data.draw(networks(most_edges=4, most_inner=3))
    make = data.draw(st.sampled_from([chip, partial(list_chip, energy={"neuron_update_joules": 3e-7})]))
    size = data.draw(st.sampled_from([16, 256]))
    costs = {"timing": data.draw(st.sampled_from([WORK, {}])), "barrier_seconds": data.draw(st.sampled_from(BARRIERS))}
    small = make(axons=size, neurons=size, is_timed=True, tile=data.draw(st.sampled_from([(1, 1), (2, 2)])), **costs)
    pattern = data.draw(st.sampled_from(list(nm.rollout.enumerate_valid(drawn))))
    brute = brute_force(drawn, small, pattern, n_frames=4, tolerance=0.02)
    found = explore(drawn, small, pattern, energy_tolerance=0.02, **QUICK)
    assert found.gap.is_exact
    assert {point_of(row) for row in found.front} == brute.front
    assert {point_of(row) for row in found.class_front} == brute.class_front
    for row in found.rows:
        point = brute.points[row.candidate.values, row.candidate.execution]
        if row.status == "mapped":
            assert point_of(row) == point
            assert all(bound >= time for bound, time in zip(row.bound_seconds, row.seconds, strict=True))
        elif point is not None:
            assert row.seconds_are_bounds
            assert row.first_response_seconds <= point.first * (1 + 1e-9)
            assert row.full_response_seconds <= point.full * (1 + 1e-9)
            assert row.worst_case_reaction_seconds <= point.reaction * (1 + 1e-9)
            assert 1 / row.sampling_frequency_hz <= point.period * (1 + 1e-9)
            assert row.energy_bound is None or row.energy_bound <= point.energy * (1 + 1e-9)


def test_bounds_leave_rows_unmapped(net, list_chip):
    """A barrier that takes most of every tick tells which rows are too slow."""
    slow = list_chip(is_timed=True, timing=WORK, barrier_seconds=((1, 1e-3),))
    found = explore(net, slow, **QUICK)
    assert found.gap.is_exact
    assert found.n_mapped < found.n_rows


@pytest.mark.parametrize("tile", [(1, 1), (2, 2)])
def test_no_tick_is_shorter_than_the_least(net, list_chip, tile):
    """On however few or many cores: neurons that spread over more tiles wait longer at the barrier."""
    stimuli, _ = choose_stimuli(net, None, RandomFrames(4), 1)
    for neurons in (2, 3, 7, 20):
        timed = list_chip(cores=(4, 4), neurons=neurons, **TIMED, tile=tile)
        program = map_with_stages(nm.Rollout(net, "streaming"), timed).program
        n_used = int(program.neurons_in_use.sum())
        ticks = steady_figures(program, stimuli).seconds.measured
        for cores in (1, program.n_cores):
            assert WORK["neuron_access_seconds"] < least_tick(timed, cores, n_used) <= ticks.min()
    alone = replace(timed, barrier_seconds=((1, 6e-7),))
    assert least_tick(alone, 1, 33) == pytest.approx(6e-7 + 3 * 6e-9, rel=1e-12)  # 33 neurons on 16 cores


@pytest.mark.parametrize("b", [6e-7, 1e-3])
def test_where_only_the_barrier_takes_time_all_is_as_with_ticks_of_its_length(net, list_chip, b):
    joules = {"static_watts": 1e-3, "synaptic_event_joules": 1e-9}
    timed = list_chip(energy=joules, is_timed=True, barrier_seconds=((1, b),))
    fixed = list_chip(energy=joules, tick_seconds=b)
    one, other = (explore(net, each, **QUICK) for each in (timed, fixed))
    assert (one.n_mapped, one.gap) == (other.n_mapped, other.gap)
    rows, expected = (to_dict(found)["rows"] for found in (one, other))
    added = {"least_tick_seconds", "seconds_are_bounds", "bound_seconds"}
    for row, same, told in zip(rows, expected, one.rows, strict=True):
        assert row.keys() - same.keys() == added
        assert row["tick_seconds"] is None
        assert row["least_tick_seconds"] == same["tick_seconds"] == b
        for key in same.keys() - {"tick_seconds"}:
            is_number = isinstance(same[key], float)
            assert row[key] == (pytest.approx(same[key], rel=1e-12) if is_number else same[key]), key
        if told.status == "mapped":
            assert told.seconds == told.bound_seconds == pytest.approx(
                [b * t for t in (told.first_response_ticks, told.full_response_ticks,
                                 told.worst_case_reaction_ticks, told.frame_period_ticks)], rel=1e-12
            )  # fmt: skip


def test_a_report_says_the_same_seconds(net, list_chip):
    timed = list_chip(**TIMED)
    report = nm.latency_report(net, timed, n_frames=4, n_stimuli=2)
    found = explore(net, timed, n_frames=4, n_stimuli=2, verify=False)
    rows = {(row.pattern, row.candidate.execution): row for row in found.rows if row.seconds is not None}
    told = [row for row in report.rows if (row.pattern, row.execution) in rows]
    assert told
    for row in told:
        mine = rows[row.pattern, row.execution]
        assert mine.bound_seconds.first_response == pytest.approx(row.predicted.first_response_seconds, rel=1e-12)
        assert mine.bound_seconds.full_response == pytest.approx(row.predicted.full_response_seconds, rel=1e-12)
        assert mine.bound_seconds.worst_case_reaction == pytest.approx(row.worst_case_reaction_seconds, rel=1e-12)
        assert mine.sampling_frequency_hz == pytest.approx(row.sampling_frequency_hz, rel=1e-12)


@pytest.fixture(scope="module")
def both(net, list_chip):
    """A chip of ticks of fixed length beside one whose ticks last as long as their work."""
    fixed, timed = list_chip(name="fixed", tick_seconds=4e-6), list_chip(name="timed", **TIMED)
    return explore(net, [fixed, timed], **QUICK)


def test_chips_of_both_kinds_are_compared_in_seconds(net, both, list_chip):
    assert both.gap.is_exact
    mapped = [row for row in both.rows if row.status == "mapped"]
    assert {row.is_timed for row in mapped} == {False, True}
    for row in mapped:
        if not row.is_timed:
            assert row.first_response_seconds == row.first_response_ticks * 4e-6
    assert {row.candidate.chip for row in both.front} == {"timed"}  # its ticks are shorter throughout
    document = to_dict(both)
    jsonschema.validate(document, exploration_schema())
    assert {chip["name"]: chip.get("ticks") for chip in document["chips"]} == {"fixed": None, "timed": "timed"}
    kinds = {row["chip"]: "bound_seconds" in row for row in document["rows"]}
    assert kinds == {"fixed": False, "timed": True}
    lines = list(csv.DictReader(io.StringIO(to_csv(both), newline="")))
    assert {line["chip"]: bool(line["least_tick_seconds"]) for line in lines} == {"fixed": False, "timed": True}


def test_forms_say_whose_ticks_are_timed(both):
    text = " ".join(render_text(both).split())
    assert "on fixed (1 tick = 4 µs), timed (ticks as long as their work)" in text
    assert "Ticks of timed last as long as their work: seconds and sampling frequency as timed" in text
    assert "[ticks = µs]" in text
    assert "fixed (1 tick = 4 µs), timed (ticks as long as their work)" in to_svg(both)
    page = to_html(both)
    assert "as long as its work (timed)" in page
    assert "Ticks of timed last as long as their work" in page


def test_rows_that_were_not_timed_show_bounds(net, list_chip):
    found = explore(net, list_chip(**TIMED), most_mapped=1, **QUICK)
    row = next(row for row in found.rows if row.status == "not mapped")
    assert row.first_response_seconds == pytest.approx(row.first_response_ticks * row.tick_seconds)
    text = " ".join(render_text(found).split())
    assert f"{row.first_response_ticks} ≥ " in text
    assert "of rows that were not timed what neurons in use and the barrier take at least (≥)" in text


def test_limits_in_seconds_are_kept_by_measured_times(net, list_chip):
    timed = list_chip(**TIMED)
    whole = explore(net, timed, **QUICK)
    times = sorted({row.first_response_seconds for row in whole.rows if row.seconds is not None})
    middle = times[len(times) // 2]
    for limits in (Limits(first_response_seconds=middle), Limits(sampling_frequency_hz=2e5)):
        found = explore(net, timed, limits=limits, **QUICK)
        assert found.gap.is_exact
        kept = {row.seconds for row in found.front if limits.allows(row)}
        assert kept == {row.seconds for row in whole.front if limits.allows(row)} != set()
    barrier = explore(net, timed, limits=Limits(first_response_seconds=6e-7), **QUICK)
    assert barrier.n_mapped == 0  # no response is one tick of no work


def test_a_kept_row_has_its_seconds(net, list_chip, tmp_path):
    timed = list_chip(**TIMED)
    first, again = (explore(net, timed, store=tmp_path / "a.sqlite", **QUICK) for _ in range(2))
    assert to_dict(again) == to_dict(first)
    kept = nm.sweep.load_runs(tmp_path / "a.sqlite")
    assert {run.figures["sampling_frequency_hz"] for run in kept.rows} == {
        row.sampling_frequency_hz for row in first.rows if row.seconds is not None
    }


def test_times_alone_are_timed_too(net, list_chip):
    found = explore(net, list_chip(**TIMED), objectives="times", **QUICK)
    assert found.gap.is_exact
    assert all(row.seconds is not None for row in found.front)


def test_the_stock_chip_of_timed_ticks_needs_no_nominal_tick():
    chip = nm.load_chip("loihi1")
    net = nm.load_network("examples/digits/ff.toml")
    rows = {
        tick: explore(net, with_figures(chip, {"time.tick_seconds": tick}), executions=["windowed"], **QUICK).rows
        for tick in (1e-3, 1e-2)
    }
    assert [row.seconds for row in rows[1e-3]] == [row.seconds for row in rows[1e-2]]
    assert rows[1e-3][0].first_response_seconds < 1e-3


@pytest.fixture(scope="module")
def spread(net, list_chip):
    """Rows of one class mapped for short ticks on up to 2, 4 and 12 cores; the network takes 3."""
    how = {"within": "class", "executions": ["windowed"], "spread": [2, 4, 12]}
    return explore(net, list_chip(cores=(4, 4), **TIMED), **how, **QUICK)


def test_rows_on_up_to_so_many_cores_are_those_of_the_mapper(net, list_chip, spread):
    assert spread.gap.is_exact
    timed = list_chip(cores=(4, 4), **TIMED)
    stimuli, _ = choose_stimuli(net, None, RandomFrames(4), 1)
    seen = set()
    for row in spread.rows:
        most = row.candidate.spread
        if row.status == "does not fit":
            assert most == 2
            assert row.message.startswith("the network takes 3 cores, max_cores = 2 (1 too many)")
        if row.status != "mapped":
            continue
        seen.add((most, row.cores))
        if row.pattern != "streaming":
            continue
        rollout = nm.Rollout(net, nm.RolloutPattern(net, row.candidate.values), "windowed")
        program = nm.map_rollout(rollout, timed, objective="tick", max_cores=most)
        assert row.cores == program.n_cores <= most
        period = steady_figures(program, stimuli).seconds.frame_period().mean()
        assert row.seconds.frame_period == pytest.approx(period, rel=1e-12)
        assert row.tick_seconds <= period / float(program.period)
    assert {most for most, _ in seen} == {4, 12}
    assert max(cores for _, cores in seen) > 4


def test_the_answer_for_every_number_of_cores_can_be_read(spread):
    text = " ".join(render_text(spread).split())
    for most in (4, 12):
        mapped = [row for row in spread.rows if row.seconds is not None]
        best = min(row.first_response_seconds for row in mapped if row.cores <= most)
        said = re.search(rf"On up to {most} cores (.+?) answers first, after ([\d.]+) (µs|ns);", text)
        assert float(said[2]) * {"µs": 1e-6, "ns": 1e-9}[said[3]] == pytest.approx(best, rel=1e-3)
        assert html.escape(said[0]) in to_html(spread)
    assert "On up to 2 cores" not in text  # nothing fits on them
    document = to_dict(spread)
    jsonschema.validate(document, exploration_schema())
    assert {row["spread"] for row in document["rows"]} == {2, 4, 12}
    row = next(row for row in spread.front if row.candidate.spread == 12)
    assert map_command(spread, row).endswith("--objective tick --max-cores 12")


def test_short_ticks_are_asked_for_where_ticks_are_timed(net, list_chip):
    fixed, timed = list_chip(name="fixed", cores=(4, 4)), list_chip(name="timed", cores=(4, 4), **TIMED)
    with pytest.raises(InputError, match="spread: has no meaning on fixed, whose ticks are of fixed length"):
        explore(net, fixed, spread=4, **QUICK)
    both = explore(net, [fixed, timed], spread=4, executions=["windowed"], most_mapped=0, **QUICK)
    assert {(row.candidate.chip, row.candidate.spread) for row in both.rows} == {("fixed", None), ("timed", 4)}
