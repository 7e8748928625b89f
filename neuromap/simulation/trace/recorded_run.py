"""A run that is recorded while it goes: what is known before, and what comes chunk by chunk."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuromap.simulation.trace.readout import Readout
from neuromap.simulation.trace.trace import Trace

__all__ = ["Chunk", "RecordedRun"]


class Chunk(NamedTuple):
    """What was recorded in some ticks in a row."""

    tick: NDArray[np.int64]  # (m,): spikes, sorted by tick, then row
    row: NDArray[np.int64]  # (m,): row of the :class:`Readout` of spikes
    potentials: NDArray[np.int32]  # (ticks of the chunk, K): of the Readout of potentials; K may be 0


class RecordedRun(NamedTuple):
    """A run that goes on, and is recorded, as its chunks are taken."""

    header: Trace  # the trace without its spikes, potentials and counts
    # neurons, potential_neurons: whose spikes and whose potentials are recorded
    neurons: Readout
    potential_neurons: Readout
    counts: NDArray[np.int64] | None  # (C, N): filled while the chunks are taken
    chunks: Iterable[Chunk]  # all ticks in order; taken once
    peak: int  # largest potential, of either sign, that may occur
