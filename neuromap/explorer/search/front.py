"""Open rows: those that might still be on a front, given the mapped rows and bounds on the others; and the gap."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from neuromap.arrays.array_types import Bools, Floats
from neuromap.arrays.times import largest_gap, whole
from neuromap.explorer.answer.advice import most_frequent_refusal
from neuromap.explorer.answer.exploration import Gap
from neuromap.explorer.answer.limits import CORES, ExploredRow, Objective, RowStatus
from neuromap.explorer.candidates.asked import Asked, MappingChoice
from neuromap.explorer.candidates.named_patterns import LeastResponses, NamedPatterns, StepTimes
from neuromap.explorer.candidates.pattern_space import PatternSpace
from neuromap.explorer.search.measurements import (
    N_FIGURES,
    N_TIMES,
    Figures,
    Measured,
    compared,
    figures_of,
    fixed_tick,
    nan_of,
)
from neuromap.explorer.search.search_rows import Group, RowPlace, SearchRows
from neuromap.files.messages import counted
from neuromap.render.numbers import percent
from neuromap.rollout.schedule.execution import chosen_period
from neuromap.rollout.schedule.node_times import maximum_cycle_ratio, pipelined_period
from neuromap.rollout.schedule.rollout import Rollout


@dataclass(frozen=True)
class Found:
    """Result of a row that was mapped or refused."""

    measured: Measured
    figures: Figures


class OpenRows:
    """State of a search: results found, and the rows excluded by them."""

    # Every row is in one of four states. Rows of a group beyond the limits are *beyond* from the start. Any other row
    # starts *open* and leaves this state once, for good: it is *found*, or *excluded*, either with its whole group by
    # the figures of a mapped row or alone by a bound of its own. No row is both found and excluded alone; a found row
    # stays found if its group is excluded later.
    # allows: whether a row may be within the limits
    # all_rows, tolerance, objectives: as given
    # found: rows that were mapped or refused, in order
    # rivals: figures of the mapped rows that may exclude rows of the given class (True), or of other classes (False)

    def __init__(
        self,
        all_rows: SearchRows,
        allows: Callable[[ExploredRow], bool],
        tolerance: float,
        objectives: Sequence[Objective],
    ) -> None:
        self.all_rows, self.tolerance, self.objectives = all_rows, tolerance, objectives
        self.found: dict[RowPlace, Found] = {}
        groups = all_rows.groups
        firsts = (RowPlace(number, int(group.rows[0])) for number, group in enumerate(groups))
        self._beyond = np.array([not allows(all_rows.describe(place)) for place in firsts], np.bool_)
        self._excluded_groups = np.zeros(len(groups), np.bool_)
        self._excluded_alone: set[RowPlace] = set()
        self._core_bounds: dict[RowPlace, int] = {}
        self._accuracy_bounds: dict[RowPlace, float | None] = {}
        self.rivals: dict[bool, list[Figures]] = {True: [], False: []}
        self._is_timed = any(group.choice.chip.is_timed for group in groups)
        bounds = [self.compared(group.bounds) for group in groups]
        self._bounds = np.array(bounds, np.float64).reshape(-1, N_FIGURES)
        self._given = np.array([group.is_given_class for group in groups], np.bool_)

        def rank(g: int) -> tuple[bool, float, tuple[float, ...], int]:  # by the estimate of the cheapest row
            group = groups[g]
            return not bool(self._given[g]), float(group.choice.table.estimate[group.rows[0]]), group.bounds.times, g

        self._ranked = sorted(np.flatnonzero(~self._beyond).tolist(), key=rank)

    def compared(self, figures: Figures) -> Figures:
        """Keep those of a row's figures that are compared."""
        return compared(figures, self.objectives, is_timed=self._is_timed)

    def in_order(self) -> Iterator[RowPlace]:
        """Yield the seeds, then the cheapest row of every group by estimate, then the next of every group, etc."""
        yield from self.all_rows.seeds
        for group, row in self._in_turn(self._ranked):
            if not self._excluded_groups[group]:
                yield RowPlace(group, row)

    def is_open(self, place: RowPlace) -> bool:
        """Whether a row is still open."""
        group_is_open = not (self._excluded_groups[place.group] or self._beyond[place.group])
        return group_is_open and place not in self.found and place not in self._excluded_alone

    def exclude_alone(self, place: RowPlace) -> bool:
        """Exclude an open row if its own bounds do, computed only if they may; return whether they did."""
        group = self.all_rows.groups[place.group]
        if place not in self._accuracy_bounds:
            self._accuracy_bounds[place] = self.all_rows.accuracy_bound(place)
        accuracy, bounds = self._accuracy_bounds[place], group.bounds
        bounds = bounds if accuracy is None else bounds._replace(error=1 - accuracy)
        if not self._some_bound_excludes(group, bounds):
            return False
        if CORES in self.objectives:
            self._compute_bound(place)
        cores = self.bound_of(place)
        energy = group.choice.energy_bound(group.ticks[3], cores)
        bounds = bounds._replace(cores=float(cores), energy=nan_of(energy))
        if self._is_excluded(bounds, group.is_given_class):
            self._excluded_alone.add(place)
        return place in self._excluded_alone

    def take(self, place: RowPlace, measured: Measured, *, in_haste: bool = False) -> None:
        """Record the result of a row and exclude all groups that cannot be better; in haste, compute no own bound."""
        if not in_haste:
            self._compute_bound(place)
        group = self.all_rows.groups[place.group]
        accuracy, _ = self.all_rows.at_deadline(place, measured)
        figures = figures_of(measured, fixed_tick(group.choice.chip), accuracy)
        self.found[place] = Found(measured, figures)
        if measured.status == "mapped":
            excluded = excluded_by(self._bounds, [self.compared(figures)], self.tolerance)
            self._excluded_groups |= excluded & _may_exclude(group.is_given_class, self._given)
            for is_given_class, rivals in self.rivals.items():
                if _may_exclude(group.is_given_class, is_given_class):
                    rivals.append(figures)

    def bound_of(self, place: RowPlace) -> int:
        """Proven lower bound on the cores of a row: its own bound if computed, else that of its group."""
        return self._core_bounds.get(place, self.all_rows.groups[place.group].core_bound)

    def open_groups(self) -> list[tuple[int, int]]:
        """List the groups with open rows, and the number of these."""
        left = Counter(place.group for places in (self.found, self._excluded_alone) for place in places)
        counts = [
            (number, len(group.rows) - left[number])
            for number, group in enumerate(self.all_rows.groups)
            if not self._excluded_groups[number] and not self._beyond[number]
        ]
        return [(number, count) for number, count in counts if count > 0]

    def n_open(self) -> int:
        """Count the open rows."""
        return sum(count for _, count in self.open_groups())

    def is_matched(self, unlisted: Unlisted) -> bool:
        """Whether a mapped row is as good in every figure as any row of unlisted patterns can be."""
        # such rows may be on the front, but add no new figures to it
        known = [unlisted.bounds, *self.rivals[unlisted.is_given_class]]
        bounds, *rivals = _rounded([self.compared(figures) for figures in known])
        absent = np.isnan(bounds)
        return any((absent == np.isnan(row)).all() and ((row <= bounds) | absent).all() for row in rivals)

    def only_cores_open(self, number: int) -> bool:
        """Whether a mapped row is better than any row of a group can be, cores aside."""
        group = self.all_rows.groups[number]
        return self._some_bound_excludes(group, group.bounds)

    def others(self, most: int) -> list[ExploredRow]:
        """Describe rows that were not mapped: open ones first, then those excluded by a bound, cheapest first."""
        # most: greatest number of rows
        described: list[ExploredRow] = []
        for group, row in self._in_turn(sorted(self._ranked, key=lambda g: bool(self._excluded_groups[g]))):
            place = RowPlace(group, row)
            if place in self.found:
                continue
            if len(described) >= most:
                break
            status: RowStatus = "not mapped" if self.is_open(place) else "excluded"
            known = self.all_rows.describe(place)
            accuracy = self._accuracy_bounds.get(place, known.accuracy_bound)
            described.append(replace(known, status=status, core_bound=self.bound_of(place), accuracy_bound=accuracy))
        return described

    def _in_turn(self, numbers: Sequence[int]) -> Iterator[tuple[int, int]]:
        """Yield rows of groups in turn: the cheapest row of every group, then the next of every group, and so on."""
        # Plain pairs of group and row: there may be millions, most of them skipped.
        groups = self.all_rows.groups
        left, turn = list(numbers), 0
        while left:
            left = [g for g in left if turn < len(groups[g].rows)]
            for g in left:
                yield g, int(groups[g].rows[turn])
            turn += 1

    def _compute_bound(self, place: RowPlace) -> None:
        """Compute the row's own bound on cores, once."""
        if place not in self._core_bounds:
            self._core_bounds[place] = self.all_rows.core_bound(place)

    def _some_bound_excludes(self, group: Group, bounds: Figures) -> bool:
        """Whether some bound on its cores would exclude a row: a quick test before one is computed."""
        by_cores = "neuron_update_joules" in group.choice.chip.energy  # then more cores mean more energy too
        energy = math.inf if by_cores and not math.isnan(bounds.energy) else bounds.energy
        return self._is_excluded(bounds._replace(cores=math.inf, energy=energy), group.is_given_class)

    def _is_excluded(self, bounds: Figures, is_given_class: bool) -> bool:
        rivals = [self.compared(rival) for rival in self.rivals[is_given_class]]
        return bool(excluded_by([self.compared(bounds)], rivals, self.tolerance)[0])


