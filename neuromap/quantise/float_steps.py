"""Step-by-step simulation of a float network: the original that its integers are compared with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from neuromap.arrays.array_types import Bools, Floats
from neuromap.errors import StimulusError
from neuromap.quantise.float_network import FloatNetwork, FloatNeuron, Propagators


class _Arrivals(NamedTuple):
    source: str
    target: str
    current: int
    steps: int
    matrix: csr_array


class _State:
    """Voltages, currents and remaining refractory ticks of a node's neurons."""

    def __init__(self, neuron: FloatNeuron, dt: float) -> None:
        self.neuron, self.over = neuron, neuron.propagators(dt)
        self.v = np.array(neuron.voltage)
        self.currents = [np.array(current) for current in neuron.currents]
        self.rest = np.zeros(neuron.size, np.int64)
        self._rest_ticks = neuron.rest_ticks(dt)

    def update(self) -> Bools:
        """Integrate one step and return the spikes; the reset comes later."""
        over: Propagators = self.over
        reset = self.neuron.reset
        v = reset + (self.v - reset) * over.voltage + over.added
        for c, pulse in enumerate(self.neuron.is_pulse):
            if not pulse:
                v = v + over.coupling[c] * self.currents[c]
                self.currents[c] = self.currents[c] * over.current[c]
        is_free = self.rest == 0
        self.v = np.where(is_free, v, self.v)
        spikes: Bools = (self.v > self.neuron.threshold) & is_free
        return spikes

    def deliver(self, current: int, amounts: Floats, spikes: Bools) -> None:
        if self.neuron.is_pulse[current]:
            takes = (self.rest == 0) & ~spikes
            self.v = np.where(takes, self.v + self.neuron.gains[current] * amounts, self.v)
        else:
            self.currents[current] = self.currents[current] + amounts

    def reset(self, spikes: Bools) -> None:
        self.v = np.where(spikes, self.neuron.reset, self.v)
        self.rest = np.where(spikes, self._rest_ticks, np.maximum(self.rest - 1, 0))


def float_reference(network: FloatNetwork, inputs: Mapping[str, Bools], n_steps: int) -> dict[str, Bools]:
    """Simulate a float network in Brian2's order: neurons, thresholds, synapses, resets.

    Parameters
    ----------
    network : FloatNetwork
    inputs : mapping of str to ndarray of bool, shape (n_steps, size)
        Spikes of the input nodes.
    n_steps : int
        Steps of ``network.dt`` seconds.

    Returns
    -------
    dict of str to ndarray of bool, shape (n_steps, size)
        Spikes of all nodes.

    Raises
    ------
    StimulusError
        If an input has another shape.
    """
    for name, size in network.inputs.items():
        if name not in inputs or inputs[name].shape != (n_steps, size):
            raise StimulusError(f"input {name}: needs an array of shape ({n_steps}, {size})")
    states = {name: _State(neuron, network.dt) for name, neuron in network.nodes.items()}
    spikes = {name: np.array(inputs[name], np.bool_) for name in network.inputs}
    spikes |= {name: np.zeros((n_steps, neuron.size), np.bool_) for name, neuron in network.nodes.items()}
    arrivals = list(_arrivals(network))
    for n in range(n_steps):
        for name, state in states.items():
            spikes[name][n] = state.update()
        for a in arrivals:
            if n >= a.steps and (sent := spikes[a.source][n - a.steps]).any():
                states[a.target].deliver(a.current, a.matrix @ sent, spikes[a.target][n])
        for name, state in states.items():
            state.reset(spikes[name][n])
    return spikes


def _arrivals(network: FloatNetwork) -> Iterator[_Arrivals]:
    sizes = network.sizes
    for part in network.synapses:
        steps = network.delay_steps(part)
        for delay in np.unique(steps).tolist():
            mine = steps == delay
            columns = (part.weight[mine], (part.target_neuron[mine], part.source_neuron[mine]))
            matrix = csr_array(columns, shape=(sizes[part.target], sizes[part.source]))
            yield _Arrivals(part.source, part.target, part.current, delay, matrix)
