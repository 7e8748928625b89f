"""The first frame of an output that depends on the stimulus."""

from __future__ import annotations

import networkx as nx

from neuromap.network.edge import EdgeKey
from neuromap.rollout.pattern import RolloutPattern


def first_frame(pattern: RolloutPattern, output: str) -> int:
    """First frame of an output that depends on any input frame, of a window in which frame 0 holds inputs only."""
    # An edge with R = 0 that leaves an input takes frames from 1 on, any other from 0 on.
    network = pattern.network
    graph: nx.DiGraph[str] = nx.DiGraph()
    for key, r in zip(network.edges, pattern.values, strict=True):
        graph.add_edge(*key, weight=_frames(key, r, network.roots))
    reached = nx.multi_source_dijkstra_path_length(graph, set(network.roots), weight="weight")
    return int(reached[output])


def _frames(key: EdgeKey, r: int, roots: tuple[str, ...]) -> int:
    return max(1, r) if key[0] in roots else r
