"""Fast engines of ranks that share memory: each runs its own cores, and spikes never leave compiled code."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple, Self, cast

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.array_types import Ints
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.simulation.engine.engine import Engine, EngineState
from neuromap.simulation.engine.engine_choice import EngineChoice
from neuromap.simulation.engine.fast_engine import CompiledRuns, Workers, run_together
from neuromap.simulation.engine.kernel.barrier import ABORT
from neuromap.simulation.engine.kernel.remote import LINE, Remote, RemoteTargets
from neuromap.simulation.mpi.rank_engine import Exchange, RemoteWires

# Boxes for spikes in memory visible to all ranks of a machine; the compiled kernels fill and empty them.

_LINE_BYTES = 64
# Most ticks that ranks may drift apart beyond what a delay of 1 allows: more would cost memory for little gain.
_MOST_LAG = 3


class Meeting(NamedTuple):
    """Division of cores and threads that all ranks know; T threads in all."""

    me: int  # this rank
    first: list[Ints]  # for every rank, the first core of every thread, then its number of cores
    thread: Ints  # (R + 1,): first thread of every rank, then the number of threads
    base: Ints  # (R,): number of every rank's first core in this rank's numbering, where its own cores begin at 0
    n_cores: int  # cores in this numbering
    block: int  # size of blocks of cores, from a rank's first core on, that no two threads share
    # least_delay, most_delay: shortest delay between ranks and longest of all, in ticks
    least_delay: int
    most_delay: int

    @classmethod
    def of(cls, exchange: Exchange, wires: RemoteWires, most_delay: int, first: Ints, block: int) -> Self:
        """Collect the division of every rank; all ranks call this."""
        firsts, me = exchange.share(first), exchange.rank
        delays = exchange.share(np.array([wires.delay.min(initial=_MOST_LAG + 1), most_delay]))
        n_blocks = np.array([-(-part[-1] // block) for part in firsts])
        before = np.append(0, np.delete(n_blocks, me).cumsum()) + n_blocks[me]
        base = np.insert(before[:-1], me, 0) * block
        return cls(
            me, firsts, np.cumsum([0, *(len(part) - 1 for part in firsts)]), base, int(n_blocks.sum()) * block, block,
            int(min(part[0] for part in delays)), int(max(part[1] for part in delays)),
        )  # fmt: skip

    @property
    def lag(self) -> int:
        """Number of ticks that spikes may stay in their boxes."""
        return (1 << (min(self.least_delay, _MOST_LAG + 1).bit_length() - 1)) - 1

    def thread_of(self, rank: int, cores: Ints) -> Ints:
        """Find the thread that owns each of some cores of a rank, numbered among all ranks' threads."""
        found: Ints = self.thread[rank] + np.searchsorted(self.first[rank], cores, side="right") - 1
        return found


class SharedBoxes:
    """The boxes of one rank, and their clock; shared by forks of an engine."""

    def __init__(self, remote: Remote) -> None:
        self._remote, self._clock = remote, 0

    def remote(self) -> Remote:
        """Boxes at the present clock."""
        return self._remote._replace(clock=self._clock)

    def advance(self, n_ticks: int) -> None:
        """Advance the clock by ticks that this rank has run."""
        self._clock += n_ticks

    def call_off(self) -> None:
        """Stop all ranks from waiting for others."""
        self._remote.done[0] = 1


