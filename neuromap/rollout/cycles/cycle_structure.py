"""Where the cycles of a network live: its edges, sorted by the cycles that they lie on."""

from __future__ import annotations

from dataclasses import dataclass

from neuromap.network.network import Network
from neuromap.rollout.cycles.blocks import Pair
from neuromap.rollout.cycles.indexed_network import indexed_network
from neuromap.rollout.cycles.once_per_network import once_per_network

__all__ = ["Block", "CycleStructure", "cycle_structure"]


@dataclass(frozen=True)
class Block:
    """A block of a strongly connected component, without self-edges; it is strongly connected itself."""

    pairs: tuple[Pair, ...]  # source and target of every edge, as indices of ``network.nodes``
    edges: tuple[int, ...]  # the same edges as indices of ``network.edges``, ascending


@dataclass(frozen=True)
class CycleStructure:
    """The edges of a network, sorted by the cycles that they lie on."""

    forward: tuple[int, ...]  # indices of the edges on no cycle
    self_edges: tuple[int, ...]  # indices of the edges from a node to itself
    blocks: tuple[Block, ...]  # all other edges; blocks by their first edges


@once_per_network
def cycle_structure(network: Network) -> CycleStructure:
    """Sort the edges of a network into edges on no cycle, self-edges and blocks; found once per network."""
    # Linear in the number of edges.
    graph = indexed_network(network)
    pairs = tuple(zip(graph.sources, graph.targets, strict=True))
    blocks = sorted(tuple(sorted(edges)) for blocks in graph.blocks for edges in blocks)
    self_edges = tuple(e for e, (u, v) in enumerate(pairs) if u == v)
    cyclic = set(self_edges).union(*blocks)
    return CycleStructure(
        forward=tuple(e for e in range(len(pairs)) if e not in cyclic),
        self_edges=self_edges,
        blocks=tuple(Block(tuple(pairs[e] for e in edges), edges) for edges in blocks),
    )
