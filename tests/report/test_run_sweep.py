"""A sweep ends with the rows that the report has, however often and whatever of it is killed."""

from __future__ import annotations

import importlib.util
import random
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import neuromap as nm
from neuromap.errors import InputError, NeuromapError
from neuromap.report.latency import measure_runs, row_figures, run_sweep
from neuromap.sweep.sweep_spec import load_sweep, runs_of

killed = pytest.importorskip(
    "benchmarks.sweeps.killed", reason="benchmarks are not part of the package", exc_type=ModuleNotFoundError
)
ROOT = Path(__file__).resolve().parents[2]
SPEC = """\
format = 1
networks = ["small.toml"]
patterns = ["streaming", "sequential"]
executions = ["windowed", "pipelined", "pipelined:2"]
seeds = {count = 5}
[stimulus]
frames = 2
[simulation]
engine = "numpy"
"""


@pytest.fixture
def spec(tmp_path):
    draw = np.random.default_rng(0)
    edges = {(u, v): draw.integers(-1, 2, (6, 6)) for u, v in ("IH", "HH", "HO")}
    nm.build_network({"I": (6, None), "H": (6, 1), "O": (6, 1)}, edges, name="small").save(tmp_path / "small.toml")
    path = tmp_path / "spec.toml"
    path.write_text(SPEC)
    return path


def test_rows_are_those_of_the_report(spec, tmp_path):
    text = SPEC.replace("count = 5", "count = 2").replace("frames = 2", "frames = 5")
    text = text.replace(', "pipelined", "pipelined:2"', "")
    spec.write_text(text + "[set]\ncore.axon_types = [1, 4]\n")
    asked = load_sweep(spec)
    table = run_sweep(asked, tmp_path / "a.sqlite")
    assert dict(table.counts) == {"mapped": 4, "does not fit": 4}
    for row in table.rows:
        chip = nm.load_chip("truenorth", row.chip_figures)
        how = {"n_frames": 5, "n_stimuli": 1, "seed": row.run.seed, "engine": "numpy"}
        (alone,) = nm.latency_report(asked.networks[0], chip, [row.run.pattern], ["windowed"], **how).rows
        assert (row.outcome.status, row.outcome.message) == (alone.status, alone.message)
        assert row.outcome.exit_code == alone.exit_code
        if alone.usage is not None:
            known = {key: value for key, value in row_figures(alone).items() if value is not None}
            assert dict(row.figures) == known
            assert row.figures["predicted_first_response_ticks"] == row.figures["measured_first_response_ticks"]


def test_what_is_done_is_not_done_again_and_a_longer_spec_adds_its_runs(spec, tmp_path, monkeypatch):
    store, seen = tmp_path / "a.sqlite", []
    short, text = tmp_path / "short.toml", spec.read_text().replace(', "pipelined", "pipelined:2"', "")
    spec.write_text(text.replace("count = 5", "count = 3"))
    short.write_text(text.replace("count = 5", "count = 1"))
    run_sweep(load_sweep(short), store)
    table = run_sweep(load_sweep(spec), store, progress=lambda _, done, total: seen.append((done, total)))
    assert (seen[0], seen[-1]) == ((2, 6), (6, 6))
    assert [row.run.seed for row in table.rows] == [0] * 2 + [1, 2] * 2
    before = killed.rows_of(store)
    monkeypatch.setattr("neuromap.report.latency.measure_runs", None)  # nobody asks for it
    hashed = []
    monkeypatch.setattr("neuromap.report.latency.runs_of", lambda spec: hashed.append(spec) or runs_of(spec))
    run_sweep(load_sweep(spec), store)
    assert killed.rows_of(store) == before
    assert len(hashed) == 1


