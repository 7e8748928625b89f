"""Export of networks to NIR, in files that other tools read and that an import restores exactly."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from neuromap.errors import NotSupportedError
from neuromap.exchange.imported import Exported, Note
from neuromap.exchange.nir.contract import MAX_WEIGHTS
from neuromap.exchange.nir.float_network import Convention, step_given
from neuromap.exchange.nir.neurons import (
    KEY,
    head_text,
    lost_tables,
    neuron_primitives,
    neuron_settings,
    nir_shape,
    to_nir_order,
)
from neuromap.files.argument_checks import needs, path_given
from neuromap.files.messages import counted
from neuromap.formats.nir import NirGraph, NirNode, nir_bytes, write_nir
from neuromap.network.build import check_name, require_weights
from neuromap.network.edge import Edge, EdgeTerm, MatrixSource
from neuromap.network.network import Network
from neuromap.network.network_file import load_network
from neuromap.network.node import Node
from neuromap.network.spiking_neuron import CurrentNeuron, LeakNeuron
from neuromap.network.transforms import Conv, Identity, MatrixTransform, Pool
from neuromap.render.numbers import seconds

# Seconds per tick, if nothing else is said.
_TICK = 1e-3


def nir_graph(network: Network, *, dt: float = _TICK) -> NirGraph:
    """Convert a network to a NIR graph, without a file.

    Parameters
    ----------
    network : Network
        With weights.
    dt : float
        Seconds per tick.

    Returns
    -------
    NirGraph
        As :func:`to_nir` writes it.

    Raises
    ------
    InputError
        If ``dt`` is out of bounds.
    NetworkError, NotSupportedError
        As :func:`to_nir`.
    """
    needs("nir_graph", network, Network)
    seconds = step_given(dt)
    require_weights(network)
    return _Writer(network, seconds).graph()


def to_nir(network: Network, path: str | Path, *, dt: float = _TICK) -> tuple[Note, ...]:
    """Write a network as a NIR file, whole or not at all.

    :func:`~neuromap.exchange.nir.import_nir.from_nir` restores it exactly. Other tools read its equations: neurons with
    currents as CubaLIF or LIF (further currents as LI before it), neurons with a constant leak as IF with a bias, frame
    neurons as Threshold.

    Parameters
    ----------
    network : Network
        With weights.
    path : str or Path
        Ends in ``.nir`` by convention.
    dt : float
        Seconds per tick: NIR has time constants in seconds.

    Returns
    -------
    tuple of Note
        What NIR's equations do not express, so that other tools compute something else.

    Raises
    ------
    NotSupportedError
        If ``nir`` is not installed, or a matrix is too large to be dense.
    NetworkError
        If weights or thresholds are missing.
    InputError
        If the file cannot be written.
    """
    path = path_given("to_nir", path)
    write_nir(nir_graph(network, dt=dt), path)
    return _unsaid(network, dt)


def export_nir(source: Path) -> Exported:
    """Convert a network file to a NIR file, for ``neuromap export``; a tick is 1 ms."""
    network = load_network(source)
    graph = nir_graph(network, dt=_TICK)
    parts = f"{counted(len(network.nodes), 'node')} and {counted(len(network.edges), 'edge')}"
    return Exported(
        network.name,
        "nir",
        {f"{source.stem}.nir": nir_bytes(graph)},
        figures={"primitives": len(graph.nodes), "edges of the graph": len(graph.edges)},
        kept=(Note("network", f"{parts}: neuromap import nir gives them back as they are"),),
        approximated=_unsaid(network, _TICK),
    )


def _unsaid(network: Network, dt: float) -> tuple[Note, ...]:
    if not network.is_spiking:
        text = "edges say no frames: patterns are in the metadata, other tools pass values layer after layer"
        return (Note("rollout", text), *_lost(network))
    notes = [Note("time", "every edge takes a tick, and delays beyond it are Delay; other tools may take none")]
    decays = any(isinstance(node.neuron, CurrentNeuron) for node in network.nodes.values())
    numbers = "time constants and gains hold for the scheme exponential" if decays else "gains hold"
    notes.append(Note("step", f"{numbers} at a step of {seconds(dt)}; other tools may take another"))
    notes += _lost(network)
    for name, node in network.nodes.items():
        neuron = node.neuron
        if isinstance(neuron, CurrentNeuron):
            said = ["values are rounded toward zero and wrap or stop at their widths"]
            said += ["neurons rest after a spike"] if neuron.refractory.any() else []
            said += [] if neuron.voltage_decay.all() else ["voltages that no decay takes from lose 2**-24 a tick there"]
            said += ["a spike takes the threshold off"] if neuron.subtract else []
            said += ["voltages have a floor"] if "floor" in neuron.arrays else []
            said += ["currents do not begin at 0"] if neuron.current.any() else []
            said += ["voltages do not begin at the reset"] if (neuron.voltage != neuron.reset).any() else []
        elif isinstance(neuron, LeakNeuron):
            said = [f"potentials stop at {-int(neuron.floor.max(initial=0))} or above"]
            said += ["a spike takes the threshold off"] if neuron.subtract else []
            said += ["potentials do not begin at 0"] if neuron.potential.any() else []
        else:
            continue
        notes.append(Note(name, "; ".join(said) + ": in the metadata only"))
    return tuple(notes)


def _lost(network: Network) -> list[Note]:
    return [
        Note(f"table {name}", "holds arrays and is left out; keep the network file") for name in lost_tables(network)
    ]


# Integer networks as NIR graphs.


class _Writer:
    """A NIR graph under construction."""

    def __init__(self, network: Network, dt: float) -> None:
        self._network, self._dt = network, dt
        spatial = spatial_nodes(network)
        self._shapes = {
            name: nir_shape(_shape(node.shape), is_spatial=name in spatial) for name, node in network.nodes.items()
        }
        self._nodes: dict[str, NirNode] = {}
        self._edges: list[tuple[str, str]] = []
        self._heads: dict[str, dict[str, Any]] = {}

    def graph(self) -> NirGraph:
        network = self._network
        if network.is_graded:
            raise NotSupportedError(
                f"network {network.name}: its nodes are graded, they send values, and NIR has no primitive for them; "
                "neuromap export NET.toml --to onnx writes them, neuromap import rates NET.toml makes them spiking"
            )
        for name in network.nodes:
            check_name(name, "node")
            if not name.strip("."):
                raise NotSupportedError(f"node {name}: HDF5 has no group of this name; rename the node")
            self._node(name)
        edges = [[*key, self._edge(edge)] for key, edge in network.edges.items()]
        for name, node in network.nodes.items():
            if isinstance(node.neuron, LeakNeuron) and node.neuron.leak.any():
                self._bias(name, node.neuron.leak)
            for current in unfed_currents(network, name):
                # tools add an input of their own before any node that nothing feeds
                self._zeros(name, f"{name} current {current}", f"{name} current {current} zeros")
        for name in network.outputs:
            self._nodes[f"{name} output"] = NirNode("Output", {"shape": np.array(self._shapes[name], np.float64)})
            self._edges.append((name, f"{name} output"))
        head = head_text(network, Convention(self._dt, "exponential"), self._heads, edges)
        return NirGraph(self._nodes, tuple(dict.fromkeys(self._edges)), {KEY: head})

    def _node(self, name: str) -> None:
        node, shape = self._network.nodes[name], self._shapes[name]
        self._heads[name] = {"shape": list(_shape(node.shape))}
        if name in self._network.inputs:
            self._nodes[name] = NirNode("Input", {"shape": np.array(shape, np.float64)})
        elif node.spiking is not None:
            self._heads[name]["neuron"] = neuron_settings(name, node.spiking)
            self._nodes |= neuron_primitives(name, node.spiking, shape, self._dt)
            self._edges += [(li, name) for li in self._heads[name]["neuron"].get("currents", ())]
        else:
            assert node.threshold is not None
            above = node.threshold[to_nir_order(shape)].reshape(shape).astype(np.float64) - 0.5
            self._nodes[name] = NirNode("Threshold", {"threshold": above})

    def _edge(self, edge: Edge) -> list[list[int]]:
        """Write the terms of an edge, merged by delay and current; return these pairs."""
        merged = merged_terms(edge)
        for k, ((delay, current), transform) in enumerate(merged.items()):
            self._term(edge, transform, delay, current, f" {k}" if k else "")
        return [list(pair) for pair in merged]

    def _term(self, edge: Edge, transform: MatrixSource, delay: int, current: int, suffix: str) -> None:
        label = f"{edge.source} -> {edge.target}{suffix}"
        source, target = self._shapes[edge.source], self._shapes[edge.target]
        heads = self._heads[edge.target].get("neuron", {}).get("currents")
        end = heads[current] if heads else edge.target
        here = edge.source
        if delay > 1:
            times = np.full(source, (delay - 1) * self._dt)
            here = self._step(here, f"{label} delay", NirNode("Delay", {"delay": times}))
        is_spatial = len(source) == len(target) == 3
        primitive = window_primitive(transform) if is_spatial else None
        is_straight = isinstance(transform, Identity) and source == target
        if primitive is not None:
            here = self._step(here, label, primitive)
        elif not is_straight:
            here = self._flat(here, source, label)
            here = self._step(here, label, NirNode("Linear", {"weight": self._dense(label, transform, source, target)}))
        self._edges.append((here, end))

    def _dense(self, label: str, transform: MatrixSource, source: tuple[int, ...], target: tuple[int, ...]) -> Any:
        rows, columns = math.prod(target), math.prod(source)
        if rows * columns > MAX_WEIGHTS:
            raise NotSupportedError(
                f"edge {label}: is a matrix of {rows} x {columns} weights; NIR has dense ones, and at most "
                f"{MAX_WEIGHTS} are written: split the nodes"
            )
        return transform.matrix().toarray()[to_nir_order(target)][:, to_nir_order(source)].astype(np.float64)

    def _flat(self, here: str, shape: tuple[int, ...], label: str) -> str:
        if len(shape) == 1:
            return here
        numbers = {"start_dim": 0, "end_dim": -1, "input_type": shape}
        return self._step(here, f"{label} flat", NirNode("Flatten", _arrays(numbers)))

    def _step(self, before: str, name: str, node: NirNode) -> str:
        self._nodes[name] = node
        self._edges.append((before, name))
        return name

    def _bias(self, name: str, leak: Any) -> None:
        """Write a constant leak as the bias of the first map into a node, or of a map of zeros."""
        shape = self._shapes[name]
        values = leak.astype(np.float64)[to_nir_order(shape)]
        for before, after in self._edges:
            found = self._nodes[before]
            if after == name and found.kind == "Linear":
                self._nodes[before] = NirNode("Affine", {**found.parameters, "bias": values})
                return
            if after == name and found.kind == "Conv2d":
                bias = values.reshape(shape)[:, 0, 0]
                self._nodes[before] = NirNode("Conv2d", {**found.parameters, "bias": bias}, found.words)
                return
        self._zeros(name, name, f"{name} bias", bias=values)

    def _zeros(self, name: str, end: str, label: str, **bias: Any) -> None:
        """Connect the smallest source of a node to a primitive through a map of zeros."""
        feeders = [u for u, v in self._network.edges if v == name] or [name]
        source = min(feeders, key=lambda u: self._network.nodes[u].size)
        sizes = (self._network.nodes[name].size, self._network.nodes[source].size)
        if sizes[0] * sizes[1] > MAX_WEIGHTS:
            raise NotSupportedError(
                f"node {label}: is written as a map of {sizes[0]} x {sizes[1]} zeros; split the node"
            )
        here = self._flat(source, self._shapes[source], label)
        kind = "Affine" if bias else "Linear"
        here = self._step(here, label, NirNode(kind, {"weight": np.zeros(sizes), **bias}))
        self._edges.append((here, end))


def _shape(shape: tuple[int, int, int] | None) -> tuple[int, int, int]:
    assert shape is not None
    return shape


def merged_terms(edge: Edge) -> dict[tuple[int, int], MatrixSource]:
    """Return the transforms of an edge by delay and current; several of the same ones are one matrix."""
    found: dict[tuple[int, int], MatrixSource] = {}
    assert edge.transform is not None
    for term in (EdgeTerm(edge.transform, edge.delay, edge.current), *edge.also):
        before, pair = found.get((term.delay, term.current)), (term.delay, term.current)
        both = None if before is None else csr_array(before.matrix() + term.transform.matrix())
        found[pair] = term.transform if both is None else MatrixTransform(both)
    return found


# Nodes written as channels, rows and columns: those that convolutions and pools of NIR join.
def unfed_currents(network: Network, name: str) -> list[int]:
    """List the currents of a node with several that no edge feeds."""
    neuron = network.nodes[name].neuron
    if neuron is None or neuron.n_currents == 1:
        return []
    into = [edge for edge in network.edges.values() if edge.target == name]
    fed = {edge.current for edge in into} | {term.current for edge in into for term in edge.also}
    return sorted(set(range(neuron.n_currents)) - fed)


def spatial_nodes(network: Network) -> set[str]:
    """Choose the nodes to write in three dimensions; all others are written as a row."""
    # NIR has no way back from a row, so all inputs of such a node must have three dimensions too; its constant leak
    # must be the bias of a convolution, one number per channel; and all its currents must be fed.
    into: dict[str, list[tuple[str, MatrixSource]]] = {}
    joined: set[str] = set()
    for (u, v), edge in network.edges.items():
        for transform in merged_terms(edge).values():
            into.setdefault(v, []).append((u, transform))
            if window_primitive(transform) is not None:
                joined |= {u, v}
    while True:
        lost = {
            v
            for v in joined
            if unfed_currents(network, v)
            or not _leaks_by_channel(network.nodes[v], [t for _, t in into.get(v, ())])
            or any(
                u not in joined or not (isinstance(t, Identity) or window_primitive(t) is not None)
                for u, t in into.get(v, ())
            )
        }
        if not lost:
            return joined
        joined -= lost


def _leaks_by_channel(node: Node, transforms: list[MatrixSource]) -> bool:
    """Whether a node has no constant leak, or one that the bias of a convolution onto it can hold."""
    if not isinstance(node.neuron, LeakNeuron) or not node.neuron.leak.any() or node.shape is None:
        return True
    leaks = node.neuron.leak.reshape(-1, node.shape[2])
    return bool((leaks == leaks[0]).all()) and any(isinstance(t, Conv) and window_primitive(t) for t in transforms)


def window_primitive(transform: MatrixSource) -> NirNode | None:
    """Convert a convolution or a pool to a primitive; ``None`` where NIR, or its package's own check, has no way to."""
    # NIR pads equally on both sides, or ``"same"`` at stride 1; ``nir.NIRGraph.infer_types`` (1.0.8) takes neither
    # groups nor oblong kernels of convolutions.
    if isinstance(transform, Conv):
        if transform.groups != 1 or transform.kernel[0] != transform.kernel[1] or transform.weights is None:
            return None
        is_same = transform.padding == "same" and transform.stride == (1, 1)
        pads = None if is_same else _pads(transform)
        if pads is None and not is_same:
            return None
        weight = transform.weights.tensor(transform.weight_shape).transpose(3, 2, 0, 1).astype(np.float64)
        numbers: dict[str, Any] = {"weight": weight, "stride": transform.stride, "dilation": (1, 1), "groups": 1}
        numbers |= {"bias": np.zeros(len(weight)), "input_shape": transform.source_shape[:2]}
        numbers |= {} if pads is None else {"padding": pads}
        return NirNode("Conv2d", _arrays(numbers), {"padding": "same"} if is_same else {})
    if isinstance(transform, Pool) and (pads := _pads(transform)) is not None:
        stride = transform.stride or transform.kernel
        ends = zip(transform.source_shape, transform.target_shape, stride, pads, strict=False)
        if any((windows - 1) * step - pad >= length for length, windows, step, pad in ends):
            return None  # the last window lies in the padding, which readers leave out
        return NirNode("SumPool2d", _arrays({"kernel_size": transform.kernel, "stride": stride, "padding": pads}))
    return None


def _arrays(numbers: dict[str, Any]) -> dict[str, Any]:
    return {key: np.asarray(value, np.float64) for key, value in numbers.items()}


def _pads(transform: Conv | Pool) -> tuple[int, ...] | None:
    """Zeros on each side along rows and columns; ``None`` if the two sides differ."""
    top, left, bottom, right = transform.margins
    return (top, left) if (top, left) == (bottom, right) else None
