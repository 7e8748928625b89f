"""What a run works with beside the image and the state: lists, outboxes, what is fed and what is kept."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuromap.simulation.engine.kernel.layout import Image, aligned_empty, extent
from neuromap.simulation.engine.kernel.remote import Remote

# Positions in ``Scratch.totals``.
SPIKES, AXON_EVENTS, SYNAPTIC_EVENTS, VISITS = range(4)

# Visits that pass through a stage together: loops over what several have are guessed wrong less often.
CONVOY = 8
# Convoys whose lists are kept at once, a power of two; more than any two stages that share a list are apart.
FLIGHT = 4

# Elements that ``list_ones`` may write too many; before the first list as many are 0 for good.
SPARE = 64


class Scratch(NamedTuple):
    """Working memory of one thread."""

    visits: NDArray[np.int32]
    """Cores that are visited in the tick, in order."""
    axons: NDArray[Any]
    """Due axons of the visit batches in flight, counted over all cores."""
    axons_end: NDArray[np.int64]
    """(FLIGHT, CONVOY): where the axons of each visit end in ``axons``."""
    words: NDArray[np.uint32]
    spikes: NDArray[np.uint64]
    """The same memory as ``words``: spike bits of one visit."""
    fired: NDArray[Any]
    """Neurons of the visit batches in flight that fired, counted over all cores."""
    fired_end: NDArray[np.int64]
    """(FLIGHT,): where those of each visit batch end in ``fired``."""
    totals: NDArray[np.int64]
    """Since tick 0, see ``SPIKES`` and so on."""


class Ahead(NamedTuple):
    """What is asked for while a visit batch computes, a line or two with every due axon: places in lists of scratch."""

    # Added to the place of an axon in ``Scratch.axons``, ``row`` gives one of the next visit batch, ``target`` a neuron
    # of the visit batch before in ``Scratch.fired``.

    row: int
    row_end: int
    target: int
    target_end: int


class Team(NamedTuple):
    """Who runs which cores, and what they hand to each other and to themselves."""

    # Ranges are whole blocks of 64 cores, so that threads share no cache line of ``State.busy`` and ``State.awake``.

    n_threads: int
    first: NDArray[np.int64]
    """(threads + 1,): first core of every thread."""
    owner: NDArray[np.int32]
    """Thread of every block of 64 cores; for those of other ranks the number of threads plus the box in ``remote``."""
    n_boxes: int
    """Outboxes of a thread: for every thread, then for every box in ``remote``."""
    outbox: NDArray[Any]
    """Records of spikes."""
    start: NDArray[np.int64]
    """(2, threads, boxes): where each box begins, by parity of the tick, from, to."""
    n_out: NDArray[np.int64]
    """(2, threads, boxes * 8): records in it, padded against false sharing."""
    barrier: NDArray[np.uint64]
    """Words of the barrier, see ``team.py``."""
    remote: Remote
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
    shape, pairs = image.shape, (extent(image.shape.groups) + 1) // 2
    spikes = _zeros(pairs, np.uint64)
    most = shape.n_cores * max(shape.n_axons, 64 * pairs)
    number = np.uint32 if most < 2**32 else np.uint64
    return Scratch(
        visits=_zeros(max(n_cores, 1), np.int32),
        axons=_zeros(SPARE + FLIGHT * (CONVOY * extent(shape.words) * 64 + SPARE), number),
        axons_end=_zeros(FLIGHT * CONVOY, np.int64),
        words=spikes.view(np.uint32),
        spikes=spikes,
        fired=_zeros(SPARE + FLIGHT * (CONVOY * pairs * 64 + SPARE), number),
        fired_end=_zeros(FLIGHT, np.int64),
        totals=_zeros(8, np.int64),
    )


def _zeros(size: int, dtype: Any) -> NDArray[Any]:
    """Zeros on cache lines of their own, so that no two threads write to one line."""
    array = aligned_empty(size, dtype)
    array[:] = 0
    return array
