"""Network-on-chip, work, energy and node times of a row, against sums that a reader can follow."""

import csv
import io
import json
import re
from dataclasses import replace

import jsonschema
import numpy as np
import pytest
from html_pages import Page
from hypothesis import given, settings
from hypothesis import strategies as st

from neuromap.hardware.chip.chip_file import load_chip
from neuromap.mapping.map_rollout import map_rollout, map_with_stages
from neuromap.network.build import build_network
from neuromap.report import latency_report, report_on_program, report_schema, to_csv, to_dict
from neuromap.report.measure_row import report_row
from neuromap.report.text import run_lines, run_table
from neuromap.rollout.schedule.execution import EXECUTIONS
from neuromap.rollout.schedule.node_times import frame_time
from neuromap.rollout.schedule.rollout import Rollout
from neuromap.simulation.cost.steady_figures import steady_window
from neuromap.simulation.engine.engine import make_engine
from neuromap.simulation.engine.engine_choice import EngineChoice
from neuromap.simulation.noc.delivery import find_late_spikes
from neuromap.simulation.run.tick_run import HostFeed
from neuromap.simulation.stimulus import random_frames

RUN_KEYS = ("network_on_chip", "work", "energy", "node_times")
ENERGY = {
    "static_watts": 3e-3, "tick_joules": 5e-9, "synaptic_event_joules": 7e-12, "neuron_update_joules": 11e-13,
    "spike_joules": 13e-12, "hop_joules": 17e-12, "off_chip_bit_joules": 19e-12, "average_synaptic_event_joules": 1e-10,
}  # fmt: skip
ROUTER = {
    "link_spikes_per_second": 1e8, "hop_seconds": 2e-8, "boundary_spikes_per_second": 1e7,
    "boundary_bits_per_second": 3e8,
}  # fmt: skip
TIMING = {"synaptic_event_seconds": 1e-9, "neuron_update_seconds": 2e-9}


def small_network(**changes):
    edges = [("I", "H1"), ("H1", "H2"), ("H2", "O"), ("H1", "O"), ("H1", "H1")]
    sizes = {"I": 3, "H1": 3, "H2": 2, "O": 2}
    parts = {
        "nodes": {"I": (3, None), "H1": (3, 2), "H2": (2, 1), "O": (2, 3)},
        "edges": {(u, v): np.ones((sizes[v], sizes[u]), dtype=int) for u, v in edges},
        "patterns": {"bad": [("H1", "O")]},
        "name": "small",
    }
    return build_network(**{**parts, **changes})


@pytest.fixture(scope="module")
def full_chip(chip):
    """A board of four chips whose file has every figure."""
    return chip(
        cores=(2, 2), chips=(2, 2), axons=8, neurons=8, energy=ENERGY, energy_included=("spike_joules",),
        router=ROUTER, timing=TIMING, delay=(1, 15),
    )  # fmt: skip


@pytest.fixture(scope="module")
def report(full_chip):
    return latency_report(small_network(), full_chip, patterns=["streaming", "sequential", "bad"])


