"""How long the mapper may search: one clock for a request, handed down, with a share of the time for every stage."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from typing import Literal, get_args

from neuromap.arrays.read_only_mapping import ReadOnlyMapping

Stage = Literal["tiling", "splitters", "packing", "filling", "placement", "bounds"]
STAGES: tuple[Stage, ...] = get_args(Stage)
# By which part of the time a stage ends its search; what one leaves is the next one's. Then the program is written.
#
# Cores of synapse lists are filled where others are tiled, split and packed. Bounds are no part of a mapping: they are
# sought beside one, in what is left.
ENDS: Mapping[Stage, float] = ReadOnlyMapping(
    {"tiling": 0.3, "splitters": 0.45, "packing": 0.6, "filling": 0.6, "placement": 0.85, "bounds": 1.0}
)


class OverBudget(Exception):
    """A trial takes longer than its stage may."""


class Budget:
    """The time of one request, counted from when it is made, and the stages whose search it ended."""

    # A first legal mapping takes the time it takes: only what looks for a better one asks the budget, and keeps the
    # best that it has. Without ``seconds`` no stage is ever cut, so that the result does not depend on the machine.
    # seconds: for all stages together; ``None`` for as long as they like

    def __init__(self, seconds: float | None = None, progress: Progress | None = None) -> None:
        self._seconds, self._progress = seconds, progress
        self._began = time.monotonic()
        self._cut: set[Stage] = set()

    @property
    def is_limited(self) -> bool:
        """Whether what is found depends on the time that there is."""
        return self._seconds is not None

    @property
    def cut(self) -> tuple[Stage, ...]:
        """Stages that were told to end, in the order of the mapper."""
        return tuple(stage for stage in STAGES if stage in self._cut)

    def left_s(self, stage: Stage) -> float:
        """Seconds that a stage has left, 0 at least; infinite without a limit."""
        if self._seconds is None:
            return math.inf
        return max(0.0, ENDS[stage] * self._seconds - (time.monotonic() - self._began))

    def is_over(self, stage: Stage, needed_s: float = 0.0) -> bool:
        """Ask whether a stage has to end its search; if so, that is kept in :attr:`cut`."""
        if self.left_s(stage) > needed_s:
            return False
        if stage not in self._cut and self._progress is not None:
            self._progress(0, 1, f"{stage}: its time is over, the best so far is kept")
        self._cut.add(stage)
        return True

    def record(self, stage: Stage) -> None:
        """Keep in :attr:`cut` that a stage is over its time, if it is."""
        self.is_over(stage)

    def watched(self, stage: Stage, progress: Progress | None) -> Progress:
        """Make a progress that ends what reports to it with :class:`OverBudget` once the stage's time is over."""

        def tell(done: int, total: int, name: str) -> None:
            if self.is_over(stage):
                raise OverBudget
            if progress is not None:
                progress(done, total, name)

        return tell


# For who sets no limit: it is never over, so nothing is kept in it.
NO_LIMIT = Budget()


# Progress callback.


# Called with parts done, parts in all (about), and the name of the last or what is being done.
Progress = Callable[[int, int, str], None]
