"""Integer neurons as NIR primitives and back, with equal integers, through the equations and added metadata."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from neuromap.arrays.array_types import Floats, Ints
from neuromap.errors import InputError, NotSupportedError
from neuromap.exchange.nir.contract import Neurons
from neuromap.exchange.nir.flat_graph import spread
from neuromap.exchange.nir.float_network import SCHEMES, STEPS, Convention
from neuromap.files.messages import show
from neuromap.formats.nir import MetaValue, NirGraph, NirNode
from neuromap.network.network import Network, plain_table
from neuromap.network.network_file import MODELS
from neuromap.network.spiking_neuron import CurrentNeuron, LeakNeuron, SpikingNeuron

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