def sums(program, frames):
    """The oracle: spikes of every neuron over the frame periods that count, and what follows from them."""
    n_frames, nodes = len(next(iter(frames.values()))), len(program.nodes)
    silent, start = nodes + 1, 4 * nodes + 1  # frames of silence, and the frame with which the counting begins
    fed = {
        name: np.array([rows[(k - start) % n_frames] & (k >= silent) for k in range(start + 2 * n_frames + 3 * nodes)])
        for name, rows in frames.items()
    }
    begin = max(0, min(p.sample_tick for p in program.nodes if p.kind == "input") + start * program.period)
    n_ticks = n_frames * program.period
    engine, feed = make_engine(program, EngineChoice("numpy")), HostFeed(program)
    stacked, n_fed = {name: rows[None] for name, rows in fed.items()}, len(next(iter(fed.values())))
    engine.run(feed.events(stacked, n_fed, 0, begin))
    events_before = engine.totals.synaptic_events
    spikes = engine.run(feed.events(stacked, n_fed, begin, n_ticks))
    found = {"n_ticks": n_ticks, "spikes": 0, "hops": 0, "crossings": 0, "readout": 0}
    found["synaptic_events"] = engine.totals.synaptic_events - events_before
    width, height = program.chip.cores
    for core, neuron in zip(spikes.cores.tolist(), spikes.neurons.tolist(), strict=True):
        target = int(program.target_core[core, neuron])
        found["readout"] += int(((program.outputs.core == core) & (program.outputs.neuron == neuron)).sum())
        if target >= 0:
            (x, y), (u, v) = program.coordinates[core].tolist(), program.coordinates[target].tolist()
            found["spikes"] += 1
            found["hops"] += abs(x - u) + abs(y - v)
            found["crossings"] += abs(x // width - u // width) + abs(y // height - v // height)
    found["host"] = 0
    for k in range(len(program.host)):
        node, index = int(program.host.node[k]), int(program.host.index[k])
        for frame in range(int(program.host.first_frame[k]), n_fed):
            tick = int(program.host.arrival[k]) + frame * program.period
            spikes = node < 0 or fed[program.nodes[node].name][frame, index]
            found["host"] += bool(spikes and begin <= tick < begin + n_ticks)
    return found


@given(st.data())
@settings(deadline=None, max_examples=25)
def test_figures_are_sums_over_the_spikes_of_whole_frame_periods(networks, patterns, full_chip, data):
    network = data.draw(networks())
    rollout = Rollout(network, data.draw(patterns(network)), data.draw(st.sampled_from(EXECUTIONS)))
    board = replace(full_chip, cores=(2, 2), chips=(5, 5), axons=32, neurons=24)
    program = map_rollout(rollout, board)
    frames = random_frames(network, 6, seed=data.draw(st.integers(0, 99)))
    row = report_row(rollout, program, frames)
    found, figures = sums(program, frames), row.figures
    noc, period, n = figures.network_on_chip, program.period, found["n_ticks"]
    assert (noc.spikes_per_frame, noc.hops_per_frame) == (found["spikes"] / 6, found["hops"] / 6)
    assert (noc.n_ticks, noc.spikes, noc.hops) == (n, found["spikes"], found["hops"])
    assert noc.hops_per_spike == (pytest.approx(found["hops"] / found["spikes"]) if found["spikes"] else None)
    assert noc.crossings_per_frame == pytest.approx(found["crossings"] / n * period)
    assert noc.host_spikes_per_frame == pytest.approx(found["host"] / n * period)
    assert noc.readout_spikes_per_frame == pytest.approx(found["readout"] / n * period)
    assert figures.work.synaptic_events_per_frame == pytest.approx(found["synaptic_events"] / n * period)
    # loads: of the run they sum to its hops, and with every neuron firing once to those of all ways
    assert row.activity.traffic.loads[:4].sum() == found["hops"]
    assert row.activity.traffic.full_loads[:4].sum() == row.usage.weighted_hops
    if noc.busiest_link is not None:
        assert noc.busiest_link.spikes_per_tick == row.activity.traffic.peak_loads[:4].max()

    seconds = n * board.tick_seconds
    bits = ROUTER["boundary_bits_per_second"] / ROUTER["boundary_spikes_per_second"]
    by_hand = {
        "static_watts": ENERGY["static_watts"] * 25 * seconds,
        "tick_joules": ENERGY["tick_joules"] * 25 * n,
        "synaptic_event_joules": ENERGY["synaptic_event_joules"] * found["synaptic_events"],
        "neuron_update_joules": ENERGY["neuron_update_joules"] * program.n_cores * board.neurons * n,
        "hop_joules": ENERGY["hop_joules"] * found["hops"],
        "off_chip_bit_joules": ENERGY["off_chip_bit_joules"]
        * bits
        * (found["crossings"] + found["host"] + found["readout"]),
    }
    held = ENERGY["spike_joules"] * (found["spikes"] + found["readout"])
    for key, joules in by_hand.items():
        assert figures.energy.terms[key].joules_per_frame == pytest.approx(joules / n * period), key
    assert figures.energy.terms["spike_joules"].joules_per_frame == pytest.approx(held / n * period)
    assert figures.energy.joules_per_frame == pytest.approx(sum(by_hand.values()) / n * period)
    assert figures.energy.joules_per_frame == pytest.approx(figures.energy.joules_per_tick * period)
    assert figures.energy.watts == pytest.approx(sum(by_hand.values()) / seconds)
    without = sum(by_hand.values()) - by_hand["static_watts"]
    assert figures.energy.active_joules_per_frame == pytest.approx(without / n * period)
    assert figures.energy.absent == ()


def test_node_times_are_those_of_the_paper(report):
    for row in report.rows[:4]:
        times = row.figures.node_times
        events = {name: time.events for name, time in times.nodes.items()}
        assert set(events) == {"H1", "H2", "O"}
        chain = max(events["H1"] + events["H2"] + events["O"], events["O"])
        assert times.frame_events == (chain if row.pattern == "sequential" else max(events.values()))
        assert times.slowest_node_events == max(events.values())
        seconds = {name: time.seconds for name, time in times.nodes.items()}
        assert times.frame_seconds == frame_time(row.rollout.pattern, seconds)
        assert times.slowest_node_seconds == max(seconds.values())
        for name, time in times.nodes.items():
            least = events[name] * TIMING["synaptic_event_seconds"] + time.arrival_cycles / 1e8
            assert least < seconds[name] <= least + 8 * TIMING["neuron_update_seconds"] + 1e-15


def test_in_csv_a_timed_tick_has_no_length():
    """Nothing else in a line says that ticks are timed: responses in ticks times a length would be taken for times."""
    network = build_network({"I": (2, None), "O": (1, 1)}, {("I", "O"): [[1, 1]]})
    for chip, length in (("loihi1", ""), ("truenorth", "0.001")):
        report = latency_report(network, chip=chip, patterns=["streaming"], executions=["windowed"])
        assert [line["tick_seconds"] for line in csv.DictReader(io.StringIO(to_csv(report)))] == [length]


def test_json_and_csv_hold_every_figure(report):
    document = json.loads(report.to_json())
    jsonschema.validate(document, report_schema())
    lines = list(csv.DictReader(io.StringIO(to_csv(report))))
    for row, line, source in zip(document["rows"], lines, report.rows, strict=True):
        if row["status"] != "mapped":
            assert [row[key] for key in RUN_KEYS] == [None] * 4
            assert not any(line[column] for column in line if column.split(".")[0] in RUN_KEYS)
            continue
        assert row["network_on_chip"]["hops_per_spike"] == source.figures.network_on_chip.hops_per_spike
        assert float(line["energy.joules_per_frame"]) == row["energy"]["joules_per_frame"]
        assert float(line["network_on_chip.hops"]) == row["network_on_chip"]["hops"]
        assert float(line["energy.terms.hop_joules.watts"]) == row["energy"]["terms"]["hop_joules"]["watts"]
        assert int(line["node_times.nodes.H1.arrival_cycles"]) >= 0
        assert int(line["node_times.nodes.H1.synaptic_events"]) == source.figures.node_times.nodes["H1"].events
        period = row["frame_period_ticks"]
        work, energy = row["work"], row["energy"]
        assert work["synaptic_events_per_frame"] == pytest.approx(work["synaptic_events_per_tick"] * period)
        assert energy["joules_per_frame"] == pytest.approx(energy["joules_per_tick"] * period)
    assert not set(RUN_KEYS) & set(lines[0])  # objects have columns of their own, and none as a whole


@pytest.mark.parametrize("key", RUN_KEYS)
def test_schema_refuses_figures_of_rows_that_were_not_mapped(report, key):
    document = to_dict(report)
    document["rows"][4][key] = document["rows"][0][key]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, report_schema())


