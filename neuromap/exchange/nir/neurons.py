"""Integer neurons as NIR primitives and back, and networks that this package wrote as NIR restored exactly."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from neuromap.arrays.array_types import Floats, Ints
from neuromap.errors import InputError, NetworkError, NotSupportedError
from neuromap.exchange.imported import Imported, Note
from neuromap.exchange.nir.contract import Contracted, Neurons, Term, spread
from neuromap.exchange.nir.float_network import SCHEMES, STEPS, Convention
from neuromap.files.messages import counted, show
from neuromap.formats.nir import MetaValue, NirGraph, NirNode
from neuromap.network.build import check_name, check_pooling
from neuromap.network.edge import Edge, EdgeTerm, MatrixSource
from neuromap.network.network import Network, plain_table
from neuromap.network.network_file import MODELS
from neuromap.network.node import Node
from neuromap.network.spiking_neuron import CurrentNeuron, LeakNeuron, SpikingNeuron
from neuromap.network.transforms import Conv, Identity, MatrixTransform, Pool, Shape
from neuromap.network.weights import INT_HIGH, Margins, Padding, as_integers, as_shape

_FORGETS = 1 / 64
# Time constants in ticks of values that a tick forgets, and of values that it keeps: both beyond any decay's bits. Of a
# longer one, frameworks that compute in float32 lose all: 1 - exp(-1 / tau) is 0 there, and so is what a spike adds.
_KEEPS = 2.0**24
# Arrays that no primitive can express, by model, kept in the node's metadata.
_BESIDE = {"current": ("refractory", "current", "voltage", "floor"), "leak": ("floor", "potential")}


def neuron_settings(name: str, neuron: SpikingNeuron) -> dict[str, Any]:
    """Return the model, its settings, and the names of its currents, for the head."""
    settings: dict[str, Any] = {"model": neuron.model, **neuron.stated}
    if neuron.n_currents > 1:
        settings["currents"] = [f"{name} current {c}" for c in range(neuron.n_currents)]
    return settings


def neuron_primitives(name: str, neuron: SpikingNeuron, shape: tuple[int, ...], dt: float) -> dict[str, NirNode]:
    """Write neurons as primitives."""
    order = to_nir_order(shape)

    def laid(values: Any) -> Floats:
        return np.asarray(values, np.float64)[order].reshape(shape)

    # an option that is stated may be 0, as a floor is
    found = {key: array for key, array in neuron.arrays.items() if array.any() or key in neuron.options}
    beside = {key: laid(found[key]) for key in _BESIDE[neuron.model] if key in found}
    metadata: dict[str, MetaValue] = {KEY: neuron.model, **beside}
    if isinstance(neuron, LeakNeuron):
        ones = np.ones(shape)
        parameters = {"r": ones / dt, "v_threshold": laid(neuron.threshold) - 0.5, "v_reset": 0 * ones}
        return {name: NirNode("IF", parameters, metadata=metadata)}
    if not isinstance(neuron, CurrentNeuron):
        raise NotSupportedError(f"node {name}: neurons of the model {neuron.model} have no primitive in NIR")
    return _of_currents(name, neuron, laid, dt, metadata)


def _of_currents(
    name: str, neuron: CurrentNeuron, laid: Any, dt: float, metadata: dict[str, Any]
) -> dict[str, NirNode]:
    one = 1 << neuron.decay_bits
    decays = [laid(decay) for decay in (neuron.current_decay, *neuron.more_current_decays)]
    voltage_decay, bias = laid(neuron.voltage_decay), laid(neuron.bias)
    tau = _narrow(_tau(voltage_decay, one, dt), voltage_decay, one, dt)
    lost = _lost(tau, dt)
    leak = (bias / lost).astype(np.float32).astype(np.float64)
    leak = leak if np.array_equal(np.rint(leak * lost), bias) else bias / lost
    # voltages are whole: between two of them, no reader's rounding decides whether a neuron spikes
    parameters = {"r": _float32(1 / lost), "v_leak": leak, "v_threshold": laid(neuron.threshold) + 0.5}
    parameters["v_reset"] = laid(np.broadcast_to(neuron.reset, neuron.threshold.shape))
    taus = [_narrow(_tau(decay, one, dt), decay, one, dt) for decay in decays]
    if len(decays) == 1:
        if (decays[0] == one).all():
            return {name: NirNode("LIF", {"tau": tau, **parameters}, metadata=metadata)}
        more = {"tau_mem": tau, "tau_syn": taus[0], "w_in": _float32(1 / _lost(taus[0], dt))}
        return {name: NirNode("CubaLIF", {**more, **parameters}, metadata=metadata)}
    found = {name: NirNode("LIF", {"tau": tau, **parameters}, metadata=metadata)}
    for c, own in enumerate(taus):
        numbers = {"tau": own, "r": _float32(1 / _lost(own, dt)), "v_leak": 0 * own}
        found[f"{name} current {c}"] = NirNode("LI", numbers)
    return found


def _tau(decay: Floats, one: int, dt: float) -> Floats:
    inside = (decay > 0) & (decay < one)
    tau = -dt / np.log1p(-np.where(inside, decay / one, 0.5))
    found: Floats = np.where(inside, tau, dt * np.where(decay == 0, _KEEPS, _FORGETS))
    return found


def _lost(tau: Floats, dt: float) -> Floats:
    """Fraction of a value lost in a tick."""
    lost: Floats = -np.expm1(-dt / tau)
    return lost


def _decay(tau: Floats, one: int, dt: float) -> Floats:
    whole: Floats = np.rint(_lost(tau, dt) * one)
    return whole


def _narrow(tau: Floats, decay: Floats, one: int, dt: float) -> Floats:
    """Round to float32, as frameworks do, where it still means the same decay."""
    narrow = _float32(tau)
    return narrow if np.array_equal(_decay(narrow, one, dt), decay) else tau


def _float32(values: Floats) -> Floats:
    return values.astype(np.float32).astype(np.float64)


def restored_neuron(
    name: str, neurons: Neurons, settings: Mapping[str, Any], nodes: Mapping[str, NirNode], dt: float
) -> SpikingNeuron:
    """Read neurons that :func:`neuron_primitives` wrote."""
    node, shape = neurons.node, neurons.shape
    order = from_nir_order(shape)

    def own(values: Floats) -> Ints:
        whole: Ints = np.rint(values.ravel()[order].clip(-(2.0**40), 2.0**40)).astype(np.int64)
        return whole

    def beside(key: str) -> Ints:
        values = node.metadata.get(key)
        if values is None:
            return np.zeros(len(order), np.int64)
        if isinstance(values, str) or values.size != len(order):
            raise InputError(f"node {name}: metadata: {key}: needs a number per neuron, {len(order)}")
        return own(np.asarray(values))

    model = settings.get("model")
    wanted = {"leak": ("IF",), "current": ("LIF", "CubaLIF")}.get(model if isinstance(model, str) else "", ())
    if node.kind not in wanted:
        raise InputError(f"node {name}: is {node.kind}, and its metadata say {show(model)}; remove the metadata")
    kind = MODELS[str(model)]
    stated = [key for key in _BESIDE[str(model)] if key not in kind.options or key in node.metadata]
    more: dict[str, Any] = {key: beside(key) for key in stated}
    numbers = {key: settings[key] for key in kind.settings if key in settings}
    if model == "leak":
        threshold = own(np.floor(spread(name, node, "v_threshold", shape)) + 1)
        return LeakNeuron(threshold=threshold, leak=own(neurons.signal.constant), **more, **numbers)
    bits = numbers.get("decay_bits", 12)
    if isinstance(bits, bool) or not isinstance(bits, int) or not 1 <= bits <= 16:
        raise InputError(f"node {name}: decay_bits: found {show(bits)}; allowed are 1 to 16")
    tau = spread(name, node, "tau" if node.kind == "LIF" else "tau_mem", shape)
    if "currents" in settings:
        synaptic = [spread(li, nodes[li], "tau", shape) for li in _currents(name, settings["currents"], nodes)]
    else:
        synaptic = [spread(name, node, "tau_syn", shape, default=dt * _FORGETS)]
    first, *others = [own(_decay(found, 1 << bits, dt)) for found in synaptic]
    return CurrentNeuron(
        threshold=own(np.floor(spread(name, node, "v_threshold", shape))),
        current_decay=first,
        voltage_decay=own(_decay(tau, 1 << bits, dt)),
        bias=own(spread(name, node, "v_leak", shape) * _lost(tau, dt)),
        reset=own(spread(name, node, "v_reset", shape, default=0.0)),
        more_current_decays=tuple(others),
        **more,
        **numbers,
    )


def _currents(name: str, found: Any, nodes: Mapping[str, NirNode]) -> list[str]:
    if not isinstance(found, list) or not 1 <= len(found) <= 16 or not all(isinstance(li, str) for li in found):
        raise InputError(f"node {name}: metadata: currents: found {show(found)}; needs 1 to 16 names")
    for li in found:
        if li not in nodes or nodes[li].kind != "LI":
            raise InputError(f"node {name}: metadata: currents: {show(li)} is not an LI of the graph")
    return found


# Orders of values: ours are rows, columns, features; NIR's of three dimensions are channels, rows, columns.
def our_shape(shape: tuple[int, ...]) -> tuple[int, int, int]:
    """Convert a NIR shape to that of a node: channels last; other than three dimensions form a row."""
    if len(shape) == 3:
        return shape[1], shape[2], shape[0]
    return 1, 1, int(np.prod(shape, dtype=np.int64))


def nir_shape(shape: tuple[int, int, int], *, is_spatial: bool) -> tuple[int, ...]:
    """Convert the shape of a node to NIR's: channels first, or all in a row."""
    return (shape[2], shape[0], shape[1]) if is_spatial else (shape[0] * shape[1] * shape[2],)


