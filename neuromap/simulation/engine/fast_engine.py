"""The fast engine: compiled, vectorised, event-driven kernels on several threads.

Same protocol and bit-identical results as :class:`neuromap.simulation.engine.numpy_engine.NumpyEngine`.
:mod:`neuromap.simulation.engine.kernel` explains how it works.
"""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from copy import copy
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuromap.arrays.array_types import Bools, Ints, Words
from neuromap.arrays.frozen import frozen
from neuromap.compiling import announced
from neuromap.cores.crossbar.program import Program
from neuromap.hardware.checker import require_legal
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.simulation.engine import engine
from neuromap.simulation.engine.engine import EngineState, Footprint, HostEvents, Spikes, Totals
from neuromap.simulation.engine.engine_choice import check_seed
from neuromap.simulation.engine.kernel import layout, workspace
from neuromap.simulation.engine.kernel.barrier import ABORT
from neuromap.simulation.engine.kernel.compiled import compiled
from neuromap.simulation.engine.kernel.layout import Image, State, extent
from neuromap.simulation.engine.kernel.memory_layout import make_image, make_state, put_spikes, read_only
from neuromap.simulation.engine.kernel.remote import Remote
from neuromap.simulation.engine.kernel.team import make_team
from neuromap.simulation.engine.kernel.workspace import Call, Events, Record

# Most bytes of spike bits that one kernel call may write.
_RECORD_BYTES = 1 << 23
# Target upper limit for the time of one kernel call, so that Ctrl-C is heard.
CALL_SECONDS = 0.05
# Visits of cores below which starting threads costs more than it saves.
ALONE = 4096


# A team, and the working memory of each of its threads.
Workers = tuple[Any, list[Any]]


class CompiledEngine(ABC):
    """Base of compiled engines: everything but the kernel, how programs and states lie in memory, and the output."""

    program: Any  # the loaded program
    tick: int  # the tick that runs next; the first is 0
    _name: ClassVar[str]  # for the message that it is compiled
    _image: Any
    _state: Any

    def __init__(self, program: Any, *, threads: int = 1, noise_seed: int = 0) -> None:
        require_legal(program, mapped=False, indices_only=True)
        self.program = program
        self._start(self._make_image(), threads, noise_seed)

    def _start(self, image: Any, threads: int, noise_seed: int) -> None:
        self._image, self._threads, self._noise_seed = image, threads, check_seed(noise_seed)
        self._alone, self._team = self._teams(threads)
        self._pace = 0.0  # seconds per tick of the last call
        self._start_state: Any = None
        self.reset()

    @abstractmethod
    def _make_image(self) -> Any:
        """Lay out the program."""

    @abstractmethod
    def _make_state(self) -> Any:
        """Make the state before tick 0."""

    @abstractmethod
    def _workers(self, threads: int, remote: Remote | None = None) -> Workers:
        """Divide the cores among threads."""

    @abstractmethod
    def _kernel(self) -> Any:
        """Return the entry point: ``run(image, state, start, scratch, team, me, call)``."""

    @abstractmethod
    def _put(self, state: EngineState) -> None:
        """Continue from a state, but for spikes that have not reached their axons."""

    @abstractmethod
    def _put_spikes(self, state: EngineState) -> None:
        """Put such spikes of a state into the new one."""

    def _teams(self, threads: int) -> tuple[Workers, Workers]:
        """Make the workers of short calls and those of the others."""
        alone = self._workers(1)
        return alone, alone if threads == 1 else self._workers(threads)

    def _ready(self, team: Any) -> Any:
        """Return a team with what changes from call to call."""
        return team

    def reset(self, noise_seed: int | None = None) -> None:
        """Reset to the state before tick 0; ``noise_seed``, if given, replaces the seed."""
        if noise_seed is not None:
            self._noise_seed = check_seed(noise_seed)
        self.tick = 0
        self._state = self._make_state()
        for scratch in self._alone[1] + self._team[1]:
            scratch.totals[:] = 0

    def restore(self, state: EngineState) -> None:
        """Continue from a state of this program, taken from any engine; ``visits`` restart at 0."""
        engine.check_state(self.program, state)
        self.reset()
        self.tick = state.tick
        self._put(state)
        self._put_spikes(state)
        self._alone[1][0].totals[:3] = state.totals

    def fork(self) -> Self:
        """Make another engine at tick 0 on the same image, with the same seed."""
        other = copy(self)
        other._start(self._image, self._threads, self._noise_seed)
        return other

    def _call(self, workers: Workers, start: Any, call: Call) -> None:
        """Run ticks, or runs from a state ``start``, in the kernel."""
        run, (team, scratches) = self._kernel(), workers
        if not self._pace:  # compiled or loaded before any tick and on this thread only
            with announced(self._name):
                run(self._image, self._state, start, scratches[0], team, 0, call._replace(n_ticks=0, n_runs=0))
        team = self._ready(team)
        began = time.perf_counter()

        def work(me: int) -> None:
            run(self._image, self._state, start, scratches[me], team, me, call)

        self._together(work, team.n_threads, team.barrier, call.n_ticks)
        self._pace = (time.perf_counter() - began) / max(call.n_runs, 1) / call.n_ticks
        self.tick += call.n_ticks

    @abstractmethod
    def potentials_of(self, cores: Ints) -> Ints:
        """Copy of the potentials V (voltages, for neurons with currents) of some cores, in this order, shape (n, N)."""

    @property
    def potentials(self) -> Ints:
        """Copy of all potentials after the last tick, shape (C, N)."""
        return self.potentials_of(np.arange(self.program.n_cores))

    @property
    def totals(self) -> Totals:
        """Activity since tick 0; axon events and their synapses count in the tick that reaches the axon."""
        return Totals(*self._counts()[:3])

    def _counts(self) -> list[int]:
        """Sum the counts of all threads since tick 0: SPIKES and so on of ``kernel/workspace.py``."""
        every = self._alone[1] + (self._team[1] if self._team is not self._alone else [])
        totals: list[int] = np.sum([scratch.totals for scratch in every], axis=0).tolist()
        return totals

    def _together(self, work: Callable[[int], None], n_threads: int, barrier: Words, n_ticks: int) -> None:
        """Run ``work(thread)`` of a call of ``n_ticks`` ticks on all threads of a team."""
        run_together(work, n_threads, barrier)