def test_without_figures_of_a_chip_they_are_absent_and_never_zero(chip):
    report = latency_report(small_network(), chip(), patterns=["streaming"])
    document = to_dict(report)
    jsonschema.validate(document, report_schema())
    for row in document["rows"]:
        energy, noc = row["energy"], row["network_on_chip"]
        assert (energy["joules_per_tick"], energy["joules_per_frame"], energy["watts"]) == (None, None, None)
        assert set(energy["absent"]) == set(energy["terms"])
        for term in energy["terms"].values():
            assert (term["joules_each"], term["joules_per_frame"], term["watts"]) == (None, None, None)
        for name in ("cycle_seconds", "shortest_tick_seconds", "safe_tick_seconds", "late", "port_seconds"):
            assert noc[name] is None
        assert noc["shortest_tick_cycles"] > 0
        assert noc["longest_cycle_seconds"] * noc["safe_tick_any_stimulus_cycles"] == pytest.approx(1e-3)
        assert {times["seconds"] for times in row["node_times"]["nodes"].values()} == {None}
        assert row["node_times"]["frame_seconds"] is None
    assert not any(column.header.startswith(("energy", "power")) for column in run_table(report).columns)
    assert "energy: the chip file of tiny has no figures." in run_lines(report)
    assert "Energy per frame, term by term" not in report.to_html()


