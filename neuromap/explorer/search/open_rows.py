"""Open rows: which might still be on a front, given what was mapped so far and what is proven of the others."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from neuromap.explorer.answer.rows import ExploredRow, RowStatus
from neuromap.explorer.candidates.row_bounds import energy_bound
from neuromap.explorer.measuring.measured import Measured
from neuromap.explorer.search.figures import N_FIGURES, Figures, figures_of, nan_of
from neuromap.explorer.search.front import dominated_by
from neuromap.explorer.search.groups import Group, Place
from neuromap.explorer.search.search_rows import SearchRows

__all__ = ["Found", "OpenRows", "open_rows"]

Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Found:
    """A row that was mapped or refused."""

    place: Place
    measured: Measured
    figures: Figures


class OpenRows:
    """State of a search: what was found, and which rows are excluded by it. Made by :func:`open_rows`.

    Parameters
    ----------
    rows : SearchRows
        All rows.
    beyond : ndarray of bool, shape (groups,)
        Groups that are beyond the limits.

    Attributes
    ----------
    rows, beyond
        As given.
    found : list of Found
        Rows that were mapped or refused, in their order.
    """

    def __init__(self, rows: SearchRows, beyond: Bools) -> None:
        self.rows, self.beyond = rows, beyond
        self.found: list[Found] = []
        self._settled: set[Place] = set()  # found, or excluded by a bound of their own
        self._excluded_rows: set[Place] = set()
        self._excluded = np.zeros(len(rows.groups), np.bool_)  # whole groups
        self._core_bounds: dict[Place, int] = {}
        self._bounds = np.array([group.bounds for group in rows.groups], np.float64).reshape(-1, N_FIGURES)
        self._given = np.array([group.is_given_class for group in rows.groups], np.bool_)
        within = np.flatnonzero(~beyond).tolist()
        self._ranked = sorted(
            within, key=lambda g: (not self._given[g], rows.groups[g].cheapest_estimate, rows.groups[g].bounds.times, g)
        )

    def in_order(self) -> Iterator[Place]:
        """Seeds, then the cheapest row of every group by estimate, then the next of every group, and so on."""
        yield from self.rows.seeds
        for place in self._in_turn(self._ranked):
            if not self._excluded[place[0]]:
                yield place

    def is_needed(self, place: Place) -> bool:
        """Whether a row is open, once its own bound on cores was looked at where this may exclude it."""
        if self._excluded[place[0]] or self.beyond[place[0]] or place in self._settled:
            return False
        if self._is_beaten(place):
            self._excluded_rows.add(place)
            self._settled.add(place)
            return False
        return True

    def take(self, place: Place, measured: Measured) -> None:
        """Keep what came of a row, and exclude all groups that cannot be better."""
        self._compute_bound(place)
        self._settled.add(place)
        group = self.rows.groups[place[0]]
        figures = figures_of(measured, group.choice.chip.tick_seconds)
        self.found.append(Found(place, measured, figures))
        if measured.status == "mapped":
            beaten = dominated_by(self._bounds, [figures])
            # a row of another class may be the better one, but it is no help to whoever cannot retrain
            self._excluded |= beaten if group.is_given_class else beaten & ~self._given

    def bound_of(self, place: Place) -> int:
        """Cores that no mapping of a row can do without: its own bound where it was computed."""
        return self._core_bounds.get(place, self.rows.groups[place[0]].choice.core_bound)

    def open_groups(self) -> list[tuple[int, int]]:
        """List the groups with rows that might still be on a front, and how many."""
        settled: dict[int, int] = {}
        for number, _ in self._settled:
            settled[number] = settled.get(number, 0) + 1
        counts = [
            (number, len(group.rows) - settled.get(number, 0))
            for number, group in enumerate(self.rows.groups)
            if not self._excluded[number] and not self.beyond[number]
        ]
        return [(number, count) for number, count in counts if count > 0]

    def n_open(self) -> int:
        """Rows that might still be on a front and are not mapped."""
        return sum(count for _, count in self.open_groups())

    def only_cores_open(self, number: int) -> bool:
        """Whether a mapped row is better than any row of a group could be, cores aside."""
        group = self.rows.groups[number]
        against = self._against(group)
        return _could_beat(group, against) if against else False

    def others(self, most: int) -> list[ExploredRow]:
        """Describe rows that were not mapped: open ones first, then those that a bound excludes, cheapest first.

        Parameters
        ----------
        most : int
            How many at most.

        Returns
        -------
        list of ExploredRow
        """
        described: list[ExploredRow] = []
        mapped = {found.place for found in self.found}
        for place in self._in_turn(sorted(self._ranked, key=lambda g: bool(self._excluded[g]))):
            if place in mapped:
                continue
            if len(described) >= most:
                break
            excluded = self._excluded[place[0]] or place in self._excluded_rows
            status: RowStatus = "excluded" if excluded else "not mapped"
            described.append(replace(self.rows.describe(place), status=status, core_bound=self.bound_of(place)))
        return described

    def _in_turn(self, numbers: Sequence[int]) -> Iterator[Place]:
        """Go through groups row by row: the cheapest row of every group, then the next of every group, and so on."""
        left, turn = list(numbers), 0
        while left:
            left = [g for g in left if turn < len(self.rows.groups[g].rows)]
            for g in left:
                yield g, int(self.rows.groups[g].rows[turn])
            turn += 1

    def _is_beaten(self, place: Place) -> bool:
        """Whether the row's own bound excludes it, where that of its group does not."""
        group = self.rows.groups[place[0]]
        against = self._against(group)
        if not against or not _could_beat(group, against):
            return False
        self._compute_bound(place)
        cores = self.bound_of(place)
        energy = energy_bound(group.choice.chip, group.period_ticks, cores)
        return _beats(against, Figures(*group.bounds.times, float(cores), nan_of(energy)))

    def _against(self, group: Group) -> list[Figures]:
        """Figures of the mapped rows that may exclude a row of the group."""
        return [
            found.figures
            for found in self.found
            if found.measured.status == "mapped" and (self._given[found.place[0]] or not group.is_given_class)
        ]

    def _compute_bound(self, place: Place) -> None:
        """Compute the row's own bound on cores, once."""
        if place not in self._core_bounds:
            self._core_bounds[place] = self.rows.core_bound(place)


def open_rows(rows: SearchRows, allows: Callable[[ExploredRow], bool]) -> OpenRows:
    """Begin a search: all rows are open but those beyond the limits.

    Parameters
    ----------
    rows : SearchRows
        All rows.
    allows : callable
        Whether a row, not mapped, may be within the limits. They are bounds on figures that all rows of a group share
        until they are mapped, so one row answers for all.

    Returns
    -------
    OpenRows
    """
    beyond = [not allows(rows.describe((number, int(group.rows[0])))) for number, group in enumerate(rows.groups)]
    return OpenRows(rows, np.array(beyond, np.bool_))


def _could_beat(group: Group, against: Sequence[Figures]) -> bool:
    """Whether any bound on cores could exclude a row of the group: a quick look before one is computed."""
    by_cores = "neuron_update_joules" in group.choice.chip.energy  # then more cores mean more energy too
    known = group.bounds.energy
    energy = math.inf if by_cores and not math.isnan(known) else known
    return _beats(against, Figures(*group.bounds.times, math.inf, energy))


def _beats(against: Sequence[Figures], bounds: Figures) -> bool:
    return bool(dominated_by([bounds], against)[0])
