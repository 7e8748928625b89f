"""The answer to "which one should I run": the best row within limits, how to make it, and what it is worth."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from neuromap.errors import DoesNotFitError, PatternError
from neuromap.explorer.answer.exploration import Exploration
from neuromap.explorer.answer.limits import Limits, bound_text
from neuromap.explorer.answer.listing import rows_text, streaming_edges, streaming_text
from neuromap.explorer.answer.objectives import ACCURACY, ENERGY, OBJECTIVES, Objective
from neuromap.explorer.answer.quantities import with_unit
from neuromap.explorer.answer.refusals import most_frequent_refusal
from neuromap.explorer.answer.row_figures import best_rows, row_order, value_of
from neuromap.explorer.answer.rows import ExploredRow
from neuromap.files.messages import counted
from neuromap.forms.numbers import percent
from neuromap.rollout.pattern import RolloutPattern

__all__ = [
    "Advice",
    "advise",
    "deadline_line",
    "figure_text",
    "has_given_weights",
    "map_command",
    "pattern_argument",
]


@dataclass(frozen=True)
class Advice:
    """The best row within limits."""

    row: ExploredRow  # mapped, within the limits, best in ``objective``; among equals the other objectives decided
    objective: Objective  # what it is best in
    limits: Limits  # what it keeps
    n_rivals: int  # rows that were not mapped and might be better still; 0: none can be
    command: str  # the command that maps the row
    # rows with another energy that counts as equal, where energy is the objective; the other objectives decided
    n_equal: int = 0
    energy_tolerance: float = 0.0  # part by which energies may differ and be equal

    def lines(self) -> list[str]:
        """Say it in words, a line each."""
        row = self.row
        within = f" with {self.limits}" if self.limits else ""
        retraining = "needs retraining" if row.needs_retraining else "no retraining"
        splitters = "" if row.candidate.splitters == "slack" else f", splitters {row.candidate.splitters}"
        figures = [f"{o.title} {figure_text(row, o)}" for o in OBJECTIVES if value_of(row, o).number is not None]
        if self.n_rivals:
            worth = f"{rows_text(self.n_rivals)} that might be better not mapped: give more time, or more rows to map"
        else:
            worth = "no row that was not mapped can be better"
        if self.n_equal:
            worth = (
                f"{rows_text(self.n_equal)} more with an energy that is equal within {percent(self.energy_tolerance)}; "
                f"{worth}"
            )
        return [
            f"best {self.objective.title}{within}: {row.pattern}, {row.candidate.execution} on {row.candidate.chip}"
            f"{splitters} ({retraining})",
            f"  {', '.join(figures)}; {worth}",
            f"  {self.command}",
        ]


def figure_text(row: ExploredRow, objective: Objective) -> str:
    """Write a figure of a row with its unit; a bound has its sign, what is not known a dash."""
    # Energy of a row that needs retraining is said to be that of the given weights.
    written = _figure_text(row, objective)
    return f"{written} (given weights)" if has_given_weights(row, objective) else written


def has_given_weights(row: ExploredRow, objective: Objective) -> bool:
    """Whether a figure is one of the given weights, and will be another after the retraining that the row needs."""
    return objective == ENERGY and row.needs_retraining and row.energy_joules is not None


def _figure_text(row: ExploredRow, objective: Objective) -> str:
    number, is_exact = value_of(row, objective)
    if number is None:
        return "-"
    if objective == ACCURACY and row.frames_by_deadline == 0:
        return "no answer yet"
    sign = "" if is_exact else "≥ " if objective.sign > 0 else "≤ "
    if objective.name == "full_response_seconds" and not row.full_response_exact:
        sign = "≤ "
    unit = objective.base_unit
    return f"{sign}{with_unit(number, unit if unit != 'cores' else '')}"


def advise(
    exploration: Exploration,
    objective: Objective,
    limits: Limits | None = None,
    network_file: str = "NET",
    chip_arguments: Mapping[str, Sequence[str]] | None = None,
    refused: Sequence[ExploredRow] = (),
) -> Advice:
    """Find the best row within limits."""
    # limits: what must be kept
    # refused: rows that the search left out because of the limits; where none keeps them, the closest may be one of
    # these
    limits = limits or Limits()
    kept = [row for row in exploration.rows if limits.allows(row)]
    found = best_rows(kept, objective, exploration.energy_tolerance)
    if not found:
        raise DoesNotFitError(_why_none(exploration, objective, limits, refused))
    best = found[0]
    equal = sum(value_of(row, objective).number != value_of(best, objective).number for row in found)
    order = row_order(best, objective)
    rivals = [
        row
        for row in exploration.rows
        if row.status == "not mapped" and limits.allows(row) and row_order(row, objective) < order
    ]
    listed = sum(row.status == "not mapped" for row in exploration.rows)
    unlisted = max(0, exploration.gap.open_rows - listed)  # at most some hundred open rows are kept
    command = map_command(exploration, best, network_file, chip_arguments)
    return Advice(best, objective, limits, len(rivals) + unlisted, command, equal, exploration.energy_tolerance)


def _why_none(exploration: Exploration, objective: Objective, limits: Limits, refused: Sequence[ExploredRow]) -> str:
    open_rows = [row for row in exploration.rows if row.status == "not mapped" and limits.allows(row)]
    refusal = most_frequent_refusal(row.message for row in exploration.rows if row.status == "does not fit")
    if objective == ENERGY and any(row.status == "mapped" and "energy" in row.cut_short for row in exploration.rows):
        return f"{objective.title} was measured of no row in the time that was given; give more"
    if open_rows:
        why = f" ({refusal})" if refusal else ""
        kept = f"keeps {limits}" if limits else f"fits{why}"
        was_tried = refused or any(row.status in ("mapped", "does not fit") for row in exploration.rows)
        so_far = (
            f"no row that was tried {kept}, but" if was_tried else "no row was tried in the time that was given, and"
        )
        fit = f"{rows_text(len(open_rows))} that might {'was' if len(open_rows) == 1 else 'were'} not mapped"
        return f"{so_far} {fit}; give more time, or more rows to map"
    unknown = [row for row in exploration.rows if row.status == "mapped" and limits.allows(row)]
    if unknown and any(row.verified is not False for row in unknown):
        if objective == ACCURACY:
            return f"{objective.title} is known of no row, as there is no deadline; give one, with trained networks"
        return f"{objective.title} is known of no row, as the chip has no such figures; choose another objective"
    if unknown:
        return f"{rows_text(len(unknown))} within the limits, but on none the chip equals the reference"
    found = limits.closest([*exploration.rows, *refused])
    if found is None:
        return f"no row fits{': ' if refusal else ''}{refusal}"
    row, tightest = found
    bound = next(bound for other, bound in limits if other == tightest)
    if value_of(row, tightest).number is None:
        return f"no row keeps {bound_text(tightest, bound)}: the chip has no figures of {tightest.title}"
    several = sum(1 for _ in limits) > 1
    tight = f"all of {limits}; tightest is {bound_text(tightest, bound)}, and" if several else f"{limits};"
    where = f"{row.pattern}, {row.candidate.execution} on {row.candidate.chip}"
    return f"no row keeps {tight} closest is {where} with {figure_text(row, tightest)}"


def deadline_line(exploration: Exploration, limits: Limits | None = None) -> str:
    """Say which rollout is right most often at the deadline; empty without one."""
    # Or where no row is within the limits.
    # limits: what must be kept
    reached = exploration.deadline
    mapped = best_rows([row for row in exploration.rows if (limits or Limits()).allows(row)], ACCURACY)
    if reached is None or not mapped:
        return ""
    best = mapped[0]
    after, several = with_unit(reached.seconds, "s"), len(exploration.chips) > 1
    cores = f"{counted(best.cores or 0, 'core')}{f' of {best.candidate.chip}' if several else ''}"
    if not best.frames_by_deadline:
        return f"After {after} no rollout that was mapped has an answer yet."
    figure = best.accuracy_at_deadline or 0.0
    unmapped = [row for row in exploration.rows if row.status == "not mapped"]
    may_be_better = any((row.accuracy_bound or 0.0) > figure for row in unmapped)
    of_mapped = ", of the rows that were mapped" if may_be_better else ""
    return (
        f"After {after} {best.pattern}, {best.candidate.execution}, on {cores} is right most often{of_mapped}: "
        f"{figure_text(best, ACCURACY)} of {reached.n_images} {reached.part} images of {reached.data}."
    )


def pattern_argument(exploration: Exploration, row: ExploredRow) -> str:
    """Write the row's pattern as ``--pattern`` takes it: its name, where that means this pattern, else its edges."""
    try:
        if RolloutPattern.named(exploration.network, row.pattern).values == row.candidate.values:
            return row.pattern
    except PatternError:  # the name is its edges
        pass
    return streaming_text(streaming_edges(exploration, row.candidate.values)) or "sequential"


