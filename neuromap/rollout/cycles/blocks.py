"""Where the cycles of a network live: strongly connected components, cut into blocks.

Every cycle stays inside one strongly connected component, and there inside one *block* (biconnected
component). Questions about cycles of different blocks are therefore independent of each other.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import networkx as nx

from neuromap.network.network import Network

__all__ = ["Block", "CycleStructure", "cycle_structure", "split_into_blocks"]

Pair = tuple[int, int]


@dataclass(frozen=True)
class Block:
    """A block of a strongly connected component, without self-edges; it is strongly connected itself.

    Attributes
    ----------
    pairs : tuple of (int, int)
        Source and target of every edge, as indices of ``network.nodes``.
    edges : tuple of int
        The same edges as indices of ``network.edges``, ascending.
    """

    pairs: tuple[Pair, ...]
    edges: tuple[int, ...]


@dataclass(frozen=True)
class CycleStructure:
    """The edges of a network, sorted by the cycles that they lie on.

    Attributes
    ----------
    forward : tuple of int
        Indices of the edges on no cycle.
    self_edges : tuple of int
        Indices of the edges from a node to itself.
    blocks : tuple of Block
        All other edges.
    """

    forward: tuple[int, ...]
    self_edges: tuple[int, ...]
    blocks: tuple[Block, ...]


def split_into_blocks(pairs: Iterable[Pair]) -> list[list[Pair]]:
    """Split a graph without self-edges into its blocks; edges on no cycle are left out.

    Parameters
    ----------
    pairs : iterable of (int, int)
        Source and target of every edge.

    Returns
    -------
    list of list of (int, int)
        The edges of every block.
    """
    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.add_edges_from(pairs)
    component = {}
    for i, nodes in enumerate(nx.strongly_connected_components(graph)):
        for n in nodes:
            component[n] = i
    inner: nx.Graph[int] = nx.Graph()
    inner.add_edges_from((u, v) for u, v in graph.edges if component[u] == component[v])
    found = []
    for undirected in nx.biconnected_component_edges(inner):
        found.append([p for u, v in undirected for p in ((u, v), (v, u)) if graph.has_edge(*p)])
    return found


def cycle_structure(network: Network) -> CycleStructure:
    """Sort the edges of a network into edges on no cycle, self-edges and blocks.

    Linear in the number of edges.
    """
    node = {name: i for i, name in enumerate(network.nodes)}
    edge = {(node[u], node[v]): i for i, (u, v) in enumerate(network.edges)}
    self_edges = tuple(i for (u, v), i in edge.items() if u == v)
    by_index = list(edge)
    blocks = []
    for pairs in split_into_blocks(p for p in edge if p[0] != p[1]):
        indices = sorted(edge[p] for p in pairs)
        blocks.append(Block(tuple(by_index[i] for i in indices), tuple(indices)))
    blocks.sort(key=lambda b: b.edges)
    cyclic = set(self_edges).union(*(b.edges for b in blocks))
    return CycleStructure(tuple(i for i in edge.values() if i not in cyclic), self_edges, tuple(blocks))
