"""Networks that ask for less than the one that was refused: fewer features, or pooled sources.

They compute something else. Neurons that stay keep their weights, as far as what they read stays: that is enough to
know what a chip holds, and a start for training, not a network that is as good.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from neuromap.errors import InputError
from neuromap.network.edge import Edge, EdgeKey
from neuromap.network.network import Network
from neuromap.network.node import Node
from neuromap.network.transforms.kinds import Pool, Shape
from neuromap.network.transforms.matrices import MatrixTransform
from neuromap.rollout.pattern import RolloutPattern

__all__ = ["hidden_sources", "pooled_sources", "shape_of", "with_features", "with_pools"]

Ints = NDArray[np.int64]


def shape_of(network: Network, node: str) -> Shape:
    """Give the rows, columns and features of a node of a network that has shapes."""
    shape = network.nodes[node].shape
    assert shape is not None, "the network was refused by the mapper, so it has shapes"
    return shape


def hidden_sources(network: Network, node: str) -> list[str]:
    """List the nodes that a node reads and that nobody outside sees: no inputs, outputs, nor the node itself."""
    seen = {*network.inputs, *network.outputs, node}
    return [u for u, v in network.edges if v == node and u not in seen]


def pooled_sources(network: Network, node: str, kernel: int) -> list[str]:
    """List the nodes that a node reads and that have a window of so many rows and columns."""
    return [u for u, v in network.edges if v == node and min(shape_of(network, u)[:2]) >= kernel]


def with_features(network: Network, features: Mapping[str, int]) -> Network:
    """Leave some nodes only their first features."""
    # features: features that a node keeps at most
    _refuse_spiking(network)
    if any(kept < 1 for kept in features.values()):
        raise InputError(f"features = {min(features.values())}: a node keeps 1 or more")
    kept = {name: _first_features(shape_of(network, name), most) for name, most in features.items()}
    thinned = {name: _thinned(network.nodes[name], kept[name], most) for name, most in features.items()}
    edges = {key: _between(edge, kept) if kept.keys() & set(key) else edge for key, edge in network.edges.items()}
    return replace(network, nodes={**network.nodes, **thinned}, edges=edges)


def with_pools(pattern: RolloutPattern, node: str, kernel: int) -> RolloutPattern:
    """Let a node read its sources through OR-pooling, from nodes of their own."""
    # A pooled neuron has the weights that the first neuron of its window had. What pools does so in the same frame.
    network = pattern.network
    _refuse_spiking(network)
    sources = pooled_sources(network, node, kernel)
    if not sources or kernel < 2:
        raise InputError(f"pool = {kernel}: node {node} reads no node with windows of {kernel} x {kernel} neurons")
    pools = {source: _free_name(network, f"{source}_pooled_for_{node}") for source in sources}
    nodes, edges, values = dict(network.nodes), {}, []
    for (key, edge), value in zip(network.edges.items(), pattern.values, strict=True):
        if key[1] != node or key[0] not in pools:
            edges[key] = edge
            values.append(value)
            continue
        shape, pool = shape_of(network, key[0]), pools[key[0]]
        rows, columns, features = shape[0] // kernel, shape[1] // kernel, shape[2]
        nodes[pool] = Node(pool, (rows, columns, features), np.ones(rows * columns * features, np.int64))
        edges[key[0], pool] = Edge(key[0], pool, Pool(shape, (rows, columns, features), (kernel, kernel)))
        first = np.arange(np.prod(shape)).reshape(shape)[: rows * kernel : kernel, : columns * kernel : kernel].ravel()
        edges[pool, node] = Edge(pool, node, MatrixTransform(edge.matrix()[:, first]))
        values += [0, value]
    named = {name: _renamed(streaming, node, pools) for name, streaming in network.patterns.items()}
    pooled = replace(network, nodes=nodes, edges=edges, patterns=named)
    return RolloutPattern(pooled, tuple(values), pattern.name)


def _renamed(streaming: tuple[EdgeKey, ...], node: str, pools: Mapping[str, str]) -> tuple[EdgeKey, ...]:
    return tuple((pools.get(u, u) if v == node else u, v) for u, v in streaming)


def _free_name(network: Network, wanted: str) -> str:
    while wanted in network.nodes:
        wanted += "_"
    return wanted


def _refuse_spiking(network: Network) -> None:
    if network.is_spiking:
        raise InputError(f"network {network.name}: is spiking; its nodes are neither thinned out nor pooled")


def _first_features(shape: Shape, most: int) -> Ints:
    """Neurons of the first features, row-major."""
    found: Ints = np.arange(np.prod(shape)).reshape(shape)[:, :, :most].ravel()
    return found


def _thinned(node: Node, kept: Ints, most: int) -> Node:
    assert node.shape is not None, "its features were counted"
    threshold = None if node.threshold is None else node.threshold[kept]
    return replace(node, shape=(*node.shape[:2], min(node.shape[2], most)), threshold=threshold)


def _between(edge: Edge, kept: Mapping[str, Ints]) -> Edge:
    """Keep the weights between neurons that stay."""
    matrix = edge.matrix()
    if edge.target in kept:
        matrix = matrix[kept[edge.target]]
    if edge.source in kept:
        matrix = matrix[:, kept[edge.source]]
    return Edge(*edge.key, MatrixTransform(matrix))