def _may_exclude(is_given_class: bool, others: Bools | bool) -> Bools:
    """Whether a mapped row may exclude others, by whether it and they are of the given class."""
    # A row of another class may be better, but is of no use without retraining.
    allowed: Bools = np.logical_or(is_given_class, np.logical_not(others))
    return allowed


# The rows of figures that no other row beats, with energies within a tolerance counting as equal.
#
# Row q *dominates* row r with tolerance t if q is no worse in any figure but energy, its energy is at most (1 + t)
# times that of r, and it is better in a figure, for energy: below (1 - t) times that of r. With this one tolerant
# figure there are no cycles: along one, all other figures would be equal, so the energy would fall at every step. But
# it is not transitive, as small differences add up. So a row is on the **front** if no row *of the front* dominates it:
# without cycles this defines one set, and every row left out is matched within t by a row on the front. With t = 0 it
# is the Pareto front. Proofs: docs/theorems/exact-fronts.md.
#
# Figures are compared as decimals of 12 significant digits: 10 ticks of 0.1 ms and one tick of 1 ms are the same
# time, though their floating-point products differ in the last bit.
_DIGITS = 12
_SMALLEST = 1e-280
"""Smaller figures are compared unrounded: the power of ten that scales them is not a normal number."""


def front_of(figures: ArrayLike, tolerance: float = 0.0) -> Bools:
    """Mark the rows that are on the front."""
    # Equal rows are on the front together. A row without a figure (NaN) is comparable only to rows without that figure.
    # shapes: figures (n, objectives); returns (n,)
    table = _rounded(figures)
    if not len(table):
        return np.zeros(0, np.bool_)
    # in this order, by all other figures and then by energy, a row comes after all rows that dominate it
    distinct, place = np.unique(np.where(np.isnan(table), -np.inf, table), axis=0, return_inverse=True)
    distinct[np.isneginf(distinct)] = np.nan
    on_front = np.zeros(len(distinct), np.bool_)
    for k, row in enumerate(distinct):
        on_front[k] = not _beaten(row[None, :], distinct[:k][on_front[:k]], 1 + tolerance, 1 - tolerance)[0]
    return on_front[place.reshape(-1)]


