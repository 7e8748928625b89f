"""The latency report: rows, statuses, header, and its forms JSON, CSV and text."""

import copy
import csv
import io
import json
from dataclasses import replace

import jsonschema
import numpy as np
import pytest
from small_networks import network_of_any_names

from neuromap.errors import InputError, NetworkError, PatternError, StimulusError
from neuromap.hardware.program.usage import count_usage
from neuromap.mapping.map_rollout import map_rollout
from neuromap.network.build import build_network
from neuromap.network.network import Network
from neuromap.render.numbers import decimal_string
from neuromap.report import latency_report, report_on_program, report_schema, to_csv, to_dict
from neuromap.report.text import distinct_rows, latency_table, run_table
from neuromap.rollout.cycles import sequential_values
from neuromap.rollout.pattern import RolloutPattern
from neuromap.rollout.schedule.execution import TIME_AXIS
from neuromap.rollout.schedule.rollout import Rollout
from neuromap.simulation.choose_frames import DEFAULT_FRAMES
from neuromap.simulation.stimulus import save_frames


def small_sr(**changes):
    """SR of the paper in small: all weights 1, so that every way is open."""
    edges = [("I", "H1"), ("H1", "H2"), ("H2", "O"), ("H1", "O"), ("H1", "H1")]
    parts = {
        "nodes": {"I": (3, None), "H1": (3, 2), "H2": (2, 1), "O": (2, 3)},
        "edges": {
            (u, v): np.ones(({"H1": 3, "H2": 2, "O": 2}[v], {"I": 3, "H1": 3, "H2": 2}[u]), dtype=int) for u, v in edges
        },
        "patterns": {"hybrid": [("H1", "H1"), ("H1", "O"), ("H2", "O")], "bad": [("H1", "O")]},
        "name": "small SR",
    }
    return build_network(**{**parts, **changes})


@pytest.fixture(scope="module")
def report():
    return latency_report(small_sr(), patterns=["streaming", "sequential", "hybrid", "bad"])


@pytest.fixture(scope="module")
def crowded(chip):
    """Rows that do not fit: one core, and more neurons than it has."""
    return latency_report(small_sr(), chip=chip(cores=(1, 1), axons=8, neurons=4), patterns=["streaming", "bad"])


# PAPER.md: paths of S R, F, first and full responses; the frame period is F windowed, and the self-edge's 1 pipelined.
@pytest.mark.parametrize(
    ("pattern", "execution", "factor", "period", "first", "full"),
    [
        ("streaming", "windowed", 1, 1, 2, 3),
        ("streaming", "pipelined", 1, 1, 2, 3),
        ("sequential", "windowed", 3, 3, 3, 3),
        ("sequential", "pipelined", 3, 1, 3, 3),
        ("hybrid", "windowed", 2, 2, 3, 3),
        ("hybrid", "pipelined", 2, 1, 3, 3),
    ],
)
def test_figures_of_sr(report, pattern, execution, factor, period, first, full):
    row = next(r for r in report.rows if (r.pattern, r.execution) == (pattern, execution))
    assert row.verified
    assert row.verification.n_spikes > 0
    assert (row.inference_factor, row.frame_period_steps) == (factor, period)
    assert row.frame_period_ticks == period * row.ticks_per_step == period
    assert row.sampling_frequency_hz == pytest.approx(1000 / period)
    for found in (row.predicted, row.measured):
        assert (found.first_response_steps, found.full_response_steps) == (first, full)
        assert (found.first_response_ticks, found.full_response_ticks) == (first, full)
        assert found.first_response_seconds == pytest.approx(first * 1e-3)
        assert found.full_response_seconds == pytest.approx(full * 1e-3)
    assert row.worst_case_reaction_ticks == first + period - 1
    assert row.worst_case_reaction_seconds == pytest.approx((first + period - 1) * 1e-3)
    assert row.full_response_exact


def test_rows_come_pattern_by_pattern(report):
    names = ["streaming", "sequential", "hybrid", "bad"]
    assert [(r.pattern, r.execution) for r in report.rows] == [(p, e) for p in names for e in ("windowed", "pipelined")]