def from_nir_order(shape: tuple[int, ...]) -> Ints:
    """NIR index of each value in our order, shape (n,)."""
    numbers = np.arange(np.prod(shape, dtype=np.int64))
    return numbers.reshape(shape).transpose(1, 2, 0).ravel() if len(shape) == 3 else numbers


def to_nir_order(shape: tuple[int, ...]) -> Ints:
    """Our index of each value in NIR's order, shape (n,); ``shape`` is NIR's."""
    return np.argsort(from_nir_order(shape))


def in_our_order(matrix: csr_array, target: tuple[int, ...], source: tuple[int, ...]) -> csr_array:
    """Reorder a matrix from NIR's order of values to ours; ``target`` and ``source`` are NIR shapes."""
    rows, columns = from_nir_order(target), from_nir_order(source)
    return csr_array(csr_array(matrix[rows])[:, columns])


# What NIR's equations cannot express, as this package writes it into a graph's metadata: one JSON text, checked.


# Metadata key of a graph, and of a node.
KEY = "neuromap"
_FORMAT = "neuromap nir 1"
_DEEPEST = 24


class Head(NamedTuple):
    """A network without its weights and neurons."""

    name: str  # of the network
    how: Convention  # seconds of a tick, and the scheme
    # in their order; each with ``shape`` (or ``None``) and, where it is spiking, ``neuron`` with its model, settings
    # and the names of its currents
    nodes: dict[str, dict[str, Any]]
    edges: list[tuple[str, str, list[tuple[int, int]]]]  # in their order, with delay and current of every term
    # outputs, patterns, tables, bridging: as :class:`~neuromap.network.network.Network` takes them
    outputs: tuple[str, ...]
    patterns: dict[str, tuple[tuple[str, str], ...]]
    tables: dict[str, Any]
    bridging: dict[str, dict[tuple[str, str], int]]


