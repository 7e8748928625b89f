"""The threads of a batch: blocks of stimuli in, blocks of results out, in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from threading import Event
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuromap.arrays.frozen import freeze_arrays
from neuromap.errors import InputError, StimulusError
from neuromap.hardware.program.program import Program
from neuromap.simulation.engine.engine import Engine, HostEvents
from neuromap.simulation.engine.engines import make_engine
from neuromap.simulation.run.host_feed import HostFeed
from neuromap.simulation.run.simulate import ticks_to_run
from neuromap.simulation.stimulus.batch_stimuli import check_stimuli
from neuromap.simulation.trace.recording import Readout, Recording, readout

__all__ = ["BatchJob", "Block", "Chips", "run_blocks"]

_BLOCK_VALUES = 2**22
"""Recorded values in a block of stimuli, and host rows times ticks that are laid out at once."""
_BLOCK_STIMULI = 32
_TICKS_AT_ONCE = 512
"""Ticks between two looks at whether the run was interrupted."""


class Block(NamedTuple):
    """Results of some stimuli in a row; the arrays of :class:`neuromap.simulation.run.batch.Batch` for them."""

    frames: NDArray[np.bool_] | None
    counts: NDArray[np.int64]
    strays: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class BatchJob:
    """What all stimuli share: made once, only read by the threads."""

    program: Program
    feed: HostFeed
    neurons: Readout
    row_of: NDArray[np.int32]
    watched: NDArray[np.bool_]
    column: NDArray[np.int64]
    """Of every row of ``neurons``, shape (K,): its place in the nodes' frames side by side."""
    sample_tick: NDArray[np.int64]
    keep_frames: bool

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @classmethod
    def of(cls, program: Program, record: Recording, keep_frames: bool) -> BatchJob:
        """Prepare a program for many stimuli.

        Raises
        ------
        InputError
            If the recording asks for more than nodes, or for a node that the program does not have.
        """
        words: list[str] = []
        for word in record.spikes:
            if word == "all":
                words += [f"node:{port.name}" for port in program.nodes if port.kind != "input"]
            else:
                words.append(word)
        wrong = [word for word in words if word.startswith("core:")]
        if wrong or record.potentials or record.counts:
            what = wrong[0] if wrong else "of potentials" if record.potentials else "of counts"
            raise InputError(f"recording {what}: a batch keeps frames of nodes only; simulate single stimuli for more")
        neurons = readout(program, words)
        row_of = neurons.rows(program)
        offset = np.cumsum(np.array([0, *(port.size for port in neurons.nodes)], dtype=np.int64))
        sample_tick = np.array([port.sample_tick for port in neurons.nodes], dtype=np.int64)
        return cls(
            program=program,
            feed=HostFeed(program),
            neurons=neurons,
            row_of=row_of,
            watched=row_of >= 0,
            column=offset[neurons.node] + neurons.index,
            sample_tick=sample_tick[neurons.node],
            keep_frames=keep_frames,
        )

    @property
    def n_columns(self) -> int:
        """Neurons of the recorded nodes."""
        return sum(port.size for port in self.neurons.nodes)


class Chips:
    """Engines for the threads, each used by one thread at a time."""

    def __init__(self, program: Program, engine: str, noise_seed: int) -> None:
        self._noise_seed = noise_seed
        self._first = make_engine(program, engine, threads=1, noise_seed=noise_seed)
        # Whatever has to be compiled is compiled here: in the main thread an interrupt does not wait for it.
        self._first.run(HostEvents.none(1))
        self._free: SimpleQueue[Engine] = SimpleQueue()
        self._free.put(self._first)

    @contextmanager
    def take(self) -> Iterator[Engine]:
        """Lend an engine; a new one only where all are lent, so that few stimuli take the memory of few engines."""
        try:
            chip = self._free.get_nowait()
        except Empty:
            chip = self._first.fork()
        try:
            yield chip
        finally:
            self._free.put(chip)

    def fresh(self, chip: Engine, stimulus: int) -> Engine:
        """Bring an engine back to tick 0 for a stimulus, with the stimulus's own noise."""
        chip.reset((self._noise_seed + stimulus) % 2**64)
        return chip


