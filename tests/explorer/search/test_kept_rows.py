"""An exploration is the same whoever maps its rows, whatever is killed meanwhile, and however often it is taken up."""

from __future__ import annotations

import importlib.util
import json
import multiprocessing
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest

import neuromap as nm
from neuromap.errors import InputError, NeuromapError
from neuromap.explorer.answer.limits import Candidate
from neuromap.explorer.explore import explore
from neuromap.explorer.search.measurements import RowWork, Setting, measure_row
from neuromap.network import build_network
from neuromap.simulation.engine.engine_choice import EngineChoice
from neuromap.sweep.run_store import load_runs

QUICK = {"n_frames": 4, "n_stimuli": 1, "verify": False, "engine": "numpy"}
FIGURES = {"grid.cores": [3, 2], "core.axons": 8, "core.neurons": 8}


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    rng = np.random.default_rng(0)
    sizes = {"I": 4, "A": 5, "B": 6, "O": 3}
    edges = [("I", "A"), ("A", "B"), ("B", "O"), ("A", "O"), ("B", "A")]
    nodes = {name: ((1, 1, size), None if name == "I" else 1) for name, size in sizes.items()}
    made = build_network(nodes, {(u, v): rng.integers(-1, 3, (sizes[v], sizes[u])) for u, v in edges})
    path = tmp_path_factory.mktemp("net") / "net.toml"
    made.save(path)
    return path


@pytest.fixture(scope="module")
def net(file):
    return nm.load_network(file)


@pytest.fixture(scope="module")
def small():
    """Several rows are mapped before the front is known, and some do not fit."""
    return nm.load_chip("truenorth", FIGURES)


@pytest.fixture(scope="module")
def whole(net, small, tmp_path_factory):
    """The exploration, measured by this process alone and never ended, and the rows of its store."""
    store = tmp_path_factory.mktemp("whole") / "a.sqlite"
    found = explore(net, small, store=store, **QUICK)
    assert found.n_mapped > 5
    return found, load_runs(store).rows


def is_same(found, store, whole):
    expected, rows = whole
    assert found.rows == expected.rows
    assert found.gap == expected.gap
    assert (found.n_candidates, found.n_rows, found.n_mapped) == (
        expected.n_candidates,
        expected.n_rows,
        expected.n_mapped,
    )
    assert load_runs(store).rows == rows


def test_a_store_names_rows_as_the_exploration_does(whole):
    found, rows = whole
    measured = {
        (row.pattern, row.candidate.execution): row for row in found.rows if row.status in ("mapped", "does not fit")
    }
    assert {row.outcome.status for row in rows} == {row.status for row in measured.values()}
    assert len(rows) == found.n_mapped
    for row in rows:
        expected = measured[row.run.pattern, row.run.execution]
        assert row.run.asked_by == "explore"
        assert (row.outcome.status, row.outcome.message) == (expected.status, expected.message)
        if expected.status == "mapped":
            assert row.figures["cores"] == expected.cores
            assert row.figures["predicted_full_response_ticks"] == expected.full_response_ticks
            assert row.figures["sampling_frequency_hz"] == expected.sampling_frequency_hz
            assert row.figures["joules_per_frame"] == expected.energy_joules


@pytest.mark.parametrize("stop", [KeyboardInterrupt, InputError])
def test_what_was_measured_before_an_interruption_is_not_measured_again(stop, net, small, whole, tmp_path, monkeypatch):
    store = tmp_path / "a.sqlite"

    def interrupt(what, n_mapped, n_open):
        if n_mapped == 4:
            raise stop

    with pytest.raises(stop):
        explore(net, small, store=store, progress=interrupt, **QUICK)
    before = load_runs(store).rows
    assert before == whole[1][:4]
    is_same(explore(net, small, store=store, **QUICK), store, whole)
    monkeypatch.setattr("neuromap.explorer.search.measurements.evaluate", None)  # nobody asks for it
    is_same(explore(net, small, store=store, **QUICK), store, whole)