def test_an_invalid_pattern_is_a_row_with_its_cycle(report):
    for row in report.rows[-2:]:
        assert (row.status, row.cycle, row.exit_code, row.verified) == ("invalid", ("H1",), 2, None)
        assert "H1 -> H1" in row.message
        assert row.predicted.first_response_steps is None
        assert row.usage is None
    assert not report.verified
    assert report.exit_code == 2


def test_a_chip_too_small_is_a_row_with_the_refusal(crowded):
    row = crowded.rows[0]
    assert (row.status, row.exit_code, row.verified) == ("does not fit", 3, None)
    assert row.infeasibility.gap > 0
    # the schedule needs no chip
    assert (row.predicted.first_response_steps, row.predicted.first_response_ticks) == (2, None)
    assert (row.predicted.full_response_steps, row.frame_period_steps, row.frame_period_ticks) == (3, 1, None)
    assert [r.status for r in crowded.rows] == ["does not fit"] * 2 + ["invalid"] * 2
    assert crowded.exit_code == 3


def test_all_verified_gives_exit_code_0():
    report = latency_report(small_sr(), patterns=["hybrid"], executions=["pipelined"])
    assert report.verified
    assert report.exit_code == 0
    assert len(report.rows) == 1


def test_several_outputs_first_of_any_full_of_all():
    one = np.ones((1, 1), dtype=int)
    network = build_network(
        {"I": (1, None), "A": (1, 1), "B": (1, 1)}, {("I", "A"): one, ("A", "B"): one}, outputs=["A", "B"]
    )
    row = latency_report(network, patterns=["streaming"], executions=["windowed"]).rows[0]
    assert (row.predicted.first_response_ticks, row.predicted.full_response_ticks) == (1, 2)
    assert (row.measured.first_response_ticks, row.measured.full_response_ticks) == (1, 2)
    assert row.outputs["A"].predicted.full_response_ticks == row.outputs["A"].worst_case_reaction_ticks == 1
    assert row.outputs["B"].measured.first_response_ticks == row.outputs["B"].worst_case_reaction_ticks == 2
    assert row.worst_case_reaction_ticks == 1


def test_ticks_per_step_stretch_everything_but_steps(chip):
    row = latency_report(small_sr(), chip=chip(delay=(2, 9)), patterns=["hybrid"], executions=["windowed"]).rows[0]
    assert row.ticks_per_step == 2
    assert (row.frame_period_steps, row.frame_period_ticks) == (2, 4)
    assert (row.predicted.first_response_steps, row.predicted.first_response_ticks) == (3, 6)
    assert row.measured == row.predicted
    assert row.worst_case_reaction_ticks == 6 + 4 - 1
    assert row.sampling_frequency_hz == pytest.approx(250)
    assert row.verified


def test_relays_are_counted_apart_from_copies(chip):
    # sequential and pipelined, the skip edge I2 -> ... has slack that a delay of at most 2 cannot hold
    one = np.ones((1, 1), dtype=int)
    nodes = {"I": (1, None), **{f"A{k}": (1, 1) for k in range(5)}}
    edges = {("I", "A0"): one, **{(f"A{k}", f"A{k + 1}"): one for k in range(4)}, ("A0", "A4"): one}
    network = build_network(nodes, edges)
    row = latency_report(network, chip=chip(delay=(1, 2)), patterns=["sequential"], executions=["pipelined"]).rows[0]
    assert row.verified
    # A0 -> A4 carries its value for 4 steps: one relay; A0 feeds A1 and the relay: one copy
    assert (row.usage.relays, row.usage.copies, row.usage.neurons) == (1, 1, 5 + 1 + 1)
    assert row.usage.axons == 7


def test_usage_by_hand(by_hand):
    program = by_hand(
        [("I", 2, "input", 0), ("A", 2, "hidden", 0), ("O", 1, "output", 0)],
        {(0, 0): (1, 0, False, (1, 0, 1)), (0, 1): (1, 0, False, (1, 1, 1)), (0, 2): (1, 0, True, (1, 2, 1)),
         (1, 0): (2, 0, False, None)},
        8,
        [(0, 0, 0, 1), (0, 0, 1, 1), (0, 1, 2, 1), (1, 0, 0, 1), (1, 2, 0, 1)],
        [(0, 0, 0, 0, 0, 0), (0, 1, 0, 1, 0, 0), (-1, 0, 1, 5, 0, 1)],
        n_cores=2,
    )  # fmt: skip
    found = count_usage(program)
    assert (found.cores, found.neurons, found.copies, found.relays, found.synapses) == (2, 4, 1, 1, 5)
    assert (found.axons, found.bias_axons) == (2 + 3 + 1, 1)
    assert found.neuron_utilisation == pytest.approx(4 / (2 * 3))
    assert found.axon_utilisation == pytest.approx(6 / 16)


