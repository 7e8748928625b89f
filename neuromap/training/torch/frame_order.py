"""In which order a window is computed: nodes on no cycle for all frames at once, cycles frame by frame."""

from __future__ import annotations

from dataclasses import dataclass

import networkx as nx

from neuromap.rollout.pattern import RolloutPattern

__all__ = ["Stage", "stages"]


@dataclass(frozen=True)
class Stage:
    """Nodes that are computed together."""

    nodes: tuple[str, ...]  # one node, or the nodes of cycles that hang together; within a frame in this order
    is_cyclic: bool  # whether they are computed frame by frame


def stages(pattern: RolloutPattern) -> tuple[Stage, ...]:
    """Order the nodes that are not inputs; every stage needs only those before it, in whichever frames."""
    pattern.require_binary("RolloutModel")
    network = pattern.network
    order = {name: place for place, name in enumerate(_within_a_frame(pattern))}
    graph = network.graph
    condensed = nx.condensation(graph)
    found = []
    for number in nx.topological_sort(condensed):
        nodes = sorted(condensed.nodes[number]["members"], key=order.__getitem__)
        if nodes[0] not in network.inputs:
            is_cyclic = len(nodes) > 1 or graph.has_edge(nodes[0], nodes[0])
            found.append(Stage(tuple(nodes), is_cyclic))
    return tuple(found)


def _within_a_frame(pattern: RolloutPattern) -> list[str]:
    """Order nodes so that every sequential edge leads from earlier to later."""
    network = pattern.network
    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_nodes_from(network.nodes)
    graph.add_edges_from(key for key, r in zip(network.edges, pattern.values, strict=True) if not r)
    return list(nx.topological_sort(graph))
