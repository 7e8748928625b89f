"""What the host feeds in every tick of a run, before it is known which spikes a stimulus has."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import ReadOnly
from neuromap.arrays.value import Value


@dataclass(frozen=True, eq=False)
class FeedPlan(ReadOnly, Value):
    """Axons that a stimulus may feed, ordered by tick, and what decides whether it does."""

    start: NDArray[np.int64]  # (n_ticks + 1,): rows ``start[t]`` to ``start[t + 1] - 1`` are those of tick t
    # cores, axons: (n,): the axons
    cores: NDArray[np.int32]
    axons: NDArray[np.int32]
    # (n,): value of the stimulus that says whether the axon is fed, from its frames laid side by side; -1 where it is
    # in any case
    columns: NDArray[np.int32]

    @property
    def n_ticks(self) -> int:
        """Ticks of a run."""
        return len(self.start) - 1
