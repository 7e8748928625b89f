"""Apply a remedy: change a mapping request as a refusal proposes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.array_types import Ints
from neuromap.errors import InputError
from neuromap.hardware.chip.chip_file import load_chip
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.mapping.options.infeasibility import Infeasibility, Remedy
from neuromap.mapping.options.options import MappingOptions
from neuromap.network.edge import Edge, MatrixSource
from neuromap.network.network import Network
from neuromap.network.node import Node
from neuromap.network.transforms import Conv, Dense, MatrixTransform, Pool, Shape
from neuromap.network.weights import StoredWeights
from neuromap.rollout.pattern import RolloutPattern
from neuromap.rollout.schedule.rollout import Rollout


@dataclass(frozen=True, eq=False)
class Request:
    """A mapping request: a rollout, a chip and options.

    Attributes
    ----------
    rollout : Rollout
        Network with weights, pattern, execution.
    chip : ChipSpec
        Chip or board.
    options : MappingOptions
        Strategies, limits and pins.
    """

    rollout: Rollout
    chip: ChipSpec
    options: MappingOptions = field(default_factory=MappingOptions)


def apply_remedy(request: Request, refusal: Infeasibility, remedy: Remedy) -> Request:
    """Apply a remedy of its refusal to a request.

    Parameters
    ----------
    request : Request
        What was refused.
    refusal : Infeasibility
        Names the node.
    remedy : Remedy
        One of the refusal's, with a value.

        ``groups`` splits the edges into the node into that many groups, each with its present weights; ``weights`` sets
        every weight into it to 1; ``features`` limits the features of the node, ``source_features`` those of the hidden
        nodes that it reads; ``pool`` lets it read its sources through OR-pooling; ``chip`` selects a packaged chip;
        ``chip.cores`` makes the board large enough for that many working cores; ``chip.reach`` applies along x and y;
        any other ``chip.`` is a figure of the chip; ``pins.`` fixes tiles, cores or region of the node; the rest are
        fields of the options.

    Returns
    -------
    Request

    Raises
    ------
    InputError
        If the remedy is advice, or the network or chip does not allow it.
    """
    lever, value = remedy.lever, remedy.value
    if value is None:
        raise InputError(f"remedy {lever}: is advice without a value; choose one with a value")
    if lever in ("groups", "weights"):
        network = _with_other_edges(request.rollout.network, refusal.node, lever, value)
        return replace(request, rollout=_of_network(request.rollout, network))
    if lever in ("features", "source_features", "pool"):
        return replace(request, rollout=_smaller(request.rollout, refusal.node, lever, value))
    if lever == "chip":
        chip = load_chip(str(value))
        return replace(request, chip=chip, options=request.options.meant_for(chip))
    if lever.startswith("chip."):
        return replace(request, chip=_with_figure(request.chip, lever.removeprefix("chip."), value))
    if lever.startswith("pins."):
        return replace(request, options=_with_pin(request.options, lever.removeprefix("pins."), refusal.node, value))
    if lever in {f.name for f in fields(MappingOptions)}:
        changes: dict[str, Any] = {lever: value}
        return replace(request, options=replace(request.options, **changes))
    raise InputError(f"remedy {lever}: is not known; remedies are those of a refusal")


def _smaller(rollout: Rollout, node: str | None, lever: str, value: Any) -> Rollout:
    network = rollout.network
    if node is None or node not in network.nodes:
        raise InputError(f"remedy {lever}: is for a node, and none is named")
    if lever == "pool":
        pattern = with_pools(rollout.pattern, node, value)
        return _of_network(rollout, pattern.network, pattern)
    thinned = [node] if lever == "features" else hidden_sources(network, node)
    if not thinned:
        raise InputError(f"remedy {lever}: node {node} reads no hidden node")
    return _of_network(rollout, with_features(network, dict.fromkeys(thinned, value)))


def _with_pin(options: MappingOptions, table: str, node: str | None, value: Any) -> MappingOptions:
    lengths = {"tiles": 3, "cores": None, "regions": 4}
    length = len(value) if isinstance(value, tuple) else None
    if node is None or table not in lengths or lengths[table] != length:
        raise InputError(f"remedy pins.{table}: {value} is not a pin of a node")
    changes: dict[str, Any] = {table: {**getattr(options.pins, table), node: value}}
    return replace(options, pins=replace(options.pins, **changes))


def _with_figure(chip: ChipSpec, figure: str, value: Any) -> ChipSpec:
    changes: dict[str, Any]
    if figure == "cores":
        unusable = chip.n_cores - chip.n_usable_cores
        columns = max(chip.columns, math.isqrt(value + unusable - 1) + 1)
        rows = max(chip.rows, -(-(value + unusable) // columns))
        changes = {"cores": (columns, rows), "chips": (1, 1)}
    elif figure == "reach":
        changes = {"reach": (value, value)}
    elif figure in {f.name for f in fields(ChipSpec)}:
        changes = {figure: value}
    elif chip.core_figures is not None and figure in {f.name for f in fields(chip.core_figures)}:
        changes = {"core_figures": replace(chip.core_figures, **{figure: value})}
    else:
        raise InputError(f"remedy chip.{figure}: is not a figure of a chip")
    return replace(chip, **changes)


def _of_network(rollout: Rollout, network: Network, pattern: RolloutPattern | None = None) -> Rollout:
    if pattern is None:
        pattern = RolloutPattern(network, rollout.pattern.values, rollout.pattern.name)
    latencies = rollout.latencies if rollout.is_tick_level else None
    return Rollout(network, pattern, rollout.execution, latencies, rollout.least_period)


def _with_other_edges(network: Network, node: str | None, lever: str, value: Any) -> Network:
    edges = {
        key: Edge(*key, _grouped(edge, int(value)) if lever == "groups" else _plain(edge)) if key[1] == node else edge
        for key, edge in network.edges.items()
    }
    return replace(network, edges=edges)


def _plain(edge: Edge) -> MatrixSource:
    matrix = edge.matrix().copy()
    matrix.data = np.ones(matrix.nnz, np.int64)
    return MatrixTransform(matrix)


def _grouped(edge: Edge, groups: int) -> MatrixSource:
    """Split an edge into groups, each with its present weights."""
    transform = edge.transform
    if isinstance(transform, Conv):
        return _grouped_conv(transform, groups)
    if isinstance(transform, Dense):
        return _grouped_dense(transform, groups)
    raise InputError(f"edge {edge.label}: a transform of kind {getattr(transform, 'kind', None)} has no groups")


def _grouped_conv(conv: Conv, groups: int) -> Conv:
    assert conv.weights is not None, "the network was refused by the mapper, so it has weights"
    grouped = replace(conv, groups=groups, weights=None)  # refuses what does not divide
    old = conv.weights.tensor(conv.weight_shape)
    new = np.empty(grouped.weight_shape, np.int64)
    per_source, per_target = new.shape[2], conv.target_shape[2] // groups
    for group in range(groups):
        first = group * per_source % old.shape[2]  # relative to the first feature of the old group
        targets = slice(group * per_target, (group + 1) * per_target)
        new[..., targets] = old[:, :, first : first + per_source, targets]
    return replace(grouped, weights=StoredWeights(new))


def _grouped_dense(dense: Dense, groups: int) -> Dense:
    grouped = replace(dense, groups=groups, weights=None)  # refuses what does not divide
    matrix = dense.matrix()
    blocks = [
        matrix[_of_group(dense.target_shape, groups, g)][:, _of_group(dense.source_shape, groups, g)].toarray()
        for g in range(groups)
    ]
    return replace(grouped, weights=StoredWeights(np.array(blocks)))


def _of_group(shape: tuple[int, int, int], groups: int, group: int) -> NDArray[np.int64]:
    """Neurons of a group of features, row-major."""
    index = np.arange(math.prod(shape)).reshape(*shape[:2], groups, shape[2] // groups)
    return index[:, :, group].ravel()


# Smaller networks than the one refused: fewer features, or pooled sources.
#
# They compute something else. Neurons that stay keep their weights from sources that stay: enough to know what a chip
# holds, and a start for training, but not an equally good network.


def shape_of(network: Network, node: str) -> Shape:
    """Return rows, columns and features of a node, in a network with shapes."""
    shape = network.nodes[node].shape
    assert shape is not None, "the network was refused by the mapper, so it has shapes"
    return shape


def hidden_sources(network: Network, node: str) -> list[str]:
    """List the hidden nodes that a node reads: no inputs, outputs, nor the node itself."""
    seen = {*network.inputs, *network.outputs, node}
    return [u for u, v in network.edges if v == node and u not in seen]


def pooled_sources(network: Network, node: str, kernel: int) -> list[str]:
    """List the nodes that a node reads and that have at least ``kernel`` rows and columns."""
    return [u for u, v in network.edges if v == node and min(shape_of(network, u)[:2]) >= kernel]


def with_features(network: Network, features: Mapping[str, int]) -> Network:
    """Keep only the first features of some nodes."""
    # features: most features that each node keeps
    _refuse_spiking(network)
    if any(kept < 1 for kept in features.values()):
        raise InputError(f"features = {min(features.values())}: a node keeps 1 or more")
    kept = {name: _first_features(shape_of(network, name), most) for name, most in features.items()}
    thinned = {}
    for name, most in features.items():
        node, (*places, now) = network.nodes[name], shape_of(network, name)
        threshold = None if node.threshold is None else node.threshold[kept[name]]
        thinned[name] = replace(node, shape=(places[0], places[1], min(now, most)), threshold=threshold)
    edges = {key: _between(edge, kept) if kept.keys() & set(key) else edge for key, edge in network.edges.items()}
    return replace(network, nodes={**network.nodes, **thinned}, edges=edges)


def with_pools(pattern: RolloutPattern, node: str, kernel: int) -> RolloutPattern:
    """Let a node read its sources through OR-pooling, from nodes added for that."""
    # A pooled neuron takes the weights of the first neuron of its window. Pooling happens within the frame.
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
    named = {
        name: tuple((pools.get(u, u) if v == node else u, v) for u, v in streaming)
        for name, streaming in network.patterns.items()
    }
    pooled = replace(network, nodes=nodes, edges=edges, patterns=named)
    return RolloutPattern(pooled, tuple(values), pattern.name)


def _free_name(network: Network, wanted: str) -> str:
    while wanted in network.nodes:
        wanted += "_"
    return wanted


def _refuse_spiking(network: Network) -> None:
    if network.is_spiking:
        raise InputError(f"network {network.name}: is spiking; its nodes are neither thinned out nor pooled")


def _first_features(shape: Shape, most: int) -> Ints:
    """Neurons of the first features, row-major."""
    return np.arange(np.prod(shape)).reshape(shape)[:, :, :most].ravel()


def _between(edge: Edge, kept: Mapping[str, Ints]) -> Edge:
    """Keep the weights between neurons that stay."""
    matrix = edge.matrix()
    if edge.target in kept:
        matrix = matrix[kept[edge.target]]
    if edge.source in kept:
        matrix = matrix[:, kept[edge.source]]
    return Edge(*edge.key, MatrixTransform(matrix))
