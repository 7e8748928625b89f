"""Ticks of edges: which step of a source a node reads, where every edge takes a tick or more."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import networkx as nx

__all__ = ["Ticks", "find_ticks"]


class Ticks(NamedTuple):
    """When nodes compute."""

    # ticks by which the spikes of a node come later than in a tool that passes layer after layer within a step
    phases: dict[str, int]
    delays: dict[tuple[str, str], int]  # ticks of every edge, without delays of its own
    cycles: tuple[tuple[str, ...], ...]  # nodes of several that read each other: their edges take a tick each


def find_ticks(nodes: Iterable[str], edges: Iterable[tuple[str, str]], *, is_sequential: bool) -> Ticks:
    """Give every edge its ticks."""
    # Sequential: edges within cycles are streaming and take one tick; all others take as many as make all ways to a
    # node equally late, so that it reads the same step of all its sources, as in tools that pass layer after layer.
    # Streaming: one tick each.
    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_nodes_from(nodes)
    graph.add_edges_from(edges)
    if not is_sequential:
        return Ticks(dict.fromkeys(graph, 0), dict.fromkeys(graph.edges, 1), ())
    parts = nx.condensation(graph)
    level: dict[int, int] = {}
    for part in nx.topological_sort(parts):
        level[part] = max((level[before] + 1 for before in parts.predecessors(part)), default=0)
    member: Mapping[str, int] = parts.graph["mapping"]
    phases = {name: level[member[name]] for name in graph}
    delays = {(u, v): phases[v] - phases[u] or 1 for u, v in graph.edges}
    order = {name: k for k, name in enumerate(graph)}
    cycles = [tuple(sorted(parts.nodes[part]["members"], key=order.__getitem__)) for part in parts]
    return Ticks(phases, delays, tuple(cycle for cycle in cycles if len(cycle) > 1))
