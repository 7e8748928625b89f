"""Executions by name: windowed, pipelined, and pipelined with another frame period (``docs/time.md``)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.errors import InputError, prefixed
from neuromap.files.messages import did_you_mean
from neuromap.options import Option, option

EXECUTIONS = ("windowed", "pipelined")
"""The executions; ``"pipelined:3"`` is pipelined with a frame every 3 update steps."""

BEST = "pipelined:best"
"""Pipelined with the least mean frame period that fixed delays allow, at unequal intervals if necessary."""

TIME_AXIS: Mapping[str, str] = ReadOnlyMapping(
    {
        "windowed": "windows of size 1 one after the other; the frame period is the inference factor F",
        "pipelined": "frames follow each other at equal intervals, as closely as the network's cycles allow",
    }
)
"""Time axis of each execution; every figure states the one it uses."""

_BEST_AXIS = (
    "frames follow each other as closely on average as fixed delays allow, at intervals that differ by a tick where "
    "the mean frame period is no whole number"
)

MAX_PERIOD = 1_000_000
"""Longest frame period that may be chosen, far beyond any use."""

_CHOSEN = re.compile(r"pipelined:([1-9][0-9]{0,6})", re.ASCII)


def chosen_period(execution: str, most: int = MAX_PERIOD) -> int | None:
    """Frame period that an execution asks for."""
    # execution: ``"windowed"``, ``"pipelined"``, ``"pipelined:best"``, or ``"pipelined:P"`` with P in update steps,
    # from 1
    # most: longest frame period allowed, in update steps
    # returns P; ``None`` if the execution determines the period itself
    if execution in (*EXECUTIONS, BEST):
        return None
    found = _CHOSEN.fullmatch(execution) if isinstance(execution, str) else None
    if found is None or int(found[1]) > most:
        raise InputError(
            f"execution {execution!r:.60}: unknown; choose 'windowed', 'pipelined', '{BEST}' or, with a frame period "
            f"in update steps from 1 to {most}, 'pipelined:PERIOD'{did_you_mean(str(execution), (*EXECUTIONS, BEST))}"
        )
    return int(found[1])


def listed_executions(executions: Iterable[str] | str, most: int = MAX_PERIOD) -> list[str]:
    """Check executions, or a single one."""
    found = list(executions) if isinstance(executions, Iterable) and not isinstance(executions, str) else [executions]
    for execution in found:
        chosen_period(execution, most)
    if not found:
        raise InputError(f"executions: none given; choose {' or '.join(map(repr, EXECUTIONS))}")
    return found


def executions_option(text: str, default: Sequence[str] | None = None, **said: Any) -> Any:
    """Define an option of several executions, separated by commas."""
    needs = "windowed, pipelined, pipelined:PERIOD or pipelined:best"
    return option(text, default, items="str", needs=needs, reads=_read_execution, **said)


def _read_execution(said: Option, word: str) -> str:
    """Read an execution from the command line."""
    with prefixed(f"{said.flag}: ", InputError):
        chosen_period(word, int(said.within[1] or MAX_PERIOD))
    return word


def execution_kind(execution: str) -> str:
    """Kind of an execution, ``"windowed"`` or ``"pipelined"``, whatever its frame period."""
    return "pipelined" if execution == BEST or chosen_period(execution) is not None else execution


def time_axis(execution: str) -> str:
    """Describe the time axis of an execution, with its frame period if one was chosen."""
    if (period := chosen_period(execution)) is None:
        return _BEST_AXIS if execution == BEST else TIME_AXIS[execution]
    every = "update step" if period == 1 else f"{period} update steps"
    return f"a frame every {every}, or as closely as splitters allow where these ask for more"


def time_axes(executions: Iterable[str]) -> dict[str, str]:
    """Describe the time axes of all executions, and of :data:`BEST` if it is among those given."""
    return {**TIME_AXIS, **({BEST: _BEST_AXIS} if BEST in executions else {})}
