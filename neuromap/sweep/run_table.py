"""``RunTable``: the content of a store, as a value."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from pathlib import Path
from typing import Any, get_args

from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.errors import DoesNotFitError, InputError, NeuromapError, PatternError, VerificationError
from neuromap.files.argument_checks import path_given
from neuromap.files.foreign import check_regular
from neuromap.files.messages import show
from neuromap.render.value import Card, Documented, Printed, Tabled, form
from neuromap.sweep.run_store import KINDS, NAMES, OUTCOME, RUN_FIGURES, STORED, is_text, require_whole, stored_rows
from neuromap.sweep.sweep_spec import AskedBy, RunOutcome, RunStatus, SweepRun


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
    try:
        if check_regular(path, "store of neuromap sweep or explore", InputError).st_size == 0:
            raise InputError("is empty; give the path of a store of neuromap sweep or explore")
    except InputError as error:
        raise InputError(f"store {path}: {error}") from None
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
