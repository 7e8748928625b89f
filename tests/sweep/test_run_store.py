"""A store holds what was committed, in the order in which it was planned, whatever came in which order."""

import dataclasses
import multiprocessing
import os
import sqlite3
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuromap.errors import InputError
from neuromap.sweep.run_store import RunStore, load_runs
from neuromap.sweep.sweep_spec import RunOutcome, SweepRun

RUNS = [SweepRun(f"key {k}", "net", "d", "streaming", "windowed", "chip", "{}", k, 3, None, "{}") for k in range(6)]
OUTCOMES = [
    RunOutcome("mapped", figures={"cores": 2, "mean_hops": 0.5, "verified": True}),
    RunOutcome("does not fit", "map", 3, "node O: too wide"),
    RunOutcome("lost", "process", 1, "gone"),
]


def written(path, planned, done):
    """Plan and do runs in any order, the file closed and opened again after every step."""
    for k in planned:
        with RunStore(path) as store:
            store.plan(RUNS[: k + 1])
    for k in done:
        with RunStore(path) as store:
            store.add([(RUNS[k].key, OUTCOMES[k % 3])])


@settings(max_examples=15, deadline=None)
@given(st.lists(st.integers(0, 5), max_size=3), st.permutations(range(6)))
def test_rows_do_not_depend_on_the_order_in_which_they_came(tmp_path_factory, planned, done):
    path = tmp_path_factory.mktemp("store") / "a.sqlite"
    written(path, [*planned, 5], [*done, done[0]])
    table = load_runs(path)
    assert [row.run for row in table.rows] == RUNS
    assert [row.outcome for row in table.rows] == [OUTCOMES[k % 3] for k in range(6)]
    with RunStore(path) as store:
        assert store.done() == {run.key for k, run in enumerate(RUNS) if k % 3 != 2}


def test_a_store_is_read_while_it_is_written(tmp_path):
    path = tmp_path / "a.sqlite"
    with RunStore(path) as store:
        store.plan(RUNS)
        store.add([(RUNS[0].key, OUTCOMES[0])])
        table = load_runs(path)
    assert dict(table.counts) == {"mapped": 1, "open": 5}
    assert [p.name for p in tmp_path.iterdir()] == ["a.sqlite"]  # closed, it is one file


def test_of_what_comes_at_once_all_is_kept_or_nothing(tmp_path):
    path = tmp_path / "a.sqlite"
    no_number = dataclasses.replace(OUTCOMES[0], figures={"cores": object()})  # which SQLite takes for nothing
    with RunStore(path) as store:
        store.plan(RUNS)
        with pytest.raises(InputError, match=r"^store .*cannot be used"):
            store.add([(RUNS[0].key, OUTCOMES[0]), (RUNS[1].key, no_number)])
    assert dict(load_runs(path).counts) == {"open": 6}


def foreign(path):
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE t (x)")
    database.close()


@pytest.mark.parametrize("make", [foreign, lambda path: path.write_bytes(b"x" * 5000), lambda path: path.mkdir()])
def test_other_files_are_refused_and_left_as_they_are(make, tmp_path):
    path = tmp_path / "a.sqlite"
    make(path)
    before = path.read_bytes() if path.is_file() else b""
    for use in (RunStore, load_runs):
        with pytest.raises(InputError) as caught:
            use(path)
        assert str(path) in str(caught.value)
        assert "\n" not in str(caught.value)
    assert before == (path.read_bytes() if path.is_file() else b"")


def test_of_two_commands_one_writes(tmp_path):
    path = tmp_path / "a.sqlite"
    with RunStore(path) as store:
        store.plan(RUNS)
        for _ in range(2):
            with pytest.raises(
                InputError, match=r"^store .*a\.sqlite: another command writes it .*a\.sqlite-lock[^\n]*$"
            ):
                RunStore(path)
        store.add([(RUNS[0].key, OUTCOMES[0])])  # who was refused took nothing away
    with RunStore(path) as store:
        assert store.done() == {RUNS[0].key}


