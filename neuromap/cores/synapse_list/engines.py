"""Engines for programs of synapse lists.

In NumPy a tick has three steps: reached axons spread their lists over the ticks to come, every neuron adds
what is due to its current and computes its voltage, and every spike is sent to its axons. The equations are in
:mod:`neuromap.cores.synapse_list.program`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.array_types import Bools, Ints
from neuromap.cores.synapse_list.program import InputUnderWay, ListProgram, synapses_of, wrapped
from neuromap.simulation.engine.engine import CurrentState, Engine, EngineState, Totals, check_state
from neuromap.simulation.engine.engine_choice import EngineChoice, check_seed
from neuromap.simulation.engine.readable_engine import ReadableEngine


class ListNumpyEngine(InputUnderWay, ReadableEngine):
    """State of a chip that runs a program."""

    # Every sum here is exact: fewer than 2**31 synapses of 32-bit weights stay inside 64 bits, and so do products of
    # currents and voltages (32 bits) with decays (16 bits).
    program: ListProgram

    def reset(self, noise_seed: int | None = None) -> None:
        """Reset to the state before tick 0; ``noise_seed`` has no effect."""
        check_seed(0 if noise_seed is None else noise_seed)
        program = self.program
        self.tick = 0
        self._totals = Totals(0, 0, 0)
        self._current = program.neurons.current.astype(np.int64)
        self._potentials = program.neurons.voltage.astype(np.int64)
        self._rest = np.zeros(program.shape, np.int64)  # remaining ticks of rest
        self._reached = np.zeros((program.chip.delay[0] + 1, len(program.synapses.lists) - 1), np.bool_)
        self._due = np.zeros((int(program.synapses.delay.max(initial=0)) + 1, *program.shape), np.int64)

    @property
    def state(self) -> EngineState:
        """Copy of everything that future ticks depend on."""
        due, amounts, spikes, _ = self._under_way()
        currents = CurrentState(self._current, self._rest, due, amounts)
        return EngineState(self.tick, self._potentials, spikes, self._totals, currents)

    def restore(self, state: EngineState) -> None:
        """Continue from a state of this program, from any engine."""
        check_state(self.program, state)
        self.reset()
        self.tick, self._totals = state.tick, Totals(*state.totals)
        self._potentials = state.potentials.copy()
        due, core, axon = state.spikes.T
        self._reached[due % len(self._reached), self.program.synapses.axons[core] + axon] = True
        if (currents := state.currents) is not None:
            self._current, self._rest = currents.current.copy(), currents.resting.copy()
            due, core, neuron = currents.due.T
            self._due[due % len(self._due), core, neuron] = currents.amounts

    @property
    def currents(self) -> Ints:
        """Currents u of all neurons after the last tick, a copy, shape (C, N)."""
        return self._current.copy()

    def _rings(self) -> tuple[Ints, Bools]:
        return self._due, self._reached

    def _fitted(self, amounts: Ints) -> Ints:
        return wrapped(amounts, self.program.chip.lists.sum_bits)

    def _tick(self, cores: NDArray[np.integer], axons: NDArray[np.integer]) -> tuple[Ints, Ints]:
        n_synapses, n_lists = self._spread(self.program.synapses.axons[cores] + axons)
        fired_cores, fired = self._compute()
        self._send(fired_cores, fired)
        self._count(len(fired), n_lists, n_synapses)
        self.tick += 1
        return fired_cores, fired

    def _spread(self, fed: Ints) -> tuple[int, int]:
        """Add the lists of reached axons to the sums due, each synapse after its delay; count them."""
        reached = self._reached[self.tick % len(self._reached)]
        reached[fed] = True
        lists = np.flatnonzero(reached)
        reached[lists] = False  # free for spikes that reach their axons one turn of the ring later
        synapses, core = synapses_of(self.program, lists)
        table = self.program.synapses
        slot = (self.tick + table.delay[synapses].astype(np.int64)) % len(self._due)
        np.add.at(self._due, (slot, core, table.neuron[synapses]), table.weight[synapses])
        return len(synapses), len(lists)

    def _compute(self) -> tuple[Ints, Ints]:
        """Update all neurons; return cores and neurons that fire."""
        neurons, lists = self.program.neurons, self.program.chip.lists
        due = wrapped(self._due[self.tick % len(self._due)], lists.accumulator_bits)
        self._current = wrapped(kept(self._current, neurons.current_decay, lists.decay_bits) + due, lists.current_bits)
        added = self._current + neurons.bias
        rests = self._rest > 0
        if neurons.joined is not None:
            cores, joined = np.nonzero(neurons.joined >= 0)
            np.add.at(added, (cores, neurons.joined[cores, joined]), self._current[cores, joined])
        added = wrapped(added, lists.current_bits) if lists.sum_wraps else added
        rail = 2 ** (self.program.chip.potential_bits - 1) - 1
        low = -rail if neurons.floor is None else -neurons.floor.astype(np.int64).clip(0, rail)
        voltage = (kept(self._potentials, neurons.voltage_decay, lists.decay_bits) + added).clip(low, rail)
        voltage = np.where(rests, self._potentials, voltage)
        fires = ~rests & (voltage > neurons.threshold)
        if neurons.joined is not None:
            voltage = np.where(neurons.joined < 0, voltage, 0)
            fires &= neurons.joined < 0
        left = np.asarray(0 if neurons.reset is None else neurons.reset, np.int64)
        if neurons.subtract is not None:
            left = np.where(neurons.subtract > 0, voltage - neurons.threshold, left)
        self._potentials = np.where(fires, left, voltage)
        self._rest = np.where(fires, neurons.refractory, np.maximum(self._rest - 1, 0))
        self._due[self.tick % len(self._due)] = 0
        cores, fired = np.nonzero(fires)
        return cores, fired

    def _send(self, cores: Ints, neurons: Ints) -> None:
        """Send every spike to its axons, which it reaches after the chip's least delay."""
        program = self.program
        sent = program.sent_by(cores, neurons)
        lists = program.synapses.axons[sent.core] + sent.axon
        self._reached[(self.tick + sent.delay) % len(self._reached), lists] = True


def kept(values: Ints, decay: NDArray[np.int32], bits: int) -> Ints:
    """Return values after one tick of decay, rounded toward zero."""
    # shapes: values (C, N); decay (C, N)
    left: Ints = np.sign(values) * (np.abs(values) * ((1 << bits) - decay.astype(np.int64)) >> bits)
    return left


def _fast(program: ListProgram, choice: EngineChoice) -> Engine:
    from neuromap.cores.synapse_list.list_fast_engine import ListFastEngine  # Numba takes a while to import

    return ListFastEngine(program, threads=choice.n_threads, noise_seed=choice.noise_seed)


def _numpy(program: ListProgram, choice: EngineChoice) -> Engine:
    return ListNumpyEngine(program, noise_seed=choice.noise_seed)


ENGINES = {"fast": _fast, "numpy": _numpy}
