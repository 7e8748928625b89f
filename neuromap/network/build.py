"""Build a network from matrices, without a file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from neuromap.errors import NetworkError
from neuromap.files.given import mapping_given
from neuromap.network.complete import check_pooling
from neuromap.network.edge import Edge, EdgeKey, edge_pair
from neuromap.network.names import check_name
from neuromap.network.network import Network, check_ends
from neuromap.network.node import Node
from neuromap.network.terms import MatrixSource
from neuromap.network.thresholds import spread_threshold
from neuromap.network.transforms.kinds import Transform
from neuromap.network.transforms.layouts import layout_hint
from neuromap.network.transforms.limits import as_integers, as_shape, show_shape
from neuromap.network.transforms.matrices import MatrixTransform

__all__ = ["build_network"]

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
        or not known yet).
    edges : mapping of (source, target) to array_like of int, sparse array or transform
        Matrices have shape (n_target, n_source) and any integer dtype.
    outputs : iterable of str
        By default as in :class:`~neuromap.network.network.Network`.
    patterns : mapping of str to iterable of (source, target), optional
        Named rollout patterns: the streaming edges of each.
    bridging : mapping of str to mapping of (source, target) to int, optional
        Of patterns that have edges which bridge frames: these, and how many.
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
        (``streaming`` and ``sequential``), or the name that has other characters than letters (a to z), digits, _, -
        and the dot, or more than 100.

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
    made = {n: _node(n, spec, has_incoming=n in targets) for n, spec in nodes.items()}
    links = {(u, v): _edge(u, v, weights, made) for (u, v), weights in edges.items()}
    check_pooling(made, links.values())
    return Network(
        name=name,
        nodes=made,
        edges=links,
        outputs=tuple(outputs),
        patterns={k: tuple(keys) for k, keys in (patterns or {}).items()},
        bridging=bridging or {},
    )


def _node(name: str, spec: NodeSpec, *, has_incoming: bool) -> Node:
    try:
        given, threshold = spec
    except (TypeError, ValueError):
        raise NetworkError(f"node {name}: found {spec!r}; allowed is a pair (shape, threshold)") from None
    try:
        shape = as_shape(given)
        if threshold is None:
            return Node(name, shape)
        if not has_incoming:
            raise NetworkError("threshold: input nodes take none; their spikes come from outside")
        return Node(name, shape, spread_threshold(as_integers(threshold, "threshold"), shape))
    except NetworkError as error:
        raise NetworkError(f"node {name}: {error}") from None


def _edge(source: str, target: str, weights: Any, nodes: Mapping[str, Node]) -> Edge:
    try:
        return Edge(source, target, _transform(weights, nodes[source], nodes[target]))
    except NetworkError as error:
        raise NetworkError(f"edge {source} -> {target}: {error}") from None


def _transform(weights: Any, source: Node, target: Node) -> MatrixSource:
    if isinstance(weights, Transform):
        for end, node, shape in (
            ("source", source, weights.source_shape),
            ("target", target, weights.target_shape),
        ):
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