def dominated_by(figures: ArrayLike, others: ArrayLike, tolerance: float = 0.0) -> Bools:
    """Mark the rows that some other row dominates."""
    # shapes: figures (n, objectives); others (m, objectives); returns (n,)
    return _beaten(_rounded(figures), _rounded(others), 1 + tolerance, 1 - tolerance)


def excluded_by(bounds: ArrayLike, others: ArrayLike, tolerance: float = 0.0) -> Bools:
    """Mark the rows that need not be known: whatever they are, another row dominates them and all they dominate."""
    # That row is as good in every figure, in energy without tolerance, and better in one, in energy by more than the
    # tolerance. It also dominates whatever the marked row dominates, so the front is the same without the latter.
    # shapes: bounds (n, objectives); returns (n,)
    return _beaten(_rounded(bounds), _rounded(others), 1.0, 1 - tolerance)


def _rounded(figures: ArrayLike) -> Floats:
    """Round to 12 significant digits; equal decimals give equal numbers, NaN and infinities stay."""
    table = np.array(figures, np.float64)
    scaled = np.isfinite(table) & (np.abs(table) >= _SMALLEST)
    numbers = table[scaled]
    place = np.floor(np.log10(np.abs(numbers))) - (_DIGITS - 1)
    digits = np.rint(numbers / 10.0**place)
    carried = np.abs(digits) >= 10.0**_DIGITS  # 9.99... became 10: give it the digits and place of 10
    table[scaled] = np.where(carried, digits / 10, digits) * 10.0 ** (place + carried)
    return table


