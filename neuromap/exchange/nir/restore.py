"""Exact restoration of networks that this package wrote as NIR."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from neuromap.errors import InputError, NetworkError
from neuromap.exchange.imported import Imported, Note
from neuromap.exchange.nir.contract import Contracted, Neurons, Term
from neuromap.exchange.nir.flat_graph import spread
from neuromap.exchange.nir.neurons import (
    Head,
    from_nir_order,
    in_our_order,
    neuron_primitives,
    our_shape,
    restored_neuron,
)
from neuromap.files.messages import counted, show
from neuromap.formats.nir import NirNode
from neuromap.network.build import check_name, check_pooling
from neuromap.network.edge import Edge, EdgeTerm, MatrixSource
from neuromap.network.network import Network
from neuromap.network.node import Node
from neuromap.network.spiking_neuron import CurrentNeuron, SpikingNeuron
from neuromap.network.transforms import Conv, Identity, MatrixTransform, Pool, Shape
from neuromap.network.weights import INT_HIGH, Margins, Padding, as_integers, as_shape


def restore(graph: Contracted, head: Head) -> Imported:
    """Restore the network of a graph that :func:`~neuromap.exchange.nir.export_nir.to_nir` wrote."""
    missing = [name for name in head.nodes if name not in graph.inputs and name not in graph.neurons]
    if missing:
        raise InputError(f"metadata: neuromap: node {show(missing[0])} is none of the graph; remove the metadata")
    for name in head.nodes:
        check_name(name, "node")
    nodes = {name: _node(name, held, graph, head) for name, held in head.nodes.items()}
    edges = {(u, v): _edge(u, v, terms, graph, nodes, head) for u, v, terms in head.edges}
    check_pooling(nodes, edges.values())
    network = Network(head.name, nodes, edges, head.outputs, head.patterns, head.tables, head.bridging)
    require_known_parts(graph, head)
    what = "frame" if not network.is_spiking else "spiking"
    text = f"{what} network of {counted(len(nodes), 'node')} and {counted(len(edges), 'edge')}, as neuromap wrote it"
    notes = [Note("graph", text)]
    if chip := network.tables.get("made_for", {}).get("chip"):
        notes.append(Note("chip", f"the integers are those of {chip}, which the network was made for"))
    return Imported(network, "nir", "", kept=tuple(notes))


def thresholds_of(name: str, node: NirNode, shape: tuple[int, ...], constant: NDArray[np.float64]) -> NDArray[np.int64]:
    """Thresholds of frame neurons in our order: the least whole sum above ``threshold - constant``."""
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
    neurons = graph.neurons[v]
    source_shape = graph.inputs[u] if u in graph.inputs else graph.neurons[u].shape
    terms_of_u = [term for term in neurons.signal.terms if term.source == u and term.delay / head.how.dt < 2**20]
    found = {(round(term.delay / head.how.dt) + 1, _current(term, v, head)): term for term in terms_of_u}
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


def _current(term: Term, target: str, head: Head) -> int:
    """Index of the current of a node's neurons that a term feeds."""
    currents = (head.nodes[target]["neuron"] or {}).get("currents") or []
    return currents.index(term.filter.name) if term.filter and term.filter.name in currents else 0


# Whether a graph that this package wrote still agrees with its metadata: other tools may have changed it since.
# Relative change of a number by tools that compute in float32.
_ROUNDED = 1e-6
_WAY_OUT = "which the metadata of neuromap do not say; remove them, and the graph is read as any other"


def require_known_parts(graph: Contracted, head: Head) -> None:
    """Refuse nodes, edges and outputs that the metadata do not name: they would be lost silently."""
    for name in (*graph.inputs, *graph.neurons):
        if name not in head.nodes:
            raise InputError(f"node {show(name)}: is in the graph, {_WAY_OUT}")
    held = {(u, v): terms for u, v, terms in head.edges}
    for v, neurons in graph.neurons.items():
        currents = (head.nodes[v]["neuron"] or {}).get("currents") or []
        for term in neurons.signal.terms:
            ticks = term.delay / head.how.dt
            is_whole = ticks < 2**20 and abs(ticks - round(ticks)) < _ROUNDED * max(1.0, ticks)
            is_known = is_whole and (round(ticks) + 1, _current(term, v, head)) in held.get((term.source, v), ())
            is_known &= bool(currents) if term.filter else not currents
            if term.matrix.nnz and not is_known:
                raise InputError(f"edge {term.source} -> {v}: has synapses of {term.delay:g} s, {_WAY_OUT}")
    for readout in graph.readouts:
        raise InputError(f"node {readout.name} ({readout.kind}): feeds an output, {_WAY_OUT}")
    # the package nir adds an output after every last node; any other missing or extra output was edited
    last = set(graph.neurons) - {u for u, v, _ in head.edges if u != v} - set(head.outputs)
    if wrong := set(head.outputs) ^ (set(graph.outputs) - last):
        raise InputError(f"node {min(wrong)}: is an output in one of graph and metadata only, {_WAY_OUT}")


