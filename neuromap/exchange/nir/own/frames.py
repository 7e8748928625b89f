"""Graphs of thresholds and whole weights as networks of frame neurons, whoever wrote them."""

from __future__ import annotations

import numpy as np

from neuromap.exchange.imported import Imported, Note
from neuromap.exchange.nir.contract.contract import Contracted
from neuromap.exchange.nir.own.edges import integer_transform, is_integer
from neuromap.exchange.nir.own.order import our_shape
from neuromap.exchange.nir.own.restore import thresholds_of
from neuromap.files.messages import counted
from neuromap.network.edge import Edge
from neuromap.network.network import Network
from neuromap.network.node import Node

__all__ = ["frame_network"]


def frame_network(name: str, graph: Contracted, names: dict[str, str]) -> Imported | None:
    """Make a network of frame neurons of a graph that is one."""
    # gives without a source; ``None`` where a node remembers, a weight is no integer, or a spike is delayed
    for neurons in graph.neurons.values():
        terms = neurons.signal.terms
        if neurons.node.kind != "Threshold" or not terms:
            return None
        if any(term.delay or term.filter or not is_integer(term.matrix) for term in terms):
            return None
    shapes = {**graph.inputs, **{node: neurons.shape for node, neurons in graph.neurons.items()}}
    used = {term.source for neurons in graph.neurons.values() for term in neurons.signal.terms}
    nodes = {names[u]: Node(names[u], our_shape(shape)) for u, shape in graph.inputs.items() if u in used}
    edges = {}
    for node, neurons in graph.neurons.items():
        found = thresholds_of(node, neurons.node, neurons.shape, neurons.signal.constant)
        nodes[names[node]] = Node(names[node], our_shape(neurons.shape), found)
        for term in neurons.signal.terms:
            transform = integer_transform(node, term, neurons.shape, shapes[term.source], graph.nodes)
            edges[names[term.source], names[node]] = Edge(names[term.source], names[node], transform)
    network = Network(name, nodes, edges, tuple(names[node] for node in graph.read_out))
    text = (
        f"{counted(len(graph.neurons), 'node')} of thresholds and {counted(len(edges), 'edge')} of whole weights are "
        "frame neurons, exactly; any rollout pattern may be chosen"
    )
    refused = [
        Note(r.name, f"{r.kind} behind the last spikes is left out", "compute it on the host") for r in graph.readouts
    ]
    inputs = [np.prod(shapes[u]) for u in graph.inputs if u not in used]
    if inputs:
        refused.append(Note("inputs", f"{counted(len(inputs), 'input')} without edges left out", "connect them"))
    return Imported(network, "nir", "", kept=(Note("graph", text),), refused=tuple(refused))
