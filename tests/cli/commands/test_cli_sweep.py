"""``neuromap sweep``, and ``neuromap report --from`` its store: what they print, write and refuse."""

import csv
import json
import re
import sys

import pytest

from neuromap.sweep.run_store import load_runs

SPEC = """\
format = 1
networks = ["sr.toml"]
executions = ["windowed", "pipelined"]
seeds = [3, 1]
[set]
core.axon_types = [1, 4]
[stimulus]
frames = 4
[simulation]
engine = "numpy"
"""


@pytest.fixture
def spec(folder, sr):
    path = folder / "spec.toml"
    path.write_text(SPEC)
    return path


@pytest.fixture
def store(folder, swept):
    path = folder / "digits.sqlite"
    path.write_bytes(swept)
    return path


def test_a_sweep_is_planned_done_and_gone_on_with(neuromap, spec, folder):
    store = folder / "a.sqlite"
    assert neuromap("sweep", spec, "-o", store, "--dry-run", "--json").json["left"] == 8
    assert not store.exists()
    done = neuromap("sweep", spec, "-o", store, "--processes", "1")
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines()[0] == "a.sqlite: 8 runs: 4 mapped, 4 do not fit; verified 4 of 4 mapped"
    before = load_runs(store).rows
    again = neuromap("sweep", spec, "-o", store, "--json")
    assert again.json["counts"] == {"mapped": 4, "does not fit": 4}
    assert load_runs(store).rows == before
    assert neuromap("sweep", spec, "-o", store, "--dry-run").out.startswith("spec: 8 runs, 0 left to do\n1 network: ")


def test_where_no_run_fits_the_exit_code_says_so(neuromap, spec, folder):
    spec.write_text(SPEC.replace("[1, 4]", "[1]"))
    store = folder / "a.sqlite"
    for words in (["sweep", spec, "-o", store, "--processes", "1"], ["report", "--from", store]):
        done = neuromap(*words)
        assert done.code == 3
        assert done.told.startswith("4 of 4 runs, first SR, streaming, windowed, truenorth, 1, 3: node ")
        assert done.err.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--scheduler", "tcp://a:1", "--processes", "2"], "give one of them, a cluster has workers"),
        (["--processes", "0"], "--processes 0: must be 1 to 1024"),
        (["-o", "spec.toml"], "--store spec.toml: is the sweep file itself"),
        (["-o", "sr.toml"], "store sr.toml: cannot be used"),
        (["-o", "none/a.sqlite"], "folder .* does not exist"),
    ],
)
def test_what_a_sweep_refuses(words, message, neuromap, spec, folder, monkeypatch):
    monkeypatch.chdir(folder)
    before = sorted(folder.iterdir())
    done = neuromap("sweep", spec.name, *words)
    assert (done.code, done.out) == (2, "")
    assert done.err.count("\n") == 1
    assert re.search(message, done.err)
    assert sorted(folder.iterdir()) == before


def test_a_report_writes_what_its_store_holds(neuromap, store, folder):
    done = neuromap("report", "--from", store, "--csv", folder / "a.csv", "--json-file", folder / "a.json")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("digits.sqlite: 16 runs: 8 mapped, 8 do not fit; verified 8 of 8 mapped\n")
    rows = load_runs(store).rows
    document = json.loads((folder / "a.json").read_text())
    with (folder / "a.csv").open(newline="") as file:
        lines = list(csv.DictReader(file))
    for row, member, line in zip(rows, document["rows"], lines, strict=True):
        assert member["key"] == line["key"] == row.run.key
        assert int(line["core.axon_types"]) == member["core.axon_types"] == row.chip_figures["core.axon_types"]
        for figure in document["figures"]:
            value = row.figures.get(figure["key"])
            assert member[figure["key"]] == value
            assert line[figure["key"]] == ("" if value is None else str(value).lower() if value is True else str(value))
    assert neuromap("report", "--from", store, "--json").json == document


def test_a_figure_over_two_parameters(neuromap, store, folder):
    words = ["--over", "core.axon_types,pattern", "--figure", "cores", "--svg", folder / "a.svg"]
    done = neuromap("report", "--from", store, *words)
    assert done.code == 0
    known = {tuple(line.split()[:7]) for line in done.out.splitlines() if line.startswith(("1", " 1", "4", " 4"))}
    cores = [row.figures["cores"] for row in load_runs(store).rows if row.run.pattern == "sequential" and row.figures]
    mean = f"{sum(cores) / len(cores):g}"
    assert ("4", "sequential", "4", "4", mean, str(min(cores)), str(max(cores))) in known
    assert any(line[:4] == ("1", "streaming", "4", "0") for line in known)
    drawn = (folder / "a.svg").read_text()
    assert drawn.startswith("<svg")
    assert "pattern = sequential" in drawn
    assert "core.axon_types" in drawn


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--over", "patern"], "parameter patern: .*did you mean 'pattern'"),
        (["--over", "seed,seed"], "give one or two of"),
        (["--over", "seed,chip,pattern"], "give one or two of"),
        (["--over", "seed", "--figure", "core"], "figure core: .*did you mean 'cores'"),
        (["--over", "seed", "--figure", "verified"], "figure verified: "),
        (["--figure", "cores"], "--figure cores: is of a figure over parameters; name these with --over"),
        (["--chip", "loihi1"], "the runs are done"),
        (["--seed", "1"], "the runs are done"),
        (["--no-packing"], "the runs are done"),
        (["--csv", "digits.sqlite"], "--csv digits.sqlite: is the store itself"),
    ],
)
def test_what_a_report_on_a_store_refuses(words, message, neuromap, store, folder, monkeypatch):
    monkeypatch.chdir(folder)
    done = neuromap("report", "--from", "digits.sqlite", *words)
    assert (done.code, done.out) == (2, "")
    assert done.err.count("\n") == 1
    assert re.search(message, done.err)


def test_the_journal_of_a_store_is_not_overwritten(neuromap, store):
    journal = store.with_name(f"{store.name}-wal")
    journal.write_bytes(b"")
    done = neuromap("report", "--from", store, "--csv", journal)
    assert (done.code, done.out) == (2, "")
    assert "is the journal of the store" in done.err


def test_options_of_a_store_need_one(neuromap, sr):
    for words in (["--over", "seed"], ["--parquet", "a.parquet"], ["--svg", "a.svg"]):
        done = neuromap("report", sr, *words)
        assert (done.code, done.err) == (
            2,
            f"neuromap report: {' '.join(words)}: is about runs of a store; give one with --from\n",
        )
    assert neuromap("report").err.startswith("neuromap report: NET: is missing")


def test_without_pyarrow_one_line_names_the_extra(neuromap, store, folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    done = neuromap("report", "--from", store, "--parquet", folder / "a.parquet")
    assert (done.code, done.err.count("\n")) == (4, 1)
    assert "neuromap-rollouts[parquet]" in done.err
    assert not (folder / "a.parquet").exists()


def test_parquet_has_the_rows_of_the_csv(neuromap, store, folder):
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is an extra that is not installed here")
    assert neuromap("report", "--from", store, "--parquet", folder / "a.parquet").code == 0
    rows = parquet.read_table(folder / "a.parquet").to_pylist()
    assert rows == neuromap("report", "--from", store, "--json").json["rows"]
