"""Spikes between ranks that share memory: boxes visible to every rank of the machine, and the progress of each thread.

A thread has a box for every thread of other ranks that its wires lead to. The receiver takes the spikes of a tick when
it has to: after the same tick if ``lag`` is 0, else ``lag`` ticks later, and at the end of every call. Every thread
publishes how many ticks it has finished, and waits for those of other ranks at the start of a tick. Ticks are counted
on a separate clock from the creation of the memory: unlike the ticks of engines, it never goes back.

A box has ``slots`` parts, used by ticks in turn. A thread that begins tick c has waited until the others have finished
tick c - 1 - lag, so these have taken all spikes up to c - 2 - 2 lag: with 2 lag + 2 slots nothing is overwritten.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit, uint64
from numpy.typing import NDArray

from neuromap.simulation.engine.kernel.barrier import ABORT, atomic_load, atomic_store, rest
from neuromap.simulation.engine.kernel.lanes import INLINED
from neuromap.simulation.engine.kernel.words import get, put

inlined = njit(**INLINED)

# 64-bit words per count, so that no two ranks write to one cache line.
LINE = 8


class RemoteTargets(NamedTuple):
    """The W wires to other ranks, by neuron, in the form that images store."""

    neuron: NDArray[np.int64]
    """(W,): ``core * N + neuron`` of the sender, ascending."""
    core: NDArray[np.int64]
    """(W,): target core; cores of other ranks are numbered after those of this rank."""
    axon: NDArray[np.int64]
    """(W,): for crossbar cores the axon; for synapse-list cores the axon's bit on its rank."""
    delay: NDArray[np.int64]
    """(W,): in ticks."""
    n_cores: int
    """Number of cores in this numbering, on all ranks."""
    most_delay: int
    """Longest delay on any rank, in ticks."""


class Remote(NamedTuple):
    """Boxes of one rank; fields marked "Shared" are in memory visible to all ranks of the machine."""

    n_boxes: int
    """Number of threads of other ranks that this rank sends to; 0 without other ranks."""
    first_thread: int
    """Number of this rank's first thread among the threads of all ranks."""
    lag: int
    slots: int
    """A power of two."""
    clock: int
    """Ticks that all ranks have run since the memory was made, at the beginning of the call."""
    owner: NDArray[np.int32]
    """Box for every core, or block of cores, of other ranks, from the first on another rank."""
    taken_off: NDArray[np.int64]
    """(boxes,): subtracted from a target to number it as on its own rank."""
    channel: NDArray[np.int64]
    """(threads, boxes): number of the shared box."""
    cursor: NDArray[np.int64]
    """(threads, boxes, LINE): where the next record goes."""
    arrivals: NDArray[np.int64]
    """(n, 2): thread, and number of the shared box whose spikes it takes."""
    others: NDArray[np.int64]
    """Threads of other ranks that this rank waits for."""
    start: NDArray[np.int64]
    """(shared boxes + 1,): where each box begins, in records of one slot."""
    done: NDArray[np.uint64]
    """Shared: whether the run is called off, then the ticks finished by every thread, each on its own line."""
    counts: NDArray[np.int64]
    """Shared (boxes, slots, LINE): number of records in a part."""
    records: NDArray[Any]
    """Shared: contents of the boxes."""


def no_remote(dtype: Any) -> Remote:
    """Make the empty boxes of a single rank or engine; records are of ``dtype``."""
    nothing = np.zeros(0, np.int64)
    return Remote(
        0, 0, 0, 1, 0, nothing.astype(np.int32), nothing, nothing, nothing, nothing, nothing, nothing,
        nothing.astype(np.uint64), nothing, nothing.astype(dtype),
    )  # fmt: skip


@inlined
def part_of(remote: Remote, channel: int, clock: int) -> int:
    """First record of the part of a shared box for a tick."""
    first = get(remote.start, channel)
    return remote.slots * first + (clock & (remote.slots - 1)) * (get(remote.start, channel + 1) - first)


@inlined
def begin_remote(remote: Remote, me: int, clock: int) -> None:
    """Start filling the boxes for a tick."""
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
    """Publish the counts of the boxes filled in a tick."""
    for box in range(me * remote.n_boxes, (me + 1) * remote.n_boxes):
        channel = get(remote.channel, box)
        count = (channel * remote.slots + (clock & (remote.slots - 1))) * LINE
        put(remote.counts, count, get(remote.cursor, box * LINE) - part_of(remote, channel, clock))


@inlined
def send_remote(remote: Remote, me: int, box: int, outbox: Any, first: int, n: int, clock: int) -> None:
    """Copy an outbox into its box, instead of filling the box spike by spike."""
    channel = get(remote.channel, me * remote.n_boxes + box)
    part, less = part_of(remote, channel, clock), get(remote.taken_off, box)
    for k in range(n):
        put(remote.records, part + k, get(outbox, first + k) - less)
    put(remote.counts, (channel * remote.slots + (clock & (remote.slots - 1))) * LINE, n)


@inlined
def tell_finished(remote: Remote, me: int, clock: int) -> None:
    """Publish that a tick is finished and its spikes are in the boxes."""
    atomic_store(remote.done, (1 + remote.first_thread + me) * LINE, uint64(clock + 1))


@inlined
def remote_is_ready(remote: Remote, barrier: Any, clock: int) -> bool:
    """Wait until threads of other ranks have finished the tick at ``clock``; return False if the run was called off."""
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


@inlined
def take_remote(deliver: Any, image: Any, state: Any, team: Any, me: int, call: Any, time: int) -> bool:
    """Deliver other ranks' spikes of a tick, if it is one of this call; return False if the run was called off."""
    # ``deliver(image, state, team, records, first, last, tick)`` delivers those that were sent in ``tick``.
    remote, clock = team.remote, team.remote.clock + time
    if time >= 0:
        if not remote_is_ready(remote, team.barrier, clock):
            return False
        for k in range(len(remote.arrivals) // 2):
            if get(remote.arrivals, 2 * k) == me:
                channel = get(remote.arrivals, 2 * k + 1)
                first = part_of(remote, channel, clock)
                n = get(remote.counts, (channel * remote.slots + (clock & (remote.slots - 1))) * LINE)
                deliver(image, state, team, remote.records, first, first + n, call.first_tick + time)
    return True