def test_a_chip_with_other_terms_follows_the_schema_too():
    document = to_dict(latency_report(small_network(), "loihi1", patterns=["streaming"]))
    jsonschema.validate(document, report_schema())
    for row in document["rows"]:
        assert {"hop_x_joules", "fire_joules", "neuron_access_joules"} < set(row["energy"]["terms"])
        assert "hop_joules" not in row["energy"]["terms"]


def test_an_average_is_shown_and_never_added(report):
    energy = report.rows[0].figures.energy
    each = energy.average_joules_per_synaptic_event
    assert each == ENERGY["average_synaptic_event_joules"]
    added = sum(t.joules_per_frame for t in energy.terms.values() if t.included_in is None)
    assert energy.joules_per_frame == pytest.approx(added)
    assert [key for key, term in energy.terms.items() if term.included_in] == ["spike_joules"]
    assert "in brackets" in report.to_html().lower()


def test_late_spikes_are_counted_and_the_first_is_named(full_chip):
    network = small_network()
    slow = replace(full_chip, router={**ROUTER, "link_spikes_per_second": 4e3, "hop_seconds": 2.5e-4})
    report = latency_report(network, slow, patterns=["streaming"], executions=["windowed"])
    row = report.rows[0]
    late, noc = row.figures.network_on_chip.late, row.figures.network_on_chip
    assert noc.shortest_tick_cycles > 4  # cycles of 0.25 ms in a tick of 1 ms
    rollout = Rollout(network, "streaming", "windowed")
    program = map_with_stages(rollout, slow).program
    expected = find_late_spikes(program, steady_window(program, random_frames(network, 32)).ticks, 4)
    assert (late.late_spikes, late.overdue_spikes) == (len(expected), expected.n_overdue)
    assert late.late_spikes > 0
    assert late.first_late_spike == str(expected.named(1)[0])
    jsonschema.validate(to_dict(report), report_schema())
    text = " ".join(report.to_text(100).split())
    assert f"streaming, windowed: {len(expected)} late spikes" in text
    assert "late" in " ".join(column.header for column in run_table(report).columns)


def test_no_spike_is_late_on_fast_routers(report):
    for row in report.rows[:4]:
        noc = row.figures.network_on_chip
        assert noc.late.late_spikes == noc.late.overdue_spikes == 0
        assert noc.late.first_late_spike is None
        assert noc.shortest_tick_seconds == pytest.approx(noc.shortest_tick_cycles * 1e-8)
        assert noc.shortest_tick_seconds <= noc.safe_tick_seconds <= noc.safe_tick_any_stimulus_seconds
        assert noc.port_seconds == pytest.approx(noc.port_spikes_per_tick / 1e7)
        assert noc.port_share_of_tick == pytest.approx(noc.port_seconds / 1e-3)