class CompiledRuns(CompiledEngine):
    """Base of compiled engines of neurons that spike."""

    program: ChipProgram
    _watch: tuple[Bools, Record, Ints] | None = None

    @property
    @abstractmethod
    def _groups(self) -> int:
        """Words of 32 spike bits of a core."""

    @property
    def visits(self) -> int:
        """Cores visited since tick 0, counted once per tick; the others were at rest."""
        return self._counts()[workspace.VISITS]

    def _call_each(self, call: Call) -> None:
        """Execute consecutive runs, each from tick 0, on this thread only."""
        if self._start_state is None:
            self._start_state = self._make_state()
        for scratch in self._team[1]:
            scratch.totals[:] = 0
        self.tick, self._noise_seed = 0, (int(call.seed) + call.n_runs - 1) % 2**64
        self._call(self._alone, self._start_state, call)

    def step(self, host_cores: ArrayLike = (), host_axons: ArrayLike = ()) -> tuple[Ints, Ints]:
        """Run one tick on axons fed by the host; return cores and neurons that fired, in order."""
        spikes = self.run(HostEvents.of_tick(host_cores, host_axons))
        return spikes.cores, spikes.neurons

    def run(self, events: HostEvents, watched: Bools | None = None) -> Spikes:
        """Run ``events.n_ticks`` ticks from now on; see :meth:`neuromap.simulation.engine.engine.Engine.run`."""
        # After an interrupt (Ctrl-C) the state may be some ticks ahead of ``tick``: :meth:`reset` the engine.
        engine.check_run(self.program, events, watched)
        record, cores = self._record(watched)
        pieces = self._pieces(_fed(events), 0, events.n_ticks, record)
        return engine.joined(
            [self._listed(bits, self.tick - n, record, cores) for bits, n in pieces] or [engine.NO_SPIKES]
        )

    def run_each(
        self,
        events: HostEvents,
        n_runs: int,
        watched: Bools | None = None,
        noise_seed: int = 0,
        is_called_off: Callable[[], bool] = lambda: False,
    ) -> Spikes:
        """Execute many consecutive runs; see :meth:`neuromap.simulation.engine.engine.BlockEngine.run_each`."""
        engine.check_run(self.program, events, watched)
        record, cores = self._record(watched)
        fed, n_ticks = _fed(events), events.n_ticks // n_runs
        found: list[Spikes] = []
        done = 0 if n_ticks else n_runs
        while done < n_runs and not is_called_off():
            first, seed = done * n_ticks, (noise_seed + done) % 2**64
            n = min(n_runs - done, self._ticks_at_once(record) // n_ticks)
            if n > 0:
                bits = self._bits(n * n_ticks, record)
                self._call_each(Call(0, n_ticks, n, False, fed, first, record._replace(fired=bits), np.uint64(seed)))
                found.append(self._listed(bits, first, record, cores))
            else:  # a single run is too long for one call
                n = 1
                self.reset(seed)
                for bits, n_more in self._pieces(fed, first, n_ticks, record):
                    found.append(self._listed(bits, first + self.tick - n_more, record, cores))
                    if is_called_off():
                        break
            done += n
        return engine.joined(found or [engine.NO_SPIKES])

    def _pieces(
        self, fed: Events, event_tick: int, n_ticks: int, record: Record
    ) -> Iterator[tuple[NDArray[np.uint32], int]]:
        """Run ticks in as many calls as needed; yield the spike bits of each call, and its number of ticks."""
        done = 0
        while done < n_ticks:
            n = min(n_ticks - done, self._ticks_at_once(record))
            bits = self._bits(n, record)
            seed, kept = np.uint64(self._noise_seed), record._replace(fired=bits)
            workers = self._team if n * self.program.n_cores >= ALONE else self._alone
            self._call(workers, self._state, Call(self.tick, n, 0, False, fed, event_tick + done, kept, seed))
            done += n
            yield bits, n

    def _ticks_at_once(self, record: Record) -> int:
        """Choose the number of ticks per call, by their time and memory."""
        pace = int(CALL_SECONDS / self._pace) if self._pace else 16
        return max(1, min(_RECORD_BYTES // max(4 * record.n_rows * self._groups, 1), pace))

    def _bits(self, n_ticks: int, record: Record) -> NDArray[np.uint32]:
        """Buffer for the spikes of a call."""
        return np.zeros(n_ticks * record.n_rows * self._groups, np.uint32)

    def _listed(self, bits: NDArray[np.uint32], first: int, record: Record, cores: Ints) -> Spikes:
        """List the spikes of a call that began at tick ``first``."""
        if not len(bits):
            return engine.NO_SPIKES
        ticks, rows, neurons = compiled().list_spikes(bits, record.n_rows, self._groups)
        return Spikes(ticks + first, cores[rows], neurons)

    def _record(self, watched: Bools | None) -> tuple[Record, Ints]:
        """Record of the watched neurons for the kernel, and the core of each row; cached for the next call."""
        if self._watch is not None and watched is self._watch[0] and watched is not None:
            return self._watch[1], self._watch[2]
        mask = np.ones(self.program.shape, np.bool_) if watched is None else watched
        if self._watch is not None and np.array_equal(self._watch[0], mask):
            return self._watch[1], self._watch[2]
        record, cores = record_of(mask, self._groups)
        self._watch = (frozen(mask), record, cores)
        return record, cores


def record_of(watched: Bools, groups: int) -> tuple[Record, Ints]:
    """Make a kernel's record of watched neurons, (C, N), its buffer still empty; also return the core of each row."""
    cores = np.flatnonzero(watched.any(axis=1))
    row = np.full(len(watched) if len(cores) else 0, -1, np.int32)
    row[cores] = np.arange(len(cores))
    words = np.zeros((len(cores), 4 * groups), np.uint8)
    bits = np.packbits(watched[cores], axis=1, bitorder="little")
    words[:, : bits.shape[1]] = bits
    return Record(row, words.reshape(-1).view(np.uint32), np.zeros(0, np.uint32), len(cores)), cores


def _fed(events: HostEvents) -> Events:
    return Events(
        read_only(np.ascontiguousarray(events.start, np.int64)),
        read_only(np.ascontiguousarray(events.cores, np.int32)),
        read_only(np.ascontiguousarray(events.axons, np.int32)),
    )


def run_together(work: Callable[[int], None], n_threads: int, barrier: Words, *, apart: bool = False) -> None:
    """Run ``work(thread)`` on all threads of a team; all have ended when this returns or raises."""
    # shapes: barrier (BARRIER_WORDS,)
    if n_threads == 1 and not apart:
        work(0)
        return
    barrier[:] = 0
    others = [threading.Thread(target=work, args=(me,), daemon=True) for me in range(not apart, n_threads)]
    started = []
    try:
        for thread in others:
            thread.start()
            started.append(thread)
        if apart:
            started[0].join()
        else:
            work(0)
    except BaseException:
        barrier[ABORT] = 1
        raise
    finally:
        for thread in started:
            thread.join()


class FastEngine(CompiledRuns):
    """State of a chip that runs a program in compiled code."""

    program: Program
    _name = "the fast engine for this processor and core shape"
    _image: Image
    _state: State

    def _make_image(self) -> Image:
        return make_image(self.program)

    def _make_state(self) -> State:
        return make_state(self.program, self._image)

    def _workers(self, threads: int, remote: Remote | None = None) -> Workers:
        team = make_team(self._image, threads, remote)
        return team, [workspace.make_scratch(self._image, size) for size in np.diff(team.first).tolist()]

    def _kernel(self) -> Any:
        return compiled().run

    @property
    def _groups(self) -> int:
        return extent(self._image.shape.groups)

    @property
    def state(self) -> EngineState:
        """Copy of everything that future ticks depend on, except the noise seed."""
        return EngineState(self.tick, self.potentials, self.pending, self.totals)

    def _put(self, state: EngineState) -> None:
        self._state = make_state(self.program, self._image, state.potentials)

    def _put_spikes(self, state: EngineState) -> None:
        put_spikes(self._image, self._state, state.spikes)

    def potentials_of(self, cores: Ints) -> Ints:
        """Copy of the potentials V of some cores, in this order, shape (n, N)."""
        n, lanes = self.program.chip.neurons, 32 * extent(self._image.shape.groups)
        narrow, wide = (a.reshape(-1, lanes)[cores, :n] for a in (self._state.narrow, self._state.wide))
        return np.where(self._state.is_wide[cores, None] != 0, wide, narrow).astype(np.int64)

    @property
    def pending(self) -> Ints:
        """Pending spikes as sorted rows (due tick, core, axon), shape (n, 3)."""
        shape = self._image.shape
        slots = 1 << shape.slot_bits
        ring = self._state.ring.view(np.uint8).reshape(slots, shape.n_cores, 8 * extent(shape.words))
        ahead, core, byte = np.nonzero(np.roll(ring, -(self.tick % slots), axis=0))
        bits = np.unpackbits(ring[(ahead + self.tick) % slots, core, byte][:, None], axis=1, bitorder="little")
        row, bit = np.nonzero(bits)
        return np.stack([self.tick + ahead[row], core[row], byte[row] * 8 + bit], axis=1).astype(np.int64)

    @property
    def footprint(self) -> Footprint:
        """Memory of the program in this engine."""
        image, shape = self._image, self._image.shape
        header = image.header.reshape(-1, layout.HEADER)
        lanes = 32 * extent(shape.groups)
        hot = (image.crossbar, image.axon_types, image.header, image.uniform_weights, image.weights8, image.weights16)
        wide = int(self._state.is_wide.sum()) * lanes * (self._state.wide.itemsize + 14)
        state = self._state.narrow.nbytes + self._state.ring.nbytes + self._state.busy.nbytes
        planes = image.planes8.nbytes + image.planes16.nbytes
        weights = image.weights8.nbytes + image.weights16.nbytes
        uniform = ((header[:, layout.FLAGS] & layout.UNIFORM) != 0).sum() * 64
        parameters = int(planes + weights + uniform) // max(shape.n_cores, 1)
        row = 4 * extent(shape.groups)
        return Footprint(
            hot_bytes=sum(array.nbytes for array in hot) + planes + image.target.nbytes + state + wide,
            visit_bytes=2 * 2 * lanes + 4 * layout.HEADER + 64 + parameters + 8 * ((1 << shape.axon_bits) // 64),
            event_bytes=max(64, row),
            spike_bytes=64 + 2 * 64,
        )