def _beaten(table: Floats, against: Floats, as_good_below: float, better_below: float) -> Bools:
    """Mark the rows that another matches and beats; energies must be below the given multiples of theirs."""
    found = np.zeros(len(table), np.bool_)
    absent = np.isnan(table)
    still_good, better_from = table.copy(), table.copy()
    still_good[:, -1:] *= as_good_below
    better_from[:, -1:] *= better_below
    for row in against:
        comparable = (absent == np.isnan(row)).all(axis=1)
        as_good = ((row <= still_good) | absent).all(axis=1)
        better = (row < better_from).any(axis=1)
        found |= comparable & as_good & better
    return found


# Unlisted patterns: bounds on their rows, and whether mapped rows are as good as any of them.
#
# If there are too many patterns to compute the times of all, or if a few settle the question, a search lists some and
# proves that the others are no better. The bounds are in docs/theorems/exact-fronts.md.


@dataclass(frozen=True)
class Unlisted:
    """Unlisted rows of one mapping choice."""

    is_given_class: bool  # whether they are of the given pattern's class
    bounds: Figures  # proven bounds on the figures of all of them


def step_times_in_class(
    names: NamedPatterns, executions: Sequence[str], *, pipelined: bool, soonest: bool = False
) -> list[StepTimes]:
    """Bound the times of all patterns of the given pattern's class."""
    # soonest: over all phases, not only the least
    given, found = names.given, list[StepTimes]()
    least = pipelined_period(maximum_cycle_ratio(given))
    for execution in executions:
        if execution == "windowed":
            found += names.curve
        elif pipelined and (chosen_period(execution) or least) >= least:
            rollout = Rollout(given.network, given, execution)
            may_gain = soonest and isinstance(rollout.frame_period, int)  # at unequal intervals phases never move
            least_of = LeastResponses.soonest if may_gain else LeastResponses.of
            found.append(StepTimes(execution, rollout.frame_period, least_of(rollout)))
    return found


def unlisted_rows(
    choices: Sequence[MappingChoice], names: NamedPatterns, asked: Asked, n_classes: int | None
) -> list[Unlisted]:
    """Bound the rows of all unlisted patterns."""
    # n_classes: number of behaviour classes, ``None`` if not counted
    shows = any(choice.table.row_keys.tells_frames_apart for choice in choices)
    graph = names.given.indexed.graph
    is_all_seen = len(graph.seen) == len(graph.sources)
    asked_for = {choice.options.phases == "fastest" for choice in choices if is_all_seen}
    in_class = {s: step_times_in_class(names, asked.executions, pipelined=shows, soonest=s) for s in asked_for}
    found: list[Unlisted] = []
    for choice in choices:
        # no pattern is faster than streaming
        of_all = [StepTimes(execution, chosen_period(execution) or 1, choice.least) for execution in asked.executions]
        # edges that no output depends on are free within a class, and may slow it down
        times_in_class = in_class.get(choice.options.phases == "fastest", of_all)
        found += [Unlisted(True, _bounds(choice, times, choice.class_bound)) for times in times_in_class]
        if asked.within == "all" and n_classes != 1:
            found += [Unlisted(False, _bounds(choice, times, choice.core_bound)) for times in of_all]
    return list(dict.fromkeys(found))


def _bounds(choice: MappingChoice, times: StepTimes, cores: int) -> Figures:
    """Convert times from steps to seconds, with the fewest ticks per step that a row of the choice may have."""
    step = choice.options.ticks_per_step or 1
    least, period = times.least, times.period * step
    if choice.may_change_schedule:  # as for the rows of a table
        least, period = choice.least, times.period
        if chosen_period(times.execution) is None:
            period = whole(Fraction((period.numerator - 1) * step + 1, period.denominator))
    first, slowest, full = (steps * step for steps in least)
    ticks = (first, full, slowest + largest_gap(period) - 1, period)
    seconds = (float(number * choice.tick_seconds) for number in ticks)
    return Figures._make((*seconds, math.nan, float(cores), nan_of(choice.energy_bound(period, cores))))


# Quality of the fronts of a search: exact, or how far from a proven bound.


