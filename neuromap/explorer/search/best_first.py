"""Best-first search over open rows, until none can change the fronts by more than the tolerance."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain

from neuromap.errors import InputError
from neuromap.explorer.candidates.options import Progress
from neuromap.explorer.search.deadline_accuracy import RowPlace
from neuromap.explorer.search.front import OpenRows
from neuromap.explorer.search.measurements import Measurements
from neuromap.explorer.search.search_rows import SearchRows
from neuromap.files.argument_checks import real_number, whole_number
from neuromap.render.numbers import ALIKE, round_up
from neuromap.render.value import Card

UNMEASURED = ALIKE
"""Tolerance without a known spread: for a single stimulus, or if nothing may be mapped."""
_LEAST, _MOST = 1e-6, 0.5


def measured_tolerance(
    all_rows: SearchRows, measurements: Measurements, effort: Effort, n_stimuli: int, progress: Progress | None
) -> float:
    """Measure the relative uncertainty of energies: half width over mean, of the first seed measured."""
    if n_stimuli < 2 or effort.is_spent(0):
        return UNMEASURED
    for place in all_rows.seeds:
        if effort.is_late():
            break
        if not all_rows.groups[place.group].choice.chip.energy:
            continue
        if progress is not None:
            row = all_rows.describe(place)
            progress(f"{row.pattern}, {row.candidate.execution}", 0, sum(len(group.rows) for group in all_rows.groups))
        measured = measurements.get(all_rows.fingerprint(place), all_rows.candidate(place))
        if measured.energy_joules and measured.energy_half_width_joules is not None:
            part = measured.energy_half_width_joules / measured.energy_joules
            return round_up(min(max(part, _LEAST), _MOST))
    return UNMEASURED


# The search: rows are mapped one by one, the most promising first, until none is open.


@dataclass(frozen=True)
class Effort(Card):
    """Limits on the effort of a search."""

    # seconds from the beginning of the request after which no mapping begins, and one in progress stops searching
    seconds: float | None = None
    most_mapped: int | None = None  # most rows that are mapped (or taken from the store)
    began: float = field(default_factory=time.monotonic)  # start of the request, by the monotonic clock

    def __post_init__(self) -> None:
        if self.seconds is not None and not 0 <= real_number("seconds", self.seconds) < float("inf"):
            raise InputError(f"seconds = {self.seconds}: must be 0 or more, and finite")
        if self.most_mapped is not None and whole_number("most_mapped", self.most_mapped) < 0:
            raise InputError(f"most_mapped = {self.most_mapped}: must be 0 or more")

    @property
    def until(self) -> float | None:
        """Time limit by the monotonic clock; ``None`` for no limit."""
        return None if self.seconds is None else self.began + self.seconds

    def is_late(self) -> bool:
        """Whether the time limit has passed, so that no mapping may begin."""
        return self.until is not None and time.monotonic() >= self.until

    def is_full(self, n_mapped: int) -> bool:
        """Whether the greatest number of rows is mapped."""
        return self.most_mapped is not None and n_mapped >= self.most_mapped

    def is_spent(self, n_mapped: int) -> bool:
        """Whether no further row may be mapped."""
        return self.is_full(n_mapped) or self.is_late()


def map_best_first(still_open: OpenRows, measurements: Measurements, effort: Effort, progress: Progress | None) -> bool:
    """Map rows until none is open or the effort is spent; return whether none is open."""
    all_rows = still_open.all_rows
    queue = still_open.in_order()
    ahead: list[RowPlace] = []
    while ahead := _next_places(still_open, queue, ahead, measurements.at_once, effort):
        if effort.is_full(len(still_open.found)):
            return False
        place, *ahead = ahead
        if effort.is_late() and not measurements.has(all_rows.fingerprint(place)):
            return False
        if progress is not None:
            row = all_rows.describe(place)
            progress(f"{row.pattern}, {row.candidate.execution}", len(still_open.found), still_open.n_open())
        for later in () if effort.is_late() else ahead:
            measurements.prepare(all_rows.fingerprint(later), all_rows.candidate(later))
        measured = measurements.get(all_rows.fingerprint(place), all_rows.candidate(place))
        still_open.take(place, measured, in_haste=effort.is_late())
    return True


def _next_places(
    still_open: OpenRows, queue: Iterator[RowPlace], ahead: Sequence[RowPlace], n: int, effort: Effort
) -> list[RowPlace]:
    """Keep the rows ahead that are still open, and take more from the queue, up to n rows."""
    # Once the effort is spent, no bounds of single rows are computed.
    found: list[RowPlace] = []
    for place in chain(ahead, queue):
        if still_open.is_open(place) and (
            effort.is_spent(len(still_open.found)) or not still_open.exclude_alone(place)
        ):
            found.append(place)
            if len(found) >= n:
                break
    return found
