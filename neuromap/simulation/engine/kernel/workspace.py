"""Working memory of a run beside image and state: lists, outboxes, host events and recorded spikes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuromap.simulation.engine.kernel.layout import Image, aligned_full, extent
from neuromap.simulation.engine.kernel.remote import Remote

# Positions in ``Scratch.totals``.
SPIKES, AXON_EVENTS, SYNAPTIC_EVENTS, VISITS = range(4)

# Visits that pass through a stage together: loops over several visits are mispredicted less often.
CONVOY = 8
# Visit batches whose lists are kept at once, a power of two; more than the distance of any two stages sharing a list.
FLIGHT = 4

# Excess elements that ``list_ones`` may write; as many before the first list stay 0.
SPARE = 64


class Scratch(NamedTuple):
    """Working memory of one thread."""

    visits: NDArray[np.int32]
    """Cores visited in the tick, in order."""
    axons: NDArray[Any]
    """Due axons of the visit batches in flight, numbered over all cores."""
    axons_end: NDArray[np.int64]
    """(FLIGHT, CONVOY): where the axons of each visit end in ``axons``."""
    words: NDArray[np.uint32]
    spikes: NDArray[np.uint64]
    """Spike bits of one visit; the same memory as ``words``."""
    fired: NDArray[Any]
    """Neurons of the visit batches in flight that fired, numbered over all cores."""
    fired_end: NDArray[np.int64]
    """(FLIGHT,): where the neurons of each visit batch end in ``fired``."""
    totals: NDArray[np.int64]
    """Counts since tick 0, at positions ``SPIKES`` and so on."""


class Ahead(NamedTuple):
    """Offsets into lists of scratch for prefetching while a visit batch computes, a line or two per due axon."""

    # Added to the position of an axon in ``Scratch.axons``, ``row`` gives an axon of the next visit batch, ``target``
    # the position of a neuron of the previous batch in ``Scratch.fired``.

    row: int
    row_end: int
    target: int
    target_end: int


class Visit(NamedTuple):
    """A core, its due axons ``Scratch.axons[first:last]``, and what to prefetch with them."""

    core: int
    first: int
    last: int
    ahead: Ahead


class Team(NamedTuple):
    """Division of cores among threads, and the outboxes between them."""

    # Ranges are whole blocks of 64 cores, so that threads share no cache line of ``State.busy`` and ``State.awake``.

    n_threads: int
    first: NDArray[np.int64]
    """(threads + 1,): first core of every thread."""
    owner: NDArray[np.int32]
    """Thread that owns each block of 64 cores; for blocks on other ranks, ``n_threads`` plus the box in ``remote``."""
    n_boxes: int
    """Number of outboxes of a thread: one per thread, then one per box in ``remote``."""
    outbox: NDArray[Any]
    """Records of spikes."""
    start: NDArray[np.int64]
    """(2, threads, boxes): where each box begins, by parity of the tick, sender, receiver."""
    n_out: NDArray[np.int64]
    """(2, threads, boxes * 8): number of records in each box, padded against false sharing."""
    barrier: NDArray[np.uint64]
    """Words of the barrier, see ``barrier.py``."""
    remote: Remote
    """Boxes to and from other ranks."""


class Events(NamedTuple):
    """Host input: events ``start[t]`` to ``start[t + 1] - 1`` are fed in tick t of the run."""

    start: NDArray[np.int64]
    cores: NDArray[np.int32]
    axons: NDArray[np.int32]


class Record(NamedTuple):
    """Recorded spikes: bits of the watched neurons of some cores."""

    row: NDArray[np.int32]
    """(C,): row of the core, -1 if it is not recorded; empty if no core is."""
    watched: NDArray[np.uint32]
    """(rows, n_groups)."""
    fired: NDArray[np.uint32]
    """(ticks, rows, n_groups); written only for visited cores with spikes."""
    n_rows: int


class Call(NamedTuple):
    """What a call of the kernel runs."""

    first_tick: int
    n_ticks: int
    n_runs: int
    """0: once; else so many times, each from the start state, or each continuing its own state (``has_states``)."""
    has_states: bool
    events: Any
    """:class:`Events`, or what kernels of other cores take for it."""
    event_tick: int
    """``events.start[event_tick]`` belongs to the first tick."""
    record: Any
    """:class:`Record`, likewise."""
    seed: Any
    """Noise seed of the first run, uint64; the next have the next ones."""


def make_scratch(image: Image, n_cores: int) -> Scratch:
    """Working memory for a range of ``n_cores`` cores."""
    shape, pairs = image.shape, (extent(image.shape.groups) + 1) // 2
    spikes = aligned_full(pairs, np.uint64)
    most = shape.n_cores * max(shape.n_axons, 64 * pairs)
    number = np.uint32 if most < 2**32 else np.uint64
    return Scratch(
        visits=aligned_full(max(n_cores, 1), np.int32),
        axons=aligned_full(SPARE + FLIGHT * (CONVOY * extent(shape.words) * 64 + SPARE), number),
        axons_end=aligned_full(FLIGHT * CONVOY, np.int64),
        words=spikes.view(np.uint32),
        spikes=spikes,
        fired=aligned_full(SPARE + FLIGHT * (CONVOY * pairs * 64 + SPARE), number),
        fired_end=aligned_full(FLIGHT, np.int64),
        totals=aligned_full(8, np.int64),
    )
