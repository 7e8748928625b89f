"""The fast engine: compiled kernels over vectors, event-driven, on several threads.

The same protocol and the same results, bit by bit, as :class:`neuromap.simulation.engine.numpy_engine.NumpyEngine`.
How it works is in :mod:`neuromap.simulation.engine.kernel`.
"""

from __future__ import annotations

import threading
import time
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuromap.compiling.announcement import announced
from neuromap.hardware.check.check_program import require_legal
from neuromap.hardware.program.program import Program
from neuromap.simulation.engine.engine import Footprint, HostEvents, Spikes, Totals, check_run
from neuromap.simulation.engine.kernel import layout
from neuromap.simulation.engine.kernel.compiled import compiled
from neuromap.simulation.engine.kernel.image import make_image, make_state, read_only, vector_groups
from neuromap.simulation.engine.kernel.layout import Flag, Image
from neuromap.simulation.engine.kernel.team import ABORT, make_team
from neuromap.simulation.engine.kernel.vectors.extents import extent
from neuromap.simulation.engine.kernel.workspace import (
    AXON_EVENTS,
    SPIKES,
    SYNAPTIC_EVENTS,
    VISITS,
    Events,
    Record,
    Scratch,
    Team,
    make_scratch,
)
from neuromap.simulation.engine.noise import check_seed

__all__ = ["FastEngine"]

_RECORD_BYTES = 1 << 23
"""Spike bits that one call of the kernel may write."""
_CALL_SECONDS = 0.05
"""What one call of the kernel should take at most, so that Ctrl-C is heard."""
_ALONE = 4096
"""Visits of cores below which starting threads costs more than it saves."""


