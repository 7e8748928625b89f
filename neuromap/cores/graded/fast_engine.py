"""The fast engine for graded cores: the compiled tick of :mod:`neuromap.cores.graded.kernel`, on several threads."""

from __future__ import annotations

import time
from copy import copy
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.array_types import Bools, Ints
from neuromap.compiling import announced
from neuromap.cores.graded.kernel import (
    AXON_EVENTS,
    FAULT,
    LISTED,
    SENT,
    SYNAPTIC_EVENTS,
    Fed,
    Team,
    graded_kernel,
    make_image,
    make_state,
)
from neuromap.cores.graded.pending import GradedSteps, checked_values, twice_fed
from neuromap.cores.graded.program import GradedProgram
from neuromap.hardware.checker import require_legal
from neuromap.simulation.engine.engine import EngineState, HostEvents, Messages, Totals, check_run, check_state
from neuromap.simulation.engine.engine_choice import check_seed
from neuromap.simulation.engine.fast_engine import CALL_SECONDS, run_together
from neuromap.simulation.engine.kernel.barrier import BARRIER_WORDS

# Messages of a thread that one call of the kernel may list.
_ROOM = 1 << 22
# Duration of a call below which starting threads costs more than it saves.
_ALONE_SECONDS = 5e-4


class GradedFastEngine(GradedSteps):
    """State of a chip that runs a program in compiled code; an :class:`neuromap.simulation.engine.engine.Engine`."""

    def __init__(self, program: GradedProgram, *, threads: int = 1, noise_seed: int = 0) -> None:
        require_legal(program, mapped=False, indices_only=True)
        check_seed(noise_seed)
        self.program = program
        self._bounds = program.axon_ranges()
        self._image, self._threads = make_image(program), threads
        lanes, n = self._image.lanes, program.chip.neurons
        core = np.repeat(np.arange(program.n_cores), np.diff(lanes))
        neuron = np.arange(len(core)) - lanes[core]
        self._lane = np.flatnonzero(neuron < n)
        self._at = core[self._lane], neuron[self._lane]
        self._seconds = 0.0  # of a tick of the last call
        self._start()

    def _start(self) -> None:
        self._team = _make_team(self._image, self._threads)
        self._watched: Bools | None = None
        self.reset()

    def reset(self, noise_seed: int | None = None) -> None:
        """Reset to the state before tick 0; ``noise_seed`` has no effect."""
        check_seed(0 if noise_seed is None else noise_seed)
        self.tick = 0
        self._state = make_state(self._image)
        self._team.counts[:] = 0

    def fork(self) -> Self:
        """Make another engine at tick 0 on the same image."""
        other = copy(self)
        other._start()
        return other

    @property
    def totals(self) -> Totals:
        """Activity since tick 0; axon events and their synapses count in the tick in which the axon carries a value."""
        counts = self._team.counts.sum(axis=0)
        return Totals(int(counts[SENT]), int(counts[AXON_EVENTS]), int(counts[SYNAPTIC_EVENTS]))

    @property
    def potentials(self) -> Ints:
        """Totals of all neurons in the last tick, a copy, shape (C, N)."""
        now = self._state.last == self.tick - 1
        return self._of_neurons(np.where(np.repeat(now, np.diff(self._image.lanes)), self._state.total, 0))

    def potentials_of(self, cores: Ints) -> Ints:
        """Totals of some cores, in this order, a copy, shape (n, N)."""
        return self.potentials[cores]

    @property
    def state(self) -> EngineState:
        """Copy of everything that future ticks depend on."""
        return self._state_of(self.potentials, self.totals)

    def _rings(self) -> tuple[Ints, Ints]:
        due = self._state.due.reshape(self._image.slots, -1)
        return np.array([self._of_neurons(row) for row in due]), self._state.carried.astype(np.int64)

    def _of_neurons(self, values: NDArray[np.integer]) -> Ints:
        table = np.zeros(self.program.shape, np.int64)
        table[self._at] = values[self._lane]
        return table

    def restore(self, state: EngineState) -> None:
        """Continue from a state of this program, from any engine."""
        check_state(self.program, state)
        self.reset()
        image, now = self._image, self._state
        self.tick = state.tick
        self._team.counts[0, [SENT, AXON_EVENTS, SYNAPTIC_EVENTS]] = state.totals
        now.total[self._lane] = state.potentials[self._at]
        now.last[:] = state.tick - 1
        due, core, axon = state.spikes.T
        slot = due % len(now.carried)
        now.carried[slot, image.axons[core] + axon] = () if state.values is None else state.values
        now.fed[slot, core] = 1
        if (currents := state.currents) is not None:
            due, core, neuron = currents.due.T
            now.due[due % image.slots * image.lanes[-1] + image.lanes[core] + neuron] = currents.amounts
            now.is_due[due % image.slots, core] = 1

    def run(self, events: HostEvents, watched: Bools | None = None) -> Messages:
        """Run the next ``events.n_ticks`` ticks; see :meth:`neuromap.simulation.engine.engine.Engine.run`."""
        # After an interrupt (Ctrl-C) the state may be some ticks ahead of ``tick``: :meth:`reset` the engine.
        check_run(self.program, events, watched)
        values = checked_values(self.program, events, self._bounds)
        fed = Fed(
            np.ascontiguousarray(events.start, np.int64),
            np.ascontiguousarray(events.cores, np.int32),
            self._image.axons[events.cores] + events.axons,
            values.astype(np.int32),
        )
        image = self._watching(watched)
        found, done = [], 0
        while done < events.n_ticks:
            n = min(events.n_ticks - done, self._ticks_at_once())
            found.append(self._call(image, n, fed, done))
            done += n
        if len(found) == 1:
            return found[0]
        columns = [np.concatenate([np.zeros(0, np.int64), *column]) for column in zip(*found, strict=True)]
        return Messages(*(columns or [np.zeros(0, np.int64)] * 4))

    def _watching(self, watched: Bools | None) -> Any:
        """Return the image with the neurons marked whose messages are listed."""
        if watched is None:
            return self._image
        mask = np.zeros_like(self._image.watched)
        mask[self._lane] = watched[self._at]
        return self._image._replace(watched=mask)

    def _ticks_at_once(self) -> int:
        pace = int(CALL_SECONDS / self._seconds) if self._seconds else 1
        return int(max(1, min(pace, self._team.tick.shape[1] // max(int(self._image.lanes[-1]), 1))))

    def _call(self, image: Any, n_ticks: int, fed: Fed, row: int) -> Messages:
        team, run, state = self._team, graded_kernel(), self._state
        team.counts[:, LISTED] = 0
        if self._seconds * n_ticks < _ALONE_SECONDS:
            team = team._replace(n_threads=1, first=team.first[[0, -1]])
        if not self._seconds:  # compiled or loaded before any tick and on this thread alone
            with announced("the fast engine for graded cores"):
                run(image, state, team, 0, self.tick, 0, fed, row, np.zeros(8, np.int64))
        began = time.perf_counter()

        def work(me: int) -> None:
            run(image, state, team, me, self.tick, n_ticks, fed, row, np.zeros(8, np.int64))

        run_together(work, team.n_threads, team.barrier)
        self._seconds = (time.perf_counter() - began) / n_ticks
        if team.counts[:, FAULT].any():
            raise twice_fed(int(team.counts[:, FAULT].max()) - 1)
        found = self._listed()
        self.tick += n_ticks
        return found

    def _listed(self) -> Messages:
        """List the messages of a call, by tick, core and neuron."""
        team, parts = self._team, []
        for me, n in enumerate(team.counts[:, LISTED].tolist()):
            parts.append([column[me, :n] for column in (team.tick, team.core, team.lane, team.value)])
        columns = parts[0] if len(parts) == 1 else [np.concatenate(column) for column in zip(*parts, strict=True)]
        tick, core, neuron, value = columns
        if len(parts) > 1:  # each thread's are in this order already, and threads have ascending cores
            order = np.argsort(tick, kind="stable")
            tick, core, neuron, value = tick[order], core[order], neuron[order], value[order]
        return Messages(self.tick + tick.astype(np.int64), *(c.astype(np.int64) for c in (core, neuron, value)))


def _make_team(image: Any, threads: int) -> Team:
    """Distribute the cores over threads, with about equal synapses and neurons each."""
    n_cores = len(image.lanes) - 1
    work = np.append(0, np.cumsum(image.length.astype(np.int64)))[image.axons] + image.lanes
    share = work[-1] * np.arange(1, threads) / threads
    first = np.concatenate([[0], np.searchsorted(work, share), [n_cores]])
    first = np.maximum.accumulate(first).clip(0, n_cores).astype(np.int64)
    room = max(_ROOM, int(image.lanes[-1]))
    tables = (np.empty((threads, room), np.int32) for _ in range(4))
    return Team(threads, first, np.zeros(BARRIER_WORDS, np.uint64), np.zeros((threads, 8), np.int64), *tables)
