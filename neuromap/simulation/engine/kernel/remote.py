"""Spikes between ranks that share memory: boxes that every rank of the machine sees, and how far each has come.

A thread of a rank has a box for every thread of other ranks that its wires lead to. What it puts there in a tick, the
other one takes when it has to: with ``lag`` 0 after the same tick, else so many ticks later, and at the end of every
call. Every thread tells how many ticks it has finished, and waits for those of others at the start of a tick. Ticks
are counted on a clock of their own, from the time when the memory was made: it never goes back, though engines do.

A box has ``slots`` parts, one per tick in turn. Who begins the tick at c has waited until the others have finished that
at c - 1 - lag, so these have taken what came up to c - 2 - 2 lag: with 2 lag + 2 slots nothing is overwritten.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit, uint64
from numpy.typing import NDArray

from neuromap.simulation.engine.kernel.barrier import (
    ABORT,
    atomic_load,
    atomic_store,
    rest,
)
from neuromap.simulation.engine.kernel.emission import INLINED
from neuromap.simulation.engine.kernel.words import get, put

inlined = njit(**INLINED)

# Words of 64 bits that a count takes, so that no two ranks write to one cache line.
LINE = 8


class RemoteTargets(NamedTuple):
    """Wires that lead to other ranks, as images hold them: W of them, by neuron."""

    neuron: NDArray[np.int64]
    """(W,): ``core * N + neuron`` of who sends, ascending."""
    core: NDArray[np.int64]
    """(W,): cores of other ranks are counted on from those that are here."""
    axon: NDArray[np.int64]
    """(W,): of a core with a crossbar the axon; of one with lists the axon's bit on its rank."""
    delay: NDArray[np.int64]
    """(W,): in ticks."""
    n_cores: int
    """Cores that are counted so, here and elsewhere."""
    most_delay: int
    """Longest delay on any rank, in ticks."""


class Remote(NamedTuple):
    """Boxes of one rank; those with ``shared`` memory are seen by all ranks of the machine."""

    n_boxes: int
    """Threads of other ranks that this rank sends to, in all; 0 where there is no other rank."""
    first_thread: int
    """Number of this rank's first thread among those of all ranks."""
    lag: int
    slots: int
    """A power of two."""
    clock: int
    """Ticks that all ranks have run since the memory was made, when the call begins."""
    owner: NDArray[np.int32]
    """Box for every core of other ranks, or block of them, counted from the first that is not here."""
    taken_off: NDArray[np.int64]
    """(boxes,): what a target is less, so that it is one on its own rank."""
    channel: NDArray[np.int64]
    """(threads, boxes): number of the shared box."""
    cursor: NDArray[np.int64]
    """(threads, boxes, LINE): where the next record goes."""
    arrivals: NDArray[np.int64]
    """(n, 2): thread, and number of the shared box whose spikes it takes."""
    others: NDArray[np.int64]
    """Threads of other ranks that this one waits for."""
    start: NDArray[np.int64]
    """(shared boxes + 1,): where each begins, in records of one slot."""
    done: NDArray[np.uint64]
    """Shared: whether the run is called off, then the ticks that every thread has finished, each on its own line."""
    counts: NDArray[np.int64]
    """Shared (boxes, slots, LINE): records in a part."""
    records: NDArray[Any]
    """Shared: what the boxes hold."""


def no_remote(dtype: Any) -> Remote:
    """Make that of a rank, or an engine, that is alone; records are of ``dtype``."""
    nothing = np.zeros(0, np.int64)
    return Remote(
        0, 0, 0, 1, 0, nothing.astype(np.int32), nothing, nothing, nothing, nothing, nothing, nothing,
        nothing.astype(np.uint64), nothing, nothing.astype(dtype),
    )  # fmt: skip


@inlined
def part_of(remote: Remote, channel: int, clock: int) -> int:
    """Find the part of a shared box for a tick: its first record."""
    first = get(remote.start, channel)
    return remote.slots * first + (clock & (remote.slots - 1)) * (get(remote.start, channel + 1) - first)


@inlined
def begin_remote(remote: Remote, me: int, clock: int) -> None:
    """Begin to fill the boxes of a tick."""
    for box in range(me * remote.n_boxes, (me + 1) * remote.n_boxes):
        put(remote.cursor, box * LINE, part_of(remote, get(remote.channel, box), clock))


@inlined
def post_remote(remote: Remote, me: int, box: int, target: int) -> None:
    """Put the target of a spike into a box."""
    cursor = (me * remote.n_boxes + box) * LINE
    at = get(remote.cursor, cursor)
    put(remote.records, at, target - get(remote.taken_off, box))
    put(remote.cursor, cursor, at + 1)


@inlined
def end_remote(remote: Remote, me: int, clock: int) -> None:
    """Close the boxes that were filled in a tick."""
    for box in range(me * remote.n_boxes, (me + 1) * remote.n_boxes):
        channel = get(remote.channel, box)
        count = (channel * remote.slots + (clock & (remote.slots - 1))) * LINE
        put(remote.counts, count, get(remote.cursor, box * LINE) - part_of(remote, channel, clock))


@inlined
def send_remote(remote: Remote, me: int, box: int, outbox: Any, first: int, n: int, clock: int) -> None:
    """Send what was gathered in an outbox, instead of filling a box spike by spike."""
    channel = get(remote.channel, me * remote.n_boxes + box)
    part, less = part_of(remote, channel, clock), get(remote.taken_off, box)
    for k in range(n):
        put(remote.records, part + k, get(outbox, first + k) - less)
    put(remote.counts, (channel * remote.slots + (clock & (remote.slots - 1))) * LINE, n)


@inlined
def tell_finished(remote: Remote, me: int, clock: int) -> None:
    """Tell that a tick is finished, and what it sends is in the boxes."""
    atomic_store(remote.done, (1 + remote.first_thread + me) * LINE, uint64(clock + 1))


@inlined
def remote_is_ready(remote: Remote, barrier: Any, clock: int) -> bool:
    """Wait until the threads of other ranks have finished the tick at ``clock``; False if the run was called off."""
    for k in range(len(remote.others)):
        there = (1 + get(remote.others, k)) * LINE
        looks = 0
        while atomic_load(remote.done, there) < uint64(clock + 1):
            if atomic_load(remote.done, 0) != uint64(0):
                atomic_store(barrier, ABORT, uint64(1))  # for threads of this rank that wait for this one
            if atomic_load(barrier, ABORT) != uint64(0):
                return False
            looks += 1
            rest(looks)
    return True
