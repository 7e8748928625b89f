"""The fast engine for synapse-list cores: compiled kernels over vectors, event-driven, on several threads.

Same protocol and same results, bit by bit, as :class:`neuromap.cores.synapse_list.engines.ListNumpyEngine`. For how it
works, see :mod:`neuromap.cores.synapse_list.list_kernel`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.array_types import Bools, Ints
from neuromap.cores.synapse_list.list_kernel import list_image as at
from neuromap.cores.synapse_list.list_kernel.list_tick import list_kernel
from neuromap.cores.synapse_list.program import InputUnderWay, ListProgram, wrapped
from neuromap.simulation.engine.engine import CurrentState, EngineState, HostEvents, Spikes
from neuromap.simulation.engine.fast_engine import CompiledRuns, Workers
from neuromap.simulation.engine.kernel.remote import Remote

# Ticks after which 32-bit ticks of rest are counted from a new epoch.
_EPOCH = 1 << 30


class ListFastEngine(InputUnderWay, CompiledRuns):
    """State of a chip that runs a program in compiled code."""

    # Sums of weights wrap modulo 2**32, unless none can leave 16 bits; as currents have 32 bits or fewer and wrap
    # themselves, that is exact.

    program: ListProgram
    _name = "the fast engine for synapse lists"
    _image: at.ListImage
    _state: at.ListState

    def _start(self, image: Any, threads: int, noise_seed: int) -> None:
        self._held, self._held_from = np.zeros((0, image.shape.n_cores * image.shape.lanes), np.uint8), 0
        super()._start(image, threads, noise_seed)

    def _make_image(self) -> at.ListImage:
        return at.make_list_image(self.program)

    def _make_state(self) -> at.ListState:
        return at.make_list_state(self.program, self._image)

    def _workers(self, threads: int, remote: Remote | None = None) -> Workers:
        return at.make_list_team(self._image, threads, remote)

    def _kernel(self) -> Any:
        return list_kernel()

    @property
    def _groups(self) -> int:
        return self._image.shape.lanes // 32

    def reset(self, noise_seed: int | None = None) -> None:
        """Reset to the state before tick 0; ``noise_seed`` has no effect."""
        super().reset(noise_seed)
        self._epoch = 0

    @property
    def state(self) -> EngineState:
        """Copy of everything that future ticks depend on."""
        due, amounts, spikes, _ = self._under_way()
        resting = np.maximum(self._of_neurons(self._state.resting) - (self.tick - self._epoch) + 1, 0)
        currents = CurrentState(self.currents, resting, due, amounts)
        return EngineState(self.tick, self.potentials, spikes, self.totals, currents)

    def _put_spikes(self, state: EngineState) -> None:
        at.put_reached(self._image, self._state, state.spikes)

    def _put(self, state: EngineState) -> None:
        """Write values of neurons and sums due into the new state, whose epoch begins now."""
        self._epoch = self.tick
        if (currents := state.currents) is None:
            return
        now, shape, resting = self._state, self._image.shape, currents.resting
        tables = ((now.voltage, state.potentials), (now.current, currents.current), (now.resting, resting - 1))
        for table, values in tables:
            table.reshape(-1, shape.lanes)[:, : self.program.chip.neurons] = values
        last = self.tick + resting.max(axis=1, initial=0) - 1
        now.rests[:] = np.where(resting.any(axis=1), last, -1)
        due, core, neuron = currents.due.T
        now.due.reshape(-1, shape.slots, shape.lanes)[core, due % shape.slots, neuron] = (
            currents.amounts >> shape.due_shift
        )
        np.maximum.at(now.busy, core, due)
        at.put_extent(self._image, now, (core, neuron))

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

    def _ready(self, team: at.ListTeam) -> at.ListTeam:
        """Return the team with who holds a voltage, and the epoch: ticks of rest stay inside 32 bits."""
        passed = self.tick - self._epoch
        if passed >= _EPOCH:
            resting = self._state.resting
            np.maximum(resting.astype(np.int64) - passed, -1, out=resting, casting="unsafe")
        if passed >= _EPOCH or self.tick == 0:
            self._epoch = self.tick
        return team._replace(held=self._held[self.tick - self._held_from :].reshape(-1), epoch=self._epoch)
