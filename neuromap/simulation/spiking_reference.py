"""The meaning of a spiking network: its integer neurons, tick by tick, without a chip."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from neuromap.network.network import Network
from neuromap.simulation.neuron_steps import start, step

__all__ = ["spiking_reference"]


def spiking_reference(network: Network, inputs: Mapping[str, NDArray[np.bool_]]) -> dict[str, NDArray[np.bool_]]:
    """Compute every node of a spiking network tick by tick; a frame is a tick."""
    # In frame i >= 1 a node's neurons take a step on what its edges deliver, W_e x_u[i - delay(e)]; frames before 0 are
    # silent, and x_v[0] = 0 for all but the inputs.
    # gives frames of all nodes, in the order of the network
    # shapes: inputs (n_frames, size); returns (n_frames, size)
    n_frames = len(next(iter(inputs.values())))
    x = {name: np.zeros((n_frames, node.size), dtype=np.int64) for name, node in network.nodes.items()}
    for name, rows in inputs.items():
        x[name][:] = rows
    neurons = {name: node.neuron for name, node in network.nodes.items() if node.neuron is not None}
    states = {name: start(neuron) for name, neuron in neurons.items()}
    edges = [(u, v, term) for (u, v), edge in network.edges.items() for term in edge.terms]
    for i in range(1, n_frames):
        drive = {name: np.zeros((n.n_currents, len(n.threshold)), dtype=np.int64) for name, n in neurons.items()}
        for u, v, term in edges:
            if i >= term.delay:
                drive[v][term.current] += term.matrix @ x[u][i - term.delay]
        for name, neuron in neurons.items():
            states[name], x[name][i] = step(neuron, states[name], drive[name])
    return {name: rows.astype(np.bool_) for name, rows in x.items()}
