"""Threads: division of the cores, one barrier per tick, and other ranks of the machine.

Every thread runs its own range of cores. A spike goes into the outbox for the range of its target; after the
barrier that ends the tick, every thread delivers the spikes in its boxes. Boxes are doubled by the parity of the
tick, so one barrier per tick is enough. The result is the same for every number of threads, and of ranks that share
memory: their spikes are delivered before the tick that has to wait for them (``remote.py``).
"""

from __future__ import annotations

import numpy as np
from numba import njit, uint64

from neuromap.arrays.array_types import Ints
from neuromap.simulation.engine.kernel.barrier import BARRIER_WORDS, wait
from neuromap.simulation.engine.kernel.lanes import CALLED, INLINED
from neuromap.simulation.engine.kernel.layout import Image, State, aligned_empty, extent
from neuromap.simulation.engine.kernel.remote import Remote, no_remote, send_remote, take_remote, tell_finished
from neuromap.simulation.engine.kernel.ring import box_of, deliver, deliver_some
from neuromap.simulation.engine.kernel.tick import tick_cores
from neuromap.simulation.engine.kernel.words import get, put
from neuromap.simulation.engine.kernel.workspace import Call, Events, Scratch, Team

inlined = njit(**INLINED)

# Most threads of a team: memory for boxes grows with their square, and a barrier for more would cost more than a tick.
MAX_TEAM = 64


def first_cores(n_cores: int, threads: int) -> Ints:
    """First core of each of at most ``threads`` threads, in whole blocks of 64, then the number of cores."""
    blocks = -(-n_cores // 64)
    n = max(1, min(threads, blocks, MAX_TEAM))
    return np.minimum(np.array([blocks * k // n for k in range(n + 1)]) * 64, n_cores)


def make_team(image: Image, threads: int, remote: Remote | None = None) -> Team:
    """Divide the cores among threads; ``remote`` connects to those of other ranks."""
    first = first_cores(image.shape.n_cores, threads)
    n, others = len(first) - 1, no_remote(image.target.dtype) if remote is None else remote
    most = (int(np.diff(first).max()) * 32 * extent(image.shape.groups) + 15) // 16 * 16  # whole cache lines
    room = np.full((2, n, n + others.n_boxes), most)
    room[:, :, n:] = np.diff(others.start)[others.channel].reshape(n, -1) if others.n_boxes else 0
    start = np.append(0, np.cumsum(room))
    return Team(
        n_threads=n,
        first=first,
        owner=np.append(np.repeat(np.arange(n), -(-np.diff(first) // 64)), n + others.owner).astype(np.int32),
        n_boxes=n + others.n_boxes,
        outbox=aligned_empty(int(start[-1]), image.target.dtype),
        start=start[:-1].copy(),
        n_out=np.zeros(8 * room.size, np.int64),
        barrier=np.zeros(BARRIER_WORDS, np.uint64),
        remote=others,
    )


@njit(**CALLED)
def run_ticks(image: Image, state: State, scratch: Scratch, team: Team, me: int, call: Call) -> None:
    """Run the cores of thread ``me`` for some ticks, in step with the other threads of the team."""
    # At the end, all spikes of other ranks are delivered.
    sense = uint64(0)
    remote = team.remote
    for time in range(call.n_ticks):
        tick = call.first_tick + time
        late = time - 1 - remote.lag
        if len(remote.others) > 0 and not take_remote(deliver_some, image, state, team, me, call, late):
            return
        for receiver in range(team.n_boxes):
            put(team.n_out, box_of(team, tick, me, receiver) * 8, 0)
        _feed(image, state, get(team.first, me), get(team.first, me + 1), tick, call.events, call.event_tick + time)
        tick_cores(image, state, scratch, team, me, call, time)
        if len(remote.others) > 0:
            for remote_box in range(remote.n_boxes):
                box = box_of(team, tick, me, team.n_threads + remote_box)
                first, n = get(team.start, box), get(team.n_out, box * 8)
                send_remote(remote, me, remote_box, team.outbox, first, n, remote.clock + time)
            tell_finished(remote, me, remote.clock + time)
        if team.n_threads > 1:
            sense ^= uint64(1)
            if not wait(team.barrier, team.n_threads, sense):
                return
        for sender in range(team.n_threads):
            box = box_of(team, tick, sender, me)
            first = get(team.start, box)
            deliver_some(image, state, team, team.outbox, first, first + get(team.n_out, box * 8), tick)
    if len(remote.others) > 0:
        for time in range(max(0, call.n_ticks - 1 - remote.lag), call.n_ticks):
            if not take_remote(deliver_some, image, state, team, me, call, time):
                return


@inlined
def _feed(image: Image, state: State, first: int, last: int, tick: int, events: Events, row: int) -> None:
    """Set the axons of cores ``first`` to ``last - 1`` that the host feeds in this tick."""
    for k in range(get(events.start, row), get(events.start, row + 1)):
        core = get(events.cores, k)
        if first <= core < last:
            axon = (core << image.shape.axon_bits) + get(events.axons, k)
            deliver(image, state, axon << image.shape.slot_bits, tick)
