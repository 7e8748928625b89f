"""``neuromap faults``: a table, files, results that go on, and one line for what is wrong."""

import json
import re

import jsonschema
import pytest

import neuromap as nm
from neuromap.faults.options import KINDS

SHORT = ("--kind", "dead-cores,silent-neurons", "--rates", "0,0.5", "--seeds", "2", "--frames", "6", "--stimuli", "2")


def test_table_document_and_files_agree(sr, folder, neuromap):
    files = {form: folder / f"faults.{form}" for form in ("html", "svg", "csv", "json")}
    options = [w for form, path in files.items() for w in (f"--{form}" + ("-file" if form == "json" else ""), path)]
    done = neuromap("faults", sr, "--pattern", "streaming,hybrid", "--execution", "pipelined", *SHORT, *options)
    assert (done.code, done.err) == (0, "")
    document = json.loads(files["json"].read_text())
    jsonschema.validate(document, nm.load_schema("faults"))
    assert [c["name"] for c in document["curves"]] == ["streaming, pipelined", "hybrid, pipelined"]
    assert len(document["points"]) == 8
    assert len(document["runs"]) == 16
    assert len(re.findall(r"^ *(?:silent-neurons +50|dead-cores +0) % ", done.out, re.MULTILINE)) == 4
    assert files["html"].read_text().startswith("<!DOCTYPE html>")
    assert files["svg"].read_text().startswith("<svg xmlns=")
    assert len(files["csv"].read_text().splitlines()) == 9


def test_all_kinds_are_those_of_the_default(sr, neuromap):
    found = neuromap("faults", sr, "--kinds", "all", "--rates", "0", *SHORT[4:], "--json").json
    assert found["kinds"] == list(KINDS)


def test_results_go_on_where_they_ended(sr, folder, neuromap):
    kept = ("--results", folder / "kept")
    once = neuromap("faults", sr, *SHORT, *kept, "--json")
    size = (folder / "kept").stat().st_size
    assert neuromap("faults", sr, *SHORT, *kept, "--json") == once
    assert (folder / "kept").stat().st_size == size


def test_a_report_has_the_study_of_its_rows(sr, folder, neuromap):
    seen = ("--frames", "6", "--stimuli", "2", "--executions", "windowed", "--json", "--patterns", "streaming,hybrid")
    struck = ("--faults", "dead-cores,silent-neurons", "--fault-rates", "0,0.5", "--fault-seeds", "2")
    page, kept = folder / "sr.html", ("--fault-results", folder / "kept")
    found = neuromap("report", sr, *seen, *struck, *kept, "--html", page).json
    alone = neuromap("faults", sr, *seen, *SHORT, "--results", folder / "kept").json
    assert found["faults"] == alone
    assert found["format"] == "neuromap-latency-report-8"
    assert "Faults over their rates" in page.read_text()


def test_rows_that_do_not_fit_have_no_faults(sr, neuromap):
    done = neuromap("report", sr, "--set", "core.axons=1", "--faults", "all", "--json")
    assert done.code == 3
    assert "faults" not in done.json


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--faults", "broken-cores"], ["--faults broken-cores", "dead-cores"]),
        (["--faults", "all", "--fault-rates", "2"], ["--fault-rates 2", "0 to 1"]),
        (["--faults", "all", "--fault-seeds", "0"], ["seeds 0", "1 to 1000"]),
        (["--fault-rates", "0,0.1"], ["--fault-rates 0,0.1", "give --faults"]),
        (["--fault-seeds", "3"], ["--fault-seeds 3", "give --faults"]),
        (["--faults", "all", "--set", "core.axons=64,128"], ["--faults all", "--set gives several"]),
        (["--faults", "all", "--program", "sr.nmp"], ["--faults all", "drop --program"]),
        (["--faults", "all", "--fault-results", "nowhere/x"], ["--fault-results", "nowhere"]),
    ],
)
def test_what_a_report_refuses_of_faults(words, said, sr, neuromap):
    neuromap("report", sr, "--frames", "4", *words).assert_refused(2, *said)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--kind", "broken-cores"], ["--kinds broken-cores", "dead-cores"]),
        (["--rates", "0,1.5"], ["--rates 1.5", "0 to 1"]),
        (["--rates", "1e-400x"], ["--rates 1e-400x"]),
        (["--rates", ","], ["--rates", "empty"]),
        (["--rates", "0,,1"], ["--rates 0,,1: has nothing between two commas"]),
        (["--seeds", "0"], ["seeds 0", "1 to 1000"]),
        (["--seeds", "many"], ["--seeds many", "whole number"]),
        (["--processes", "0"], ["--processes 0"]),
        (["--set", "core.neurons=64,128"], ["--set", "one chip"]),
        (["--limit", "3"], ["--limit 3", "--data"]),
        (["--data", "digits", "--stimuli", "3"], ["--data and --stimuli"]),
        (["--frames", "2"], ["2 frames", "give 3 or more"]),
        (["--pattern", "zigzag"], ["zigzag"]),
        (["--csv", "nowhere/x.csv"], ["--csv", "nowhere"]),
    ],
)
def test_what_is_wrong_is_said_in_one_line(words, said, sr, neuromap):
    neuromap("faults", sr, *words).assert_refused(2, *said)


def test_what_does_not_fit_has_its_exit_code(sr, folder, neuromap):
    neuromap("faults", sr, "--set", "core.axons=1").assert_refused(3, "axons")
