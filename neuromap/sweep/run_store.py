"""``RunStore``: rows of runs in one SQLite file, consistent however the writer ends; ``RunTable``: these as a value."""

from __future__ import annotations

import json
import os
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import astuple, dataclass, fields
from functools import cached_property
from hashlib import blake2b
from math import isfinite
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.errors import DoesNotFitError, InputError, NeuromapError, PatternError, VerificationError, prefixed
from neuromap.files.argument_checks import path_given
from neuromap.files.foreign import check_regular
from neuromap.files.messages import show
from neuromap.files.whole_file import check_target
from neuromap.render.value import Card, Documented, Printed, Tabled, form
from neuromap.sweep.sweep_spec import AskedBy, RunOutcome, RunStatus, SweepRun

# Figures of a run: names in rows, columns and documents, and units.

Unit = Literal["", "ticks", "s", "Hz", "J", "W", "yes"]
Kind = Literal["whole", "real", "yes"]


class RunFigure(NamedTuple):
    """A figure of every run."""

    key: str  # name in rows, tables and documents, with its unit
    title: str  # title for people
    # unit; ``""`` for counts that the title names, ``"yes"`` for booleans
    unit: Unit = ""
    kind: Kind = "whole"  # integers, floats, or booleans
    is_shown: bool = False  # whether the terminal's table shows it; CSV, Parquet and JSON have all


# In the order of columns; times are in ticks of the run's execution, from stimulus onset, over all outputs.
RUN_FIGURES = (
    RunFigure("frame_period_ticks", "frame period, mean", "ticks", "real"),
    RunFigure("largest_gap_ticks", "frame period, at most", "ticks"),
    RunFigure("sampling_frequency_hz", "sampling frequency", "Hz", "real", is_shown=True),
    RunFigure("predicted_first_response_ticks", "first response, predicted", "ticks", "whole", is_shown=True),
    RunFigure("measured_first_response_ticks", "first response, measured", "ticks", "whole", is_shown=True),
    RunFigure("measured_first_response_seconds", "first response, measured", "s", "real"),
    RunFigure("predicted_full_response_ticks", "full response, predicted", "ticks", "whole"),
    RunFigure("measured_full_response_ticks", "full response, measured", "ticks", "whole"),
    RunFigure("measured_full_response_seconds", "full response, measured", "s", "real"),
    RunFigure("worst_case_reaction_ticks", "worst-case reaction", "ticks", "whole"),
    RunFigure("cores", "cores", "", "whole", is_shown=True),
    RunFigure("core_bound", "cores of any mapping, at least", "", "whole"),
    RunFigure("neurons", "neurons", "", "whole"),
    RunFigure("copies", "copies", "", "whole"),
    RunFigure("relays", "relays", "", "whole"),
    RunFigure("mean_hops", "hops to a target, mean", "", "real"),
    RunFigure("longest_way_hops", "hops to the farthest target", "", "whole"),
    RunFigure("spikes_per_frame", "spikes per frame", "", "real", is_shown=True),
    RunFigure("hops_per_frame", "hops per frame", "", "real", is_shown=True),
    RunFigure("synaptic_events_per_frame", "synaptic events per frame", "", "real"),
    RunFigure("joules_per_frame", "energy per frame", "J", "real", is_shown=True),
    RunFigure("watts", "power", "W", "real"),
    RunFigure("verified", "verified", "yes", "yes", is_shown=True),
)


# Application ID in the SQLite header that marks our files: NMSW.
_APPLICATION = 0x4E4D5357
_VERSION = 3
# Versions of the format without digests of rows.
_WITHOUT_DIGESTS = (1, 2)
# Seconds to wait for another process to end its transaction.
_SECONDS = 60.0
# Columns that name a run.
NAMES = tuple(f.name for f in fields(SweepRun))
# Columns of a run's outcome; all are NULL until it is done.
OUTCOME = ("status", "stage", "exit_code", "message")
# Kinds of the columns that are not text.
_WHOLE: dict[str, Kind] = dict.fromkeys(("seed", "n_frames", "n_stimuli", "exit_code"), "whole")
KINDS: Mapping[str, Kind] = ReadOnlyMapping(
    {**_WHOLE, "density": "real", **{figure.key: figure.kind for figure in RUN_FIGURES}}
)
_FOUND = (*OUTCOME, *(figure.key for figure in RUN_FIGURES))
# Columns of a row, except its digest, in the order that :func:`require_whole` takes.
STORED = ("place", *NAMES, *_FOUND, "record")
_ROWS = f"SELECT {', '.join(STORED)}, digest FROM runs"
_TYPES = {"whole": "INTEGER", "real": "REAL", "yes": "INTEGER"}


