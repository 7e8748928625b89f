"""Cutting graphs into blocks.

Every cycle stays inside one strongly connected component, and there inside one *block* (biconnected component: a
maximal part that no single node separates). Questions about cycles of different blocks are therefore independent of
each other.
"""

from __future__ import annotations

from collections.abc import Iterable

import networkx as nx

__all__ = ["Pair", "split_at_nodes", "split_into_blocks"]

Pair = tuple[int, int]
"""Source and target of an edge."""


def split_at_nodes(pairs: Iterable[Pair]) -> list[list[Pair]]:
    """Split a graph into the parts that no single node separates, directions disregarded."""
    between: dict[Pair, list[Pair]] = {}
    for u, v in pairs:
        between.setdefault((u, v) if u < v else (v, u), []).append((u, v))
    shape: nx.Graph[int] = nx.Graph()
    shape.add_edges_from(between)
    return [
        [pair for u, v in part for pair in between[(u, v) if u < v else (v, u)]]
        for part in nx.biconnected_component_edges(shape)
    ]


def split_into_blocks(pairs: Iterable[Pair]) -> list[list[Pair]]:
    """Split a graph without self-edges into its blocks; edges on no cycle are left out."""
    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.add_edges_from(pairs)
    component = {n: c for c, nodes in enumerate(nx.strongly_connected_components(graph)) for n in nodes}
    return split_at_nodes((u, v) for u, v in graph.edges if component[u] == component[v])
