"""Executions by name: windowed, pipelined, and pipelined with a frame period of one's own (``docs/time.md``)."""

from __future__ import annotations

import re
from collections.abc import Mapping

from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.errors import InputError

__all__ = ["EXECUTIONS", "MAX_PERIOD", "TIME_AXIS", "chosen_period", "execution_kind", "time_axis"]

EXECUTIONS = ("windowed", "pipelined")
"""The executions; ``"pipelined:3"`` is pipelined with a frame every 3 update steps."""

TIME_AXIS: Mapping[str, str] = ReadOnlyMapping(
    {
        "windowed": "windows of size 1 one after the other; the frame period is the inference factor F",
        "pipelined": "frames follow each other at equal intervals, as closely as the network's cycles allow",
    }
)
"""What the time axis of each execution is; every figure says which one it stands on."""

MAX_PERIOD = 1_000_000
"""Longest frame period that may be asked for, far beyond any use."""

_CHOSEN = re.compile(r"pipelined:([1-9][0-9]{0,6})", re.ASCII)


def chosen_period(execution: str, most: int = MAX_PERIOD) -> int | None:
    """Give the frame period that an execution asks for.

    Parameters
    ----------
    execution : str
        ``"windowed"``, ``"pipelined"``, or ``"pipelined:P"`` with P in update steps, from 1.
    most : int
        Longest frame period that may be asked for, in update steps.

    Returns
    -------
    int or None
        P; ``None`` where the execution finds the period itself.

    Raises
    ------
    InputError
        If it is none of these.
    """
    if execution in EXECUTIONS:
        return None
    found = _CHOSEN.fullmatch(execution) if isinstance(execution, str) else None
    if found is None or int(found[1]) > most:
        raise InputError(
            f"execution {execution!r:.60}: unknown; choose 'windowed', 'pipelined' or, with a frame period in update "
            f"steps from 1 to {most}, 'pipelined:PERIOD'"
        )
    return int(found[1])


def execution_kind(execution: str) -> str:
    """Give the time axis of an execution, ``"windowed"`` or ``"pipelined"``, whatever its frame period.

    Raises
    ------
    InputError
        If the execution is unknown.
    """
    return execution if chosen_period(execution) is None else "pipelined"


def time_axis(execution: str) -> str:
    """Say what the time axis of an execution is, with its frame period where it was chosen."""
    if (period := chosen_period(execution)) is None:
        return TIME_AXIS[execution]
    every = "update step" if period == 1 else f"{period} update steps"
    return f"a frame every {every}, or as closely as splitters allow where these ask for more"