def map_command(
    exploration: Exploration,
    row: ExploredRow,
    network_file: str = "NET",
    chip_arguments: Mapping[str, Sequence[str]] | None = None,
) -> str:
    """Write the command that maps a row."""
    candidate = row.candidate
    trained = None if exploration.deadline is None else exploration.deadline.file_of(row.behaviour_class)
    words = ["neuromap", "map", trained or network_file, "--pattern", pattern_argument(exploration, row)]
    words += ["--execution", candidate.execution]
    words += ["--chip", *(chip_arguments or {}).get(candidate.chip, [candidate.chip])]
    has_lists = any(c.name == candidate.chip and c.core_model == "synapse-list" for c in exploration.chips)
    if candidate.splitters != "slack" and not has_lists:  # which the mapper is not asked on such cores
        words += ["--splitters", candidate.splitters]
    if candidate.ticks_per_step is not None:
        words += ["--ticks-per-step", str(candidate.ticks_per_step)]
    if candidate.wide != "refuse" and not has_lists:
        words += ["--wide", candidate.wide]
    if candidate.wide_ticks is not None and not has_lists:
        words += ["--wide-ticks", str(candidate.wide_ticks)]
    if candidate.phases != "least":
        words += ["--phases", candidate.phases]
    return shlex.join(words)