def head_text(network: Network, how: Convention, nodes: Mapping[str, Mapping[str, Any]], edges: Sequence[Any]) -> str:
    """Write the head of a network as JSON; tables that hold arrays are left out."""
    lost = lost_tables(network)
    tables = {name: plain_table(table) for name, table in network.tables.items() if name not in lost}
    return json.dumps(
        {
            "format": _FORMAT,
            "name": network.name,
            "dt": how.dt,
            "scheme": how.scheme,
            "rollout": "streaming" if network.is_spiking else "",
            "nodes": [{"name": name, **node} for name, node in nodes.items()],
            "edges": list(edges),
            "outputs": list(network.outputs),
            "patterns": {name: [list(key) for key in keys] for name, keys in network.patterns.items()},
            "bridging": {name: [[*key, n] for key, n in frames.items()] for name, frames in network.bridging.items()},
            "tables": tables,
        }
    )


def lost_tables(network: Network) -> list[str]:
    """List the tables that hold arrays, such as an encoder's weights, which a text cannot hold."""
    found = []
    for name, table in network.tables.items():
        try:
            json.dumps(plain_table(table))
        except TypeError:
            found.append(name)
    return found


def stated_step(graph: NirGraph) -> Convention | None:
    """Return the step that a graph's metadata state as ``dt``, in seconds."""
    found = graph.metadata.get("dt")
    if found is None:
        return None
    if not isinstance(found, str) and found.size == 1 and STEPS[0] <= (dt := float(found.ravel()[0])) <= STEPS[1]:
        return Convention(dt, "exponential")
    told = show(found if isinstance(found, str) else found.item() if found.size == 1 else found)
    need = f"one number of seconds, {STEPS[0]:g} to {STEPS[1]:g}"
    raise InputError(f"metadata: dt: found {told}; needs {need}; give dt=... (--dt) or tool=... (--tool)")


