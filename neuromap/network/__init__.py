"""Networks: nodes, edges, transforms as integer sparse matrices, and the network file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import neuromap.one_installation  # noqa: F401 - here too: see there
from neuromap.lazy_names import lazy_names

_HOMES = {
    "Conv": "transforms.kinds",
    "CurrentNeuron": "neurons.spiking_neuron",
    "Dense": "transforms.kinds",
    "Edge": "edge",
    "EdgeTerm": "terms",
    "Identity": "transforms.kinds",
    "LeakNeuron": "neurons.spiking_neuron",
    "MatrixTransform": "transforms.kinds",
    "Network": "network",
    "Node": "node",
    "Pool": "transforms.kinds",
    "SeededWeights": "transforms.weights",
    "build_network": "build",
    "load_network": "network_file",
    "require_weights": "build",
}

if TYPE_CHECKING:
    from neuromap.network.build import build_network as build_network
    from neuromap.network.build import require_weights as require_weights
    from neuromap.network.edge import Edge as Edge
    from neuromap.network.network import Network as Network
    from neuromap.network.network_file import load_network as load_network
    from neuromap.network.neurons.spiking_neuron import CurrentNeuron as CurrentNeuron
    from neuromap.network.neurons.spiking_neuron import LeakNeuron as LeakNeuron
    from neuromap.network.node import Node as Node
    from neuromap.network.terms import EdgeTerm as EdgeTerm
    from neuromap.network.transforms.kinds import Conv as Conv
    from neuromap.network.transforms.kinds import Dense as Dense
    from neuromap.network.transforms.kinds import Identity as Identity
    from neuromap.network.transforms.kinds import MatrixTransform as MatrixTransform
    from neuromap.network.transforms.kinds import Pool as Pool
    from neuromap.network.transforms.weights import SeededWeights as SeededWeights

__all__ = sorted(_HOMES)
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
