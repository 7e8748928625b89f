"""One tick of spiking neurons: state and drive in, state and spikes out, as their classes say it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.network.neurons.current_neuron import CurrentNeuron
from neuromap.network.neurons.leak_neuron import LeakNeuron
from neuromap.network.neurons.spiking_neuron import SpikingNeuron

__all__ = ["NeuronState", "start", "step"]

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


class NeuronState(NamedTuple):
    """State of the neurons of a node, int64."""

    current: Ints  # u, shape (n_currents, size); zeros for neurons without
    potential: Ints  # v or V, shape (size,)
    rest: Ints  # ticks for which the neuron still rests, shape (size,)


def start(neuron: SpikingNeuron) -> NeuronState:
    """Give the state before the first tick."""
    current = np.zeros((neuron.n_currents, len(neuron.threshold)), np.int64)
    arrays = neuron.arrays
    current[0] = arrays.get("current", 0)
    return NeuronState(current, arrays.get("voltage", arrays.get("potential", current[0])), np.zeros_like(current[0]))


def step(neuron: SpikingNeuron, state: NeuronState, drive: Ints) -> tuple[NeuronState, Bools]:
    """Take one tick."""
    # shapes: drive (n_currents, size); spikes (size,)
    return _STEPS[neuron.model](neuron, state, drive)


def _step_current(neuron: CurrentNeuron, state: NeuronState, drive: Ints) -> tuple[NeuronState, Bools]:
    one, rail = 1 << neuron.decay_bits, (1 << (neuron.voltage_bits - 1)) - 1
    half = 1 << (neuron.current_bits - 1)
    decay = np.stack([neuron.current_decay, *neuron.more_current_decays])
    current = _toward_zero(state.current * (one - decay), neuron.decay_bits) + drive
    current = (current + half) % (2 * half) - half
    voltage = _toward_zero(state.potential * (one - neuron.voltage_decay), neuron.decay_bits)
    voltage = voltage + current.sum(axis=0) + neuron.bias
    voltage = np.where(state.rest > 0, 0, np.clip(voltage, -rail, rail))
    spikes = voltage > neuron.threshold
    rest = np.where(spikes, neuron.refractory, np.maximum(state.rest - 1, 0))
    return NeuronState(current, np.where(spikes, 0, voltage), rest), spikes


def _step_leak(neuron: LeakNeuron, state: NeuronState, drive: Ints) -> tuple[NeuronState, Bools]:
    potential = state.potential + drive[0] + neuron.leak
    spikes = potential >= neuron.threshold
    after = potential - neuron.threshold if neuron.subtract else np.zeros_like(potential)
    return state._replace(potential=np.where(spikes, after, np.maximum(potential, -neuron.floor))), spikes


_STEPS: Mapping[str, Callable[[Any, NeuronState, Ints], tuple[NeuronState, Bools]]] = ReadOnlyMapping(
    {CurrentNeuron.model: _step_current, LeakNeuron.model: _step_leak}
)


def _toward_zero(value: Ints, bits: int) -> Ints:
    """Divide by 2**bits, rounding toward zero."""
    quotient: Ints = np.sign(value) * (np.abs(value) >> bits)
    return quotient