class FastEngine:
    """State of a chip that runs a program in compiled code.

    Parameters
    ----------
    program : Program
        What is loaded; not changed.
    threads : int
        Threads that share the cores, in whole blocks of 64 cores; the result does not depend on it.
    noise_seed : int
        Seed of the stochastic modes, 0 to 2**64 - 1.

    Raises
    ------
    InputError
        If the seed is out of range.
    ProgramError
        If the program is not well formed, or breaks a rule about indices (``docs/program-file.md``).
    """

    def __init__(self, program: Program, *, threads: int = 1, noise_seed: int = 0) -> None:
        require_legal(program, mapped=False, indices_only=True)
        self.program = program
        self._start(make_image(program), threads, noise_seed)

    def _start(self, image: Image, threads: int, noise_seed: int) -> None:
        self._image = image
        self._noise_seed = check_seed(noise_seed)
        self._threads = threads
        self._width = (0,) * vector_groups(self.program.chip.neurons)
        self._alone = self._ranks(1)
        self._team = self._alone if threads == 1 else self._ranks(threads)
        self._watch: tuple[NDArray[np.bool_], Record, NDArray[np.int64]] | None = None
        self._pace = 0.0  # seconds per tick of the last call
        self.reset()

    def _ranks(self, threads: int) -> tuple[Team, list[Scratch]]:
        team = make_team(self._image, threads)
        return team, [make_scratch(self._image, size) for size in np.diff(team.first).tolist()]

    def reset(self, noise_seed: int | None = None) -> None:
        """Go back to the state before tick 0; ``noise_seed``, if given, is the seed from now on."""
        if noise_seed is not None:
            self._noise_seed = check_seed(noise_seed)
        self.tick = 0
        self._state = make_state(self.program, self._image)
        for _, scratches in (self._alone, self._team):
            for scratch in scratches:
                scratch.totals[:] = 0

    def fork(self) -> Self:
        """Make another engine at tick 0 on the same image, with the same seed."""
        other = type(self).__new__(type(self))
        other.program = self.program
        other._start(self._image, self._threads, self._noise_seed)
        return other

    @property
    def potentials(self) -> NDArray[np.int64]:
        """Potentials V of all neurons after the last tick, a copy, shape (C, N)."""
        return self.potentials_of(np.arange(self.program.n_cores))

    def potentials_of(self, cores: NDArray[np.int64]) -> NDArray[np.int64]:
        """Potentials V of some cores, in this order, a copy, shape (n, N)."""
        n, lanes = self.program.chip.neurons, 32 * extent(self._image.shape.groups)
        narrow, wide = (a.reshape(-1, lanes)[cores, :n] for a in (self._state.narrow, self._state.wide))
        return np.where(self._state.is_wide[cores, None] != 0, wide, narrow).astype(np.int64)

    @property
    def pending(self) -> NDArray[np.int64]:
        """Spikes under way as sorted rows (tick at which it is due, core, axon), shape (n, 3)."""
        shape = self._image.shape
        slots = 1 << shape.slot_bits
        ring = self._state.ring.view(np.uint8).reshape(slots, shape.n_cores, 8 * extent(shape.words))
        ahead, core, byte = np.nonzero(np.roll(ring, -(self.tick % slots), axis=0))
        bits = np.unpackbits(ring[(ahead + self.tick) % slots, core, byte][:, None], axis=1, bitorder="little")
        row, bit = np.nonzero(bits)
        return np.stack([self.tick + ahead[row], core[row], byte[row] * 8 + bit], axis=1).astype(np.int64)

    @property
    def totals(self) -> Totals:
        """Activity since tick 0."""
        totals = self._counts()
        return Totals(int(totals[SPIKES]), int(totals[AXON_EVENTS]), int(totals[SYNAPTIC_EVENTS]))

    @property
    def visits(self) -> int:
        """Cores visited since tick 0, counted once per tick; the others were at rest."""
        return int(self._counts()[VISITS])

    def _counts(self) -> NDArray[np.int64]:
        every = [*self._alone[1], *(self._team[1] if self._team is not self._alone else [])]
        totals: NDArray[np.int64] = np.sum([scratch.totals for scratch in every], axis=0)
        return totals

    @property
    def footprint(self) -> Footprint:
        """Memory that the program takes here."""
        image, shape = self._image, self._image.shape
        header = image.header.reshape(-1, layout.HEADER)
        lanes = 32 * extent(shape.groups)
        hot = (image.crossbar, image.axon_types, image.header, image.uniform_weights, image.weights8, image.weights16)
        wide = int(self._state.is_wide.sum()) * lanes * (self._state.wide.itemsize + 14)
        state = self._state.narrow.nbytes + self._state.ring.nbytes + self._state.busy.nbytes
        planes = image.planes8.nbytes + image.planes16.nbytes
        weights = image.weights8.nbytes + image.weights16.nbytes
        uniform = ((header[:, layout.FLAGS] & Flag.UNIFORM) != 0).sum() * 64
        parameters = int(planes + weights + uniform) // max(shape.n_cores, 1)
        row = 4 * extent(shape.groups)
        return Footprint(
            hot_bytes=sum(array.nbytes for array in hot) + planes + image.target.nbytes + state + wide,
            visit_bytes=2 * 2 * lanes + 4 * layout.HEADER + 64 + parameters + 8 * ((1 << shape.axon_bits) // 64),
            event_bytes=max(64, row),
            spike_bytes=64 + 2 * 64,
        )

    def step(
        self, host_cores: ArrayLike = (), host_axons: ArrayLike = ()
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Run one tick on axons fed by the host; return cores and neurons that fired, in order."""
        spikes = self.run(HostEvents.of_tick(host_cores, host_axons))
        return spikes.cores, spikes.neurons

    def run(self, events: HostEvents, watched: NDArray[np.bool_] | None = None) -> Spikes:
        """Run ``events.n_ticks`` ticks from now on; see :meth:`neuromap.simulation.engine.engine.Engine.run`.

        Notes
        -----
        After an interrupt (Ctrl-C) the state may be some ticks ahead of ``tick``: :meth:`reset` the engine.
        """
        check_run(self.program, events, watched)
        record, cores = self._record(watched)
        fed = Events(
            read_only(np.ascontiguousarray(events.start, np.int64)),
            read_only(np.ascontiguousarray(events.cores, np.int32)),
            read_only(np.ascontiguousarray(events.axons, np.int32)),
        )
        row_words = record.n_rows * extent(self._image.shape.groups)
        at_once = max(1, _RECORD_BYTES // max(4 * row_words, 1))
        found = []
        done = 0
        while done < events.n_ticks:
            pace = int(_CALL_SECONDS / self._pace) if self._pace else 16
            n = min(events.n_ticks - done, at_once, max(1, pace))
            fired = np.zeros(n * row_words, np.uint32)
            first = self.tick
            self._call(n, fed, done, record._replace(fired=fired))
            done += n
            if row_words:
                ticks, rows, neurons = compiled().list_spikes(fired, record.n_rows, extent(self._image.shape.groups))
                found.append((ticks + first, cores[rows], neurons))
        if not found:
            nothing = np.zeros(0, np.int64)
            return Spikes(nothing, nothing, nothing)
        if len(found) == 1:
            return Spikes(*found[0])
        return Spikes(*(np.concatenate(column) for column in zip(*found, strict=True)))

    def _record(self, watched: NDArray[np.bool_] | None) -> tuple[Record, NDArray[np.int64]]:
        """Say what the kernel is to keep, and the core of each of its rows; remembered for the next call."""
        shape = self._image.shape
        n = self.program.chip.neurons
        mask = np.ones((shape.n_cores, n), np.bool_) if watched is None else watched
        if self._watch is not None and np.array_equal(self._watch[0], mask):
            return self._watch[1], self._watch[2]
        cores = np.flatnonzero(mask.any(axis=1))
        row = np.full(shape.n_cores if len(cores) else 0, -1, np.int32)
        row[cores] = np.arange(len(cores))
        words = np.zeros((len(cores), 4 * extent(shape.groups)), np.uint8)
        bits = np.packbits(mask[cores], axis=1, bitorder="little")
        words[:, : bits.shape[1]] = bits
        record = Record(row, words.reshape(-1).view(np.uint32), np.zeros(0, np.uint32), len(cores))
        self._watch = (mask.copy(), record, cores)
        return record, cores

    def _call(self, n_ticks: int, events: Events, event_tick: int, record: Record) -> None:
        """Run some ticks in the kernel, on as many threads as pay."""
        team, scratches = self._team if n_ticks * self.program.n_cores >= _ALONE else self._alone
        run, seed = compiled().run, np.uint64(self._noise_seed)
        if not self._pace:  # compile, or load what was compiled, apart from the ticks and on this thread alone
            alone, scratch = self._alone[0], self._alone[1][0]
            with announced("the fast engine for this processor and core shape"):
                run(self._image, self._state, scratch, alone, 0, self.tick, 0, events, 0, record, seed, self._width)
        began = time.perf_counter()

        def work(me: int) -> None:
            run(
                self._image, self._state, scratches[me], team, me, self.tick, n_ticks, events, event_tick, record, seed,
                self._width,
            )  # fmt: skip

        if team.n_threads == 1:
            work(0)
        else:
            _run_together(work, team)
        self._pace = (time.perf_counter() - began) / n_ticks
        self.tick += n_ticks


def _run_together(work: Any, team: Team) -> None:
    """Run ``work(thread)`` on all threads of a team; none is left when this returns or raises."""
    team.barrier[:] = 0
    others = [threading.Thread(target=work, args=(me,), daemon=True) for me in range(1, team.n_threads)]
    started = []
    try:
        for thread in others:
            thread.start()
            started.append(thread)
        work(0)
    except BaseException:
        team.barrier[ABORT] = 1
        raise
    finally:
        for thread in started:
            thread.join()