class RunStore:
    """Rows of runs, in the order of planning; a context manager."""

    # Every row has a digest of its content (docs/file-digests.md); rows that do not match theirs are refused. The file
    # is a SQLite database in WAL mode: one command writes it, while others on this machine may read it. Uncommitted
    # data vanish when the process or the machine ends. It must be on a local disk, since such files do not work over a
    # network.

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        if check_target(self._path) is None:
            raise InputError(f"store {self._path}: is not a regular file; give the name of a file")
        with _told(self._path):
            self._database = _connected(self._path)
            self._claim = StoreClaim(self._path)
            self._database.execute("PRAGMA synchronous = FULL")
            _make_tables(self._database)

    def __enter__(self) -> RunStore:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self._database.close()
        self._claim.release()

    def plan(self, runs: Iterable[SweepRun]) -> None:
        """Insert a row for every run that has none yet, atomically."""
        # runs: in the order of the rows; keys may repeat
        with _told(self._path), self._database:
            for run in runs:
                self._insert(run)

    def keep(self, run: SweepRun, outcome: RunOutcome, record: str) -> None:
        """Store outcome and record of a run, planned or not; they are on the disk when the call returns."""
        with _told(self._path), self._database:
            self._insert(run)
            self._row(run.key)
            self._database.execute("UPDATE runs SET record = ? WHERE key = ?", (record, run.key))
            self._keep(run.key, outcome)

    def record(self, key: str) -> str | None:
        """Return the record stored with a run; ``None`` if there is none."""
        with _told(self._path):
            row = self._row(key)
        found = None if row is None else row[-1]
        if found is not None and not is_text(found):
            raise InputError(f"store {self._path}: record of run {key[:12]} is not text; name another file")
        return found

    def done(self) -> set[str]:
        """Return the keys of all runs that are done; lost ones are not."""
        key, status = STORED.index("key"), STORED.index("status")
        with _told(self._path):
            rows = (require_whole(self._path, row) for row in self._database.execute(f"{_ROWS} ORDER BY place"))
            return {row[key] for row in rows if row[status] not in (None, "lost")}

    def add(self, outcomes: Iterable[tuple[str, RunOutcome]]) -> None:
        """Store outcomes of runs atomically; they are on the disk when the call returns."""
        with _told(self._path), self._database:
            for key, outcome in outcomes:
                self._row(key)  # check it first, or the new digest would cover damaged data
                self._keep(key, outcome)

    def _row(self, key: str) -> tuple[Any, ...] | None:
        """Return the row of a run, which must match its digest."""
        row = self._database.execute(f"{_ROWS} WHERE key = ?", (key,)).fetchone()
        return None if row is None else require_whole(self._path, row)

    def _insert(self, run: SweepRun) -> None:
        columns = f"({', '.join(NAMES)}) VALUES ({', '.join('?' * len(NAMES))})"
        if self._database.execute(f"INSERT OR IGNORE INTO runs {columns}", astuple(run)).rowcount:
            self._seal(run.key)

    def _keep(self, key: str, outcome: RunOutcome) -> None:
        found = ", ".join(f"{name} = ?" for name in _FOUND)
        values = [getattr(outcome, name) for name in OUTCOME] + [outcome.figures.get(f.key) for f in RUN_FIGURES]
        self._database.execute(f"UPDATE runs SET {found} WHERE key = ?", (*values, key))
        self._seal(key)

    def _seal(self, key: str) -> None:
        """Store a row's digest, computed from its values as SQLite stored them."""
        for row in self._database.execute(f"{_ROWS} WHERE key = ?", (key,)).fetchall():
            self._database.execute("UPDATE runs SET digest = ? WHERE key = ?", (_digest(row[:-1]), key))


def _digest(values: Sequence[Any]) -> str:
    """Return the digest of a row, given its values by :data:`STORED`."""
    told = json.dumps(dict(zip(STORED, values, strict=True)), sort_keys=True, separators=(",", ":"), default=bytes.hex)
    return f"blake2b-128:{blake2b(told.encode(), digest_size=16).hexdigest()}"


