"""All synapses onto a node in one table; those that share neurons, delay and current are one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import freeze_arrays
from neuromap.arrays.value import Value
from neuromap.quantise.float_network import FloatNetwork

__all__ = ["SummedSynapses", "sum_synapses"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SummedSynapses(Value):
    """Synapses onto a node, ordered by source node, delay, current, target and source; arrays of shape (s,)."""

    names: tuple[str, ...]  # source nodes
    names_of: Ints  # position of each synapse's source node in ``names``
    source: Ints  # number of the source over all nodes of the network, inputs first
    # source_neuron, target_neuron, delay, current: neurons within their nodes, whole ticks, number of the current
    source_neuron: Ints
    target_neuron: Ints
    delay: Ints
    current: Ints
    # weight, delay_error: in the unit of the current, and in seconds
    weight: Floats
    delay_error: Floats

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def mask(self, source: str, delay: int, current: int) -> NDArray[np.bool_]:
        """Mark the synapses of one term."""
        mine: NDArray[np.bool_] = (
            (self.names_of == self.names.index(source)) & (self.delay == delay) & (self.current == current)
        )
        return mine

    def terms(self, source: str) -> list[tuple[int, int]]:
        """List delays and currents of the synapses from a node."""
        mine = self.names_of == self.names.index(source)
        pairs = np.unique(np.stack([self.delay[mine], self.current[mine]], axis=1), axis=0)
        return [(int(delay), int(current)) for delay, current in pairs]

    def scaled(self, units: Floats) -> Floats:
        """Give weights in units of the chip's currents, not rounded; ``units`` has shape (currents, size)."""
        return self.weight * units[self.current, self.target_neuron]


def sum_synapses(network: FloatNetwork, target: str) -> SummedSynapses:
    """Put all synapses onto a node into one table."""
    sizes = dict(network.inputs) | {name: neuron.size for name, neuron in network.nodes.items()}
    first = dict(zip(sizes, np.cumsum([0, *sizes.values()]).tolist(), strict=False))
    parts = [part for part in network.synapses if part.target == target and len(part.weight)]
    names = tuple(dict.fromkeys(part.source for part in parts))
    keys, weights, errors = [np.zeros((0, 5), np.int64)], [np.zeros(0)], [np.zeros(0)]
    for part in parts:
        steps = network.delay_steps(part)
        node = np.full(len(steps), names.index(part.source))
        current = np.full(len(steps), part.current)
        keys.append(np.stack([node, steps, current, part.target_neuron, part.source_neuron], axis=1))
        weights.append(part.weight)
        errors.append(np.abs(steps * network.dt - part.delay))
    unique, number = np.unique(np.concatenate(keys), axis=0, return_inverse=True)
    weight, error = np.zeros(len(unique)), np.zeros(len(unique))
    np.add.at(weight, number, np.concatenate(weights))
    np.maximum.at(error, number, np.concatenate(errors))
    at = np.array([first[name] for name in names], np.int64)
    source = (at[unique[:, 0]] if len(at) else unique[:, 0]) + unique[:, 4]
    return SummedSynapses(
        names, unique[:, 0], source, unique[:, 4], unique[:, 3], unique[:, 1], unique[:, 2], weight, error
    )
