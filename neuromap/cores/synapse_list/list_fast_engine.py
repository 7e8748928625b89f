"""The fast engine for synapse-list cores: compiled kernels over vectors, event-driven, on several threads.

Same protocol and same results, bit by bit, as :class:`neuromap.cores.synapse_list.engines.ListNumpyEngine`. For how it
works, see :mod:`neuromap.cores.synapse_list.list_kernel`.
"""

from __future__ import annotations

import time
from copy import copy
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.array_types import Bools, Ints
from neuromap.compiling import announced
from neuromap.cores.synapse_list.list_kernel.list_image import (
    ListImage,
    ListState,
    ListTeam,
    make_list_image,
    make_list_state,
    make_list_team,
    put_extent,
    put_reached,
)
from neuromap.cores.synapse_list.list_kernel.list_tick import list_kernel
from neuromap.cores.synapse_list.program import InputUnderWay, ListProgram, wrapped
from neuromap.hardware.checker import require_legal
from neuromap.simulation.engine.engine import CurrentState, EngineState, HostEvents, Spikes, check_state
from neuromap.simulation.engine.engine_choice import check_seed
from neuromap.simulation.engine.fast_engine import ALONE, CompiledRuns
from neuromap.simulation.engine.kernel.workspace import AXON_EVENTS, SPIKES, SYNAPTIC_EVENTS, Events, Record

# Ticks after which 32-bit ticks of rest are counted from a new epoch.
_EPOCH = 1 << 30


