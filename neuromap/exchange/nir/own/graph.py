"""Integer networks as NIR graphs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from neuromap.errors import NotSupportedError
from neuromap.exchange.nir.contract.windows import MAX_WEIGHTS
from neuromap.exchange.nir.floats.conventions import Convention
from neuromap.exchange.nir.own.head import KEY, head_text
from neuromap.exchange.nir.own.layouts import spatial_nodes, unfed_currents, window_primitive
from neuromap.exchange.nir.own.neurons import neuron_primitives, neuron_settings
from neuromap.exchange.nir.own.order import nir_shape, to_nir_order
from neuromap.formats.nir.nir_graph import NirGraph, NirNode
from neuromap.network.complete import require_weights
from neuromap.network.edge import Edge
from neuromap.network.names import check_name
from neuromap.network.network import Network
from neuromap.network.neurons.leak_neuron import LeakNeuron
from neuromap.network.terms import MatrixSource
from neuromap.network.transforms.kinds import Identity
from neuromap.network.transforms.matrices import MatrixTransform

__all__ = ["network_graph"]


def network_graph(network: Network, dt: float) -> NirGraph:
    """Write a network as a graph of NIR's primitives."""
    require_weights(network)
    return _Writer(network, dt).graph()


class _Writer:
    """A graph in the making."""

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
                # tools put an input of their own before whatever nothing feeds
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
        elif node.neuron is not None:
            self._heads[name]["neuron"] = neuron_settings(name, node.neuron)
            self._nodes |= neuron_primitives(name, node.neuron, shape, self._dt)
            self._edges += [(li, name) for li in self._heads[name]["neuron"].get("currents", ())]
        else:
            assert node.threshold is not None
            above = node.threshold[to_nir_order(shape)].reshape(shape).astype(np.float64) - 0.5
            self._nodes[name] = NirNode("Threshold", {"threshold": above})

    def _edge(self, edge: Edge) -> list[list[int]]:
        """Write the terms of an edge, those of one delay and current as one; give these pairs."""
        groups: dict[tuple[int, int], list[MatrixSource]] = {}
        assert edge.transform is not None
        groups[edge.delay, edge.current] = [edge.transform]
        for term in edge.also:
            groups.setdefault((term.delay, term.current), []).append(term.transform)
        for k, ((delay, current), parts) in enumerate(groups.items()):
            transform = parts[0]
            if len(parts) > 1:
                total = parts[0].matrix()
                for part in parts[1:]:
                    total = csr_array(total + part.matrix())
                transform = MatrixTransform(total)
            self._term(edge, transform, delay, current, f" {k}" if k else "")
        return [list(pair) for pair in groups]

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
        return self._step(
            here, f"{label} flat", NirNode("Flatten", {k: np.asarray(v, float) for k, v in numbers.items()})
        )

    def _step(self, before: str, name: str, node: NirNode) -> str:
        self._nodes[name] = node
        self._edges.append((before, name))
        return name

    def _bias(self, name: str, leak: Any) -> None:
        """Put a constant leak into the first map that leads to a node, or into one of zeros."""
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
        """Lead the smallest source of a node to a primitive through a map of zeros."""
        source = min((u for u, v in self._network.edges if v == name), key=lambda u: self._network.nodes[u].size)
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
