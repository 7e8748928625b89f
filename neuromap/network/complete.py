"""What a network needs before it can be computed: shapes, weights and thresholds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from neuromap.errors import InputError, NetworkError
from neuromap.files.given import needs
from neuromap.network.edge import Edge
from neuromap.network.network import Network
from neuromap.network.node import Node
from neuromap.network.transforms.kinds import Conv, Dense, Pool

__all__ = ["check_pooling", "require_frames", "require_weights"]


def require_weights(network: Network) -> None:
    """Refuse a network that cannot be computed yet.

    The theory needs structure only; the mapper and the reference need every number.

    Raises
    ------
    InputError
        If it is no network.
    NetworkError
        Naming the first node without a shape or a threshold, or the first edge without a transform or
        weights.
    """
    needs("require_weights", network, Network)
    for node in network.nodes.values():
        if node.shape is None:
            raise NetworkError(
                f"network {network.name}: node {node.name} has no shape; add shape = [rows, columns, "
                "features] to every node and a transform to every edge"
            )
    for edge in network.edges.values():
        transform = edge.transform
        if transform is None:
            raise NetworkError(
                f'network {network.name}: edge {edge.label} has no transform; add transform = "dense" or another'
            )
        if isinstance(transform, Conv | Dense) and transform.weights is None:
            raise NetworkError(
                # a network file does not tell whether it was written by hand or by an import: the step is one
                f"network {network.name}: edge {edge.label} has no weights; train them (neuromap train NET --for "
                'CHIP --data SOURCE -o NEW.toml), or give integers with [weights] file = "..." in the network file; '
                "to study the structure only, add weights = { seed = 1, values = [-1, 0, 1] } to the edge"
            )
    for node in network.nodes.values():
        if node.neuron is not None:
            try:
                node.neuron.require_consistent()
            except NetworkError as error:
                raise NetworkError(f"network {network.name}: node {node.name}: {error}") from None
    for edge in network.edges.values():
        _require_shapes(network, edge)
    for node in network.nodes.values():
        if node.threshold is None and node.neuron is None and node.name not in network.inputs:
            raise NetworkError(
                f"network {network.name}: node {node.name} has no threshold; add threshold = 1 (or "
                'another) to it, or [weights] file = "..." to the network file'
            )


def check_pooling(nodes: Mapping[str, Node], edges: Iterable[Edge]) -> None:
    """Refuse a node that only pools, but at a threshold other than 1: it would not be an OR."""
    # Where other edges come in too, the pool is one term of a sum, and any threshold has a meaning.
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
    """Refuse a transform that is made for other nodes than those that it joins."""
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
    """Refuse a spiking network where frame networks alone have a meaning."""
    if network.is_spiking:
        raise InputError(f"{what}: network {network.name} is spiking; {instead}")