KILLED = """
import json, os, signal, sys
import neuromap as nm
from neuromap.explorer.explore import explore

path, store, figures, options = sys.argv[1:]
net, chip = nm.load_network(path), nm.load_chip("truenorth", json.loads(figures))
die = lambda _, done, __: os.kill(os.getpid(), 9 * (done == 3))
explore(net, chip, store=store, progress=die, **json.loads(options))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL")
def test_an_exploration_that_was_killed_is_gone_on_with(file, net, small, whole, tmp_path):
    store = tmp_path / "a.sqlite"
    words = [sys.executable, "-c", KILLED, str(file), str(store), json.dumps(FIGURES), json.dumps(QUICK)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stderr) == (-signal.SIGKILL, "")
    assert load_runs(store).rows == whole[1][:3]
    is_same(explore(net, small, store=store, **QUICK), store, whole)
    assert not store.with_name("a.sqlite-lock").exists()


def test_killed_processes_change_no_row(net, small, whole, tmp_path):
    others, killed = set(multiprocessing.active_children()), []

    def kill(what, n_mapped, n_open):
        for process in set(multiprocessing.active_children()) - others:
            if n_mapped == 1:
                process.kill()
                killed.append(process)

    found = explore(net, small, store=tmp_path / "a.sqlite", processes=2, progress=kill, **QUICK)
    assert killed
    is_same(found, tmp_path / "a.sqlite", whole)


@pytest.mark.skipif(
    importlib.util.find_spec("distributed") is None, reason="Dask is an extra (cluster) that is not installed here"
)
def test_a_cluster_gives_the_same_rows(net, small, whole, tmp_path):
    from distributed import LocalCluster

    store = tmp_path / "a.sqlite"
    with LocalCluster(2, threads_per_worker=2, processes=True, dashboard_address=None) as cluster:
        found = explore(net, small, store=store, scheduler=cluster.scheduler_address, **QUICK)
        hurried = explore(net, small, seconds=1e-6, scheduler=cluster.scheduler_address, **QUICK)
    is_same(found, store, whole)
    assert hurried.n_mapped == 0


def test_time_ends_on_other_machines_by_the_clock_on_the_wall(net, small, monkeypatch):
    setting = Setting(net, {small.name: small}, (), False, EngineChoice())
    clock = "neuromap.explorer.search.measurements.time"
    monkeypatch.setattr(f"{clock}.monotonic", lambda: 100.0)
    monkeypatch.setattr(f"{clock}.time", lambda: 5000.0)
    here = RowWork.of(setting, 130.0, alone=False, on_cluster=False)
    there = RowWork.of(setting, 130.0, alone=False, on_cluster=True)
    monkeypatch.setattr(f"{clock}.monotonic", lambda: 7.0)  # on a machine that was started later
    monkeypatch.setattr(f"{clock}.time", lambda: 5010.0)
    assert (here.until_here, there.until_here) == (130.0, 27.0)


def test_a_worker_with_another_version_is_refused(net, small):
    work = RowWork.of(Setting(net, {small.name: small}, (), False, EngineChoice()), None, alone=True, on_cluster=False)
    with pytest.raises(NeuromapError, match=r"a worker has neuromap .*, this command 0\.0"):
        measure_row(work._replace(version="0.0"), ("x", Candidate((1,) * len(net.edges), "windowed", small.name)))


def test_rows_depend_on_what_was_simulated(net, tmp_path):
    store, other = tmp_path / "a.sqlite", replace(nm.load_chip("truenorth"), energy={})
    for size, change in enumerate(({}, {"seed": 1}, {"n_stimuli": 2}, {"chips": other}, {}), start=1):
        explore(net, most_mapped=1, store=store, **{**QUICK, **change})
        assert len(load_runs(store).rows) == min(size, 4)
    verified = explore(net, most_mapped=1, store=store, **{**QUICK, "verify": True})
    assert verified.rows[0].verified is True
    assert len(load_runs(store).rows) == 4
    assert load_runs(store).rows[0].figures["verified"] is True


def test_another_given_pattern_takes_up_the_rows_that_are_there(net, small, whole, tmp_path):
    store = tmp_path / "a.sqlite"
    explore(net, small, store=store, **QUICK)
    explore(net, small, given="sequential", store=store, **QUICK)
    keys = [row.run.key for row in load_runs(store).rows]
    assert keys[: len(whole[1])] == [row.run.key for row in whole[1]]
    assert len(set(keys)) == len(keys) <= whole[0].n_rows


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("record = replace(record, 'verified', 'Verified')", "was changed since it was written"),
        ("record = 'nonsense'", "is not JSON object"),
        ("record = x'00'", "is not text"),
    ],
)
def test_a_record_that_was_changed_is_refused_in_one_line(change, words, net, small, tmp_path, rows_resealed):
    store = tmp_path / "a.sqlite"
    explore(net, small, most_mapped=1, store=store, **QUICK)
    with closing(sqlite3.connect(store)) as database, database:
        database.execute(f"UPDATE runs SET {change}")
    with pytest.raises(InputError, match=r"^store .*a\.sqlite: row 1 is damaged or was changed, [^\n]*$"):
        explore(net, small, store=store, **QUICK)
    rows_resealed(store, "SELECT 1")
    with pytest.raises(InputError, match=rf"^store .*a\.sqlite: [^\n]*{words}[^\n]*$"):
        explore(net, small, store=store, **QUICK)