def require_whole(path: Path, row: Sequence[Any]) -> tuple[Any, ...]:
    """Refuse a row that does not match its digest; return its values."""
    *values, digest = row
    if digest != _digest(values):
        place = values[0]
        raise InputError(
            f"store {path}: row {place} is damaged or was changed, it does not fit its digest; delete it (DELETE FROM "
            f"runs WHERE place = {place}) and the same command does its run again, or give another file"
        )
    return tuple(values)


def is_text(value: Any) -> bool:
    """Return whether a value is valid text; invalid bytes decode to surrogates."""
    return type(value) is str and not any("\ud800" <= letter <= "\udfff" for letter in value)


def stored_rows(path: Path) -> list[tuple[Any, ...]]:
    """Read the rows of a store with their digests, even without write permission."""
    with _told(path), closing(_connected(path, only_read=True)) as database:
        return database.execute(f"{_ROWS} ORDER BY place").fetchall()


def _connected(path: Path, *, only_read: bool = False) -> sqlite3.Connection:
    """Open the file of a store; callers convert SQLite's errors to ours."""
    place = path.absolute()
    if only_read and not (os.access(place, os.W_OK) and os.access(place.parent, os.W_OK | os.X_OK)):
        database = _connected_to_read(place)
    else:
        # an absolute path, since SQLite interprets names such as :memory: and file:a.sqlite
        database = sqlite3.connect(place, timeout=_SECONDS)
    # invalid bytes are passed on to the checks, which report them with their column
    database.text_factory = lambda data: data.decode(errors="surrogateescape")
    application, version = (
        database.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")
    )
    if (application, version) == (0, 0) and _is_empty(database):
        return database
    if (application, version) == (_APPLICATION, _VERSION):
        # nothing but the table: a view of that name could return endless rows
        try:
            things = database.execute("SELECT type, name FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
        except UnicodeDecodeError:  # from SQLite's own message about a schema that is not text
            database.close()
            raise InputError(f"store {path}: is damaged, its schema is not text; give another file") from None
        others = [f"a {kind} {name!r:.40}" for kind, name in things if (kind, name) != ("table", "runs")]
        if not others:
            return database
        database.close()
        raise InputError(f"store {path}: holds {others[0]}, which no store of neuromap does; name another file")
    database.close()
    if application == _APPLICATION and version in _WITHOUT_DIGESTS:
        raise InputError(
            f"store {path}: is of an older version of neuromap, its rows have no digests; give another file, in which "
            "the runs are done again"
        )
    raise InputError(
        f"store {path}: is not a store of neuromap sweep or explore, version {_VERSION}; name another file"
    )


def _connected_to_read(place: Path) -> sqlite3.Connection:
    """Open a store that is read-only, or in a folder where no file can be created."""
    database = sqlite3.connect(f"{place.as_uri()}?mode=ro", timeout=_SECONDS, uri=True)
    try:
        database.execute("SELECT count(*) FROM sqlite_master")
    except sqlite3.OperationalError:
        database.close()
    else:
        return database
    # Even for reading, SQLite needs a second file beside the store, unless there are no pending changes beside it
    changes = place.with_name(f"{place.name}-wal")
    if changes.exists() and changes.stat().st_size:
        raise InputError(
            f"store {place}: has changes in {changes.name}, which cannot be read where nothing can be written; copy "
            "both files into another folder"
        )
    return sqlite3.connect(f"{place.as_uri()}?mode=ro&immutable=1", timeout=_SECONDS, uri=True)


def _is_empty(database: sqlite3.Connection) -> bool:
    return bool(database.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0)


def _make_tables(database: sqlite3.Connection) -> None:
    """Create the table and mark the format of an empty file, in one transaction, so that a file has both or neither."""
    if not _is_empty(database):
        return
    database.execute("PRAGMA journal_mode = WAL")
    types = {name: _TYPES[KINDS[name]] if name in KINDS else "TEXT" for name in (*STORED[1:], "digest")}
    types["key"] = "TEXT NOT NULL UNIQUE"
    columns = [f"{name} {kind}" for name, kind in types.items()]
    database.executescript(
        f"BEGIN IMMEDIATE; CREATE TABLE IF NOT EXISTS runs (place INTEGER PRIMARY KEY, {', '.join(columns)});"
        f"PRAGMA application_id = {_APPLICATION}; PRAGMA user_version = {_VERSION}; COMMIT;"
    )


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """Convert SQLite's errors to ours, in one line."""
    try:
        yield
    except sqlite3.Error as error:
        reason = " ".join(str(error).split())
        raise InputError(
            f"store {path}: cannot be used ({reason}); give another file, on a disk of this machine"
        ) from None


# ``StoreClaim``: only one of all commands given a store may write it.
class StoreClaim:
    """The right to write a store, held until it is released or the process ends, however it ends."""

    # It is a SQLite lock on an empty file beside the store, ``FILE-lock``, since every system releases such a lock with
    # the process that held it; a lock on the store itself would exclude readers. A file left by a killed command is not
    # locked.

    def __init__(self, store: Path) -> None:
        self._path = store.absolute().with_name(f"{store.name}-lock")
        if self._path.is_symlink() or (self._path.exists() and (not self._path.is_file() or self._path.stat().st_size)):
            raise InputError(
                f"store {store}: {self._path.name} beside it is not a lock of neuromap, those are empty; move it away"
            )
        self._lock = sqlite3.connect(self._path, timeout=0, isolation_level=None)
        try:
            self._lock.execute("PRAGMA journal_mode = OFF")  # nothing is ever written
            self._lock.execute("BEGIN EXCLUSIVE")
        except sqlite3.Error as error:
            self._lock.close()
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
                raise
            raise InputError(
                f"store {store}: another command writes it (it holds {self._path.name}); wait until that has ended, "
                "or give another file"
            ) from None

    def release(self) -> None:
        """Allow others to write the store."""
        with suppress(OSError):  # some systems keep open files; the next command reuses it
            self._path.unlink()
        self._lock.close()


# ``RunTable``: the content of a store, as a value.


@dataclass(frozen=True)
class RunRow(Card):
    """A run of a store."""

    run: SweepRun  # identification of the run
    outcome: RunOutcome | None  # its outcome; ``None`` until it is done

    @cached_property
    def chip_figures(self) -> Mapping[str, Any]:
        """Figures of the chip that were set, named as in chip files."""
        return ReadOnlyMapping(json.loads(self.run.chip_figures))

    @property
    def is_done(self) -> bool:
        """Whether it is done, that is, neither open nor lost."""
        return self.outcome is not None and self.outcome.status != "lost"

    @property
    def figures(self) -> Mapping[str, float | bool]:
        """Known figures of the run."""
        return ReadOnlyMapping({}) if self.outcome is None else self.outcome.figures


@dataclass(frozen=True, eq=False)
class RunTable(Documented, Tabled, Printed):
    """The rows of a store: runs of sweeps, and rows measured by explorations.

    Attributes
    ----------
    name : str
        Name of the file.
    rows : tuple of RunRow
        In the order of planning: networks outermost, seeds change first.
    """

    _called = "a table of runs"
    _forms = ("neuromap.sweep.run_forms",)

    name: str
    rows: tuple[RunRow, ...]

    def _facts(self) -> dict[str, object]:
        return {"store": self.name, "runs": len(self.rows), **self.counts}

    @cached_property
    def counts(self) -> Mapping[str, int]:
        """Number of rows by outcome, for the outcomes that occur; rows not done yet are ``"open"``."""
        found = Counter("open" if row.outcome is None else row.outcome.status for row in self.rows)
        return ReadOnlyMapping({status: found[status] for status in (*get_args(RunStatus), "open") if found[status]})

    @cached_property
    def parameters(self) -> tuple[str, ...]:
        """Names of parameters in which rows may differ: network, pattern, execution, chip, figures of the chip, seed.

        If rows differ in them, also options of the mapper and the command that measured them.
        """
        figures = dict.fromkeys(name for row in self.rows for name in row.chip_figures)
        others = [name for name in ("mapping", "asked_by") if len({getattr(row.run, name) for row in self.rows}) > 1]
        return ("network", "pattern", "execution", "chip", *figures, "seed", *others)

    def value(self, row: RunRow, parameter: str) -> Any:
        """Return the value of a parameter in a row; ``None`` if the row has none."""
        if parameter in row.chip_figures:
            return row.chip_figures[parameter]
        return getattr(row.run, parameter, None)

    @property
    def n_verified(self) -> int:
        """Number of rows in which chip and reference agree."""
        return sum(row.figures.get("verified") is True for row in self.rows)

    @property
    def exit_code(self) -> int:
        """Exit code of the command line.

        5 if a row is not verified, 1 if one was lost or ended in an internal error, 0 if any was mapped, else the
        reason why none was.
        """
        codes = [row.outcome.exit_code for row in self.rows if row.outcome is not None]
        for code in (VerificationError.exit_code, NeuromapError.exit_code):
            if code in codes:
                return code
        if 0 in codes or not codes:
            return 0
        return next((c for c in (DoesNotFitError.exit_code, PatternError.exit_code) if c in codes), codes[0])

    def to_parquet(self) -> bytes:
        """Bytes of a Parquet file, one row per run; see :func:`neuromap.sweep.run_forms.to_parquet`."""
        return bytes(form(self, "parquet"))


def load_runs(path: str | Path) -> RunTable:
    """Read a store, even while it is written and without write permission.

    Parameters
    ----------
    path : str or Path
        The file.

    Returns
    -------
    RunTable
        Its rows.

    Raises
    ------
    InputError
        If the file is missing, not a store, or damaged, or holds values that neither command writes.
    """
    path = path_given("load_runs", path)
    with prefixed(f"store {path}: ", InputError):
        if check_regular(path, "store of neuromap sweep or explore", InputError).st_size == 0:
            raise InputError("is empty; give the path of a store of neuromap sweep or explore")
    return RunTable(path.name, tuple(_rows(path)))


def _rows(path: Path) -> Iterator[RunRow]:
    for number, values in enumerate(stored_rows(path), start=1):
        try:
            row = RunRow(*_row_values(dict(zip(STORED, values, strict=False))))
        except InputError as error:
            raise InputError(f"store {path}: row {number}, {error}; give another file") from None
        require_whole(path, values)
        yield row


# Rows of a store as values: contents of columns are checked, since any program may have written the file.


_KEYS = tuple(figure.key for figure in RUN_FIGURES)
# Exclusive upper bound of integers, which start from 0.
_BELOW = ReadOnlyMapping({"seed": 2**63, "n_frames": 2**63, "n_stimuli": 2**31, "exit_code": 256})
_YES = frozenset(figure.key for figure in RUN_FIGURES if figure.unit == "yes")


def _row_values(row: Mapping[str, Any]) -> tuple[SweepRun, RunOutcome | None]:
    """Convert a row to a run and its outcome."""
    # the outcome is ``None`` if the run is not done
    is_open = row["status"] is None
    for name in NAMES if is_open else _RULES:
        allowed, is_allowed = _RULES[name]
        if not is_allowed(row[name]):
            raise InputError(f"column {name}: found {show(row[name])}; allowed are {allowed}")
    run = SweepRun(*(row[name] for name in NAMES))
    if is_open:
        return run, None
    known = {key: bool(row[key]) if key in _YES else row[key] for key in _KEYS if row[key] is not None}
    return run, RunOutcome(**{name: row[name] for name in OUTCOME}, figures=known)


def _rule(name: str) -> tuple[str, Callable[[Any], bool]]:
    if name == "status":
        return f"one of {', '.join(get_args(RunStatus))}", get_args(RunStatus).__contains__
    if name == "asked_by":
        return f"one of {', '.join(get_args(AskedBy))}", get_args(AskedBy).__contains__
    if name in ("chip_figures", "mapping"):
        return "a JSON object", _is_object
    if name in _BELOW:
        below = _BELOW[name]
        return (
            f"whole numbers from 0 to {below - 1}",
            lambda value: (type(value) is int and 0 <= value < below) or (name == "seed" and value is None),
        )
    if name in _YES:
        return "0 or 1", lambda value: value is None or (type(value) is int and value in (0, 1))
    if name in KINDS:
        return "finite numbers", lambda value: value is None or (type(value) in (int, float) and isfinite(value))
    return "text", is_text


def _is_object(value: Any) -> bool:
    try:
        return value == "{}" or isinstance(json.loads(value), dict)
    except (TypeError, ValueError, RecursionError):
        return False


_RULES = ReadOnlyMapping({name: _rule(name) for name in (*NAMES, *OUTCOME, *_KEYS)})
