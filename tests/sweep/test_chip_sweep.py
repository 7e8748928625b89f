"""A sweep says of every chip what the mapper, the report and the explorer say of it alone."""

import csv
import io
import json
from dataclasses import replace

import numpy as np
import pytest
from html_pages import Page

import neuromap as nm
from neuromap.errors import ChipError, DoesNotFitError, VerificationError
from neuromap.explorer.explore import explore, sweep_explorations
from neuromap.mapping.map_rollout import map_with_stages
from neuromap.report.latency import sweep_reports
from neuromap.sweep.chip_sweep import ChipSweep, SweepColumn, SweepRow, findings, sweep_mappings

FIGURES = {"core.axons": [4, 16, 64], "core.neurons": [8, 32]}


@pytest.fixture(scope="module")
def network():
    draw = np.random.default_rng(0)
    edges = {(u, v): draw.integers(-1, 2, (6, 6)) for u, v in ("IH", "HH", "HO")}
    return nm.build_network({"I": (6, None), "H": (6, 1), "O": (6, 1)}, edges, name="small")


@pytest.fixture(scope="module")
def swept(network):
    return sweep_mappings(nm.Rollout(network, "streaming"), "truenorth", FIGURES)


def test_every_row_is_that_of_its_chip_alone(network, swept):
    assert [row.values for row in swept.rows] == [(a, n) for a in (4, 16, 64) for n in (8, 32)]
    rollout = nm.Rollout(network, "streaming")
    for row in swept.rows:
        chip = nm.load_chip("truenorth", dict(zip(FIGURES, row.values, strict=True)))
        assert row.chip == chip
        if not row.fits:
            with pytest.raises(DoesNotFitError) as refusal:
                map_with_stages(rollout, chip)
            assert row.message == str(refusal.value)
            assert row.reason.endswith("a truenorth core has 4")
            continue
        program = map_with_stages(rollout, chip).program
        assert (row.figures["cores"], row.figures["frame_period_ticks"]) == (program.n_cores, program.period)
        assert row.figures["first_response_ticks"] == rollout.first_response("O") * program.ticks_per_step
        assert 1 <= row.figures["core_bound"] <= program.n_cores
    assert {row.fits for row in swept.rows} == {True, False}


def test_rows_of_reports_are_those_of_one_report(network):
    how = {"n_frames": 5, "n_stimuli": 1}
    found = sweep_reports(network, "truenorth", {"time.tick_seconds": [1e-3, 1e-4]}, ["streaming"], ["windowed"], **how)
    for row in found.rows:
        report = nm.latency_report(network, row.chip, ["streaming"], ["windowed"], **how).rows[0]
        assert row.labels == ("streaming", "windowed")
        assert row.figures["cores"] == report.usage.cores
        assert row.figures["first_response_ticks"] == report.measured.first_response_ticks
        assert row.figures["energy_joules"] == pytest.approx(report.figures.energy.joules_per_frame)
        assert row.figures["verified"] is True
        assert row.seconds_of("first_response_ticks") == report.measured.first_response_seconds
    assert found.exit_code == 0


def test_rows_of_explorations_are_those_of_one_front(network):
    how = {"n_frames": 5, "n_stimuli": 1}
    found = sweep_explorations(network, "truenorth", {"time.tick_seconds": [1e-3, 1e-4]}, **how)
    for row in found.rows:
        front = explore(network, row.chip, **how).front
        assert row.figures["front_rows"] == len(front) > 0  # of cores whose kernel is compiled anyway
        assert row.figures["cores"] == min(one.cores for one in front)
        assert row.figures["first_response_ticks"] == min(one.first_response_ticks for one in front)


BARRIERS = {"time.barrier_seconds": [[[1, 1e-6]], [[1, 3e-6]]]}


def test_ticks_that_last_as_long_as_their_work_have_the_seconds_of_reports_and_fronts(network):
    how = {"n_frames": 5, "n_stimuli": 1}
    reports = sweep_reports(network, "loihi1", BARRIERS, ["streaming"], ["windowed"], **how)
    fronts = sweep_explorations(network, "loihi1", BARRIERS, **how)
    for row, front in zip(reports.rows, fronts.rows, strict=True):
        report = nm.latency_report(network, row.chip, ["streaming"], ["windowed"], **how).rows[0]
        assert row.seconds_of("first_response_ticks") == report.measured.first_response_seconds
        assert row.seconds_of("frame_period_ticks") == pytest.approx(1 / report.sampling_frequency_hz)
        found = explore(network, row.chip, **how).front
        assert front.seconds_of("first_response_ticks") == min(one.first_response_seconds for one in found)
    period, longer = (row["frame_period_seconds"] for row in reports.to_dict()["rows"])
    assert longer - period == pytest.approx(2e-6)
    assert "First response: 2 ticks (" in " ".join(findings(reports)["Findings"])