def require_same_neuron(
    name: str, neuron: SpikingNeuron, neurons: Neurons, nodes: Mapping[str, NirNode], dt: float
) -> None:
    """Refuse primitives whose numbers differ from those that the neuron read from them is written with."""
    is_current = isinstance(neuron, CurrentNeuron)
    constant = neurons.signal.constant
    if (constant if is_current else constant - np.rint(constant)).any():
        raise InputError(f"node {name}: a bias of {constant[constant != 0][0]:g} arrives, {_WAY_OUT}")
    for written, node in neuron_primitives(name, neuron, neurons.shape, dt).items():
        for key, wanted in node.parameters.items():
            if key == "v_threshold":
                continue  # voltages are whole: any threshold between two of them means the same
            default: Any = {"w_in": 1.0}.get(key, 0.0)
            found = spread(written, nodes[written], key, neurons.shape, default=default)
            wrong = ~np.isclose(found, wanted.ravel(), rtol=_ROUNDED, atol=0)
            if wrong.any():
                raise InputError(f"node {written} ({node.kind}): {key}: found {found[wrong][0]:.9g}, {_WAY_OUT}")


# Edges of integer weights from maps of NIR, as the transforms that made them where these can be recognised.


# Primitives on a path that change neither values nor their order, or that the neuron accounts for.
_BESIDE = ("Delay", "Flatten", "Joint", "LI")


def is_integer(matrix: csr_array) -> bool:
    """Whether all weights are integers of 32 bits."""
    data = matrix.data
    return bool((data == np.rint(data)).all() and (np.abs(data) <= INT_HIGH).all())


def integer_transform(
    target: str,
    term: Term,
    target_shape: tuple[int, ...],
    source_shape: tuple[int, ...],
    nodes: Mapping[str, NirNode],
    *,
    r_of_filter: np.ndarray | None = None,
) -> MatrixSource:
    """Return the transform of a term."""
    # shapes: r_of_filter (n,)
    matrix = term.matrix
    if r_of_filter is not None:
        matrix = csr_array(matrix.multiply(1 / r_of_filter[:, None]))
        matrix.data = np.where(np.abs(matrix.data - np.rint(matrix.data)) < 1e-6, np.rint(matrix.data), matrix.data)
    if not is_integer(matrix):
        wrong = matrix.data[matrix.data != np.rint(matrix.data)]
        raise NetworkError(
            f"edge {term.source} -> {target}: found the weight {wrong[:1].sum():g}; a graph whose metadata say that it "
            "comes from neuromap has integers, remove the metadata to read it as any other"
        )
    ops = None if term.via is None else [nodes[name] for name in term.via if nodes[name].kind not in _BESIDE]
    shapes = our_shape(source_shape), our_shape(target_shape)
    is_plain = len(source_shape) == len(target_shape)
    if ops == [] and is_plain and shapes[0] == shapes[1]:
        return Identity(*shapes)
    if ops is not None and len(ops) == 1 and len(source_shape) == len(target_shape) == 3:
        found = _window(ops[0], *shapes)
        if found is not None:
            return found
    ours = in_our_order(matrix, target_shape, source_shape)
    ours.data = np.rint(ours.data)
    return MatrixTransform(csr_array(ours.astype(np.int64)))


def _window(node: NirNode, source: tuple[int, int, int], target: tuple[int, int, int]) -> MatrixSource | None:
    """Convert a convolution or pool of NIR to our transform, if there is one."""
    get = {key: tuple(int(n) for n in np.broadcast_to(node.parameters[key].ravel(), 2)) for key in ("stride", "padding")
           if key in node.parameters}  # fmt: skip
    rows, columns = get.get("padding", (0, 0))
    trials: list[Padding | Margins] = ["same", (rows, columns, rows, columns)]
    if "padding" in node.words:
        trials = ["valid" if node.words["padding"] == "valid" else "same"]
    elif not rows and not columns:
        trials = ["valid"]
    for padding in trials:
        try:
            found = _padded(node, source, target, (get["stride"][0], get["stride"][1]), padding)
        except NetworkError:  # another padding
            continue
        if found is not None and (padding != "same" or _is_ours(node, found)):
            return found
    return None


def _padded(
    node: NirNode, source: Shape, target: Shape, stride: tuple[int, int], padding: Padding | Margins
) -> Conv | Pool | None:
    if node.kind == "Conv2d" and (node.parameters["dilation"] == 1).all():
        weight = node.parameters["weight"]
        if not is_integer(csr_array(weight.reshape(len(weight), -1))):
            return None
        kernel = (int(weight.shape[2]), int(weight.shape[3]))
        ours = weight.transpose(2, 3, 1, 0).astype(np.int64)
        groups = int(node.parameters["groups"].ravel()[0])
        return Conv(source, target, kernel, stride, padding, groups, weights=ours)  # type: ignore[arg-type]
    if node.kind == "SumPool2d":
        sizes = np.broadcast_to(node.parameters["kernel_size"].ravel(), 2)
        return Pool(source, target, (int(sizes[0]), int(sizes[1])), stride, padding)
    return None


def _is_ours(node: NirNode, found: Conv | Pool) -> bool:
    """Whether the padding equals our ``same`` for these shapes."""
    if "padding" in node.words:
        return found.margins[:2] == tuple((k - 1) // 2 for k in found.kernel)
    return found.margins[:2] == tuple(np.broadcast_to(node.parameters["padding"].ravel(), 2))
