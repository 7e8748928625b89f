"""Networks: nodes, edges, transforms as integer sparse matrices, and the network file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import neuromap.one_installation  # noqa: F401 - here too: see there
from neuromap.lazy_names import lazy_names

_HOMES = {
    "Conv": "transforms",
    "CurrentNeuron": "spiking_neuron",
    "Dense": "transforms",
    "Edge": "edge",
    "EdgeTerm": "edge",
    "GradedNeuron": "spiking_neuron",
    "Identity": "transforms",
    "LeakNeuron": "spiking_neuron",
    "MatrixTransform": "transforms",
    "Network": "network",
    "Node": "node",
    "Pool": "transforms",
    "SeededWeights": "weights",
    "build_network": "build",
    "load_network": "network_file",
    "require_weights": "build",
}

if TYPE_CHECKING:
    from neuromap.network.build import build_network as build_network
    from neuromap.network.build import require_weights as require_weights
    from neuromap.network.edge import Edge as Edge
    from neuromap.network.edge import EdgeTerm as EdgeTerm
    from neuromap.network.network import Network as Network
    from neuromap.network.network_file import load_network as load_network
    from neuromap.network.node import Node as Node
    from neuromap.network.spiking_neuron import CurrentNeuron as CurrentNeuron
    from neuromap.network.spiking_neuron import GradedNeuron as GradedNeuron
    from neuromap.network.spiking_neuron import LeakNeuron as LeakNeuron
    from neuromap.network.transforms import Conv as Conv
    from neuromap.network.transforms import Dense as Dense
    from neuromap.network.transforms import Identity as Identity
    from neuromap.network.transforms import MatrixTransform as MatrixTransform
    from neuromap.network.transforms import Pool as Pool
    from neuromap.network.weights import SeededWeights as SeededWeights

__all__ = sorted(_HOMES)
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
