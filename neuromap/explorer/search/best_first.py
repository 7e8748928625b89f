"""The search: rows are mapped one after the other, the most promising first, until none is open."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from neuromap.errors import InputError
from neuromap.explorer.measuring.measurements import Measurements
from neuromap.explorer.search.groups import Place
from neuromap.explorer.search.open_rows import OpenRows

__all__ = ["Effort", "Progress", "map_best_first"]

Progress = Callable[[str, int, int], object]
"""Called with what is mapped next, the rows mapped so far, and the rows that are open."""


@dataclass(frozen=True)
class Effort:
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
        if self.seconds is not None and not 0 <= self.seconds < float("inf"):
            raise InputError(f"seconds = {self.seconds}: must be 0 or more, and finite")
        if self.most_mapped is not None and self.most_mapped < 0:
            raise InputError(f"most_mapped = {self.most_mapped}: must be 0 or more")

    def is_spent(self, began: float, n_mapped: int) -> bool:
        """Whether no further row may be mapped in a search that began then, by the monotonic clock."""
        if self.most_mapped is not None and n_mapped >= self.most_mapped:
            return True
        return self.seconds is not None and time.monotonic() - began >= self.seconds


def map_best_first(rows: OpenRows, measurements: Measurements, effort: Effort, progress: Progress | None) -> bool:
    """Map rows until none is open, or the effort is spent.

    Parameters
    ----------
    rows : OpenRows
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
    began = time.monotonic()
    queue = rows.in_order()
    ahead: list[Place] = []
    while ahead := _next_places(rows, queue, ahead, measurements.at_once):
        if effort.is_spent(began, len(rows.found)):
            return False
        place, *ahead = ahead
        if progress is not None:
            row = rows.rows.describe(place)
            progress(f"{row.pattern}, {row.candidate.execution}", len(rows.found), rows.n_open())
        for later in ahead:
            measurements.prepare(rows.rows.fingerprint(later), rows.rows.candidate(later))
        rows.take(place, measurements.get(rows.rows.fingerprint(place), rows.rows.candidate(place)))
    return True


def _next_places(rows: OpenRows, queue: Iterator[Place], ahead: Sequence[Place], n: int) -> list[Place]:
    """Keep those of the rows ahead that are still needed, and take up more from the queue: n, if it has so many."""
    found = [place for place in ahead if rows.is_needed(place)]
    for place in queue:
        if rows.is_needed(place):
            found.append(place)
            if len(found) >= n:
                break
    return found