def test_header_counts_most_sequential_patterns_only_where_one_is_shown(report):
    assert (report.most_sequential, report.most_sequential_proven) == (1, True)
    cycle = {(u, v): [[1]] for u, v in [("I", "A"), ("A", "B"), ("B", "C"), ("C", "A")]}
    network = build_network({"I": (1, None), "A": (1, 1), "B": (1, 1), "C": (1, 1)}, cycle)
    assert latency_report(network, patterns=["sequential"], executions=["windowed"]).most_sequential == 3
    assert latency_report(network, patterns=["streaming"], executions=["windowed"]).most_sequential is None


def test_stimulus_is_described():
    network = small_sr()
    options = {"patterns": ["streaming"], "executions": ["windowed"]}
    random = latency_report(network, **options, n_frames=5, seed=3, density=0.25)
    assert dict(random.stimulus) == {"kind": "random", "n_frames": 5, "seed": 3, "density": 0.25, "n_stimuli": 5}
    assert "over 5 stimuli of 5 random frames (seeds 3 to 7, density 0.25)" in random.to_text(400)
    given = latency_report(network, **options, frames={"I": np.ones((7, 3), dtype=bool)})
    assert dict(given.stimulus) == {"kind": "given", "n_frames": 7, "n_stimuli": 1}
    assert given.rows[0].verification.n_frames == 7
    assert "verified with 7 given frames" in given.to_text()
    assert latency_report(network, **options).stimulus["n_frames"] == DEFAULT_FRAMES


def test_frames_of_a_file_are_named(tmp_path):
    path = tmp_path / "ones.safetensors"
    save_frames(path, {"I": np.ones((7, 3), dtype=bool)})
    found = latency_report(small_sr(), patterns=["streaming"], executions=["windowed"], frames=path)
    assert dict(found.stimulus) == {"kind": "given", "n_frames": 7, "n_stimuli": 1, "file": str(path)}
    jsonschema.validate(json.loads(found.to_json()), report_schema())
    for text in (found.to_text(width=400), found.to_html()):
        assert f"7 given frames ({path})" in text


def test_a_program_is_reported_like_a_row(report):
    network = small_sr()
    rollout = Rollout(network, "sequential", "pipelined")
    program = map_rollout(rollout, "ranc")
    found = report_on_program(rollout, program, n_frames=5, seed=3)
    assert (found.chip, found.version) == (program.chip, report.version)
    assert (found.most_sequential, found.most_sequential_proven) == (1, True)
    assert dict(found.stimulus) == {"kind": "random", "n_frames": 5, "seed": 3, "density": None, "n_stimuli": 5}
    (row,) = found.rows
    same = next(r for r in report.rows if (r.pattern, r.execution) == ("sequential", "pipelined"))
    assert (row.predicted, row.measured, row.verified) == (same.predicted, same.measured, True)
    assert report_on_program(Rollout(network, "streaming"), program).most_sequential is None


def test_an_illegal_program_is_a_row_that_says_so():
    rollout = Rollout(small_sr(), "hybrid")
    program = map_rollout(rollout, "truenorth")
    weights = program.neurons.weights.copy()
    weights[0, 0, 3] = 300
    found = report_on_program(rollout, replace(program, neurons=replace(program.neurons, weights=weights)))
    assert (found.verified, found.exit_code) == (False, 5)
    document = json.loads(found.to_json())
    jsonschema.validate(document, report_schema())
    verification = document["rows"][0]["verification"]
    assert (verification["n_violations"], verification["n_mismatches"]) == (1, 0)
    assert "300" in verification["first_violation"]
    assert "1 rule of the chip is broken" in found.to_text(width=400)


