"""Networks that this package wrote as NIR, as they were."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.errors import InputError
from neuromap.exchange.imported import Imported, Note
from neuromap.exchange.nir.contract import Contracted, Neurons
from neuromap.exchange.nir.edges import integer_transform
from neuromap.exchange.nir.head import Head
from neuromap.exchange.nir.neurons import neuron_primitives, restored_neuron
from neuromap.exchange.nir.order import from_nir_order
from neuromap.exchange.nir.parameters import spread
from neuromap.exchange.nir.signals import Term
from neuromap.files.messages import counted, show
from neuromap.formats.nir.nir_graph import NirNode
from neuromap.network.complete import check_pooling
from neuromap.network.edge import Edge
from neuromap.network.names import check_name
from neuromap.network.network import Network
from neuromap.network.neurons.current_neuron import CurrentNeuron
from neuromap.network.neurons.spiking_neuron import SpikingNeuron
from neuromap.network.node import Node
from neuromap.network.terms import EdgeTerm
from neuromap.network.transforms.limits import as_integers, as_shape


def restore(graph: Contracted, head: Head) -> Imported:
    """Make the network of a graph that :func:`~neuromap.exchange.nir.export_nir.to_nir` wrote."""
    missing = [name for name in head.nodes if name not in graph.inputs and name not in graph.neurons]
    if missing:
        raise InputError(f"metadata: neuromap: node {show(missing[0])} is none of the graph; remove the metadata")
    for name in head.nodes:
        check_name(name, "node")
    nodes = {name: _node(name, held, graph, head) for name, held in head.nodes.items()}
    edges = {(u, v): _edge(u, v, terms, graph, nodes, head) for u, v, terms in head.edges}
    check_pooling(nodes, edges.values())
    network = Network(
        head.name,
        nodes,
        edges,
        tuple(head.outputs),
        {name: tuple(keys) for name, keys in head.patterns.items()},
        head.tables,
        head.bridging,
    )
    require_known_parts(graph, head)
    what = "frame" if not network.is_spiking else "spiking"
    text = f"{what} network of {counted(len(nodes), 'node')} and {counted(len(edges), 'edge')}, as neuromap wrote it"
    return Imported(network, "nir", "", kept=(Note("graph", text),))


def thresholds_of(name: str, node: NirNode, shape: tuple[int, ...], constant: NDArray[np.float64]) -> NDArray[np.int64]:
    """Give the thresholds of frame neurons in our order: the least whole sum above ``threshold - constant``."""
    found = np.floor(spread(name, node, "threshold", shape) - constant) + 1
    whole = found.clip(-(2.0**40), 2.0**40).astype(np.int64)[from_nir_order(shape)]
    return np.array(as_integers(whole, f"node {name}: threshold"))


def _node(name: str, held: dict[str, Any], graph: Contracted, head: Head) -> Node:
    shape = as_shape(held["shape"])
    if name in graph.inputs:
        size = int(np.prod(graph.inputs[name], dtype=np.int64))
        node = Node(name, shape)
    else:
        neurons, settings = graph.neurons[name], held["neuron"]
        size = len(neurons.signal.constant)
        if settings is None:
            if neurons.node.kind != "Threshold":
                raise InputError(f"node {name}: is {neurons.node.kind}, and its metadata tell no neuron; remove them")
            constant = neurons.signal.constant
            node = Node(name, shape, thresholds_of(name, neurons.node, neurons.shape, constant))
        else:
            neuron = restored_neuron(name, neurons, settings, graph.nodes, head.how.dt)
            require_same_neuron(name, neuron, neurons, graph.nodes, head.how.dt)
            node = Node(name, shape, neuron=neuron)
    if node.size != size:
        raise InputError(f"node {name}: has {size} values, and its metadata say {node.size}; remove the metadata")
    return node


def _edge(u: str, v: str, terms: list[tuple[int, int]], graph: Contracted, nodes: dict[str, Node], head: Head) -> Edge:
    if u not in nodes or v not in graph.neurons or not terms:
        raise InputError(f"metadata: neuromap: edge {show((u, v))} is none of the graph; remove the metadata")
    neurons, settings = graph.neurons[v], head.nodes[v]["neuron"] or {}
    source_shape = graph.inputs[u] if u in graph.inputs else graph.neurons[u].shape
    found: dict[tuple[int, int], Term] = {}
    for term in neurons.signal.terms:
        if term.source == u and term.delay / head.how.dt < 2**20:
            currents = settings.get("currents") or []
            current = currents.index(term.filter.name) if term.filter and term.filter.name in currents else 0
            found[round(term.delay / head.how.dt) + 1, current] = term
    made = []
    for delay, current in terms:
        if (delay, current) not in found:
            raise InputError(
                f"edge {u} -> {v}: has no synapses of delay {delay} and current {current}, which its metadata name; "
                "remove the metadata"
            )
        term = found[delay, current]
        gain = None
        if term.filter:
            gain = spread(term.filter.name, graph.nodes[term.filter.name], "r", neurons.shape)
        transform = integer_transform(v, term, neurons.shape, source_shape, graph.nodes, r_of_filter=gain)
        made.append(EdgeTerm(transform, delay, current))
    first, *more = made
    return Edge(u, v, first.transform, first.delay, first.current, tuple(more))


# Whether a graph that this package wrote still says what its metadata say: other tools may have changed it since.


_ROUNDED = 1e-6
"""Part by which tools that compute with float32 change a number."""
_WAY_OUT = "which the metadata of neuromap do not say; remove them, and the graph is read as any other"


def require_known_parts(graph: Contracted, head: Head) -> None:
    """Refuse nodes, edges and outputs that the metadata do not name: they would be lost without a word."""
    for name in (*graph.inputs, *graph.neurons):
        if name not in head.nodes:
            raise InputError(f"node {show(name)}: is in the graph, {_WAY_OUT}")
    held = {(u, v): terms for u, v, terms in head.edges}
    for v, neurons in graph.neurons.items():
        currents = (head.nodes[v]["neuron"] or {}).get("currents") or []
        for term in neurons.signal.terms:
            ticks = term.delay / head.how.dt
            via = currents.index(term.filter.name) if term.filter and term.filter.name in currents else 0
            is_whole = ticks < 2**20 and abs(ticks - round(ticks)) < _ROUNDED * max(1.0, ticks)
            is_known = is_whole and (round(ticks) + 1, via) in held.get((term.source, v), ())
            is_known &= bool(currents) if term.filter else not currents
            if term.matrix.nnz and not is_known:
                raise InputError(f"edge {term.source} -> {v}: has synapses of {term.delay:g} s, {_WAY_OUT}")
    for readout in graph.readouts:
        raise InputError(f"node {readout.name} ({readout.kind}): feeds an output, {_WAY_OUT}")
    # the package nir puts an output behind every last node; any other that is missing or more was put there
    last = set(graph.neurons) - {u for u, v, _ in head.edges if u != v} - set(head.outputs)
    if wrong := set(head.outputs) ^ (set(graph.outputs) - last):
        raise InputError(f"node {min(wrong)}: is an output in one of graph and metadata only, {_WAY_OUT}")


def require_same_neuron(
    name: str, neuron: SpikingNeuron, neurons: Neurons, nodes: Mapping[str, NirNode], dt: float
) -> None:
    """Refuse primitives whose numbers are not those that the neuron read from them is written with."""
    is_current = isinstance(neuron, CurrentNeuron)
    constant = neurons.signal.constant
    if (constant if is_current else constant - np.rint(constant)).any():
        raise InputError(f"node {name}: a bias of {constant[constant != 0][0]:g} arrives, {_WAY_OUT}")
    for written, node in neuron_primitives(name, neuron, neurons.shape, dt).items():
        for key, wanted in node.parameters.items():
            if key == "v_threshold" and not is_current:
                continue  # sums are whole: any threshold between two of them means the same
            default: Any = {"w_in": 1.0}.get(key, 0.0)
            found = spread(written, nodes[written], key, neurons.shape, default=default)
            wrong = ~np.isclose(found, wanted.ravel(), rtol=_ROUNDED, atol=0)
            if wrong.any():
                raise InputError(f"node {written} ({node.kind}): {key}: found {found[wrong][0]:.9g}, {_WAY_OUT}")
