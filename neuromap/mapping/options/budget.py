"""Time budget of the mapper's searches: one clock per request, with a share of the time for every stage."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from typing import Literal, get_args

from neuromap.arrays.read_only_mapping import ReadOnlyMapping

Stage = Literal["tiling", "splitters", "packing", "filling", "placement", "bounds"]
STAGES: tuple[Stage, ...] = get_args(Stage)
# Fraction of the time by which a stage ends its search; unused time passes to the next. Then the program is written.
#
# Synapse-list cores are filled where crossbar cores are tiled, split and packed. Bounds are not part of a mapping: they
# are computed beside it, in the time left.
ENDS: Mapping[Stage, float] = ReadOnlyMapping(
    {"tiling": 0.3, "splitters": 0.45, "packing": 0.6, "filling": 0.6, "placement": 0.85, "bounds": 1.0}
)


class OverBudget(Exception):
    """A trial exceeded the time of its stage."""


class Budget:
    """Time budget of one request, counted from construction, and the stages whose search it ended."""

    # The first legal mapping has no limit: only searches for a better one check the budget, and keep their best so far.
    # Without ``seconds`` no stage is ever cut, so that the result does not depend on the machine.
    # seconds: for all stages together; ``None`` for no limit

    def __init__(self, seconds: float | None = None, progress: Progress | None = None) -> None:
        self._seconds, self._progress = seconds, progress
        self._began = time.monotonic()
        self._cut: set[Stage] = set()

    @property
    def is_limited(self) -> bool:
        """Whether there is a time limit, so that results depend on it."""
        return self._seconds is not None

    @property
    def cut(self) -> tuple[Stage, ...]:
        """Stages that were cut short, in the order of the mapper."""
        return tuple(stage for stage in STAGES if stage in self._cut)

    def left_s(self, stage: Stage) -> float:
        """Seconds that a stage has left, at least 0; infinite without a limit."""
        if self._seconds is None:
            return math.inf
        return max(0.0, ENDS[stage] * self._seconds - (time.monotonic() - self._began))

    def is_over(self, stage: Stage, needed_s: float = 0.0) -> bool:
        """Return whether a stage has to end its search, and if so record it in :attr:`cut`."""
        if self.left_s(stage) > needed_s:
            return False
        if stage not in self._cut and self._progress is not None:
            self._progress(0, 1, f"{stage}: its time is over, the best so far is kept")
        self._cut.add(stage)
        return True

    def watched(self, stage: Stage, progress: Progress | None, over: type[Exception] = OverBudget) -> Progress:
        """Wrap a progress callback so that it raises an exception once the stage's time is over."""

        def tell(done: int, total: int, name: str) -> None:
            if self.is_over(stage):
                raise over
            if progress is not None:
                progress(done, total, name)

        return tell


# Budget without a limit; it is never over and records nothing, so it can be shared.
NO_LIMIT = Budget()


# Progress callback, called with the number of parts done, the approximate total, and the name of the last part or
# current activity.
Progress = Callable[[int, int, str], None]
