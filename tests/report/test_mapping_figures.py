"""Bounds and mapping figures in the forms of the report and in the figures of a program."""

import csv
import io
import json
from dataclasses import replace

import jsonschema
import numpy as np
import pytest

from neuromap.cli.printing.program_figures import UNITS, figure_rows, program_figures
from neuromap.hardware.program.usage import count_usage
from neuromap.mapping.bounds.lower_bounds import CoreBound, core_bound
from neuromap.mapping.legalise.legalise import legalise
from neuromap.mapping.map_rollout import map_rollout
from neuromap.mapping.options.options import MappingOptions
from neuromap.network.build import build_network
from neuromap.report import latency_report, report_schema
from neuromap.rollout.schedule.rollout import Rollout


def dense():
    """80 neurons that are read in two cores of 64 neurons each."""
    weights = {("I", "A"): np.eye(40, dtype=int), ("A", "O"): np.ones((80, 40), dtype=int)}
    return build_network({"I": (40, None), "A": (40, 1), "O": (80, 1)}, weights, name="dense")


@pytest.fixture(scope="module")
def report(chip):
    return latency_report(dense(), chip=chip(), patterns=["streaming"], executions=["windowed"], n_frames=4)


def test_the_row_bears_the_bound_of_its_schedule(report, chip):
    rollout = Rollout(dense(), "streaming", "windowed")
    row = report.rows[0]
    assert row.core_bound == core_bound(legalise(rollout, chip()), chip())
    # O needs 2 cores, so A needs 2 x 40 neurons, and 80 are read out
    assert (row.core_bound.total, row.core_bound.neurons, row.core_bound.axons) == (3, 160, 40 + 80)
    assert row.usage.cores >= 3


def test_json_holds_every_figure_and_the_bound(report):
    document = json.loads(report.to_json())
    jsonschema.validate(document, report_schema())
    row = document["rows"][0]
    assert row["core_bound"]["populations"][1] == {"name": "O", "cores": 2, "by": "neurons"}
    found = count_usage(map_rollout(Rollout(dense(), "streaming"), report.chip))
    for name in ("cores", "shared_cores", "replicas", "splitters", "deliveries", "weighted_hops", "chip_crossings"):
        assert row[name] == getattr(found, name)
    assert document["chip"]["usable_cores"] == report.chip.n_usable_cores == 64


def test_csv_has_the_bound_but_no_table_in_a_cell(report):
    (line,) = csv.DictReader(io.StringIO(report.to_csv()))
    assert (line["core_bound.total"], line["core_bound.by"]) == ("3", "neurons")
    assert not [name for name in line if "populations" in name]
    assert int(line["weighted_hops"]) == report.rows[0].usage.weighted_hops


def test_what_no_output_depends_on_stands_in_every_form_and_is_counted_where_it_is_kept(chip):
    ones = np.ones((40, 40), int)
    nodes = {"I": (40, None), "H": (40, 1), "O": (40, 1)}
    net = build_network(nodes, {("I", "H"): ones, ("I", "O"): ones}, outputs=["O"])
    given = {"patterns": ["streaming"], "executions": ["windowed"], "n_frames": 3}
    plain = latency_report(net, chip=chip(), **given)
    kept = latency_report(net, chip=chip(), options=MappingOptions(keep="H"), **given)
    line = "left out, as no output depends on it: H (40 of 40 neurons)"
    for report, left_out in ((plain, {"H": 40}), (kept, {})):
        document = json.loads(report.to_json())
        jsonschema.validate(document, report_schema())
        assert document["rows"][0]["left_out"] == left_out
        (cells,) = csv.DictReader(io.StringIO(report.to_csv()))
        assert {name: n for name, n in cells.items() if "left_out" in name} == {
            f"left_out.{name}": str(n) for name, n in left_out.items()
        }
        for form in (report.to_text(width=200), report.to_html()):
            assert (line in form) is bool(left_out)
    assert [report.rows[0].core_bound.neurons for report in (plain, kept)] == [40, 80]


def test_the_bound_stands_beside_the_cores(report):
    cores = report.rows[0].usage.cores
    assert f"{cores} (≥ 3)" in report.to_text(width=200)
    assert f"{cores} (≥ 3)" in report.to_html()
    assert "a lower bound on those of any mapping" in report.to_text(width=200)
    without = replace(report, rows=(replace(report.rows[0], core_bound=None),))
    for form in (without.to_text(width=200), without.to_html()):
        assert "(≥" not in form
    jsonschema.validate(json.loads(without.to_json()), report_schema())


def test_splitters_have_a_column_where_there_are_any(report):
    row = report.rows[0]
    split = replace(report, rows=(row, replace(row, usage=replace(row.usage, splitters=77))))
    assert "splitters" not in report.to_text(width=200)
    table = split.to_text(width=200)
    assert "splitters" in table
    assert "77" in table
    assert "77" in split.to_html()


def test_figures_of_a_program_have_words_beside_them(report):
    program = map_rollout(Rollout(dense(), "streaming"), report.chip)
    figures = program_figures(program, report.rows[0].core_bound)
    assert json.loads(json.dumps(figures))["core_bound"]["total"] == 3
    rows = {name: (value, unit) for name, value, unit in figure_rows(figures)}
    assert rows["cores"] == (str(program.n_cores), "of 64; any mapping takes 3 or more, for its neurons")
    assert rows["neuron utilisation"][0].endswith("%")
    assert rows["frame period"] == ("1", "ticks")
    assert all(unit for _, unit in rows.values())
    assert not set(UNITS) - set(figures)
    assert program_figures(program)["core_bound"] is None
    assert {n: u for n, _, u in figure_rows(program_figures(program))}["cores"] == "of 64"


def test_a_bound_lists_its_populations(report):
    bound = report.rows[0].core_bound
    assert isinstance(bound, CoreBound)
    assert bound.per_population == (("A", 1, "neurons"), ("O", 2, "neurons"))