def test_what_a_killed_command_left_keeps_nobody_out(tmp_path):
    path = tmp_path / "a.sqlite"
    written(path, [5], [0])
    path.with_name("a.sqlite-lock").touch()
    with RunStore(path) as store:
        assert store.done() == {RUNS[0].key}
    assert [p.name for p in tmp_path.iterdir()] == ["a.sqlite"]


def test_a_row_is_kept_with_what_its_maker_needs(tmp_path):
    path = tmp_path / "a.sqlite"
    explored = dataclasses.replace(RUNS[1], seed=None, n_stimuli=5, asked_by="explore")
    with RunStore(path) as store:
        store.plan(RUNS[:1])
        store.keep(explored, OUTCOMES[1], "first")
        store.keep(dataclasses.replace(explored, pattern="another"), OUTCOMES[0], "second")
        assert (store.record(explored.key), store.record(RUNS[0].key), store.record("none")) == ("second", None, None)
    assert [(row.run, row.outcome) for row in load_runs(path).rows] == [(RUNS[0], None), (explored, OUTCOMES[0])]


@pytest.mark.parametrize(("make", "words"), [(lambda path: None, "does not exist"), (lambda p: p.touch(), "is empty")])
def test_reading_needs_a_store(make, words, tmp_path):
    make(tmp_path / "a.sqlite")
    with pytest.raises(InputError, match=words):
        load_runs(tmp_path / "a.sqlite")


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("seed", "'many'"), ("network", "x'ff'"), ("network", "CAST(x'ff41' AS TEXT)"),
        ("chip_figures", "'[1]'"), ("chip_figures", "'{'"),
        ("status", "'great'"),  ("exit_code", "NULL"), ("message", "NULL"), ("cores", "'two'"),
        ("asked_by", "'us'"), ("n_stimuli", "NULL"), ("mapping", "'[]'"),
        ("mean_hops", "9e999"), ("verified", "2"),
    ],
)  # fmt: skip
def test_a_row_that_no_sweep_writes_is_refused(column, value, tmp_path, rows_resealed):
    path = tmp_path / "a.sqlite"
    written(path, [5], [0, 1])
    database = sqlite3.connect(path)
    with database:
        database.execute(f"UPDATE runs SET {column} = {value} WHERE key = 'key 1'")
    database.close()
    for _ in range(2):
        with pytest.raises(InputError, match=rf"^store .*a\.sqlite: row 2, column {column}: found [^\n]*$"):
            load_runs(path)
        rows_resealed(path, "SELECT 1")  # and whether a digest fits or not


