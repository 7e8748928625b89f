"""The time of one frame where every node takes a time of its own, on hardware that computes all nodes in parallel.

Update steps count every node as one step. Fischer, Köhler, Pfeil 2018 also compare patterns where nodes take
unequal times: a streaming frame takes as long as the slowest node, a sequential frame as the sum along its
longest chain.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from neuromap.errors import InputError

if TYPE_CHECKING:
    from neuromap.rollout.pattern import RolloutPattern

__all__ = ["frame_time"]


def frame_time(pattern: RolloutPattern, node_times: Mapping[str, float]) -> float:
    """Time of one frame in windowed execution: the slowest chain of sequential edges.

    A node starts as soon as all its sources inside the frame are done; streaming edges bring values that are there
    already. So the time is the maximum, over chains of sequential edges, of the sum of their nodes' times. With
    1 for every node it is the inference factor.

    Parameters
    ----------
    pattern : RolloutPattern
        A valid pattern.
    node_times : mapping of str to float
        Time of every node that is not an input, 0 or more, in any unit; inputs take none.

    Returns
    -------
    float
        In the unit of the node times.

    Raises
    ------
    PatternError
        If the pattern is invalid; the message names the cycle.
    InputError
        If a node's time is missing or below 0, or a name is no node that is computed.
    """
    network = pattern.network
    inputs = set(network.inputs)
    computed = [n for n in pattern.node_order if n not in inputs]
    for name in node_times:
        if name not in network.nodes or name in inputs:
            raise InputError(f"node times: {name} is not a computed node of network {network.name}; leave it out")
    for name in computed:
        if name not in node_times:
            raise InputError(f"node times: node {name} of network {network.name} has none; give one per computed node")
        if not node_times[name] >= 0:
            raise InputError(f"node times: node {name} takes {node_times[name]!r}; a time is 0 or more")
    ready = dict.fromkeys(network.nodes, 0.0)
    sources: dict[str, list[str]] = {n: [] for n in network.nodes}
    for u, v in pattern.sequential_edges:
        sources[v].append(u)
    for v in computed:
        ready[v] = node_times[v] + max((ready[u] for u in sources[v]), default=0)
    return max(ready.values())
