"""Engines for programs of synapse lists.

In NumPy a tick has three steps: reached axons spread their lists over the ticks to come, every neuron adds
what is due to its current and computes its voltage, and every spike is sent to its axons. The equations are in
:mod:`neuromap.cores.synapse_list.program`.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.array_types import Ints
from neuromap.cores.synapse_list.program import InputUnderWay, ListProgram, synapses_of, wrapped
from neuromap.simulation.engine.engine import CurrentState, Engine, EngineState, Totals
from neuromap.simulation.engine.engine_choice import EngineChoice, check_seed
from neuromap.simulation.engine.readable_engine import ReadableEngine


class NumpyLists(InputUnderWay, ReadableEngine):
    """Axons that spread their lists over the ticks to come; what neurons make of the sums due, a subclass says."""

    # Rings over ticks: what every axon will carry, 1 for a spike, and the sums due for every neuron.
    _value_type: Any = np.bool_

    @abstractmethod
    def _respond(self) -> tuple[Ints, Ints, NDArray[Any]]:
        """Update all neurons from the sums due; return cores and neurons that send, and their values."""

    def reset(self, noise_seed: int | None = None) -> None:
        """Reset to the state before tick 0; ``noise_seed`` has no effect."""
        check_seed(0 if noise_seed is None else noise_seed)
        program = self.program
        self.tick, self._totals = 0, Totals(0, 0, 0)
        self._carried = np.zeros((program.chip.delay[0] + 1, len(program.synapses.lists) - 1), self._value_type)
        self._due = np.zeros((int(program.synapses.delay.max(initial=0)) + 1, *program.shape), np.int64)

    def restore(self, state: EngineState) -> None:
        """Continue from a state of this program, from any engine."""
        super().restore(state)
        due, core, axon = state.spikes.T
        values = True if state.values is None else state.values
        self._carried[due % len(self._carried), self.program.synapses.axons[core] + axon] = values
        if (currents := state.currents) is not None:
            due, core, neuron = currents.due.T
            self._due[due % len(self._due), core, neuron] = currents.amounts

    def _rings(self) -> tuple[Ints, NDArray[Any]]:
        return self._due, self._carried

    def _tick(self, cores: NDArray[np.integer], axons: NDArray[np.integer], values: Any) -> tuple[Ints, ...]:
        fed = np.ones(len(axons), self._value_type) if values is None else values
        n_synapses, n_lists = self._spread(self.program.synapses.axons[cores] + axons, fed)
        senders, neurons, sent = self._respond()
        self._due[self.tick % len(self._due)] = 0
        self._send(senders, neurons, sent)
        self._count(len(sent), n_lists, n_synapses)
        self.tick += 1
        return senders, neurons, sent

    def _spread(self, fed: Ints, values: NDArray[Any]) -> tuple[int, int]:
        """Add what axons carry, times the weights of their lists, to the sums due after each delay; count them."""
        carried = self._carried[self.tick % len(self._carried)]
        carried[fed] = values
        lists = np.flatnonzero(carried)
        synapses, core = synapses_of(self.program, lists)
        table = self.program.synapses
        products = table.weight[synapses] * np.repeat(carried[lists], np.diff(table.lists)[lists])
        slot = (self.tick + table.delay[synapses].astype(np.int64)) % len(self._due)
        np.add.at(self._due, (slot, core, table.neuron[synapses]), products)
        carried[lists] = 0  # free for what reaches the axons one turn of the ring later
        return len(synapses), len(lists)

    def _send(self, cores: Ints, neurons: Ints, values: NDArray[Any]) -> None:
        """Send every value to its axons, which it reaches after the chip's least delay."""
        program = self.program
        sent = program.sent_by(cores, neurons)
        lists = program.synapses.axons[sent.core] + sent.axon
        self._carried[(self.tick + sent.delay) % len(self._carried), lists] = values[sent.spike]


class ListNumpyEngine(NumpyLists):
    """State of a chip that runs a program."""

    # Every sum here is exact: fewer than 2**31 synapses of 32-bit weights stay inside 64 bits, and so do products of
    # currents and voltages (32 bits) with decays (16 bits).
    program: ListProgram

    def reset(self, noise_seed: int | None = None) -> None:
        """Reset to the state before tick 0; ``noise_seed`` has no effect."""
        super().reset(noise_seed)
        self._current = self.program.neurons.current.astype(np.int64)
        self._potentials = self.program.neurons.voltage.astype(np.int64)
        self._rest = np.zeros(self.program.shape, np.int64)  # remaining ticks of rest

    @property
    def state(self) -> EngineState:
        """Copy of everything that future ticks depend on."""
        due, amounts, spikes, _ = self._under_way()
        currents = CurrentState(self._current, self._rest, due, amounts)
        return EngineState(self.tick, self._potentials, spikes, self._totals, currents)

    def restore(self, state: EngineState) -> None:
        """Continue from a state of this program, from any engine."""
        super().restore(state)
        if (currents := state.currents) is not None:
            self._current, self._rest = currents.current.copy(), currents.resting.copy()

    @property
    def currents(self) -> Ints:
        """Currents u of all neurons after the last tick, a copy, shape (C, N)."""
        return self._current.copy()

    def _fitted(self, amounts: Ints) -> Ints:
        return wrapped(amounts, self.program.chip.lists.sum_bits)

    def _respond(self) -> tuple[Ints, Ints, NDArray[Any]]:
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
        cores, fired = np.nonzero(fires)
        return cores, fired, np.ones(len(fired), np.bool_)


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
