"""``RunStore``: rows of runs in one SQLite file, whole after whatever ends the process that writes it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import astuple, fields
from pathlib import Path
from typing import Any

from neuromap.errors import InputError
from neuromap.files.whole_file import check_target
from neuromap.sweep.spec.sweep_run import RunOutcome, SweepRun
from neuromap.sweep.store.run_figures import RUN_FIGURES
from neuromap.sweep.store.store_claim import StoreClaim

__all__ = ["NAMES", "OUTCOME", "RunStore", "connected", "store_fault"]

_APPLICATION = 0x4E4D5357
"""What marks a file as ours, in the header of SQLite's format: NMSW."""
_VERSION = 2
_SECONDS = 60.0
"""Within which another process must end its transaction."""

NAMES = tuple(f.name for f in fields(SweepRun))
"""Columns that name a run."""
OUTCOME = ("status", "stage", "exit_code", "message")
"""Columns that say what became of it; all are NULL as long as it is not done."""
_TYPES = dict.fromkeys(("seed", "n_frames", "n_stimuli", "exit_code"), "INTEGER") | {"density": "REAL"}
_FOUND = (*OUTCOME, *(figure.key for figure in RUN_FIGURES))
_OF_KIND = {"whole": "INTEGER", "real": "REAL", "yes": "INTEGER"}


class RunStore:
    """Rows of runs, in the order in which they were planned; a context manager.

    The file is a SQLite database in WAL mode: while it is written, others on this machine may read it, and one command
    alone may write it. What is not committed when the process or the machine ends was never there. It must lie on a
    disk of this machine, since such files do not work over a network.

    Parameters
    ----------
    path : str or Path
        Gone on with if it exists.

    Raises
    ------
    InputError
        If the file is no such store, is damaged, cannot be written, or is written by another command.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        if check_target(self._path) is None:
            raise InputError(f"store {self._path}: is no regular file; give the name of a file")
        with _told(self._path):
            self._database = connected(self._path)
            self._claim = StoreClaim(self._path)
            self._database.execute("PRAGMA synchronous = FULL")
            _make_tables(self._database)

    def __enter__(self) -> RunStore:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self._database.close()
        self._claim.release()

    def plan(self, runs: Iterable[SweepRun]) -> None:
        """Give every run that has none yet a row, all of them or none.

        Parameters
        ----------
        runs : iterable of SweepRun
            In the order of the rows; keys may come twice.

        Raises
        ------
        InputError
            If the file cannot be written.
        """
        columns = f"({', '.join(NAMES)}) VALUES ({', '.join('?' * len(NAMES))})"
        with _told(self._path), self._database:
            self._database.executemany(f"INSERT OR IGNORE INTO runs {columns}", map(astuple, runs))

    def keep(self, run: SweepRun, outcome: RunOutcome, record: str) -> None:
        """Keep a run that was not planned, or what another measurement of it gave: it is on the disk afterwards.

        Parameters
        ----------
        run : SweepRun
            Names the row where there is none with its key.
        outcome : RunOutcome
            What became of it.
        record : str
            What its maker needs to take it up again, in a form of its own.

        Raises
        ------
        InputError
            If the file cannot be written.
        """
        columns = f"({', '.join(NAMES)}) VALUES ({', '.join('?' * len(NAMES))})"
        found = f"{', '.join(f'{name} = ?' for name in _FOUND)}, record = ?"
        with _told(self._path), self._database:
            self._database.execute(f"INSERT OR IGNORE INTO runs {columns}", astuple(run))
            self._database.execute(f"UPDATE runs SET {found} WHERE key = ?", (*_values(outcome), record, run.key))

    def record(self, key: str) -> str | None:
        """Give the record that was kept with a run; ``None`` where there is none.

        Raises
        ------
        InputError
            If the file cannot be read, or the record is no text.
        """
        with _told(self._path):
            found = self._database.execute("SELECT record FROM runs WHERE key = ?", (key,)).fetchone()
        if found is None or found[0] is None:
            return None
        if not isinstance(found[0], str):
            raise InputError(f"store {self._path}: record of run {key[:12]} is no text; name another file")
        return found[0]

    def done(self) -> set[str]:
        """Give the keys of all runs that are done; those that were lost are not."""
        with _told(self._path):
            return {key for (key,) in self._database.execute("SELECT key FROM runs WHERE status != 'lost'")}

    def add(self, outcomes: Iterable[tuple[str, RunOutcome]]) -> None:
        """Keep what became of runs, all of them or none: it is on the disk when the call returns.

        Parameters
        ----------
        outcomes : iterable of (str, RunOutcome)
            By the keys of runs that are planned.

        Raises
        ------
        InputError
            If the file cannot be written.
        """
        command = f"UPDATE runs SET {', '.join(f'{name} = ?' for name in _FOUND)} WHERE key = ?"
        with _told(self._path), self._database:
            self._database.executemany(command, [(*_values(outcome), key) for key, outcome in outcomes])


def connected(path: Path) -> sqlite3.Connection:
    """Open the file of a store; who calls turns errors of SQLite into ours.

    Parameters
    ----------
    path : Path
        The file; one that is new or empty is left so.

    Raises
    ------
    InputError
        If it is the database of another program or version.
    """
    # from the root on, since SQLite has meanings of its own for names such as :memory: and file:a.sqlite
    database = sqlite3.connect(path.absolute(), timeout=_SECONDS)
    marks = [database.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")]
    if marks == [_APPLICATION, _VERSION] or (marks == [0, 0] and _is_empty(database)):
        return database
    database.close()
    raise InputError(f"store {path}: is no store of neuromap sweep or explore, version {_VERSION}; name another file")


def _is_empty(database: sqlite3.Connection) -> bool:
    return bool(database.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0)


def _make_tables(database: sqlite3.Connection) -> None:
    """Make the table and the mark of the format where there is none, in one transaction: a file has both or none."""
    if not _is_empty(database):
        return
    database.execute("PRAGMA journal_mode = WAL")
    columns = [
        *("key TEXT NOT NULL UNIQUE" if name == "key" else f"{name} {_TYPES.get(name, 'TEXT')}" for name in NAMES),
        *(f"{name} {_TYPES.get(name, 'TEXT')}" for name in OUTCOME),
        *(f"{figure.key} {_OF_KIND[figure.kind]}" for figure in RUN_FIGURES),
        "record TEXT",
    ]
    database.executescript(
        f"BEGIN IMMEDIATE; CREATE TABLE IF NOT EXISTS runs (place INTEGER PRIMARY KEY, {', '.join(columns)});"
        f"PRAGMA application_id = {_APPLICATION}; PRAGMA user_version = {_VERSION}; COMMIT;"
    )


def _values(outcome: RunOutcome) -> tuple[Any, ...]:
    told = (outcome.status, outcome.stage, outcome.exit_code, outcome.message)
    return (*told, *(outcome.figures.get(figure.key) for figure in RUN_FIGURES))


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """Say an error of SQLite in one line."""
    try:
        yield
    except sqlite3.Error as error:
        raise InputError(store_fault(path, error)) from None


def store_fault(path: Path, error: sqlite3.Error) -> str:
    """Say in one line why a store cannot be used."""
    reason = " ".join(str(error).split())
    return f"store {path}: cannot be used ({reason}); give another file, on a disk of this machine"
