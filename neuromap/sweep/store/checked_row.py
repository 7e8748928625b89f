"""Rows of a store as values: what a column holds is checked, since any program may have written the file."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from math import isfinite
from typing import Any, get_args

from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.errors import InputError
from neuromap.files.messages import show
from neuromap.sweep.spec.sweep_run import AskedBy, RunOutcome, RunStatus, SweepRun
from neuromap.sweep.store.run_figures import RUN_FIGURES
from neuromap.sweep.store.run_store import NAMES, OUTCOME, is_text

__all__ = ["COLUMNS", "row_values"]

_KEYS = tuple(figure.key for figure in RUN_FIGURES)
_YES = frozenset(figure.key for figure in RUN_FIGURES if figure.unit == "yes")
_WHOLE = ReadOnlyMapping({"seed": 2**63, "n_frames": 2**63, "n_stimuli": 2**31, "exit_code": 256})
"""Columns of whole numbers from 0, and what they are below."""

COLUMNS = (*NAMES, *OUTCOME, *_KEYS)
"""What is read of a row."""


def row_values(values: Sequence[Any]) -> tuple[SweepRun, RunOutcome | None]:
    """Make a run and what became of it of one row."""
    # gives ``None`` where the run is not done
    row = dict(zip(COLUMNS, values, strict=True))
    is_open = row["status"] is None
    _check(row, NAMES if is_open else COLUMNS)
    run = SweepRun(*(row[name] for name in NAMES))
    if is_open:
        return run, None
    known = {key: bool(row[key]) if key in _YES else row[key] for key in _KEYS if row[key] is not None}
    return run, RunOutcome(**{name: row[name] for name in OUTCOME}, figures=known)


def _check(row: dict[str, Any], names: Iterable[str]) -> None:
    for name in names:
        allowed, is_allowed = _RULES[name]
        if not is_allowed(row[name]):
            raise InputError(f"column {name}: found {show(row[name])}; allowed are {allowed}")


def _rule(name: str) -> tuple[str, Callable[[Any], bool]]:
    if name == "status":
        return f"one of {', '.join(get_args(RunStatus))}", get_args(RunStatus).__contains__
    if name == "asked_by":
        return f"one of {', '.join(get_args(AskedBy))}", get_args(AskedBy).__contains__
    if name in ("chip_figures", "mapping"):
        return "a JSON object", _is_object
    if name in _WHOLE:
        return (
            f"whole numbers from 0 to {_WHOLE[name] - 1}",
            lambda value: _is_whole(value, _WHOLE[name]) or (name == "seed" and value is None),
        )
    if name in _YES:
        return "0 or 1", lambda value: value is None or (type(value) is int and value in (0, 1))
    if name in _KEYS or name == "density":
        return "finite numbers", lambda value: value is None or (type(value) in (int, float) and isfinite(value))
    return "text", is_text


def _is_whole(value: Any, below: int) -> bool:
    return type(value) is int and 0 <= value < below


def _is_object(value: Any) -> bool:
    try:
        return value == "{}" or isinstance(json.loads(value), dict)
    except (TypeError, ValueError, RecursionError):
        return False


_RULES = ReadOnlyMapping({name: _rule(name) for name in COLUMNS})