def test_a_program_off_the_board_has_a_row_without_a_run():
    network = small_network()
    rollout = Rollout(network, "streaming", "windowed")
    program = map_with_stages(rollout).program
    far = replace(program, coordinates=program.coordinates + np.int32(1000))
    report = report_on_program(rollout, far)
    row = report.rows[0]
    assert row.verified is False
    assert (row.activity, row.energy, row.figures, row.cores) == (None, None, None, None)
    jsonschema.validate(to_dict(report), report_schema())
    assert run_table(report) is None
    assert "Chip map" not in report.to_html()


@pytest.mark.parametrize("name", ["truenorth", "truenorth_ns16e", "ranc"])
def test_packaged_chips_keep_their_gaps(name):
    spec = load_chip(name)
    report = latency_report(small_network(), spec, patterns=["streaming"], executions=["windowed"])
    energy = to_dict(report)["rows"][0]["energy"]
    for key, term in energy["terms"].items():
        assert (term["joules_each"] is None) == (key not in spec.energy)
    assert (energy["joules_per_frame"] is None) == (not spec.energy)
    titles = [column.header.partition("\n[")[0].replace("\n", " ") for column in run_table(report).columns]
    assert ("chip crossings" in titles) == (spec.chips != (1, 1))
    assert ("energy" in titles) == bool(spec.energy)


@pytest.mark.parametrize("width", [60, 80, 100, 135, 160])
def test_the_second_table_fits_and_says_its_units(report, width):
    text = report.to_text(width)
    assert max(map(len, text.splitlines())) <= width
    for part in ("busiest link", "[cycles]", "[µJ per", "[mW]", "hops", "per spike", "synaptic"):
        assert part in text
    link = report.rows[0].figures.network_on_chip.busiest_link
    if link is not None:
        assert f"{link.spikes_per_tick} ({link.x}, {link.y}) {link.direction}" in text
    assert "spike_joules held by these" in " ".join(text.split())


def test_a_frame_period_of_ones_own():
    network = small_network()
    report = latency_report(network, patterns=["streaming"], executions=["pipelined:3", "pipelined"])
    slow, fast = report.rows
    assert (slow.frame_period_ticks, fast.frame_period_ticks) == (3, 1)
    assert slow.verified
    assert slow.figures.energy.joules_per_frame > 2.9 * fast.figures.energy.joules_per_frame
    jsonschema.validate(to_dict(report), report_schema())
    assert "pipelined:3: a frame every 3 update steps" in report.to_text()
    assert "a frame every 3 update steps" in report.to_html()


def test_a_frame_period_that_is_too_short_is_a_row_that_says_so():
    one = np.ones((1, 1), dtype=int)
    loop = build_network(
        {"I": (1, None), "A": (1, 1), "B": (1, 1)}, {("I", "A"): one, ("A", "B"): one, ("B", "A"): one}
    )
    report = latency_report(loop, patterns=["streaming", "sequential"], executions=["pipelined:1"])
    assert [row.status for row in report.rows] == ["mapped", "invalid"]
    assert "pipelined:2" in report.rows[1].message
    assert report.rows[1].inference_factor == 2
    assert report.exit_code == 2
    jsonschema.validate(to_dict(report), report_schema())


def test_a_row_of_another_frame_period_says_so_in_every_form():
    network = small_network()
    slow, fast = (Rollout(network, "streaming", f"pipelined:{period}") for period in (7, 2))
    report = report_on_program(fast, map_rollout(slow))
    (row,) = to_dict(report)["rows"]
    jsonschema.validate(to_dict(report), report_schema())
    assert (row["verified"], row["frame_period_ticks"], row["worst_case_reaction_ticks"]) == (False, 7, None)
    assert {output["worst_case_reaction_ticks"] for output in row["outputs"].values()} == {None}
    assert (row["verification"]["frame_period_ticks"], row["verification"]["rollout_period_ticks"]) == (7, 2)
    assert report.exit_code == 5
    for form in (report.to_text(300), report.to_html(), report.to_json()):
        assert "frame period of the program is 7 ticks, that of the rollout 2" in form


