"""Objectives: the axes of the front, how they are called, and in which units they are."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from neuromap.errors import InputError

__all__ = ["BASE_UNITS", "CORES", "ENERGY", "OBJECTIVES", "Objective", "objective_named"]


class Objective(NamedTuple):
    """One axis of the front.

    Attributes
    ----------
    name : str
        Attribute of :class:`neuromap.explorer.answer.rows.ExploredRow`.
    title : str
        What people read.
    unit : str
        Unit of the value, with its time axis where it has one.
    sign : int
        +1 where less is better, -1 where more is.
    """

    name: str
    title: str
    unit: str
    sign: int


OBJECTIVES: tuple[Objective, ...] = (
    Objective("first_response_seconds", "first response", "s from stimulus onset", 1),
    Objective("full_response_seconds", "full response", "s from stimulus onset", 1),
    Objective("worst_case_reaction_seconds", "worst-case reaction", "s from the event", 1),
    Objective("sampling_frequency_hz", "sampling frequency", "input frames per second", -1),
    Objective("cores", "cores", "cores", 1),
    Objective("energy_joules", "energy", "J per frame", 1),
)

CORES = next(objective for objective in OBJECTIVES if objective.name == "cores")
ENERGY = next(objective for objective in OBJECTIVES if objective.name == "energy_joules")

BASE_UNITS: Mapping[str, str] = MappingProxyType(
    {
        "first_response_seconds": "s",
        "full_response_seconds": "s",
        "worst_case_reaction_seconds": "s",
        "sampling_frequency_hz": "Hz",
        "cores": "cores",
        "energy_joules": "J",
    }
)
"""Objective -> the unit of its numbers."""


def objective_named(text: str, option: str = "objective") -> Objective:
    """Find an objective by its title, blanks or dashes between the words.

    Parameters
    ----------
    text : str
        ``"sampling frequency"``, ``"sampling-frequency"``, ``"cores"``, ...
    option : str
        What messages call it.

    Returns
    -------
    Objective
        One of :data:`OBJECTIVES`.

    Raises
    ------
    InputError
        If there is none of that name.
    """
    words = " ".join(text.replace("-", " ").lower().split())
    for objective in OBJECTIVES:
        if words in (objective.title.replace("-", " "), objective.name.replace("_", " ")):
            return objective
    names = ", ".join(objective.title.replace(" ", "-") for objective in OBJECTIVES)
    raise InputError(f"{option} {text[:40]}: is not known; choose one of {names}")
