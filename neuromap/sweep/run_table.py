"""``RunTable``: what a store holds, as a value."""

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

    run: SweepRun  # what names it
    outcome: RunOutcome | None  # what became of it; ``None`` as long as it is not done

    @cached_property
    def chip_figures(self) -> Mapping[str, Any]:
        """Figures of the chip that were set, called as in chip files."""
        return ReadOnlyMapping(json.loads(self.run.chip_figures))

    @property
    def is_done(self) -> bool:
        """Whether it is not done again: neither open nor lost."""
        return self.outcome is not None and self.outcome.status != "lost"

    @property
    def figures(self) -> Mapping[str, float | bool]:
        """Figures of the run that are known."""
        return ReadOnlyMapping({}) if self.outcome is None else self.outcome.figures


@dataclass(frozen=True, eq=False)
class RunTable(Documented, Tabled, Printed):
    """The rows of a store: runs of sweeps, and rows that explorations measured.

    Attributes
    ----------
    name : str
        Of the file.
    rows : tuple of RunRow
        In the order in which they were planned: networks outermost, seeds change first.
    """

    _called = "a table of runs"
    _forms = ("neuromap.sweep.run_forms",)

    name: str
    rows: tuple[RunRow, ...]

    def _facts(self) -> dict[str, object]:
        return {"store": self.name, "runs": len(self.rows), **self.counts}

    @cached_property
    def counts(self) -> Mapping[str, int]:
        """Rows by what became of them, those that there are; rows that are not done are ``"open"``."""
        found = Counter("open" if row.outcome is None else row.outcome.status for row in self.rows)
        return ReadOnlyMapping({status: found[status] for status in (*get_args(RunStatus), "open") if found[status]})

    @cached_property
    def parameters(self) -> tuple[str, ...]:
        """Names of what rows may differ in: network, pattern, execution, chip, figures of the chip, seed.

        Where they do, also options of the mapper, and which command measured them.
        """
        figures = dict.fromkeys(name for row in self.rows for name in row.chip_figures)
        others = [name for name in ("mapping", "asked_by") if len({getattr(row.run, name) for row in self.rows}) > 1]
        return ("network", "pattern", "execution", "chip", *figures, "seed", *others)

    def value(self, row: RunRow, parameter: str) -> Any:
        """Give the value of a parameter in a row; ``None`` where the row has none."""
        if parameter in row.chip_figures:
            return row.chip_figures[parameter]
        return getattr(row.run, parameter, None)

    @property
    def n_verified(self) -> int:
        """Rows in which chip and reference agree."""
        return sum(row.figures.get("verified") is True for row in self.rows)

    @property
    def exit_code(self) -> int:
        """Exit code of the command line.

        5 where a row is not verified, 1 where one was lost or ended in an internal error, 0 where any was mapped, else
        why none was.
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
    """Read a store, also while it is written, and where nothing can be written.

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
        If the file is missing, no store, or damaged, or holds what neither command writes.
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


# Rows of a store as values: what a column holds is checked, since any program may have written the file.


_KEYS = tuple(figure.key for figure in RUN_FIGURES)
# What whole numbers, from 0, are below.
_BELOW = ReadOnlyMapping({"seed": 2**63, "n_frames": 2**63, "n_stimuli": 2**31, "exit_code": 256})
_YES = frozenset(figure.key for figure in RUN_FIGURES if figure.unit == "yes")


def _row_values(row: Mapping[str, Any]) -> tuple[SweepRun, RunOutcome | None]:
    """Make a run and what became of it of one row."""
    # gives ``None`` where the run is not done
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