@pytest.mark.parametrize("mesh", [{}, {"link_spikes_per_second": 1e8, "hop_seconds": 1e-8}], ids=["cycles", "seconds"])
def test_ports_that_are_too_slow_are_named_wherever_a_tick_is_called_safe(chip, mesh):
    boards = [chip(delay=(1, 15), router={**mesh, "boundary_spikes_per_second": rate}) for rate in (1e3, 1e7)] + [
        chip(delay=(1, 15), router=mesh)
    ]
    slow, fast, unknown = (latency_report(small_network(), b, ["streaming"], ["windowed"]) for b in boards)
    figures = [report.rows[0].figures.network_on_chip for report in (slow, fast, unknown)]
    assert [noc.ports_exceed_tick for noc in figures] == [True, False, None]
    if mesh:  # the mesh alone sees nothing of it
        assert figures[0].late.late_spikes == 0
    needed = figures[0].port_spikes_per_tick  # at a thousand per second each takes a millisecond
    line = (
        f"streaming, windowed: ports of a chip need {needed} ms for the busiest tick, the tick is 1 ms: spikes come "
        "too late there."
    )
    assert needed > 1
    for form in (slow.to_text(400), slow.to_html()):
        assert line[1:] in form
        assert f"{100 * needed} % of what they carry" in form
    assert not [s for s in run_lines(slow) if "tick of 1 ms is safe" in s or "longest safe tick" in s]
    for report in (fast, unknown):
        assert "too late there" not in report.to_html() + report.to_text(400)
        assert [s for s in run_lines(report) if "tick of 1 ms is safe" in s or "longest safe tick" in s]
    for report in (slow, fast, unknown):
        jsonschema.validate(to_dict(report), report_schema())
    assert next(csv.DictReader(io.StringIO(to_csv(slow))))["network_on_chip.ports_exceed_tick"] == "true"


def test_figures_that_are_all_held_are_not_called_missing(chip):
    energy = {"static_watts": 1e-3, "hop_joules": 1e-12}
    held = chip(energy=energy, energy_included=tuple(energy))
    report = latency_report(small_network(), held, ["streaming"], ["windowed"])
    assert report.rows[0].figures.energy.joules_per_frame is None
    (line,) = [line for line in run_lines(report) if line.startswith("energy: ")]
    assert line.startswith("energy: no sum, as static_watts, hop_joules are held by the fit")
    assert "no figures" not in line
    assert "spike_joules" in line


def test_figures_out_of_all_bounds_stay_short(chip):
    big = chip(energy=dict.fromkeys(ENERGY, 1e30), timing=dict.fromkeys(TIMING, 1e30), router={
        "link_spikes_per_second": 1e-30, "hop_seconds": 0.0, "boundary_spikes_per_second": 1e-30,
    })  # fmt: skip
    report = latency_report(small_network(), big, ["streaming"], ["windowed"])
    for form in (report.to_text(400), Page(report.to_html()).without_scripts):
        assert not re.findall(r"\d{15,}", form)
    jsonschema.validate(to_dict(report), report_schema())


def test_the_length_of_no_tick_of_its_own_says_nothing_on_a_timed_chip(chip):
    """Ticks last as long as their work: rates over time are those of the seconds that the run took."""
    timing = {"neuron_access_seconds": 6e-9, "synaptic_event_seconds": 4e-9, "fire_seconds": 3e-8}
    found = []
    for tick in (1e-3, 1e-6):
        spec = chip(is_timed=True, timing=timing, barrier_seconds=((1, 1e-6),), router=ROUTER, tick_seconds=tick)
        (row,) = latency_report(small_network(), spec, ["streaming"], ["windowed"], n_stimuli=1).rows
        found.append(row.figures.network_on_chip)
        hertz = row.sampling_frequency_hz
        assert found[-1].host_spikes_per_second == pytest.approx(found[-1].host_spikes_per_frame * hertz)
    assert found[0] == found[1]
    assert found[0].port_seconds is not None
    assert found[0].port_share_of_tick is found[0].ports_exceed_tick is found[0].longest_cycle_seconds is None
