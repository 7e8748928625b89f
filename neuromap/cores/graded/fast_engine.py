"""The fast engine for graded cores: the compiled tick of :mod:`neuromap.cores.graded.kernel`, on several threads."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.array_types import Bools, Ints
from neuromap.cores.graded import kernel
from neuromap.cores.graded.pending import GradedSteps, checked_values, twice_fed
from neuromap.cores.graded.program import GradedProgram
from neuromap.simulation.engine.engine import EngineState, HostEvents, Messages, check_run, joined
from neuromap.simulation.engine.fast_engine import CALL_SECONDS, CompiledEngine, Workers
from neuromap.simulation.engine.kernel.barrier import BARRIER_WORDS
from neuromap.simulation.engine.kernel.remote import Remote
from neuromap.simulation.engine.kernel.workspace import Call

# Messages of a thread that one call of the kernel may list.
_ROOM = 1 << 22
# Duration of a call below which starting threads costs more than it saves.
_ALONE_SECONDS = 5e-4


class GradedFastEngine(GradedSteps, CompiledEngine):
    """State of a chip that runs a program in compiled code; an :class:`neuromap.simulation.engine.engine.Engine`."""

    _name = "the fast engine for graded cores"
    _image: kernel.Image
    _state: kernel.State

    def __init__(self, program: GradedProgram, *, threads: int = 1, noise_seed: int = 0) -> None:
        super().__init__(program, threads=threads, noise_seed=noise_seed)
        self._bounds = program.axon_ranges()
        lanes, n = self._image.lanes, program.chip.neurons
        core = np.repeat(np.arange(program.n_cores), np.diff(lanes))
        neuron = np.arange(len(core)) - lanes[core]
        self._lane = np.flatnonzero(neuron < n)
        self._at = core[self._lane], neuron[self._lane]

    def _make_image(self) -> kernel.Image:
        return kernel.make_image(self.program)

    def _make_state(self) -> kernel.State:
        return kernel.make_state(self._image)

    def _kernel(self) -> Any:
        return kernel.graded_kernel()

    def _workers(self, threads: int, remote: Remote | None = None) -> Workers:
        """Distribute the cores over threads, with about equal synapses and neurons each."""
        image = self._image
        n_cores = len(image.lanes) - 1
        work = np.append(0, np.cumsum(image.length.astype(np.int64)))[image.axons] + image.lanes
        share = work[-1] * np.arange(1, threads) / threads
        first = np.concatenate([[0], np.searchsorted(work, share), [n_cores]])
        first = np.maximum.accumulate(first).clip(0, n_cores).astype(np.int64)
        room = max(_ROOM, int(image.lanes[-1]))
        scratches = [kernel.Scratch(*np.zeros((2, 8), np.int64), *np.empty((4, room), np.int32)) for _ in first[1:]]
        return kernel.Team(threads, first, np.zeros(BARRIER_WORDS, np.uint64)), scratches

    def potentials_of(self, cores: Ints) -> Ints:
        """Totals of some cores in the last tick, in this order, a copy, shape (n, N)."""
        now = self._state.last == self.tick - 1
        return self._of_neurons(np.where(np.repeat(now, np.diff(self._image.lanes)), self._state.total, 0))[cores]

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

    def _put(self, state: EngineState) -> None:
        image, now = self._image, self._state
        now.total[self._lane] = state.potentials[self._at]
        now.last[:] = state.tick - 1
        if (currents := state.currents) is not None:
            due, core, neuron = currents.due.T
            now.due[due % image.slots * image.lanes[-1] + image.lanes[core] + neuron] = currents.amounts
            now.is_due[due % image.slots, core] = 1

    def _put_spikes(self, state: EngineState) -> None:
        due, core, axon = state.spikes.T
        slot = due % len(self._state.carried)
        self._state.carried[slot, self._image.axons[core] + axon] = () if state.values is None else state.values
        self._state.fed[slot, core] = 1

    def run(self, events: HostEvents, watched: Bools | None = None) -> Messages:
        """Run the next ``events.n_ticks`` ticks; see :meth:`neuromap.simulation.engine.engine.Engine.run`."""
        # After an interrupt (Ctrl-C) the state may be some ticks ahead of ``tick``: :meth:`reset` the engine.
        check_run(self.program, events, watched)
        values = checked_values(self.program, events, self._bounds)
        fed = kernel.Fed(
            np.ascontiguousarray(events.start, np.int64),
            np.ascontiguousarray(events.cores, np.int32),
            self._image.axons[events.cores] + events.axons,
            values.astype(np.int32),
        )
        lanes = self._image.exists
        if watched is not None:
            lanes = np.zeros_like(lanes)
            lanes[self._lane] = watched[self._at]
        found, done = [Messages(*np.zeros((4, 0), np.int64))], 0
        while done < events.n_ticks:
            pace = int(CALL_SECONDS / self._pace) if self._pace else 1
            n = min(events.n_ticks - done, max(1, min(pace, _ROOM // max(int(self._image.lanes[-1]), 1))))
            workers = self._alone if self._pace * n < _ALONE_SECONDS else self._team
            for scratch in workers[1]:
                scratch.totals[kernel.LISTED] = 0
            self._call(workers, self._state, Call(self.tick, n, 0, False, fed, done, lanes, np.uint64(0)))
            if fault := max(int(scratch.totals[kernel.FAULT]) for scratch in workers[1]):
                self.tick -= n
                raise twice_fed(fault - 1)
            found.append(self._listed(workers[1], self.tick - n))
            done += n
        return joined(found[1:] or found)

    def _listed(self, scratches: list[kernel.Scratch], first: int) -> Messages:
        """List the messages of a call that began at tick ``first``, by tick, core and neuron."""
        parts = []
        for s in scratches:
            parts.append([column[: s.totals[kernel.LISTED]] for column in (s.tick, s.core, s.lane, s.value)])
        tick, core, neuron, value = (np.concatenate(column).astype(np.int64) for column in zip(*parts, strict=True))
        if len(parts) > 1:  # each thread's are in this order already, and threads have ascending cores
            order = np.argsort(tick, kind="stable")
            tick, core, neuron, value = tick[order], core[order], neuron[order], value[order]
        return Messages(first + tick, core, neuron, value)
