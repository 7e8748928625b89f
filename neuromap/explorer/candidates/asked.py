"""What is asked to be searched: executions and mapping choices, checked."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from neuromap.errors import InputError
from neuromap.explorer.answer.limits import Limits
from neuromap.explorer.answer.objectives import CORES, ENERGY, OBJECTIVES, Objective, objective_named
from neuromap.hardware.chip.chip_document import ENERGY_TERM_KEYS
from neuromap.hardware.chip.chip_file import load_chip
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.mapping.options.options import MappingOptions
from neuromap.rollout.schedule.execution import EXECUTIONS, chosen_period

__all__ = ["MAX_PERIOD", "Asked", "AskedOptions", "asked_for", "check_are_axes", "read_objectives"]

MAX_PERIOD = 1000
"""Longest frame period that may be asked for, in update steps; far beyond what brings any response forward."""

FEW_TICKS: tuple[int | None, ...] = (None, 64, 16, 4)
"""Ticks of partial sums that are tried where nobody says which: all that they count, then fewer by factors of four."""


class AskedOptions(NamedTuple):
    """With a chip, a mapping choice: places of splitters, ticks of an update step, wide nodes, their ticks, phases."""

    splitters: str
    ticks_per_step: int | None
    wide: str
    wide_ticks: int | None
    phases: str = "least"


@dataclass(frozen=True)
class Asked:
    """What every pattern is searched with."""

    chips: tuple[ChipSpec, ...]  # chips, each name once; without their energies where these are of different terms
    executions: tuple[str, ...]  # executions
    options: tuple[AskedOptions, ...]  # with a chip, a mapping choice each
    within: str  # whether all patterns are searched, or those of the given one's behaviour class
    objectives: tuple[Objective, ...] = OBJECTIVES  # axes of the front, in their usual order

    @property
    def is_about_times(self) -> bool:
        """Whether all objectives are times, which are known before anything is mapped."""
        return all(objective.bound is None for objective in self.objectives)

    @property
    def candidates_per_pattern(self) -> int:
        """Candidates that every pattern has."""
        return len(self.chips) * len(self.executions) * len(self.options)


def asked_for(
    chips: Any,
    executions: Any,
    splitters: Any,
    ticks_per_step: Any,
    within: Any,
    wide: Any = "refuse",
    phases: Any = "least",
    objectives: Any = None,
) -> Asked:
    """Check what the user asks to be searched; single values stand for lists of one."""
    specs, wanted = _chips(chips), _executions(executions)
    options = [
        AskedOptions(s, t, *w, phases)
        for s in dict.fromkeys(_listed(splitters))
        for t in dict.fromkeys(_listed(ticks_per_step))
        for w in dict.fromkeys(_wide(_listed(wide)))
    ]
    for asked in options:
        MappingOptions(**asked._asdict())
    if within not in ("all", "class"):
        raise InputError(f"within {within!r}: unknown; choose 'all' or 'class'")
    axes = read_objectives(objectives)
    if ENERGY not in axes:  # then nothing is run for it
        specs = [replace(chip, energy={}, energy_included=()) for chip in specs]
    return Asked(tuple(specs), tuple(wanted), tuple(options), within, axes)


def read_objectives(objectives: Any, option: str = "objectives") -> tuple[Objective, ...]:
    """Read the axes of the front by their names; ``"times"`` stands for all times."""
    # objectives: ``None`` for all
    if objectives is None:
        return OBJECTIVES
    named: set[Objective] = set()
    for name in _listed(objectives):
        times = {objective for objective in OBJECTIVES if objective.bound is None}
        named |= times if name == "times" else {objective_named(str(name), option)}
    if not named:
        raise InputError(f"{option}: none given; choose times, {CORES.title} or another objective")
    return tuple(objective for objective in OBJECTIVES if objective in named)


def check_are_axes(axes: Collection[Objective], limits: Any, best: Objective | None = None) -> None:
    """Refuse limits on figures that are not compared, and the best in one: rows that keep them may be left out."""
    for objective in OBJECTIVES:
        asked = objective == best or (isinstance(limits, Limits) and getattr(limits, objective.name) is not None)
        if asked and objective not in axes:
            titles = ", ".join(axis.title for axis in axes)
            raise InputError(
                f"{objective.title}: is bounded or to be best, but none of the objectives, {titles}; make it one"
            )


def _wide(given: list[Any]) -> list[tuple[str, int | None]]:
    """Read what becomes of wide nodes: a strategy, or ticks of partial sums."""
    found: list[tuple[str, int | None]] = []
    for value in given:
        if value == "partial-sums":
            found += [("partial-sums", ticks) for ticks in FEW_TICKS]
        elif isinstance(value, str):
            found.append((value, None))
        else:
            found.append(("partial-sums", value))
    return found


def _listed(values: Any) -> list[Any]:
    return [values] if values is None or isinstance(values, (str, int)) else list(values)


def _executions(executions: Any) -> list[str]:
    found = list(dict.fromkeys(_listed(executions)))
    for execution in found:
        chosen_period(execution, MAX_PERIOD)
    if not found:
        raise InputError(f"executions: none given; choose {' or '.join(map(repr, EXECUTIONS))}")
    return found


def _chips(chips: Any) -> list[ChipSpec]:
    wanted = list(chips) if isinstance(chips, Iterable) and not isinstance(chips, str) else [chips]
    if not wanted:
        raise InputError("chips: none given; name at least one, such as truenorth")
    found: dict[str, ChipSpec] = {}
    for chip in map(load_chip, wanted):
        if chip.name in found and found[chip.name] != chip:
            raise InputError(f"chips: two have the name {chip.name}; give one of them another name")
        found[chip.name] = chip
    return _with_comparable_energies(list(found.values()))


def _with_comparable_energies(chips: list[ChipSpec]) -> list[ChipSpec]:
    """Leave out the energies of chips whose figures make different terms: a sum without a term is no less for it."""
    terms = {frozenset(chip.energy) & set(ENERGY_TERM_KEYS) for chip in chips if chip.energy}
    return chips if len(terms) < 2 else [replace(chip, energy={}, energy_included=()) for chip in chips]
