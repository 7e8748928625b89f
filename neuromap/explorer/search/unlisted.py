"""Patterns that are not listed: what their rows take at least, and whether mapped rows are as good as any of them.

Where there are too many patterns to compute the times of all, or where those of few settle the question, a search lists
some and proves of all others that they are no better. The bounds are in docs/theorems/exact-fronts.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from neuromap.arrays.times import Time, largest_gap, whole
from neuromap.explorer.candidates.asked import Asked
from neuromap.explorer.candidates.class_curve import least_full_response
from neuromap.explorer.candidates.mapping_choices import MappingChoice
from neuromap.explorer.candidates.named_patterns import NamedPatterns
from neuromap.explorer.candidates.row_bounds import energy_bound
from neuromap.explorer.search.figures import Figures, nan_of
from neuromap.rollout.pattern import RolloutPattern
from neuromap.rollout.schedule.cycle_ratio import maximum_cycle_ratio, pipelined_period
from neuromap.rollout.schedule.execution import chosen_period
from neuromap.rollout.schedule.rollout import Rollout

__all__ = ["StepTimes", "Unlisted", "step_times_in_class", "unlisted_rows"]


@dataclass(frozen=True)
class StepTimes:
    """Times in update steps that rows of one execution take at least."""

    execution: str  # the execution
    period: Time  # frame period
    # first, full: least first and full response over the outputs
    first: int
    full: int


@dataclass(frozen=True)
class Unlisted:
    """Rows that are not listed, of one mapping choice."""

    is_given_class: bool  # whether they are of the given pattern's class
    bounds: Figures  # proven bounds of what any of them can reach


def step_times_in_class(names: NamedPatterns, executions: Sequence[str], *, pipelined: bool) -> list[StepTimes]:
    """Bound the times of all patterns of the given one's class."""
    given, found = names.given, list[StepTimes]()
    least = pipelined_period(maximum_cycle_ratio(given))
    for execution in executions:
        if execution == "windowed":
            found += [StepTimes(execution, point.period, point.first, point.full) for point in names.curve]
        elif pipelined and (chosen_period(execution) or least) >= least:
            rollout = Rollout(given.network, given, execution)
            first, full = min(rollout.first_responses.values()), least_full_response(rollout)
            found.append(StepTimes(execution, rollout.frame_period, first, full))
    return found


def unlisted_rows(
    choices: Sequence[MappingChoice], names: NamedPatterns, asked: Asked, n_classes: int | None
) -> list[Unlisted]:
    """Bound the rows of all patterns that are not listed."""
    # n_classes: behaviour classes, ``None`` where they were not counted
    shows = any(choice.table.row_keys.tells_frames_apart for choice in choices)
    in_class = step_times_in_class(names, asked.executions, pipelined=shows) if _is_all_seen(names.given) else None
    found: list[Unlisted] = []
    for choice in choices:
        # what no output sees is free within a class, and may slow it
        times_in_class = _step_times_of_all(choice, asked) if in_class is None else in_class
        found += [Unlisted(True, _bounds(choice, times, choice.class_bound)) for times in times_in_class]
        if asked.within == "all" and n_classes != 1:
            found += [
                Unlisted(False, _bounds(choice, times, choice.core_bound))
                for times in _step_times_of_all(choice, asked)
            ]
    return list(dict.fromkeys(found))


def _is_all_seen(pattern: RolloutPattern) -> bool:
    graph = pattern.indexed.graph
    return len(graph.seen) == len(graph.sources)


def _step_times_of_all(choice: MappingChoice, asked: Asked) -> Iterator[StepTimes]:
    """Bound the times of every pattern: no pattern is faster than streaming."""
    for execution in asked.executions:
        yield StepTimes(execution, chosen_period(execution) or 1, choice.least.first, choice.least.full)


def _bounds(choice: MappingChoice, times: StepTimes, cores: int) -> Figures:
    """Put times in steps into seconds, at no more ticks per step than a row of the choice may have."""
    step = choice.ticks_per_step or 1
    first, full, period = times.first * step, times.full * step, times.period * step
    if choice.may_change_schedule:  # as for the rows of a table
        first, full = choice.least.first * step, max(choice.least.full, choice.least.first) * step
        period = times.period
        if chosen_period(times.execution) is None:
            period = whole(Fraction((period.numerator - 1) * step + 1, period.denominator))
    energy = energy_bound(choice.chip, period, cores, choice.neuron_bound)
    ticks = (first, full, first + largest_gap(period) - 1, period)
    seconds = (float(number * choice.chip.tick_seconds) for number in ticks)
    return Figures._make((*seconds, math.nan, float(cores), nan_of(energy)))