def run_blocks(
    job: BatchJob, chips: Chips, portions: Iterable[Mapping[str, ArrayLike]], n_threads: int
) -> Iterator[tuple[Block, int, int]]:
    """Run all stimuli on threads of their own, which are gone when the iteration ends, however it ends.

    Yields
    ------
    block : Block
        Results, in the order of the stimuli.
    n_known, n_frames : int
        Stimuli that have been given so far, and frames of each.

    Raises
    ------
    StimulusError
        If stimuli are malformed, or there are none.
    """
    known = n_frames = 0
    ahead: deque[Future[Block]] = deque()
    stopped = Event()
    executor = ThreadPoolExecutor(n_threads, thread_name_prefix="neuromap-batch")
    try:
        for portion in portions:
            frames, n_stimuli, n_frames = check_stimuli(portion, job.program, n_frames or None)
            each = min(_BLOCK_STIMULI, _BLOCK_VALUES // max(1, n_frames * job.n_columns), n_stimuli // (4 * n_threads))
            each = max(1, each)
            for start in range(0, n_stimuli, each):
                part = {name: rows[start : start + each] for name, rows in frames.items()}
                n_part = min(each, n_stimuli - start)
                ahead.append(executor.submit(_run_block, job, chips, part, known + start, n_part, n_frames, stopped))
                if len(ahead) > 2 * n_threads:  # so that results and portions do not pile up
                    yield ahead.popleft().result(), known + n_stimuli, n_frames
            known += n_stimuli
        if known == 0:
            raise StimulusError("stimuli: none given; give at least one")
        while ahead:
            yield ahead.popleft().result(), known, n_frames
    finally:  # an error or an interrupt leaves no thread behind
        stopped.set()
        executor.shutdown(wait=True, cancel_futures=True)


def _run_block(
    job: BatchJob,
    chips: Chips,
    frames: Mapping[str, NDArray[Any]],
    first: int,
    n_stimuli: int,
    n_frames: int,
    stopped: Event,
) -> Block:
    """Run some stimuli one after the other, from number ``first`` on."""
    program, n_ticks = job.program, ticks_to_run(job.program, n_frames)
    stimuli = {name: rows.astype(np.bool_, copy=False) for name, rows in frames.items()}
    at_once = max(1, min(_TICKS_AT_ONCE, _BLOCK_VALUES // max(1, len(job.feed))))
    ticks, rows, owners = [], [], []
    with chips.take() as lent:
        for number in range(n_stimuli):
            chip = chips.fresh(lent, first + number)
            stimulus = {name: values[number : number + 1] for name, values in stimuli.items()}
            for tick in range(0, n_ticks, at_once):
                if stopped.is_set():
                    break
                events = job.feed.events(stimulus, n_frames, tick, min(at_once, n_ticks - tick))
                spikes = chip.run(events, job.watched)
                ticks.append(spikes.ticks)
                rows.append(job.row_of[spikes.cores, spikes.neurons])
                owners.append(np.full(len(spikes.ticks), number))
    nothing = np.zeros(0, dtype=np.int64)
    owner, tick, row = (np.concatenate([nothing, *parts]) for parts in (owners, ticks, rows))

    frame, between = np.divmod(tick - job.sample_tick[row], program.period)
    column = job.column[row]
    table = np.zeros((n_stimuli, n_frames, job.n_columns), dtype=np.bool_)
    mine = (between == 0) & (frame >= 1) & (frame < n_frames)
    table[owner[mine], frame[mine], column[mine]] = True
    strays = np.zeros((n_stimuli, len(job.neurons.nodes)), dtype=np.int64)
    stray = (between != 0) | (frame < 1)
    places = np.stack([owner[stray], job.neurons.node[row[stray]], column[stray], tick[stray]], axis=1)
    places = np.unique(places, axis=0)  # copies of a neuron spike as one
    np.add.at(strays, (places[:, 0], places[:, 1]), 1)
    return Block(table if job.keep_frames else None, table.sum(axis=1, dtype=np.int64), strays)