def test_ticks_that_were_not_timed_have_no_seconds(network):
    """A mapping alone says how many ticks there are; the chip's nominal tick is nobody's time."""
    mapped = sweep_mappings(nm.Rollout(network, "streaming"), "loihi1", BARRIERS)
    assert all(row.seconds_of("first_response_ticks") is None for row in mapped.rows)
    assert {row["first_response_seconds"] for row in mapped.to_dict()["rows"]} == {None}
    text = " ".join(mapped.to_text(120).split())
    assert "[ticks]" in text
    assert "[ticks = time]" not in text
    assert "ticks last as long as their work: neuromap report times them" in text


def test_all_forms_hold_the_same_rows(swept):
    document = json.loads(swept.to_json())
    assert document == swept.to_dict()
    lines = list(csv.DictReader(io.StringIO(swept.to_csv())))
    assert len(lines) == len(document["rows"]) == len(swept.rows)
    for line, row in zip(lines, document["rows"], strict=True):
        assert {name: str(value) for name, value in row["set"].items()} == {name: line[name] for name in FIGURES}
        assert line["fits"] == str(row["fits"]).lower()
        assert line["cores"] == ("" if row["cores"] is None else str(row["cores"]))
        if row["fits"]:
            assert row["first_response_seconds"] == row["first_response_ticks"] * 1e-3
    text = swept.to_text(120)
    assert all(row.reason.split()[-1] in text for row in swept.rows if row.reason)
    assert "fits 4 of 6 chips" in text


def test_the_page_draws_every_chip_that_fits_and_escapes_names(swept):
    page = Page(swept.to_html())
    page.require_closed()
    fitting = [row for row in swept.rows if row.fits]
    assert page.tags.count("circle") == 2 * len(fitting)
    assert page.tags.count("svg") == 2  # one of them for telephones
    hostile = '<script>alert("x")</script>'
    row = SweepRow((1,), swept.chip, (hostile,), {"cores": 3})
    bad = ChipSweep(hostile, "", swept.chip, ("core.axons",), ("pattern",), swept.columns, (row,), (hostile,))
    Page(bad.to_html()).require_closed()
    assert "script" not in Page(bad._repr_html_()).tags
    for text in (bad.to_html(), bad._repr_html_()):
        assert hostile in "".join(Page(text).text)


def test_findings_name_the_least_and_the_greatest_of_what_is_drawn(swept):
    fits, *extents = findings(swept)["Findings"]
    assert fits.startswith("Fits 4 of 6 chips; not with core.axons = 4, core.neurons = 8: node ")
    cores = [row.figures["cores"] for row in swept.rows if row.fits]
    (said,) = (text for text in extents if text.startswith("Cores: "))
    assert said.startswith(f"Cores: {min(cores)} with core.axons = ")
    assert f", up to {max(cores)} with core.axons = " in said
    alone = replace(swept, rows=tuple(row for row in swept.rows if row.fits)[:1])
    assert findings(alone)["Findings"][:2] == ("Fits every chip.", f"Cores: {cores[0]}.")


def test_the_exit_code_tells_the_worst_that_matters(swept):
    def code(*rows):
        return ChipSweep("n", "", swept.chip, ("core.axons",), (), (SweepColumn("cores", "cores"),), rows).exit_code

    fits, refused = (SweepRow((1,), swept.chip, reason=reason) for reason in ("", "too small"))
    invalid = SweepRow((1,), swept.chip, reason="a cycle", is_refused=False)
    wrong = SweepRow((1,), swept.chip, figures={"verified": False})
    assert [code(fits, refused), code(refused, invalid), code(invalid)] == [0, 3, 2]
    assert code(fits, wrong) == VerificationError.exit_code


def test_a_wrong_figure_is_refused_before_anything_is_mapped(network):
    told = []
    with pytest.raises(ChipError, match=r"core\.axons: found 0"):
        sweep_mappings(
            nm.Rollout(network, "streaming"), "truenorth", {"core.axons": [64, 0]}, progress=lambda *n: told.append(n)
        )
    assert not told
