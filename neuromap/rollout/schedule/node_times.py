"""Nodes that take unequal times, on hardware that computes all nodes in parallel.

Update steps count every node as one step. Fischer, Köhler, Pfeil 2018 also compare patterns where nodes take
unequal times: a streaming frame takes as long as the slowest node, a sequential frame as the sum along its
longest chain. :func:`frame_time` is this comparison; :func:`latencies_of` makes schedules of the same times.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from neuromap.errors import InputError
from neuromap.rollout.schedule.latencies import MAX_LATENCY

if TYPE_CHECKING:
    from neuromap.network.edge import EdgeKey
    from neuromap.network.network import Network
    from neuromap.rollout.pattern import RolloutPattern

__all__ = ["frame_time", "latencies_of"]

_ROUNDING = 1e-12
"""What a quotient of two floating-point numbers may be too great by, in parts of itself."""


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
    _check(network, node_times)
    ready = dict.fromkeys(network.nodes, 0.0)
    sources: dict[str, list[str]] = {n: [] for n in network.nodes}
    for u, v in pattern.sequential_edges:
        sources[v].append(u)
    for v in computed:
        ready[v] = node_times[v] + max((ready[u] for u in sources[v]), default=0)
    return max(ready.values())


def latencies_of(network: Network, node_times: Mapping[str, float], tick: float = 1.0) -> dict[EdgeKey, int]:
    """Latencies of edges for a tick-level schedule in which every node has the ticks that it needs.

    An edge into node v gets ceil(t(v) / tick) ticks: the node starts when its sources are known and is known itself
    after that. In windowed execution the frame period is then :func:`frame_time` of these ticks.

    Parameters
    ----------
    network : Network
        The network.
    node_times : mapping of str to float
        Time t(v) of every node that is not an input, 0 or more; inputs take none.
    tick : float
        Length of a tick in the same unit, above 0.

    Returns
    -------
    dict of (str, str) to int
        Ticks, 1 or more, for :meth:`neuromap.rollout.schedule.rollout.Rollout.with_latencies`.

    Raises
    ------
    InputError
        If a node's time is missing or below 0, a name is no node that is computed, the tick is no length, or a
        node needs more ticks than a latency may have.
    """
    _check(network, node_times)
    if not 0 < tick < math.inf:
        raise InputError(f"node times: a tick takes {tick!r}; its length must be above 0 and finite")
    ticks = {}
    for name, time in node_times.items():
        quotient = time / tick * (1 - _ROUNDING)
        if not quotient <= MAX_LATENCY:
            raise InputError(
                f"node times: node {name} takes {quotient:.3g} ticks of {tick!r}; at most {MAX_LATENCY} ticks "
                "are allowed, take a longer tick"
            )
        ticks[name] = max(1, math.ceil(quotient))
    return {(u, v): ticks[v] for u, v in network.edges}


def _check(network: Network, node_times: Mapping[str, float]) -> None:
    """Refuse times that are not one per computed node."""
    inputs = set(network.inputs)
    for name in node_times:
        if name not in network.nodes or name in inputs:
            raise InputError(f"node times: {name} is not a computed node of network {network.name}; leave it out")
    for name in network.nodes:
        if name in inputs:
            continue
        if name not in node_times:
            raise InputError(f"node times: node {name} of network {network.name} has none; give one per computed node")
        if not node_times[name] >= 0:
            raise InputError(f"node times: node {name} takes {node_times[name]!r}; a time is 0 or more")
