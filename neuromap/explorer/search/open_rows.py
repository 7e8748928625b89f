"""Open rows: which might still be on a front, given what was mapped so far and what is proven of the others."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from neuromap.explorer.answer.objectives import CORES, OBJECTIVES, Objective
from neuromap.explorer.answer.rows import ExploredRow, RowStatus
from neuromap.explorer.candidates.row_bounds import energy_bound
from neuromap.explorer.search.figures import N_FIGURES, Figures, compared, figures_of, nan_of
from neuromap.explorer.search.front import excluded_by, matched_by
from neuromap.explorer.search.groups import Group, RowPlace
from neuromap.explorer.search.measured import Measured
from neuromap.explorer.search.search_rows import SearchRows
from neuromap.explorer.search.unlisted import Unlisted

__all__ = ["Found", "OpenRows", "open_rows"]

Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Found:
    """What came of a row that was mapped or refused."""

    measured: Measured
    figures: Figures


class OpenRows:
    """State of a search: what was found, and which rows are excluded by it. Made by :func:`open_rows`."""

    # Every row is in one of four states. All rows of a group that is beyond the limits are *beyond* them, from the
    # beginning on. Any other row begins *open*, and leaves that state once, for good: it is *found*, or *excluded*,
    # with its whole group by the figures of a mapped row or alone by a bound of its own. No row is both found and
    # excluded alone; a row that is found remains so when its group is excluded afterwards.
    # all_rows, beyond, tolerance, objectives: as given
    # found: rows that were mapped or refused, in their order
    # shapes: beyond (groups,)

    def __init__(
        self, all_rows: SearchRows, beyond: Bools, tolerance: float, objectives: Sequence[Objective] = OBJECTIVES
    ) -> None:
        self.all_rows, self.beyond, self.tolerance, self.objectives = all_rows, beyond, tolerance, tuple(objectives)
        self.found: dict[RowPlace, Found] = {}
        self._excluded_groups = np.zeros(len(all_rows.groups), np.bool_)
        self._excluded_alone: set[RowPlace] = set()
        self._core_bounds: dict[RowPlace, int] = {}
        self._accuracy_bounds: dict[RowPlace, float | None] = {}
        self._rivals: dict[bool, list[Figures]] = {True: [], False: []}
        bounds = [compared(group.bounds, self.objectives) for group in all_rows.groups]
        self._bounds = np.array(bounds, np.float64).reshape(-1, N_FIGURES)
        self._given = np.array([group.is_given_class for group in all_rows.groups], np.bool_)
        groups, within = all_rows.groups, np.flatnonzero(~beyond).tolist()
        self._ranked = sorted(
            within, key=lambda g: (not self._given[g], groups[g].cheapest_estimate, groups[g].bounds.times, g)
        )

    def in_order(self) -> Iterator[RowPlace]:
        """Seeds, then the cheapest row of every group by estimate, then the next of every group, and so on."""
        yield from self.all_rows.seeds
        for group, row in self._in_turn(self._ranked):
            if not self._excluded_groups[group]:
                yield RowPlace(group, row)

    def is_open(self, place: RowPlace) -> bool:
        """Whether a row is open, by what is known so far."""
        group_is_open = not (self._excluded_groups[place.group] or self.beyond[place.group])
        return group_is_open and place not in self.found and place not in self._excluded_alone

    def exclude_alone(self, place: RowPlace) -> bool:
        """Exclude an open row if its own bounds do, computed where they may, and say whether they did."""
        group = self.all_rows.groups[place.group]
        bounds = self._with_own_accuracy(place)
        if not self._some_bound_excludes(group, bounds):
            return False
        if CORES in self.objectives:
            self._compute_bound(place)
        cores = self.bound_of(place)
        energy = energy_bound(group.choice.chip, group.period_ticks, cores, group.choice.neuron_bound)
        bounds = bounds._replace(cores=float(cores), energy=nan_of(energy))
        if not self._is_excluded(bounds, group.is_given_class):
            return False
        self._excluded_alone.add(place)
        return True

    def take(self, place: RowPlace, measured: Measured, *, in_haste: bool = False) -> None:
        """Keep what came of a row, and exclude all groups that cannot be better; in haste with no bound of its own."""
        if not in_haste:
            self._compute_bound(place)
        group = self.all_rows.groups[place.group]
        accuracy = self.all_rows.accuracy_of(place, measured)
        figures = figures_of(measured, group.choice.chip.tick_seconds, accuracy)
        self.found[place] = Found(measured, figures)
        if measured.status == "mapped":
            excluded = excluded_by(self._bounds, [compared(figures, self.objectives)], self.tolerance)
            self._excluded_groups |= excluded & _may_exclude(group.is_given_class, self._given)
            for is_given_class, rivals in self._rivals.items():
                if _may_exclude(group.is_given_class, is_given_class):
                    rivals.append(figures)

    def rivals(self, is_given_class: bool) -> Sequence[Figures]:
        """Give the figures of the mapped rows that may exclude a row of the given class, or one of another."""
        return self._rivals[is_given_class]

    def bound_of(self, place: RowPlace) -> int:
        """Cores that no mapping of a row can do without: its own bound where it was computed."""
        return self._core_bounds.get(place, self.all_rows.groups[place.group].core_bound)

    def open_groups(self) -> list[tuple[int, int]]:
        """List the groups with rows that might still be on a front, and how many."""
        left = Counter(place.group for places in (self.found, self._excluded_alone) for place in places)
        counts = [
            (number, len(group.rows) - left[number])
            for number, group in enumerate(self.all_rows.groups)
            if not self._excluded_groups[number] and not self.beyond[number]
        ]
        return [(number, count) for number, count in counts if count > 0]

    def n_open(self) -> int:
        """Rows that might still be on a front and are not mapped."""
        return sum(count for _, count in self.open_groups())

    def is_matched(self, unlisted: Unlisted) -> bool:
        """Whether a mapped row is as good as any row could be of patterns that are not listed."""
        rivals = [compared(rival, self.objectives) for rival in self.rivals(unlisted.is_given_class)]
        return bool(matched_by([compared(unlisted.bounds, self.objectives)], rivals)[0])

    def only_cores_open(self, number: int) -> bool:
        """Whether a mapped row is better than any row of a group could be, cores aside."""
        group = self.all_rows.groups[number]
        return self._some_bound_excludes(group, group.bounds)

    def others(self, most: int) -> list[ExploredRow]:
        """Describe rows that were not mapped: open ones first, then those that a bound excludes, cheapest first."""
        # most: how many at most
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
        """Go through groups row by row: the cheapest row of every group, then the next of every group, and so on."""
        # As plain pairs of group and row: there may be millions, most of them passed over.
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

    def _with_own_accuracy(self, place: RowPlace) -> Figures:
        """Bounds of the row's group with what is known of its own accuracy at the deadline, computed once."""
        if place not in self._accuracy_bounds:
            self._accuracy_bounds[place] = self.all_rows.accuracy_bound(place)
        accuracy, bounds = self._accuracy_bounds[place], self.all_rows.groups[place.group].bounds
        return bounds if accuracy is None else bounds._replace(error=1 - accuracy)

    def _some_bound_excludes(self, group: Group, bounds: Figures) -> bool:
        """Whether a row would be excluded by some bound on its cores: a quick look before one is computed."""
        by_cores = "neuron_update_joules" in group.choice.chip.energy  # then more cores mean more energy too
        known = bounds.energy
        energy = math.inf if by_cores and not math.isnan(known) else known
        return self._is_excluded(bounds._replace(cores=math.inf, energy=energy), group.is_given_class)

    def _is_excluded(self, bounds: Figures, is_given_class: bool) -> bool:
        rivals = [compared(rival, self.objectives) for rival in self.rivals(is_given_class)]
        return bool(excluded_by([compared(bounds, self.objectives)], rivals, self.tolerance)[0])


def open_rows(
    all_rows: SearchRows,
    allows: Callable[[ExploredRow], bool],
    tolerance: float,
    objectives: Sequence[Objective] = OBJECTIVES,
) -> OpenRows:
    """Begin a search: all rows are open but those beyond the limits."""
    beyond = [
        not allows(all_rows.describe(RowPlace(number, int(group.rows[0]))))
        for number, group in enumerate(all_rows.groups)
    ]
    return OpenRows(all_rows, np.array(beyond, np.bool_), tolerance, objectives)


def _may_exclude(is_given_class: bool, others: Bools | bool) -> Bools:
    """Whether a mapped row may exclude others, by whether it and they are of the given class."""
    # A row of another class may be the better one, but it is no help to whoever cannot retrain.
    allowed: Bools = np.logical_or(is_given_class, np.logical_not(others))
    return allowed
