"""The meaning of a spiking network: its integer neurons, tick by tick, without a chip."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuromap.network.network import Network
from neuromap.network.neurons.current_neuron import CurrentNeuron

__all__ = ["CurrentState", "spiking_reference"]

Ints = NDArray[np.int64]


class CurrentState(NamedTuple):
    """State of the neurons of a node; of shape (size,) if nothing else is said, int64.

    Attributes
    ----------
    current : ndarray
        u, shape (n_currents, size).
    voltage : ndarray
        v.
    rest : ndarray
        Ticks for which the neuron still rests.
    """

    current: Ints
    voltage: Ints
    rest: Ints

    @classmethod
    def before(cls, neuron: CurrentNeuron) -> CurrentState:
        """State before the first tick."""
        current = np.zeros((neuron.n_currents, len(neuron.current)), np.int64)
        current[0] = neuron.current
        return cls(current, neuron.voltage, np.zeros_like(neuron.voltage))


def spiking_reference(network: Network, inputs: Mapping[str, NDArray[np.bool_]]) -> dict[str, NDArray[np.bool_]]:
    """Compute every node of a spiking network tick by tick; a frame is a tick.

    In frame i >= 1 a node's neurons take a step (:class:`~neuromap.network.neurons.current_neuron.CurrentNeuron`) on
    what its edges deliver, W_e x_u[i - delay(e)]; frames before 0 are silent, and x_v[0] = 0 for all but the inputs.

    Parameters
    ----------
    network : Network
        Spiking, with weights.
    inputs : mapping of str to ndarray of bool, shape (n_frames, size)
        Frames of the input nodes, checked.

    Returns
    -------
    dict of str to ndarray of bool, shape (n_frames, size)
        Frames of all nodes, in the order of the network.
    """
    n_frames = len(next(iter(inputs.values())))
    x = {name: np.zeros((n_frames, node.size), dtype=np.int64) for name, node in network.nodes.items()}
    for name, rows in inputs.items():
        x[name][:] = rows
    neurons = {name: node.neuron for name, node in network.nodes.items() if node.neuron is not None}
    states = {name: CurrentState.before(neuron) for name, neuron in neurons.items()}
    edges = [(u, v, term) for (u, v), edge in network.edges.items() for term in edge.terms]
    for i in range(1, n_frames):
        drive = {name: np.zeros_like(state.current) for name, state in states.items()}
        for u, v, term in edges:
            if i >= term.delay:
                drive[v][term.current] += term.matrix @ x[u][i - term.delay]
        for name, neuron in neurons.items():
            states[name], x[name][i] = _step(neuron, states[name], drive[name])
    return {name: rows.astype(np.bool_) for name, rows in x.items()}


def _step(neuron: CurrentNeuron, state: CurrentState, drive: Ints) -> tuple[CurrentState, NDArray[np.bool_]]:
    """Take one tick: steps 1 to 3 of the neuron."""
    one, rail = 1 << neuron.decay_bits, (1 << (neuron.voltage_bits - 1)) - 1
    half = 1 << (neuron.current_bits - 1)
    decay = np.stack([neuron.current_decay, *neuron.more_current_decays])
    current = toward_zero(state.current * (one - decay), neuron.decay_bits) + drive
    current = (current + half) % (2 * half) - half
    voltage = toward_zero(state.voltage * (one - neuron.voltage_decay), neuron.decay_bits)
    voltage = voltage + current.sum(axis=0) + neuron.bias
    voltage = np.where(state.rest > 0, 0, np.clip(voltage, -rail, rail))
    spikes = voltage > neuron.threshold
    rest = np.where(spikes, neuron.refractory, np.maximum(state.rest - 1, 0))
    return CurrentState(current, np.where(spikes, 0, voltage), rest), spikes


def toward_zero(value: Ints, bits: int) -> Ints:
    """Divide by 2**bits, rounding toward zero."""
    quotient: Ints = np.sign(value) * (np.abs(value) >> bits)
    return quotient
