"""Whether all frames of a node are alike, from its first response on: then one frame is all there is to train."""

from __future__ import annotations

import networkx as nx

from neuromap.network.edge import EdgeKey
from neuromap.rollout.patterns.pattern import RolloutPattern

__all__ = ["frames_are_alike"]


def frames_are_alike(pattern: RolloutPattern) -> bool:
    """Say whether every node of a network without cycles hears of the stimulus over all its paths in one frame."""
    network = pattern.network
    if not nx.is_directed_acyclic_graph(network.graph):
        return False
    r_of: dict[EdgeKey, int] = dict(zip(network.edges, pattern.values, strict=True))
    heard: dict[str, set[int]] = {name: {0} for name in network.inputs}
    for name in nx.topological_sort(network.graph):
        into = [key for key in network.edges if key[1] == name]
        if into:
            # What leaves an input is of frames from 1 on, however its edges are.
            heard[name] = {
                frame + (1 if key[0] in network.inputs else r_of[key]) for key in into for frame in heard[key[0]]
            }
        if len(heard[name]) > 1:
            return False
    return True
