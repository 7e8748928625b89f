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
    """What was recorded in some ticks in a row.

    Attributes
    ----------
    tick : ndarray of int64, shape (m,)
        Spikes, sorted by tick, then row.
    row : ndarray of int64, shape (m,)
        Row of the :class:`Readout` of spikes.
    potentials : ndarray of int32, shape (ticks of the chunk, K)
        Of the Readout of potentials; K may be 0.
    """

    tick: NDArray[np.int64]
    row: NDArray[np.int64]
    potentials: NDArray[np.int32]


class RecordedRun(NamedTuple):
    """A run that goes on, and is recorded, as its chunks are taken.

    Attributes
    ----------
    header : Trace
        The trace without its spikes, potentials and counts.
    neurons, potential_neurons : Readout
        Whose spikes and whose potentials are recorded.
    counts : ndarray of int64, shape (C, N), or None
        Filled while the chunks are taken.
    chunks : iterable of Chunk
        All ticks in order; taken once.
    peak : int
        Largest potential, of either sign, that may occur.
    """

    header: Trace
    neurons: Readout
    potential_neurons: Readout
    counts: NDArray[np.int64] | None
    chunks: Iterable[Chunk]
    peak: int