@pytest.mark.parametrize("count", [2**53 - 1, 2**53, 2**20000], ids=["53 bits", "54 bits", "6021 digits"])
def test_counts_of_any_length_are_written(report, count):
    found = replace(report, most_sequential=count)
    written = json.loads(found.to_json())["most_sequential_patterns"]
    assert written == count if count < 2**53 else written == decimal_string(count)
    assert len(decimal_string(2**20000)) == 6021
    jsonschema.validate(json.loads(found.to_json()), report_schema())
    assert "most sequential patterns" in found.to_text()
    assert "most sequential patterns" in found.to_html()


def test_the_most_sequential_pattern_is_searched_once(monkeypatch):
    calls = []
    search = sequential_values._search
    monkeypatch.setattr(sequential_values, "_search", lambda block: calls.append(block) or search(block))
    cycle = {(u, v): [[1]] for u, v in [("I", "A"), ("A", "B"), ("B", "C"), ("C", "A")]}
    network = build_network({"I": (1, None), "A": (1, 1), "B": (1, 1), "C": (1, 1)}, cycle)
    row = latency_report(network, patterns=["sequential"], executions=["windowed"]).rows[0]
    assert (row.pattern, row.streaming_edges) == (
        "sequential",
        RolloutPattern.named(network, "sequential").streaming_edges,
    )
    assert len(calls) == 1  # the report's; named() above asks for the same network


def test_progress_tells_every_row():
    calls = []
    latency_report(small_sr(), patterns=["streaming", "bad"], progress=lambda *news: calls.append(news))
    assert [done for _, done, _ in calls] == [0, 1, 2, 3, 4]
    assert {total for *_, total in calls} == {4}


def test_unnamed_patterns_are_numbered():
    network = small_sr()
    pattern = RolloutPattern.from_streaming_edges(network, network.patterns["hybrid"])
    report = latency_report(network, patterns=["streaming", pattern], executions=["windowed"])
    assert [row.pattern for row in report.rows] == ["streaming", "pattern 2"]


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"patterns": ["nonsense"]}, PatternError, "nonsense"),
        ({"patterns": []}, InputError, "none given"),
        ({"executions": ["rolling"]}, InputError, "'rolling'"),
        ({"executions": []}, InputError, "none given"),
        ({"chip": "no such chip"}, InputError, "no such chip"),
        ({"frames": {"I": np.ones((4, 2), dtype=bool)}}, StimulusError, "shape"),
    ],
)
def test_wrong_requests_are_refused_before_anything_is_mapped(options, error, words):
    with pytest.raises(error, match=words):
        latency_report(small_sr(), **options)


def test_a_pattern_of_another_network_is_refused():
    other = Network.from_edges([("I", "A")])
    with pytest.raises(PatternError, match="whose edges are not those of small SR"):
        latency_report(small_sr(), patterns=[RolloutPattern.streaming(other)])


def test_a_network_without_weights_is_refused():
    with pytest.raises(NetworkError):
        latency_report(Network.from_edges([("I", "A")]))


# JSON.


def test_json_follows_the_schema(report, crowded):
    schema = report_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    for one in (report, crowded):
        document = json.loads(one.to_json())
        jsonschema.validate(document, schema)
        assert document == json.loads(json.dumps(to_dict(one)))


def test_json_has_the_keys_that_are_promised(report):
    row = to_dict(report)["rows"][2]
    assert (row["pattern"], row["execution"], row["verified"]) == ("sequential", "windowed", True)
    assert row["predicted"]["first_response_ticks"] == row["measured"]["full_response_ticks"] == 3
    for key in ("worst_case_reaction_ticks", "frame_period_ticks", "sampling_frequency_hz", "cores", "neurons"):
        assert row[key] > 0
    assert {"copies", "relays", "axons"} <= set(row)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda d: d.pop("rows"),
        lambda d: d["rows"][0].pop("verified"),
        lambda d: d["rows"][0].update(fps=1),
        lambda d: d["rows"][0]["predicted"].pop("first_response_ticks"),
        lambda d: d["rows"][0].update(frame_period_ticks=None),
        lambda d: d["rows"][0].update(sampling_frequency_hz="1000"),
        lambda d: d["rows"][-1].update(message=None),
        lambda d: d["rows"][0].update(execution="rolling"),
        lambda d: d["rows"][0]["outputs"]["O"].pop("measured"),
        lambda d: d.update(format="something else"),
    ],
)
def test_the_schema_is_strict(report, spoil):
    document = copy.deepcopy(json.loads(report.to_json()))
    spoil(document)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, report_schema())


