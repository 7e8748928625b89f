"""The work of a worker: one candidate measured, whatever machine it is on."""

from __future__ import annotations

import time
from typing import NamedTuple

from neuromap.errors import NeuromapError
from neuromap.explorer.answer.rows import Candidate
from neuromap.explorer.measuring.evaluate import evaluate
from neuromap.explorer.measuring.measured import Measured
from neuromap.explorer.measuring.setting import Setting
from neuromap.mapping.tile.tilings import Tilings
from neuromap.version import __version__

__all__ = ["RowWork", "measure_row"]


class RowWork(NamedTuple):
    """What all rows have in common."""

    version: str  # of neuromap, of the command that asks
    setting: Setting  # what candidates are mapped with
    # when mappings end their searches: by the monotonic clock, which all processes of a machine share
    until: float | None
    # the same by the clock on the wall, all that machines share; ``None`` where all workers are on this one
    until_on_cluster: float | None
    # tilings of rows that were mapped before, where one process maps them all: what is known would travel to other
    # workers once, and never come back
    known: dict[str, Tilings] | None

    @classmethod
    def of(cls, setting: Setting, until: float | None, *, alone: bool, on_cluster: bool) -> RowWork:
        """Make it for workers of this machine, only this process (``alone``), or those of a cluster."""
        on_wall = None if until is None or not on_cluster else until - time.monotonic() + time.time()
        return cls(__version__, setting, until, on_wall, {} if alone else None)

    @property
    def until_here(self) -> float | None:
        """When mappings end their searches, by the monotonic clock of the process that asks."""
        if self.until_on_cluster is None:
            return self.until
        return self.until_on_cluster - time.time() + time.monotonic()


def measure_row(work: RowWork, job: tuple[str, Candidate]) -> Measured:
    """Measure a candidate."""
    if work.version != __version__:
        raise NeuromapError(
            f"a worker has neuromap {__version__}, this command {work.version}; install one version everywhere"
        )
    return evaluate(work.setting, job[1], work.known, work.until_here)