def gap_of(
    ended: OpenRows, space: PatternSpace, complete: bool, limited: bool, unlisted: Sequence[Unlisted] | None = None
) -> Gap:
    """Compute the gap of a finished search."""
    # unlisted: proven bounds on all rows of the unlisted patterns; ``None`` if nothing is proven
    fits = any(found.measured.status == "mapped" for found in ended.found.values())
    beyond = None if unlisted is None else [rows for rows in unlisted if not ended.is_matched(rows)]
    is_covered = space.is_complete or beyond == []
    is_complete = complete and ended.n_open() == 0 and is_covered and not _cut_short(ended)
    is_exact = is_complete and fits
    cores = [found.measured.cores for found in ended.found.values() if found.measured.cores is not None]
    gap = Gap(
        is_exact=is_exact,
        open_rows=ended.n_open(),
        cores_factor=_cores_factor(ended, beyond or ()),
        least_cores=min(cores, default=None),
        core_bound=min((group.choice.core_bound for group in ended.all_rows.groups), default=0),
        statement="",
        nothing_fits=is_complete and not fits,
    )
    where = " within the limits" if limited else ""
    if is_exact:
        parts = [f"exact: every row{where} that could be on a front was mapped"]
        if not space.is_complete:
            parts.append(f"no pattern but the {space.n_patterns:,} that were searched can be better")
    elif gap.nothing_fits:
        why = most_frequent_refusal(found.measured.message for found in ended.found.values())
        return replace(gap, statement=f"no row fits{where}: {why}" if why else f"no row is{where}")
    else:
        parts = ["not exact: " + "; ".join(_shortcomings(gap, ended, space, beyond, where))]
    if any(group.choice.chip.energy for group in ended.all_rows.groups):
        parts.append(f"energies within {percent(ended.tolerance)} count as equal")
    return replace(gap, statement="; ".join(parts))


def _cores_factor(ended: OpenRows, beyond: Sequence[Unlisted]) -> float:
    """Find the factor of cores within which a mapped row matches every unknown row in all times."""
    tables = {given: np.array(rows, np.float64).reshape(-1, N_FIGURES) for given, rows in ended.rivals.items()}
    factor = 1.0
    still_open: list[Group | Unlisted] = [ended.all_rows.groups[number] for number, _ in ended.open_groups()]
    for rows in [*still_open, *beyond]:
        table = tables[rows.is_given_class]
        # ticks of different chips are not binary fractions: equal times may differ in their last bits
        as_good = (table[:, :N_TIMES] <= np.array(rows.bounds.times) * (1 + 1e-12)).all(axis=1)
        cores = table[as_good, Figures._fields.index("cores")]
        factor = max(factor, float(cores.min(initial=math.inf)) / max(1.0, rows.bounds.cores))
    return factor


def _matched(gap: Gap) -> str:
    cores = f"{gap.cores_factor:.2f} times the cores that any mapping of it needs"
    return f"is matched in every time by a mapped row with at most {cores}"


def _cut_short(ended: OpenRows) -> list[tuple[str, ...]]:
    """Stages that were cut short, for every row with such stages."""
    return [found.measured.cut_short for found in ended.found.values() if found.measured.cut_short]


def _shortcomings(
    gap: Gap, ended: OpenRows, space: PatternSpace, beyond: Sequence[Unlisted] | None, where: str
) -> Iterator[str]:
    """Phrases on why the fronts are not exact, and what is known nevertheless."""
    if not space.is_complete and beyond != []:
        total = "not counted" if space.n_valid is None else f"{space.n_valid:,}"
        yield f"only {space.n_patterns:,} patterns of {total} valid ones were searched"
        if beyond and gap.least_cores is not None and math.isfinite(gap.cores_factor):
            yield f"any other one {_matched(gap)}"
    if hurried := _cut_short(ended):
        stages = ", ".join(dict.fromkeys(stage for stages in hurried for stage in stages))
        yield f"{counted(len(hurried), 'row')} ran out of time in {stages}: more of it may find better figures"
    if ended.found and gap.least_cores is None:
        why = most_frequent_refusal(found.measured.message for found in ended.found.values())
        yield f"none of the {len(ended.found):,} rows that were tried fits: {why}"
    if gap.open_rows:
        n_tried = len(ended.found)
        yield f"{gap.open_rows:,} rows{where} might still be on a front and were not mapped ({n_tried:,} were tried)"
        if gap.least_cores is None:
            return
        better = "some of them are better in some time than every mapped row that could take their place"
        yield f"each of them {_matched(gap)}" if math.isfinite(gap.cores_factor) else better
        if only_cores := sum(count for number, count in ended.open_groups() if ended.only_cores_open(number)):
            yield f"{only_cores:,} of them could be better in nothing but cores"
    else:
        yield "every row among them that could be on a front was mapped"
    if gap.least_cores is not None:
        yield f"fewest cores found {gap.least_cores:,}, proven bound for every pattern {gap.core_bound:,}"
