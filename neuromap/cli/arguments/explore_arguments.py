"""Limits and numbers of ``neuromap explore`` as they are typed."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from neuromap.errors import InputError

if TYPE_CHECKING:
    from neuromap.explorer.answer.limits import Limits

__all__ = ["LIMIT_OPTIONS", "above_zero", "read_limits", "read_ticks"]

LIMIT_OPTIONS = {
    "max_first_response": "first_response_seconds",
    "max_full_response": "full_response_seconds",
    "max_reaction": "worst_case_reaction_seconds",
    "min_sampling_frequency": "sampling_frequency_hz",
    "max_cores": "cores",
    "max_energy": "energy_joules",
}
"""Option -> attribute of ``Limits``."""


def read_limits(typed: Mapping[str, str | None]) -> Limits:
    """Make the limits of the options that were typed, by the names of the command's parameters.

    Raises
    ------
    InputError
        Naming the option whose value is wrong.
    """
    from neuromap.explorer.answer.limits import Limits, parse_bound
    from neuromap.explorer.answer.objectives import OBJECTIVES

    objectives = {objective.name: objective for objective in OBJECTIVES}
    bounds: dict[str, Any] = {}
    for name, text in typed.items():
        if text is not None:
            option = f"--{name.replace('_', '-')}"
            bounds[LIMIT_OPTIONS[name]] = parse_bound(text, objectives[LIMIT_OPTIONS[name]], option)
    return Limits(**bounds)


def read_ticks(values: Sequence[str]) -> list[int]:
    """Take the values of ``--ticks-per-step`` apart at commas.

    Raises
    ------
    InputError
        If one is no whole number, or out of range, or none is left.
    """
    from neuromap.mapping.asked.options import MOST_TICKS

    words = [word.strip() for value in values for word in value.split(",") if word.strip()]
    for word in words:
        if not re.fullmatch("[0-9]{1,6}", word) or not 1 <= int(word) <= MOST_TICKS:
            raise InputError(f"--ticks-per-step {word}: must be whole numbers from 1 to {MOST_TICKS}, commas between")
    if not words:
        raise InputError("--ticks-per-step: is empty; give whole numbers with commas between")
    return list(dict.fromkeys(int(word) for word in words))


def above_zero(option: str, value: float | None) -> float | None:
    """Give a number that must be above 0, ``None`` where it was not typed.

    Raises
    ------
    InputError
        If it is not.
    """
    if value is not None and not 0 < value < math.inf:
        raise InputError(f"{option} {value:g}: must be above 0, and finite")
    return value