# CSV and text.


def test_csv_has_the_same_figures(report):
    rows = list(csv.DictReader(io.StringIO(to_csv(report), newline="")))
    assert len(rows) == len(report.rows)
    for line, row in zip(rows, report.rows, strict=True):
        assert (line["network"], line["chip"], line["pattern"]) == ("small SR", "truenorth", row.pattern)
        for key in ("first_response_ticks", "full_response_ticks"):
            value = getattr(row.measured, key)
            assert line[f"measured.{key}"] == line[f"outputs.O.measured.{key}"] == ("" if value is None else str(value))
        assert line["verified"] == {True: "true", None: ""}[row.verified]
    assert rows[4]["streaming_edges"] == "H2 -> O; H1 -> O; H1 -> H1"
    assert rows[-1]["cycle"] == "H1"


def test_text_shows_figures_units_and_time_axes(report):
    text = report.to_text()
    line = next(part for part in text.splitlines() if "hybrid" in part and "windowed" in part)
    assert "3 / 3" in line
    assert "500" in line
    assert "✓ proven" in line
    assert "sequential: the only most sequential pattern." in text
    for part in ("[ticks]", "[Hz]", "1 tick = 1 ms", *TIME_AXIS.values(), "the cycle H1 -> H1"):
        assert part in text
    assert max(map(len, text.splitlines())) <= 160


@pytest.mark.parametrize("width", [60, 80, 100, 130, 160])
def test_narrow_text_keeps_names_and_figures_whole(report, width):
    longer = replace(report, rows=tuple(replace(r, pattern=f"H1 -> H1, {r.pattern}") for r in report.rows))
    lines = longer.to_text(width).splitlines()
    assert max(map(len, lines)) <= width
    words = {"windowed", "pipelined", "worst-case", "frequency", "[ticks]", "333.3", "3 / 3", "verified", "✓ proven"}
    for word in words | {f"{r.pattern} {r.execution}".split(", ")[0] for r in distinct_rows(longer)}:
        assert any(word in " ".join(line.split()) for line in lines), word
    blocks = sum("pattern" in line and "execution" in line for line in lines)
    assert len(latency_table(longer).blocks(width)) == {60: 5, 80: 3, 100: 2, 130: 2, 160: 1}[width]
    assert blocks == len(latency_table(longer).blocks(width)) + len(run_table(longer).blocks(width))


def test_text_takes_names_literally():
    names = {"I": "[red]I", "O": "O[/]"}
    network = network_of_any_names(
        {names["I"]: (1, None), names["O"]: (1, 1)},
        {(names["I"], names["O"]): [[1]]},
        patterns={"[bold]p[/bold]": [(names["I"], names["O"])]},
        name="[blink]net",
    )
    text = latency_report(network, patterns=["[bold]p[/bold]"], executions=["windowed"]).to_text()
    assert "[blink]net" in text
    assert "[bold]p[/bold]" in text


@pytest.mark.parametrize("suffix", [".json", ".csv", ".html", ".txt"])
def test_save_writes_the_form_of_the_suffix(report, tmp_path, suffix):
    path = tmp_path / f"report{suffix}"
    report.save(path)
    forms = {".json": report.to_json, ".csv": report.to_csv, ".html": report.to_html, ".txt": report.to_text}
    assert path.read_bytes().decode() == forms[suffix]()


def test_save_refuses_other_suffixes(report, tmp_path):
    with pytest.raises(InputError, match="choose one of"):
        report.save(tmp_path / "report.pdf")
    assert not list(tmp_path.iterdir())


def test_a_row_that_is_not_verified_decides_the_exit_code(report):
    row = report.rows[0]
    bad = replace(row, verification=replace(row.verification, verified=False, n_strays=1))
    worse = replace(report, rows=(bad, *report.rows[-2:]))
    assert worse.exit_code == 5
    assert "✗ no" in worse.to_text()