class ListFastEngine(InputUnderWay, CompiledRuns):
    """State of a chip that runs a program in compiled code."""

    # Sums of weights wrap modulo 2**32, unless none can leave 16 bits; as currents have 32 bits or fewer and wrap
    # themselves, that is exact.

    program: ListProgram

    def __init__(self, program: ListProgram, *, threads: int = 1, noise_seed: int = 0) -> None:
        require_legal(program, mapped=False, indices_only=True)
        check_seed(noise_seed)
        self.program = program
        self._start(make_list_image(program), threads)

    def _start(self, image: ListImage, threads: int) -> None:
        self._image = image
        self._threads = threads
        self._alone, self._team = self._teams(threads)
        self._start_runs(image.shape.lanes // 32)
        self._start_state: ListState | None = None
        self._held, self._held_from = np.zeros((0, image.shape.n_cores * image.shape.lanes), np.uint8), 0
        self.reset()

    def _teams(self, threads: int) -> tuple[ListTeam, ListTeam]:
        """Make the team that runs short calls, and the one that runs the others."""
        alone = make_list_team(self._image, 1)
        return alone, alone if threads == 1 else make_list_team(self._image, threads)

    def reset(self, noise_seed: int | None = None) -> None:
        """Reset to the state before tick 0; ``noise_seed`` has no effect."""
        check_seed(0 if noise_seed is None else noise_seed)
        self.tick = self._epoch = 0
        self._state = make_list_state(self.program, self._image)
        self._alone.totals[:] = 0
        self._team.totals[:] = 0

    def fork(self) -> Self:
        """Make another engine at tick 0 on the same image."""
        other = copy(self)
        other._start(self._image, self._threads)
        return other

    @property
    def state(self) -> EngineState:
        """Copy of everything that future ticks depend on."""
        due, amounts, spikes, _ = self._under_way()
        resting = np.maximum(self._of_neurons(self._state.resting) - (self.tick - self._epoch) + 1, 0)
        currents = CurrentState(self.currents, resting, due, amounts)
        return EngineState(self.tick, self.potentials, spikes, self.totals, currents)

    def restore(self, state: EngineState) -> None:
        """Continue from a state of this program, from any engine; ``visits`` count from 0."""
        check_state(self.program, state)
        self.reset()
        self.tick = self._epoch = state.tick
        put_reached(self._image, self._state, state.spikes)
        if state.currents is not None:
            self._put(state.potentials, state.currents)
        self._alone.totals[[SPIKES, AXON_EVENTS, SYNAPTIC_EVENTS]] = state.totals

    def _put(self, voltages: Ints, currents: CurrentState) -> None:
        """Write values of neurons and sums due into the new state, whose epoch begins now."""
        state, shape = self._state, self._image.shape
        resting = currents.resting
        tables = ((state.voltage, voltages), (state.current, currents.current), (state.resting, resting - 1))
        for table, values in tables:
            table.reshape(-1, shape.lanes)[:, : self.program.chip.neurons] = values
        last = self.tick + resting.max(axis=1, initial=0) - 1
        state.rests[:] = np.where(resting.any(axis=1), last, -1)
        due, core, neuron = currents.due.T
        state.due.reshape(-1, shape.slots, shape.lanes)[core, due % shape.slots, neuron] = (
            currents.amounts >> shape.due_shift
        )
        np.maximum.at(state.busy, core, due)
        put_extent(self._image, state, (core, neuron))

    def potentials_of(self, cores: Ints) -> Ints:
        """Voltages v of some cores, in this order, a copy, shape (n, N)."""
        return self._of_neurons(self._state.voltage)[cores]

    @property
    def currents(self) -> Ints:
        """Currents u of all neurons after the last tick, a copy, shape (C, N)."""
        return self._of_neurons(self._state.current)

    def _of_neurons(self, values: NDArray[np.int32]) -> Ints:
        table = values.reshape(-1, self._image.shape.lanes)
        return table[:, : self.program.chip.neurons].astype(np.int64)

    def run_holding(self, events: HostEvents) -> tuple[Spikes, Bools]:
        """Run some ticks; also return who holds a voltage as each begins: :class:`.HoldingEngine`."""
        shape = self._image.shape
        nobody, held = self._held, np.zeros((events.n_ticks, shape.n_cores * shape.lanes), np.uint8)
        self._held, self._held_from = held, self.tick
        try:
            spikes = self.run(events)
        finally:
            self._held = nobody
        table = held.view(np.bool_).reshape(-1, shape.n_cores, shape.lanes)
        return spikes, table[:, :, : self.program.chip.neurons]

    def _rings(self) -> tuple[Ints, Bools]:
        shape, n = self._image.shape, self.program.chip.neurons
        ring = self._state.due.reshape(-1, shape.slots, shape.lanes)[:, :, :n].swapaxes(0, 1)
        ahead = self.tick + np.arange(int(self.program.synapses.delay.max(initial=0)) + 1)
        due = np.zeros((len(ahead), *self.program.shape), np.int64)
        due[ahead % len(ahead)] = ring[ahead % shape.slots]
        bytes_ = self._state.reached.view(np.uint8).reshape(shape.spike_delay + 1, -1)
        bits = np.unpackbits(bytes_, axis=1, bitorder="little")
        used = np.concatenate([np.arange(k) + 64 * w for k, w in zip(self.program.axon_counts, self._image.word)])  # noqa: B905
        return due << shape.due_shift, bits[:, used.astype(np.int64)] != 0

    def _fitted(self, amounts: Ints) -> Ints:
        return wrapped(amounts, self.program.chip.lists.sum_bits)

    def _counts(self) -> Ints:
        teams = [self._alone, *([self._team] if self._team is not self._alone else [])]
        totals: Ints = np.concatenate([team.totals.reshape(-1, 8) for team in teams]).sum(axis=0)
        return totals

    def _call(self, n_ticks: int, events: Events, event_tick: int, record: Record) -> None:
        team = self._team if n_ticks * self.program.n_cores >= ALONE else self._alone
        team = team._replace(
            remote=self._remote(team.remote), held=self._held[self.tick - self._held_from :].reshape(-1)
        )
        run = self._run(events, record)
        self._renew_epoch()
        began = time.perf_counter()

        def work(me: int) -> None:
            run(
                self._image, self._state, self._state, team, me, self.tick, n_ticks, 0, self._epoch, events, event_tick,
                record,
            )  # fmt: skip

        self._together(work, team.n_threads, team.barrier, n_ticks)
        self._count_ticks(n_ticks, time.perf_counter() - began)

    def _call_each(
        self, n_runs: int, n_ticks: int, events: Events, event_tick: int, record: Record, noise_seed: int
    ) -> None:
        run = self._run(events, record)
        if self._start_state is None:
            self._start_state = make_list_state(self.program, self._image)
        self._team.totals[:] = 0
        began = time.perf_counter()
        run(
            self._image, self._state, self._start_state, self._alone, 0, 0, n_ticks, n_runs, 0, events, event_tick,
            record,
        )  # fmt: skip
        self.tick = self._epoch = 0
        self._count_ticks(n_ticks, (time.perf_counter() - began) / n_runs)

    def _run(self, events: Events, record: Record) -> Any:
        """Return the entry point of the kernel, compiled or loaded before any tick and on this thread alone."""
        run = list_kernel()
        if not self._pace:
            with announced("the fast engine for synapse lists"):
                run(self._image, self._state, self._state, self._alone, 0, 0, 0, 0, 0, events, 0, record)
        return run

    def _renew_epoch(self) -> None:
        """Keep ticks of rest inside 32 bits."""
        passed = self.tick - self._epoch
        if passed >= _EPOCH:
            resting = self._state.resting
            np.maximum(resting.astype(np.int64) - passed, -1, out=resting, casting="unsafe")
            self._epoch = self.tick