def shared_boxes(
    exchange: Exchange, meeting: Meeting, wires: RemoteWires, neurons: int, dtype: Any, per_core: int
) -> SharedBoxes | None:
    """Make the boxes of all ranks; each of them calls this."""
    # returns None if the ranks share no memory
    me, thread = meeting.me, meeting.thread
    sent = _sent(exchange, meeting, wires, neurons)
    mine = slice(thread[me], thread[me + 1])
    pairs = np.argwhere(sent)  # each has a box; each rank also has an empty one for pairs without wires
    number = np.full(sent.shape, len(pairs) + me)
    number[tuple(pairs.T)] = np.arange(len(pairs))
    line = _LINE_BYTES // np.dtype(dtype).itemsize
    room = -(-sent[tuple(pairs.T)] // line) * line
    start = np.append(0, np.cumsum(np.append(room, np.zeros(exchange.size, np.int64))))
    shared = _memory(exchange, len(sent), start, 2 * meeting.lag + 2, dtype)
    if shared is None:
        return None
    ends = np.flatnonzero(sent[mine].any(axis=0))
    box = np.zeros(len(sent), np.int64)
    box[ends] = np.arange(len(ends))
    blocks = [
        box[meeting.thread_of(rank, np.arange(0, first[-1], meeting.block))]
        for rank, first in enumerate(meeting.first)
        if rank != me
    ]
    to_me = pairs[(pairs[:, 1] >= mine.start) & (pairs[:, 1] < mine.stop)]
    rank_of = np.repeat(np.arange(exchange.size), np.diff(thread))
    tied = rank_of[(sent + sent.T)[mine].any(axis=0)]
    return SharedBoxes(
        Remote(
            n_boxes=len(ends),
            first_thread=int(thread[me]),
            lag=meeting.lag,
            slots=2 * meeting.lag + 2,
            clock=0,
            owner=np.concatenate(blocks).astype(np.int32),
            taken_off=meeting.base[rank_of[ends]] * per_core,
            channel=number[mine][:, ends].reshape(-1),
            cursor=np.zeros(sent[mine][:, ends].size * LINE, np.int64),
            arrivals=np.stack([to_me[:, 1] - thread[me], number[tuple(to_me.T)]], axis=1).reshape(-1),
            others=np.flatnonzero(np.isin(rank_of, tied)),
            start=start,
            done=shared[0],
            counts=shared[1],
            records=shared[2],
        )
    )


def _sent(exchange: Exchange, meeting: Meeting, wires: RemoteWires, neurons: int) -> Ints:
    """Count the wires from every thread to every other one, shape (T, T)."""
    me, n_threads = meeting.me, int(meeting.thread[-1])
    sender = meeting.thread_of(me, wires.neuron // neurons) - meeting.thread[me]
    receiver = np.zeros(len(wires.peer), np.int64)
    for peer in np.unique(wires.peer):
        some = wires.peer == peer
        receiver[some] = meeting.thread_of(int(peer), wires.core[some])
    n_mine = int(meeting.thread[me + 1] - meeting.thread[me])
    count = np.bincount(sender * n_threads + receiver, minlength=n_mine * n_threads)
    return np.concatenate(exchange.share(count)).reshape(n_threads, n_threads)


def _memory(
    exchange: Exchange, n_threads: int, start: Ints, slots: int, dtype: Any
) -> tuple[NDArray[np.uint64], Ints, NDArray[Any]] | None:
    """Make the shared part of the boxes: finished ticks, counts and records."""
    words = np.cumsum([0, (1 + n_threads) * LINE, (len(start) - 1) * slots * LINE])
    head = int(words[-1]) * 8
    memory = exchange.memory(head + int(start[-1]) * slots * np.dtype(dtype).itemsize)
    if memory is None:
        return None
    if exchange.rank == 0:
        memory[:head] = 0
    exchange.agree(0)  # nobody begins before that
    done, counts = (memory[8 * a : 8 * b] for a, b in pairwise(words.tolist()))
    return done.view(np.uint64), counts.view(np.int64), memory[head:].view(dtype)


class SharedRuns(CompiledRuns):
    """Kernel calls on separate threads, so that this one hears interrupts while ranks wait."""

    _boxes: SharedBoxes

    def _teams(self, threads: int) -> tuple[Workers, Workers]:
        workers = self._workers(threads, self._boxes.remote())
        return workers, workers

    def _ready(self, team: Any) -> Any:
        return super()._ready(team)._replace(remote=self._boxes.remote())

    def restore(self, state: EngineState) -> None:
        """Continue from a state of these cores; spikes of other ranks may be under way longer than any of their own."""
        super().restore(replace(state, spikes=state.spikes[:0]))
        self._put_spikes(state)

    def _together(self, work: Callable[[int], None], n_threads: int, barrier: NDArray[np.uint64], n_ticks: int) -> None:
        try:
            run_together(work, n_threads, barrier, apart=True)
        except BaseException:
            self._boxes.call_off()
            raise
        if barrier[ABORT]:
            raise KeyboardInterrupt  # of another rank, which says why
        self._boxes.advance(n_ticks)


def targets(meeting: Meeting, wires: RemoteWires, axon: Ints) -> RemoteTargets:
    """Targets of wires to other ranks; ``axon`` in the kernel's numbering."""
    core = meeting.base[wires.peer] + wires.core
    return RemoteTargets(wires.neuron, core, axon, wires.delay, meeting.n_cores, meeting.most_delay)


def started(
    kind: Any, program: ChipProgram, boxes: SharedBoxes | None, image: Any, choice: EngineChoice
) -> Engine | None:
    """Make an engine of class ``kind`` with these boxes; None without any."""
    if boxes is None:
        return None
    made = kind.__new__(kind)
    made.program, made._boxes = program, boxes
    made._start(image, choice.n_threads, choice.noise_seed)
    return cast("Engine", made)
