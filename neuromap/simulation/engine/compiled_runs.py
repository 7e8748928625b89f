"""Runs of compiled engines: cut into calls of the kernel, their spikes put together, on threads that end with it."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuromap.arrays.frozen import frozen
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.simulation.engine.engine import HostEvents, Spikes, check_run
from neuromap.simulation.engine.kernel.barrier import ABORT
from neuromap.simulation.engine.kernel.compiled import compiled
from neuromap.simulation.engine.kernel.memory_layout import read_only
from neuromap.simulation.engine.kernel.remote import Remote
from neuromap.simulation.engine.kernel.workspace import Events, Record

_RECORD_BYTES = 1 << 23
"""Spike bits that one call of the kernel may write."""
_CALL_SECONDS = 0.05
"""What one call of the kernel should take at most, so that Ctrl-C is heard."""


class CompiledRuns(ABC):
    """What compiled engines share: ``step`` and ``run``, on top of calls of a kernel."""

    program: ChipProgram  # what is loaded
    tick: int  # the tick that runs next; the first is 0

    def _start_runs(self, groups: int) -> None:
        """Begin with nothing known of runs; a core has ``groups`` words of 32 spike bits."""
        self._groups = groups
        self._watch: tuple[NDArray[np.bool_], Record, NDArray[np.int64]] | None = None
        self._pace = 0.0  # seconds per tick of the last call

    @abstractmethod
    def _call(self, n_ticks: int, events: Events, event_tick: int, record: Record) -> None:
        """Run some ticks in the kernel, on as many threads as pay; end with :meth:`_count_ticks`."""

    @abstractmethod
    def _call_each(
        self, n_runs: int, n_ticks: int, events: Events, event_tick: int, record: Record, noise_seed: int
    ) -> None:
        """Run runs in a row, each from tick 0, in one call of the kernel on this thread alone."""

    @abstractmethod
    def reset(self, noise_seed: int | None = None) -> None:
        """Go back to the state before tick 0; ``noise_seed``, if given, is the seed from now on."""

    def _remote(self, remote: Remote) -> Remote:
        """Say how the next call hands spikes to other ranks; an engine that is alone has none."""
        return remote

    def _together(self, work: Callable[[int], None], n_threads: int, barrier: NDArray[np.uint64], n_ticks: int) -> None:
        """Run ``work(thread)`` of a call of ``n_ticks`` on all threads of a team."""
        run_together(work, n_threads, barrier)

    def _count_ticks(self, n_ticks: int, seconds: float) -> None:
        self._pace = seconds / n_ticks
        self.tick += n_ticks

    def step(
        self, host_cores: ArrayLike = (), host_axons: ArrayLike = ()
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Run one tick on axons fed by the host; return cores and neurons that fired, in order."""
        spikes = self.run(HostEvents.of_tick(host_cores, host_axons))
        return spikes.cores, spikes.neurons

    def run(self, events: HostEvents, watched: NDArray[np.bool_] | None = None) -> Spikes:
        """Run ``events.n_ticks`` ticks from now on; see :meth:`neuromap.simulation.engine.engine.Engine.run`."""
        # After an interrupt (Ctrl-C) the state may be some ticks ahead of ``tick``: :meth:`reset` the engine.
        check_run(self.program, events, watched)
        record, cores = self._record(watched)
        pieces = self._pieces(_fed(events), 0, events.n_ticks, record)
        return _joined([self._listed(bits, self.tick - n, record, cores) for bits, n in pieces])

    def run_each(
        self,
        events: HostEvents,
        n_runs: int,
        watched: NDArray[np.bool_] | None = None,
        noise_seed: int = 0,
        is_called_off: Callable[[], bool] = lambda: False,
    ) -> Spikes:
        """Run many runs in a row; see :meth:`neuromap.simulation.engine.engine.BlockEngine.run_each`."""
        check_run(self.program, events, watched)
        record, cores = self._record(watched)
        fed, n_ticks = _fed(events), events.n_ticks // n_runs
        found: list[Spikes] = []
        done = 0 if n_ticks else n_runs
        while done < n_runs and not is_called_off():
            first, seed = done * n_ticks, (noise_seed + done) % 2**64
            n = min(n_runs - done, self._ticks_at_once(record) // n_ticks)
            if n > 0:
                bits = self._bits(n * n_ticks, record)
                self._call_each(n, n_ticks, fed, first, record._replace(fired=bits), seed)
                found.append(self._listed(bits, first, record, cores))
            else:  # one alone is too long for a call
                n = 1
                self.reset(seed)
                for bits, n_more in self._pieces(fed, first, n_ticks, record):
                    found.append(self._listed(bits, first + self.tick - n_more, record, cores))
                    if is_called_off():
                        break
            done += n
        return _joined(found)

    def _pieces(
        self, fed: Events, event_tick: int, n_ticks: int, record: Record
    ) -> Iterator[tuple[NDArray[np.uint32], int]]:
        """Run ticks in as many calls as they need; after each the bits of its spikes, and its number of ticks."""
        done = 0
        while done < n_ticks:
            n = min(n_ticks - done, self._ticks_at_once(record))
            bits = self._bits(n, record)
            self._call(n, fed, event_tick + done, record._replace(fired=bits))
            done += n
            yield bits, n

    def _ticks_at_once(self, record: Record) -> int:
        """Ticks that one call should run, by the time and the memory that they take."""
        pace = int(_CALL_SECONDS / self._pace) if self._pace else 16
        return max(1, min(_RECORD_BYTES // max(4 * record.n_rows * self._groups, 1), pace))

    def _bits(self, n_ticks: int, record: Record) -> NDArray[np.uint32]:
        """Room for the spikes of a call."""
        return np.zeros(n_ticks * record.n_rows * self._groups, np.uint32)

    def _listed(self, bits: NDArray[np.uint32], first: int, record: Record, cores: NDArray[np.int64]) -> Spikes:
        """List the spikes of a call that began at tick ``first``."""
        if not len(bits):
            return _joined([])
        ticks, rows, neurons = compiled().list_spikes(bits, record.n_rows, self._groups)
        return Spikes(ticks + first, cores[rows], neurons)

    def _record(self, watched: NDArray[np.bool_] | None) -> tuple[Record, NDArray[np.int64]]:
        """Say what the kernel is to keep, and the core of each of its rows; remembered for the next call."""
        if self._watch is not None and watched is self._watch[0] and watched is not None:
            return self._watch[1], self._watch[2]
        mask = np.ones(self.program.shape, np.bool_) if watched is None else watched
        if self._watch is not None and np.array_equal(self._watch[0], mask):
            return self._watch[1], self._watch[2]
        record, cores = record_of(mask, self._groups)
        self._watch = (frozen(mask), record, cores)
        return record, cores


def record_of(watched: NDArray[np.bool_], groups: int) -> tuple[Record, NDArray[np.int64]]:
    """Say what a kernel is to keep of watched neurons, (C, N), with no room for it yet; and the core of each row."""
    cores = np.flatnonzero(watched.any(axis=1))
    row = np.full(len(watched) if len(cores) else 0, -1, np.int32)
    row[cores] = np.arange(len(cores))
    words = np.zeros((len(cores), 4 * groups), np.uint8)
    bits = np.packbits(watched[cores], axis=1, bitorder="little")
    words[:, : bits.shape[1]] = bits
    return Record(row, words.reshape(-1).view(np.uint32), np.zeros(0, np.uint32), len(cores)), cores


def _joined(parts: list[Spikes]) -> Spikes:
    if len(parts) == 1:
        return parts[0]
    if not parts:
        nothing = np.zeros(0, np.int64)
        return Spikes(nothing, nothing, nothing)
    return Spikes(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _fed(events: HostEvents) -> Events:
    return Events(
        read_only(np.ascontiguousarray(events.start, np.int64)),
        read_only(np.ascontiguousarray(events.cores, np.int32)),
        read_only(np.ascontiguousarray(events.axons, np.int32)),
    )


def run_together(
    work: Callable[[int], None], n_threads: int, barrier: NDArray[np.uint64], *, apart: bool = False
) -> None:
    """Run ``work(thread)`` on all threads of a team; none is left when this returns or raises."""
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
