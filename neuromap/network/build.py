"""Build a network from matrices, without a file."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import frozen
from neuromap.errors import InputError, NetworkError, prefixed
from neuromap.files.argument_checks import mapping_given, needs
from neuromap.files.messages import show
from neuromap.files.toml_table import TomlTable
from neuromap.network.edge import Edge, EdgeKey, MatrixSource, edge_pair
from neuromap.network.network import Network, check_ends
from neuromap.network.node import Node
from neuromap.network.spiking_neuron import IntegerNeuron
from neuromap.network.transforms import OTHER, Conv, Dense, MatrixTransform, Pool, Shape, Transform
from neuromap.network.weights import (
    INT_HIGH,
    INT_LOW,
    MAX_NEURONS,
    MAX_SEED,
    MAX_VALUES,
    PADDINGS,
    SeededWeights,
    as_integers,
    as_shape,
    layout_hint,
    show_shape,
)

NodeSpec: TypeAlias = tuple[tuple[int, int, int] | int, Any]


def build_network(
    nodes: Mapping[str, NodeSpec],
    edges: Mapping[EdgeKey, Any],
    *,
    outputs: Iterable[str] = (),
    patterns: Mapping[str, Iterable[EdgeKey]] | None = None,
    bridging: Mapping[str, Mapping[EdgeKey, int]] | None = None,
    name: str = "network",
) -> Network:
    """Build a network from shapes, thresholds and matrices.

    Parameters
    ----------
    nodes : mapping of str to (shape, threshold)
        Shape: ``(rows, columns, features)``, or n for ``(1, 1, n)``. Threshold: an integer for all neurons,
        an integer array of shape (size,), (rows, columns, features) or (features,), or ``None`` (input nodes,
        or not known yet). A neuron in its place, such as a ``GradedNeuron``, makes a graded or spiking node.
    edges : mapping of (source, target) to array_like of int, sparse array or transform
        Matrices have shape (n_target, n_source) and any integer dtype.
    outputs : iterable of str
        By default as in :class:`~neuromap.network.network.Network`.
    patterns : mapping of str to iterable of (source, target), optional
        Named rollout patterns: the streaming edges of each.
    bridging : mapping of str to mapping of (source, target) to int, optional
        For patterns with edges that bridge frames: these edges, and how many frames.
    name : str
        Name of the network.

    Returns
    -------
    Network
        With nodes and edges in the order given.

    Raises
    ------
    NetworkError
        Naming the node or edge whose shape, threshold or weights are wrong, the pattern whose name is reserved
        (``streaming`` and ``sequential``), or the name with more than 100 characters, or others than letters (a to z),
        digits, _, - and the dot.

    Examples
    --------
    >>> net = build_network({"I": (2, None), "O": (1, 1)}, {("I", "O"): [[1, 1]]})
    >>> net.edges["I", "O"].matrix().toarray()
    array([[1, 1]])
    """
    mapping_given("network: nodes", nodes, "{'I': (shape, None), 'O': (shape, threshold)}", NetworkError)
    mapping_given("network: edges", edges, "{('I', 'O'): matrix or transform}", NetworkError)
    for node in nodes:
        check_name(node, "node")
    for pattern in patterns or {}:
        check_name(pattern, "rollout")
    edges = {edge_pair(key): weights for key, weights in edges.items()}
    check_ends(edges, nodes)
    targets = {v for _, v in edges}
    made = {str(n): _node(str(n), spec, has_incoming=n in targets) for n, spec in nodes.items()}  # not np.str_
    links = {(u, v): _edge(u, v, weights, made) for (u, v), weights in edges.items()}
    check_pooling(made, links.values())
    named = {k: tuple(keys) for k, keys in (patterns or {}).items()}
    return Network(name, made, links, tuple(map(str, outputs)), named, bridging=bridging or {})


def _node(name: str, spec: NodeSpec, *, has_incoming: bool) -> Node:
    try:
        given, threshold = spec
    except (TypeError, ValueError):
        raise NetworkError(f"node {name}: found {spec!r}; allowed is a pair (shape, threshold)") from None
    with prefixed(f"node {name}: ", NetworkError):
        shape = as_shape(given)
        if threshold is None:
            return Node(name, shape)
        if isinstance(threshold, IntegerNeuron):
            return Node(name, shape, neuron=threshold)
        if not has_incoming:
            raise NetworkError("threshold: input nodes take none; their spikes come from outside")
        return Node(name, shape, spread_threshold(as_integers(threshold, "threshold"), shape))


def _edge(source: str, target: str, weights: Any, nodes: Mapping[str, Node]) -> Edge:
    with prefixed(f"edge {source} -> {target}: ", NetworkError):
        return Edge(source, target, _transform(weights, nodes[source], nodes[target]))


def _transform(weights: Any, source: Node, target: Node) -> MatrixSource:
    if isinstance(weights, Transform):
        ends = ("source", source, weights.source_shape), ("target", target, weights.target_shape)
        for end, node, shape in ends:
            if node.shape is not None and shape != node.shape:
                raise NetworkError(
                    f"{end} shape {show_shape(shape)} of the transform is not node {node.name}'s "
                    f"{show_shape(node.shape)}"
                )
        return weights
    transform = weights if isinstance(weights, MatrixTransform) else MatrixTransform(weights)
    found, wanted = transform.weights.shape, (target.size, source.size)
    if found != wanted:
        raise NetworkError(
            f"weights: found shape {show_shape(found)}; allowed is (n_target, n_source) = {show_shape(wanted)}"
            + layout_hint(found, wanted)
        )
    return transform


# Thresholds of a node: one per neuron, given as one number, one per feature, or one per neuron.
def threshold_shapes(shape: tuple[int, int, int]) -> tuple[tuple[int, ...], ...]:
    """List the shapes that a threshold tensor of a node may have."""
    return ((math.prod(shape),), shape, (shape[2],))


def spread_threshold(values: NDArray[np.int64], shape: tuple[int, int, int]) -> NDArray[np.int64]:
    """Spread thresholds over all neurons of a node."""
    # shapes: returns (size,)
    size = math.prod(shape)
    if values.ndim == 0:
        return np.broadcast_to(frozen(values), (size,))
    if values.shape not in threshold_shapes(shape):
        allowed = ", ".join(show_shape(s) for s in dict.fromkeys(threshold_shapes(shape)))
        raise NetworkError(f"threshold: found shape {show_shape(values.shape)}; allowed are {allowed}")
    per_feature = values.shape != (size,) and values.ndim == 1
    return frozen((np.broadcast_to(values, shape) if per_feature else values).reshape(size))


# What a network needs before it can be computed: shapes, weights and thresholds.
def require_weights(network: Network) -> None:
    """Refuse a network that cannot be computed yet.

    The theory needs structure only; the mapper and the reference need every number.

    Raises
    ------
    InputError
        If it is not a network.
    NetworkError
        Naming the first node without a shape or a threshold, or the first edge without a transform or
        weights.
    """
    needs("require_weights", network, Network)
    for node in network.nodes.values():
        if node.shape is None:
            raise NetworkError(
                f"network {network.name}: node {node.name} has no shape; add shape = [rows, columns, "
                "features] to every node and a transform to every edge (of an import: export the model with fixed "
                "sizes, and import it again)"
            )
    for edge in network.edges.values():
        transform = edge.transform
        if transform is None:
            raise NetworkError(
                f'network {network.name}: edge {edge.label} has no transform; add transform = "dense" or another'
            )
        if isinstance(transform, Conv | Dense) and transform.weights is None:
            # Only an import writes a table of work: its source has weights, and no others should be drawn.
            is_import = "work" in network.tables
            other = (
                "or keep those of the trained model (neuromap import torch FILE.pt2 or onnx FILE.onnx, with "
                "--calibrate SOURCE)"
                if is_import
                else 'or give integers with [weights] file = "..." in the network file; to study the structure only, '
                "add weights = { seed = 1, values = [-1, 0, 1] } to the edge"
            )
            raise NetworkError(
                f"network {network.name}: edge {edge.label} has no weights; train them (neuromap train NET --for CHIP "
                f"--data SOURCE -o NEW.toml), {other}"
            )
    for node in network.nodes.values():
        if node.neuron is not None:
            with prefixed(f"network {network.name}: node {node.name}: ", NetworkError):
                node.neuron.require_consistent()
    for name in network.sources:
        arrays = network.nodes[name].neuron.arrays  # type: ignore[union-attr] # sources have one
        drives = sorted(DRIVES & arrays.keys())
        if not any(arrays[drive].any() for drive in drives):
            raise NetworkError(
                f"network {network.name}: node {name}: no edge feeds its neurons, and no {' or '.join(drives)} drives "
                "them; give it one of these, or no neuron if its spikes come from outside"
            )
    for edge in network.edges.values():
        _require_shapes(network, edge)
    for node in network.nodes.values():
        if node.threshold is None and node.neuron is None and node.name not in network.inputs:
            raise NetworkError(
                f"network {network.name}: node {node.name} has no threshold; add threshold = 1 (or "
                'another) to it, or [weights] file = "..." to the network file'
            )


# Parameters that make neurons spike that no edge feeds.
DRIVES = frozenset({"bias", "leak", "current", "voltage", "potential"})


def check_pooling(nodes: Mapping[str, Node], edges: Iterable[Edge]) -> None:
    """Refuse a node that only pools and has a threshold other than 1: it would not be an OR."""
    # With further incoming edges the pool is one term of a sum, and any threshold is meaningful.
    incoming: dict[str, list[Edge]] = {}
    for edge in edges:
        incoming.setdefault(edge.target, []).append(edge)
    for name, into in incoming.items():
        threshold = nodes[name].threshold
        if len(into) == 1 and isinstance(into[0].transform, Pool) and threshold is not None:
            others = threshold[threshold != 1]
            if others.size:
                raise NetworkError(
                    f"node {name}: threshold {others[0]} after edge {into[0].label}, a pool and its only "
                    "edge; OR-pooling needs threshold 1"
                )


def _require_shapes(network: Network, edge: Edge) -> None:
    """Refuse a transform made for nodes of other sizes than those it joins."""
    wanted = (network.nodes[edge.target].size, network.nodes[edge.source].size)
    for transform in (edge.transform, *(term.transform for term in edge.also)):
        source, target = getattr(transform, "source_shape", None), getattr(transform, "target_shape", None)
        if source is None or target is None:
            continue
        found = (math.prod(target), math.prod(source))
        if found != wanted:
            raise NetworkError(
                f"network {network.name}: edge {edge.label}: a transform from {found[1]} to {found[0]} neurons joins "
                f"nodes of {wanted[1]} and {wanted[0]}; make it for the shapes of these nodes"
            )


def require_frames(network: Network, what: str, instead: str) -> None:
    """Refuse a spiking network where only frame networks make sense."""
    if network.is_spiking:
        raise InputError(f"{what}: network {network.name} is spiking; {instead}")


# The table of one edge in a network file: its label and its transform.


# Names of nodes and rollout patterns in a network file.
# A whole name.
NAME = re.compile(r"[A-Za-z0-9_.-]{1,100}")
# The same in words.
NAME_RULE = "names of 1 to 100 letters (a to z), digits, _, - and ."


def check_name(name: str, path: str) -> None:
    """Refuse a node or pattern name that breaks the rule."""
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise NetworkError(f"{path}: found the name {show(name)}; allowed are {NAME_RULE}")


_EDGE = re.compile(rf"[ \t]*({NAME.pattern})[ \t]*->[ \t]*({NAME.pattern})[ \t]*")
_CLASSES: dict[str, type[Transform]] = {transform.kind: transform for transform in get_args(Transform)}
_TERM_KEYS = ("transform", "delay", "current", "also")
# Keys of an edge's table, by kind: common ones, and the fields of the transform but shapes, which the nodes have.
_KEYS = {
    kind: (*_TERM_KEYS, *(f.name for f in fields(transform) if not f.name.endswith("_shape")))
    for kind, transform in _CLASSES.items()
}
_ALL_KEYS = _KEYS["conv"]  # no other kind takes more


def edge_ends(text: str) -> EdgeKey | None:
    """Read ``"A -> B"``, with or without spaces around the arrow; ``None`` for anything else."""
    found = _EDGE.fullmatch(text)
    return None if found is None else (found[1], found[2])


def parse_edge(text: str, path: str) -> EdgeKey:
    """Read ``"A -> B"`` as :func:`edge_ends` does."""
    ends = edge_ends(text)
    if ends is None:
        raise NetworkError(f'{path}: found {show(text)}; allowed is "A -> B", with {NAME_RULE}')
    return ends


def read_transform(table: TomlTable, source: Shape | None, target: Shape | None) -> Transform | None:
    """Read the transform of an edge."""
    # source, target: shapes of its nodes; ``None`` where the network has structure only
    # returns ``None`` for structure only, and for ``transform = "other"``
    table.allow(_ALL_KEYS)
    if source is None or target is None:
        for key in table.values:
            raise table.wrong(key, "is nothing here, as the nodes have no shapes; give every node its shape")
        return None
    if table.values.get("transform") == OTHER:
        table.allow(_TERM_KEYS[:1], because=f' with transform = "{OTHER}"')
        return None
    kind = table.text("transform", tuple(_KEYS))
    if "weights" in table and "weights" not in _KEYS[kind]:
        raise table.wrong("weights", f"are none, as transform {kind} has fixed weights of 1")
    table.allow(_KEYS[kind], because=f' with transform = "{kind}"')
    arguments: dict[str, Any] = {"source_shape": source, "target_shape": target}
    for key in ("kernel", "stride"):
        if key in table:
            arguments[key] = table.pair(key, 1, MAX_NEURONS, "[rows, columns]")
    if "padding" in table:
        given = table.values["padding"]
        arguments["padding"] = given if isinstance(given, list) else table.text("padding", PADDINGS)
    if "groups" in table:
        arguments["groups"] = table.integer("groups", 1, MAX_NEURONS)
    if "weights" in table:
        arguments["weights"] = _seeded(table.table("weights", ("seed", "values")))
    if "kernel" in _KEYS[kind] and "kernel" not in table:
        raise table.wrong("kernel", f"are two integers [rows, columns]; a {kind} needs them")
    with prefixed(f"{table.path}: ", NetworkError):
        return _CLASSES[kind](**arguments)


def _seeded(table: TomlTable) -> SeededWeights:
    seed = table.integer("seed", 0, MAX_SEED)
    allowed = f"is a list of 1 to {MAX_VALUES} integers, each from {INT_LOW} to {INT_HIGH}"
    values = table.integers("values", allowed)
    if not 1 <= len(values) <= MAX_VALUES or not all(INT_LOW <= v <= INT_HIGH for v in values):
        raise table.wrong("values", allowed)
    return SeededWeights(seed, tuple(values))