@pytest.mark.parametrize("name", [":memory:", "file:a.sqlite?mode=memory", "a, 'b'?é.sqlite"])
def test_the_file_has_the_name_that_was_given(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    written(name, [5], [0])
    assert [p.name for p in tmp_path.iterdir()] == [name]
    assert dict(load_runs(name).counts) == {"mapped": 1, "open": 5}


CHANGES = {
    "place": "9", "key": "'key 9'", "network": "'other'", "seed": "7", "status": "'mapped'", "message": "'fits'",
    "cores": "3", "mean_hops": "0.25", "verified": "0", "record": "'x'", "digest": "NULL",
}  # fmt: skip


@pytest.mark.parametrize("column", CHANGES)
def test_a_row_that_was_changed_is_told_and_done_again_when_it_is_deleted(column, tmp_path):
    path = tmp_path / "a.sqlite"
    written(path, [5], range(6))
    changed(path, f"UPDATE runs SET {column} = {CHANGES[column]} WHERE place = 2")
    place = 9 if column == "place" else 2
    words = rf"^store .*a\.sqlite: row {place} is damaged .*DELETE FROM runs WHERE place = {place}\) [^\n]*$"
    with pytest.raises(InputError, match=words):
        load_runs(path)
    with RunStore(path) as store:
        with pytest.raises(InputError, match=words):
            store.done()
        key = "key 9" if column == "key" else RUNS[1].key
        for use in (lambda: store.record(key), lambda: store.add([(key, OUTCOMES[0])])):
            with pytest.raises(InputError, match=words):
                use()  # no new digest stands for what is damaged
    changed(path, f"DELETE FROM runs WHERE place = {place}")
    with RunStore(path) as store:
        assert store.done() == {run.key for k, run in enumerate(RUNS) if k % 3 != 2 and k != 1}
        store.plan(RUNS)
        store.add([(RUNS[1].key, OUTCOMES[1])])
    assert {row.run.key for row in load_runs(path).rows} == {run.key for run in RUNS}


def changed(path, statement):
    database = sqlite3.connect(path)
    with database:
        database.execute(statement)
    database.close()


@pytest.mark.parametrize("column", ["key", "network", "message", "record"])
def test_bytes_that_are_no_text_are_one_line(column, tmp_path):
    path = tmp_path / "a.sqlite"
    written(path, [5], [0])
    changed(path, f"UPDATE runs SET {column} = CAST(x'ff41' AS TEXT) WHERE place = 1")
    with pytest.raises(InputError, match=r"^store .*a\.sqlite: row 1[^\n]*$"):
        load_runs(path)
    with RunStore(path) as store, pytest.raises(InputError, match=r"^store .*a\.sqlite: row 1[^\n]*$"):
        store.done()


def test_a_store_of_an_older_version_is_told(tmp_path):
    path = tmp_path / "a.sqlite"
    written(path, [5], [0])
    changed(path, "PRAGMA user_version = 2")
    for use in (RunStore, load_runs):
        with pytest.raises(
            InputError, match=r"is of an older version .* no digests; give another file, in which the runs"
        ):
            use(path)


def read_as_nobody(path, answers):
    if os.geteuid() == 0:
        os.setuid(65534)
    try:
        answers.put(dict(load_runs(path).counts))
    except InputError as error:
        answers.put(str(error))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="another user is another process here")
def test_a_store_is_read_where_nothing_can_be_written():
    context = multiprocessing.get_context("fork")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a store, 50% of it?.sqlite"
        written(path, [5], [0])
        expected = dict(load_runs(path).counts)

        def told():
            answers = context.SimpleQueue()
            reader = context.Process(target=read_as_nobody, args=(path, answers))
            reader.start()
            found = answers.get()
            reader.join()
            return found

        Path(folder).chmod(0o555)
        path.chmod(0o444)
        assert told() == expected
        assert [p.name for p in Path(folder).iterdir()] == [path.name]
        path.with_name(f"{path.name}-wal").write_bytes(b"changes of a killed command")
        path.with_name(f"{path.name}-wal").chmod(0o444)
        assert "which cannot be read where nothing can be written; copy both files" in told()
        Path(folder).chmod(0o755)


def test_a_view_without_end_in_place_of_the_rows_is_refused(tmp_path):
    path = tmp_path / "a.sqlite"
    written(path, [2], [])
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA journal_mode = delete")
        columns = [row[1] for row in database.execute("PRAGMA table_info(runs)")]
        database.execute("ALTER TABLE runs RENAME TO old")
        values = ", ".join(f"1 AS {name}" for name in columns)
        database.execute(
            "CREATE VIEW runs AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) "
            f"SELECT {values} FROM c"
        )
    database.close()
    with pytest.raises(InputError, match=r"a\.sqlite: holds a table 'old', which no store of neuromap does"):
        load_runs(path)


def test_a_file_of_others_in_the_place_of_the_lock_stays(tmp_path):
    foreign = tmp_path / "a.sqlite-lock"
    with sqlite3.connect(foreign) as database:
        database.execute("CREATE TABLE precious (x)")
    database.close()
    kept = foreign.read_bytes()
    with (
        pytest.raises(InputError, match=r"a\.sqlite-lock beside it is not a lock of neuromap"),
        RunStore(tmp_path / "a.sqlite"),
    ):
        pass
    assert foreign.read_bytes() == kept
