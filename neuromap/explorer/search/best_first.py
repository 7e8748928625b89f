"""The search: rows are mapped one after the other, the most promising first, until none is open."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from neuromap.errors import InputError
from neuromap.explorer.measuring.measurements import Measurements
from neuromap.explorer.search.groups import RowPlace
from neuromap.explorer.search.open_rows import OpenRows
from neuromap.files.given import real_number, whole_number
from neuromap.forms.card import Card

__all__ = ["Effort", "Progress", "map_best_first"]

Progress = Callable[[str, int, int], object]
"""Called with what is mapped next, the rows mapped so far, and the rows that are open."""


@dataclass(frozen=True)
class Effort(Card):
    """How long a search may go on.

    Attributes
    ----------
    seconds : float or None
        No mapping begins later than that many seconds after the search began.
    most_mapped : int or None
        Rows that are mapped (or taken from the file of results) at most.

    Raises
    ------
    InputError
        If one of them is below 0, or not finite.
    """

    seconds: float | None = None
    most_mapped: int | None = None

    def __post_init__(self) -> None:
        if self.seconds is not None:
            real_number("seconds", self.seconds)
        if self.most_mapped is not None:
            whole_number("most_mapped", self.most_mapped)
        if self.seconds is not None and not 0 <= self.seconds < float("inf"):
            raise InputError(f"seconds = {self.seconds}: must be 0 or more, and finite")
        if self.most_mapped is not None and self.most_mapped < 0:
            raise InputError(f"most_mapped = {self.most_mapped}: must be 0 or more")

    def is_spent(self, began: float, n_mapped: int) -> bool:
        """Whether no further row may be mapped in a search that began then, by the monotonic clock."""
        if self.most_mapped is not None and n_mapped >= self.most_mapped:
            return True
        return self.seconds is not None and time.monotonic() - began >= self.seconds


def map_best_first(still_open: OpenRows, measurements: Measurements, effort: Effort, progress: Progress | None) -> bool:
    """Map rows until none is open, or the effort is spent.

    Parameters
    ----------
    still_open : OpenRows
        Takes what is found.
    measurements : Measurements
        Maps and measures.
    effort : Effort
        How long.
    progress : callable, optional
        Is told of every row before it is mapped.

    Returns
    -------
    bool
        Whether none is open.
    """
    all_rows, began = still_open.all_rows, time.monotonic()
    queue = still_open.in_order()
    ahead: list[RowPlace] = []
    while ahead := _next_places(still_open, queue, ahead, measurements.at_once):
        if effort.is_spent(began, len(still_open.found)):
            return False
        place, *ahead = ahead
        if progress is not None:
            row = all_rows.describe(place)
            progress(f"{row.pattern}, {row.candidate.execution}", len(still_open.found), still_open.n_open())
        for later in ahead:
            measurements.prepare(all_rows.fingerprint(later), all_rows.candidate(later))
        still_open.take(place, measurements.get(all_rows.fingerprint(place), all_rows.candidate(place)))
    return True


def _next_places(still_open: OpenRows, queue: Iterator[RowPlace], ahead: Sequence[RowPlace], n: int) -> list[RowPlace]:
    """Keep those of the rows ahead that remain open, and take up more from the queue: n, if it has so many."""
    found: list[RowPlace] = []
    for place in chain(ahead, queue):
        if still_open.is_open(place) and not still_open.exclude_alone(place):
            found.append(place)
            if len(found) >= n:
                break
    return found
