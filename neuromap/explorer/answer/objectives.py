"""Objectives: the axes of the front, with names and units."""

from __future__ import annotations

from typing import NamedTuple

from neuromap.errors import InputError
from neuromap.files.messages import did_you_mean


class Objective(NamedTuple):
    """One axis of the front."""

    name: str  # attribute of :class:`neuromap.explorer.answer.rows.ExploredRow`
    title: str  # name shown to people
    unit: str  # unit of the value, with its time axis if it has one
    base_unit: str  # unit of the number alone
    sign: int  # +1 if less is better, -1 if more is
    # attribute of the row with the proven bound that replaces the figure until the row is mapped; ``None`` for times,
    # whose own attribute holds the bound until then
    bound: str | None = None


OBJECTIVES: tuple[Objective, ...] = (
    Objective("first_response_seconds", "first response", "s from stimulus onset", "s", 1),
    Objective("full_response_seconds", "full response", "s from stimulus onset", "s", 1),
    Objective("worst_case_reaction_seconds", "worst-case reaction", "s from the event", "s", 1),
    Objective("sampling_frequency_hz", "sampling frequency", "input frames per second", "Hz", -1),
    Objective(
        "accuracy_at_deadline",
        "accuracy at deadline",
        "part of the images that the last frame known at the deadline names rightly",
        "part",
        -1,
        "accuracy_bound",
    ),
    Objective("cores", "cores", "cores", "cores", 1, "core_bound"),
    Objective("energy_joules", "energy", "J per frame", "J", 1, "energy_bound"),
)
"""Times first, in the order of :class:`neuromap.explorer.search.measured.Figures`.

Accuracy is known only with a deadline.
"""

FIRST, SAMPLING = OBJECTIVES[0], OBJECTIVES[3]
ACCURACY = next(objective for objective in OBJECTIVES if objective.name == "accuracy_at_deadline")
CORES = next(objective for objective in OBJECTIVES if objective.name == "cores")
ENERGY = next(objective for objective in OBJECTIVES if objective.name == "energy_joules")


def objective_named(text: str, option: str = "objective") -> Objective:
    """Find an objective by its title, with blanks or dashes between the words."""
    words = " ".join(text.replace("-", " ").lower().split())
    for objective in OBJECTIVES:
        if words in (objective.title.replace("-", " "), objective.name.replace("_", " ")):
            return objective
    names = [objective.title.replace(" ", "-") for objective in OBJECTIVES]
    raise InputError(f"{option} {text[:40]}: is not known; choose one of {', '.join(names)}{did_you_mean(text, names)}")
