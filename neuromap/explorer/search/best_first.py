"""The search: which rows to map, in which order, and which need no mapping because a proven bound excludes them."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import freeze_arrays
from neuromap.arrays.ragged import run_heads
from neuromap.explorer.answer.exploration import Candidate, ExploredRow, RowStatus
from neuromap.explorer.candidates.ways_to_map import Way
from neuromap.explorer.measuring.evaluate import Measured
from neuromap.explorer.measuring.processes import MappingProcesses
from neuromap.explorer.measuring.results_file import ResultsFile
from neuromap.explorer.search.front import dominated_by
from neuromap.explorer.search.row_bounds import core_bound_of_row, energy_bound

__all__ = ["Found", "Group", "Search", "groups_of"]

Ints = NDArray[np.int64]
Vector = tuple[float, ...]


@dataclass(frozen=True, eq=False)
class Group:
    """Rows of one way to map that have equal times and are of class 0 all, or none.

    Attributes
    ----------
    way : Way
        Chip, splitters and ticks per step.
    rows : ndarray of int64, shape (n,)
        Positions in the way's table, the cheapest by estimate first.
    is_given_class : bool
        Whether they are of class 0.
    vector : tuple of float
        Proven bounds of what any of them can reach, less is better: first response, full response, worst-case
        reaction and frame period in seconds, cores, joules per frame (NaN where the chip has no figures).
    """

    way: Way
    rows: Ints
    is_given_class: bool
    vector: Vector

    def __post_init__(self) -> None:
        freeze_arrays(self)


@dataclass(frozen=True)
class Found:
    """A row that was mapped or refused."""

    group: int
    row: int
    measured: Measured
    figures: Vector


@dataclass
class Search:
    """State of a search; :meth:`run` ends it.

    Attributes
    ----------
    groups : sequence of Group
        All rows.
    seeds : sequence of (int, int)
        Group and row of those to map first.
    describe : callable
        Makes the row for limits and reports: ``describe(group, row, measured)``.
    allows : callable
        Whether a row, not mapped, may be within the limits.
    key : callable
        Digest of a row.
    """

    groups: Sequence[Group]
    seeds: Sequence[tuple[int, int]]
    candidate: Callable[[int, int], Candidate]
    describe: Callable[[int, int, Measured | None], ExploredRow]
    allows: Callable[[ExploredRow], bool]
    key: Callable[[int, int], str]
    results: ResultsFile
    helpers: MappingProcesses
    verify: bool
    processes: int = 1
    found: list[Found] = field(default_factory=list)
    core_bounds: dict[tuple[int, int], int] = field(default_factory=dict)
    excluded_rows: set[tuple[int, int]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._vectors = np.array([group.vector for group in self.groups], np.float64).reshape(-1, 6)
        self._given = np.array([group.is_given_class for group in self.groups], np.bool_)
        self.excluded = np.zeros(len(self.groups), np.bool_)
        # limits are bounds on figures that all rows of a group share until they are mapped, so one row answers for all
        self.beyond = np.array([not self._within(number) for number in range(len(self.groups))], np.bool_)
        self._done: set[tuple[int, int]] = set()
        cheapest = [float(group.way.table.estimate[group.rows[0]]) for group in self.groups]
        self._ranked = sorted(
            range(len(self.groups)), key=lambda g: (not self._given[g], cheapest[g], self.groups[g].vector[:4], g)
        )

    def _within(self, group: int) -> bool:
        return self.allows(self.describe(group, int(self.groups[group].rows[0]), None))

    def run(
        self,
        *,
        seconds: float | None,
        most_mapped: int | None,
        progress: Callable[[str, int, int], object] | None,
    ) -> bool:
        """Map rows until none is open, or the time or number is used up.

        Returns
        -------
        bool
            Whether none is open.
        """
        start = time.monotonic()
        queue = self._order()
        ahead: list[tuple[int, int]] = []
        while True:
            ahead = [place for place in ahead if self._needed(place)]
            for place in queue:
                if self._needed(place):
                    ahead.append(place)
                    if len(ahead) >= max(1, self.processes):
                        break
            if not ahead:
                return True
            if most_mapped is not None and len(self.found) >= most_mapped:
                return False
            if seconds is not None and time.monotonic() - start >= seconds:
                return False
            place = ahead.pop(0)
            if progress is not None:
                row = self.describe(*place, None)
                progress(f"{row.pattern}, {row.candidate.execution}", len(self.found), self.n_open())
            for later in ahead:
                if self.results.get(self.key(*later), verified=self.verify) is None:
                    self.helpers.prepare(later, self.candidate(*later))
            self._take(place)

    def _take(self, place: tuple[int, int]) -> None:
        key = self.key(*place)
        measured = self.results.get(key, verified=self.verify)
        if measured is None:
            measured = self.helpers.get(place, self.candidate(*place))
            self.results.add(key, measured)
        self.compute_bound(place)
        self._done.add(place)
        figures = self._figures(place, measured)
        self.found.append(Found(*place, measured, figures))
        if measured.status != "mapped":
            return
        beaten = dominated_by(self._vectors, [figures])
        # a row of another class may be the better one, but it is no help to whoever cannot retrain
        self.excluded |= beaten if self.groups[place[0]].is_given_class else beaten & ~self._given

    def _figures(self, place: tuple[int, int], measured: Measured) -> Vector:
        if measured.status != "mapped":
            return (math.inf,) * 6
        tick = self.groups[place[0]].way.chip.tick_seconds
        times = (
            measured.first_response_ticks,
            measured.full_response_ticks,
            measured.worst_case_reaction_ticks,
            measured.frame_period_ticks,
        )
        seconds = [math.nan if t is None else t * tick for t in times]
        cores = math.nan if measured.cores is None else float(measured.cores)
        energy = math.nan if measured.energy_joules is None else measured.energy_joules
        return (*seconds, cores, energy)

    def _needed(self, place: tuple[int, int]) -> bool:
        number = place[0]
        if self.excluded[number] or self.beyond[number] or place in self._done or place in self.excluded_rows:
            return False
        if self._beaten(place):
            self.excluded_rows.add(place)
            return False
        return True

    def _beaten(self, place: tuple[int, int]) -> bool:
        """Whether the row's own bound excludes it, where that of its group does not."""
        group = self.groups[place[0]]
        against = self._against(group)
        if not against or not self._could_beat(group, against):
            return False
        self.compute_bound(place)
        cores = self.bound_of(place)
        period = round(group.vector[3] / group.way.chip.tick_seconds)
        energy = energy_bound(group.way.chip, period, cores)
        vector = (*group.vector[:4], float(cores), math.nan if energy is None else energy)
        return bool(dominated_by([vector], against)[0])

    def _against(self, group: Group) -> list[Vector]:
        """Figures of the mapped rows that may exclude a row of the group."""
        return [
            found.figures
            for found in self.found
            if found.measured.status == "mapped" and (self._given[found.group] or not group.is_given_class)
        ]

    @staticmethod
    def _could_beat(group: Group, against: Sequence[Vector]) -> bool:
        """Whether any bound on cores could exclude a row of the group: a quick look before one is computed."""
        by_cores = "neuron_update_joules" in group.way.chip.energy  # then more cores mean more energy too
        energy = math.inf if by_cores and not math.isnan(group.vector[5]) else group.vector[5]
        return bool(dominated_by([(*group.vector[:4], math.inf, energy)], against)[0])

    def _order(self) -> Iterator[tuple[int, int]]:
        """Seeds, then the cheapest row of every group by estimate, then the next of every group, and so on."""
        yield from self.seeds
        for place in self._in_turn([g for g in self._ranked if not self.beyond[g]]):
            if not self.excluded[place[0]]:
                yield place

    def _in_turn(self, numbers: Sequence[int]) -> Iterator[tuple[int, int]]:
        """Go through groups row by row: the cheapest row of every group, then the next of every group, and so on."""
        left, turn = list(numbers), 0
        while left:
            left = [g for g in left if turn < len(self.groups[g].rows)]
            for g in left:
                yield g, int(self.groups[g].rows[turn])
            turn += 1

    def compute_bound(self, place: tuple[int, int]) -> None:
        """Compute the row's own bound on cores, once."""
        if place not in self.core_bounds:
            way = self.groups[place[0]].way
            network, candidate = way.table.graph.network, self.candidate(*place)
            self.core_bounds[place] = core_bound_of_row(network, way.chip, candidate, way.core_bound)

    def bound_of(self, place: tuple[int, int]) -> int:
        """Cores that no mapping of a row can do without: its own bound where it was computed."""
        return self.core_bounds.get(place, self.groups[place[0]].way.core_bound)

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
        rows: list[ExploredRow] = []
        numbers = sorted((g for g in self._ranked if not self.beyond[g]), key=lambda g: bool(self.excluded[g]))
        for place in self._in_turn(numbers):
            if place in self._done:
                continue
            if len(rows) >= most:
                break
            excluded = self.excluded[place[0]] or place in self.excluded_rows
            status: RowStatus = "excluded" if excluded else "not mapped"
            rows.append(replace(self.describe(*place, None), status=status, core_bound=self.bound_of(place)))
        return rows

    def open_groups(self) -> list[tuple[int, int]]:
        """List the groups with rows that might still be on a front, and how many."""
        done: dict[int, int] = {}
        for number, _ in {*self._done, *self.excluded_rows}:
            done[number] = done.get(number, 0) + 1
        counts = [
            (number, len(group.rows) - done.get(number, 0))
            for number, group in enumerate(self.groups)
            if not self.excluded[number] and not self.beyond[number]
        ]
        return [(number, count) for number, count in counts if count > 0]

    def only_cores_open(self, group: int) -> bool:
        """Whether a mapped row is better than any row of the group could be, cores aside.

        Parameters
        ----------
        group : int
            Number of the group.

        Returns
        -------
        bool
        """
        found = self.groups[group]
        against = self._against(found)
        return self._could_beat(found, against) if against else False

    def n_open(self) -> int:
        """Rows that might still be on a front and are not mapped."""
        return sum(count for _, count in self.open_groups())

    def is_open(self, place: tuple[int, int]) -> bool:
        """Whether a row might still be on a front and is not mapped."""
        number = place[0]
        settled = place in self._done or place in self.excluded_rows
        return not (settled or self.excluded[number] or self.beyond[number])


def groups_of(way: Way) -> list[Group]:
    """Group the rows of a way to map by their times and by whether they are of class 0."""
    table = way.table
    optimistic = way.optimistic()
    given = table.behaviour_class == 0
    columns = (given, *optimistic)
    order = np.lexsort((table.estimate, *columns[::-1]))
    order.flags.writeable = False  # so that the groups keep parts of it
    ranked = np.stack([column[order] for column in columns], axis=1)
    starts = np.flatnonzero(run_heads(ranked))
    groups = []
    for start, stop in zip(starts.tolist(), [*starts[1:].tolist(), len(order)], strict=True):
        first, full, reaction, period = (int(k) for k in ranked[start, 1:])
        tick = way.chip.tick_seconds
        energy = energy_bound(way.chip, period, way.core_bound)
        vector = (
            first * tick, full * tick, reaction * tick, period * tick,
            float(way.core_bound), math.nan if energy is None else energy,
        )  # fmt: skip
        groups.append(Group(way, order[start:stop], bool(ranked[start, 0]), vector))
    return groups
