"""What a run works with beside the image and the state: lists, outboxes, what is fed and what is kept."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuromap.simulation.engine.kernel.layout import Image, aligned_empty
from neuromap.simulation.engine.kernel.together.far import Far
from neuromap.simulation.engine.kernel.vectors.extents import extent

__all__ = [
    "AXON_EVENTS",
    "FLIGHT",
    "SPIKES",
    "SYNAPTIC_EVENTS",
    "VISITS",
    "Events",
    "Record",
    "Scratch",
    "Team",
    "make_scratch",
]

SPIKES, AXON_EVENTS, SYNAPTIC_EVENTS, VISITS = range(4)
"""Positions in ``Scratch.totals``."""

FLIGHT = 16
"""Visits whose lists are kept at once; more than any two stages that share a list are apart."""


class Scratch(NamedTuple):
    """Working memory of one thread."""

    visits: NDArray[np.int32]
    """Cores that are visited in the tick, in order."""
    axons: NDArray[np.uint16]
    n_axons: NDArray[np.int64]
    """(FLIGHT, axons and room) and (FLIGHT,): due axons of the visits in flight."""
    words: NDArray[np.uint32]
    spikes: NDArray[np.uint64]
    """The same memory as ``words``: spike bits of the visits in flight."""
    fired: NDArray[np.uint16]
    n_fired: NDArray[np.int64]
    """The same for the neurons that fired."""
    totals: NDArray[np.int64]
    """Since tick 0, see ``SPIKES`` and so on."""


class Team(NamedTuple):
    """Who runs which cores, and what they hand to each other and to themselves.

    Ranges are whole blocks of 64 cores, so that threads share no cache line of ``State.busy`` and ``State.awake``.
    """

    n_threads: int
    first: NDArray[np.int64]
    """(threads + 1,): first core of every thread."""
    owner: NDArray[np.int32]
    """Thread of every block of 64 cores; for those of other ranks the number of threads plus the box in ``far``."""
    n_boxes: int
    """Outboxes of a thread: for every thread, then for every box in ``far``."""
    outbox: NDArray[Any]
    """Records of spikes."""
    start: NDArray[np.int64]
    """(2, threads, boxes): where each box begins, by parity of the tick, from, to."""
    n_out: NDArray[np.int64]
    """(2, threads, boxes * 8): records in it, padded against false sharing."""
    barrier: NDArray[np.uint64]
    """Words of the barrier, see ``team.py``."""
    far: Far
    """What goes to other ranks and comes from there."""


class Events(NamedTuple):
    """What the host feeds: events ``start[t]`` to ``start[t + 1] - 1`` in tick t of the run."""

    start: NDArray[np.int64]
    cores: NDArray[np.int32]
    axons: NDArray[np.int32]


class Record(NamedTuple):
    """Spikes that are kept: bits of the watched neurons of some cores."""

    row: NDArray[np.int32]
    """(C,): row of the core, -1 if it is not recorded; empty if nothing is."""
    watched: NDArray[np.uint32]
    """(rows, n_groups)."""
    fired: NDArray[np.uint32]
    """(ticks, rows, n_groups); written where a visited core has spikes."""
    n_rows: int


def make_scratch(image: Image, n_cores: int) -> Scratch:
    """Working memory for a range of ``n_cores``."""
    pairs = (extent(image.shape.groups) + 1) // 2
    spikes = _zeros(FLIGHT * pairs, np.uint64)
    room = FLIGHT * (pairs + 1) * 64  # list_ones may write 64 too many
    return Scratch(
        visits=_zeros(max(n_cores, 1), np.int32),
        axons=_zeros(FLIGHT * (extent(image.shape.words) + 1) * 64, np.uint16),
        n_axons=_zeros(FLIGHT, np.int64),
        words=spikes.view(np.uint32),
        spikes=spikes,
        fired=_zeros(room, np.uint16),
        n_fired=_zeros(FLIGHT, np.int64),
        totals=_zeros(8, np.int64),
    )


def _zeros(size: int, dtype: Any) -> NDArray[Any]:
    """Zeros on cache lines of their own, so that no two threads write to one line."""
    array = aligned_empty(size, dtype)
    array[:] = 0
    return array