@pytest.mark.parametrize(
    ("old", "new", "told", "words"),
    [
        ('"sequential"', '"I -> H"', ("invalid", "schedule", 2), "its sequential edges form the cycle H -> H"),
        ("[stimulus]", "[mapping]\nkeep = ['X']\n[stimulus]", ("failed", "map", 2), "X"),
        ("[stimulus]", "[set]\ncore.axons = [4]\n[stimulus]", ("does not fit", "map", 3), "a truenorth .* core has 4"),
    ],
)
def test_a_failure_is_a_row_with_stage_and_exit_code(old, new, told, words, spec, tmp_path):
    spec.write_text(spec.read_text().replace("count = 5", "count = 1").replace(old, new))
    table = run_sweep(load_sweep(spec), tmp_path / "a.sqlite")
    failures = [row.outcome for row in table.rows if row.outcome.status != "mapped"]
    assert {(outcome.status, outcome.stage, outcome.exit_code) for outcome in failures} == {told}
    assert all(re.search(words, outcome.message) and "\n" not in outcome.message for outcome in failures)
    assert table.exit_code == (0 if len(failures) < len(table.rows) else told[2])


def test_a_job_for_another_version_is_refused(spec):
    asked = load_sweep(spec)
    job, _ = next(runs_of(asked))
    with pytest.raises(NeuromapError, match=r"a worker has neuromap .*, this command 0\.0"):
        measure_runs(("0.0", asked), job)


def test_processes_and_a_scheduler_are_not_both(spec, tmp_path):
    with pytest.raises(InputError, match="drop one"):
        run_sweep(load_sweep(spec), tmp_path / "a.sqlite", processes=2, scheduler="tcp://127.0.0.1:1")


KILLED = """
import os, signal, sys, time
from pathlib import Path
from benchmarks.sweeps.killed import n_done
from neuromap.report.latency import run_sweep
from neuromap.sweep.sweep_spec import load_sweep

path, store, *moments = sys.argv[1:]
spec = load_sweep(path)
for moment in map(int, moments):  # of forks of a process that has imported all, which costs most
    child = os.fork()
    if child == 0:  # works on while it is looked for, but not to the end
        run_sweep(spec, store, progress=lambda _, done, total: time.sleep(600 * (done > moment)))
        os._exit(1)
    while n_done(Path(store)) < moment:
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    print("killed", flush=True)
run_sweep(spec, store)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="forks, and SIGKILL")
def test_a_sweep_killed_twice_ends_with_the_rows_of_one_that_was_not(spec, tmp_path):
    text = spec.read_text().replace(', "pipelined", "pipelined:2"', "")
    spec.write_text(text + "[set]\ncore.axons = [3, 4, 256]\n")  # most do not fit, which takes no time
    whole, broken = tmp_path / "whole.sqlite", tmp_path / "broken.sqlite"
    run_sweep(load_sweep(spec), whole)
    words = [sys.executable, "-c", KILLED, str(spec), str(broken), "5", "15"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False, cwd=ROOT)
    assert (done.returncode, done.stdout, done.stderr) == (0, "killed\nkilled\n", "")
    assert len(killed.rows_of(whole)) == 30
    assert killed.rows_of(broken) == killed.rows_of(whole)


@pytest.mark.thorough
@pytest.mark.skipif(not Path("/proc/self").exists(), reason="finds processes in /proc")
@pytest.mark.parametrize("cluster", [False, True])
def test_heads_and_workers_killed_at_random_change_no_row(cluster, tmp_path):
    if cluster and importlib.util.find_spec("distributed") is None:
        pytest.skip("Dask is an extra (cluster) that is not installed here")
    spec = killed.write_spec(tmp_path, 200)
    whole, broken = tmp_path / "whole.sqlite", tmp_path / "broken.sqlite"
    run_sweep(load_sweep(spec), whole)
    if cluster:
        killed.dask_sweep(spec, broken, tmp_path, 100)
    else:
        killed.killed_sweep(spec, broken, 200, 6, random.Random(1), "--processes", "2")
    assert killed.rows_of(broken) == killed.rows_of(whole)