def head_of(graph: NirGraph) -> Head | None:
    """Read the head that this package wrote; ``None`` without one."""
    text = graph.metadata.get(KEY)
    if not isinstance(text, str):
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise _wrong("is not JSON") from None
    if not isinstance(found, dict) or found.get("format") != _FORMAT:
        raise _wrong(f"is not of the format {_FORMAT!r}")
    try:
        return _head(found)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        raise _wrong("lacks a part, or has one of another kind") from None


def _wrong(what: str) -> InputError:
    return InputError(f"metadata: {KEY}: {what}; remove it, and the graph is read as any other")


def _head(found: dict[str, Any]) -> Head:
    if found["scheme"] not in SCHEMES or not STEPS[0] <= float(found["dt"]) <= STEPS[1]:
        raise _wrong(f"dt and scheme: found {show((found['dt'], found['scheme']))}")
    nodes: dict[str, dict[str, Any]] = {}
    for node in found["nodes"]:
        shape, neuron = node["shape"], node.get("neuron")
        if shape is not None:
            shape = tuple(_whole(n) for n in shape)
        if neuron is not None and not isinstance(neuron, dict):
            raise _wrong(f"node {show(node['name'])}: found {show(neuron)}")
        nodes[_text(node["name"])] = {"shape": shape, "neuron": neuron}
    edges = [
        (_text(u), _text(v), [(_whole(delay), _whole(current)) for delay, current in terms])
        for u, v, terms in found["edges"]
    ]
    patterns = {_text(name): tuple((_text(u), _text(v)) for u, v in keys) for name, keys in found["patterns"].items()}
    bridging = {
        _text(name): {(_text(u), _text(v)): _whole(n) for u, v, n in frames}
        for name, frames in found["bridging"].items()
    }
    if not isinstance(found["tables"], dict) or _depth(found["tables"]) > _DEEPEST:
        raise _wrong("tables: are none, or nested too deep")
    how, outputs = Convention(float(found["dt"]), found["scheme"]), tuple(_text(name) for name in found["outputs"])
    return Head(_text(found["name"]), how, nodes, edges, outputs, patterns, found["tables"], bridging)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise _wrong(f"found {show(value)} for a text")
    return value


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise _wrong(f"found {show(value)} for a whole number")
    return value


def _depth(value: Any) -> int:
    """Nesting depth of tables and lists, counted up to one more than is allowed."""
    level, depth = [value], 0
    while level and depth <= _DEEPEST:
        inner = [part for part in level if isinstance(part, dict | list)]
        level = [below for part in inner for below in (part.values() if isinstance(part, dict) else part)]
        depth += bool(inner)
    return depth


# Exact restoration of networks that this package wrote as NIR.


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


def thresholds_of(name: str, node: NirNode, shape: tuple[int, ...], constant: Floats) -> Ints:
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
_PASSING = ("Delay", "Flatten", "Joint", "LI")


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
    ops = None if term.via is None else [nodes[name] for name in term.via if nodes[name].kind not in _PASSING]
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
