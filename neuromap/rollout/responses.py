"""First and full response of output nodes, in update steps (DESIGN section 3)."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

from neuromap.rollout.longest_paths import longest_paths
from neuromap.rollout.walks import IndexedPattern

__all__ = ["Response", "responses"]


@dataclass(frozen=True)
class Response:
    """Responses of one output.

    Attributes
    ----------
    first : int
        Update steps from stimulus onset to the first output frame that depends on it.
    full : int
        Update steps from stimulus onset to the first output that the longest path has reached, or an upper
        bound of them.
    full_is_exact : bool
        False where ``full`` is an upper bound.
    """

    first: int
    full: int
    full_is_exact: bool


def responses(graph: IndexedPattern, phases: Sequence[int], period: int, outputs: Sequence[int]) -> list[Response]:
    """First and full response of each output.

    Along a path the delays add up to phi(output) - phi(input) + P times the streaming edges on it. The
    sampling step of every input is its own onset, so each input starts at -phi(input); inputs that do not
    reach an output play no part in it.

    Parameters
    ----------
    graph : IndexedPattern
        A valid pattern.
    phases : sequence of int, one per node
        In update steps.
    period : int
        Frame period P, in update steps.
    outputs : sequence of int
        Nodes to answer for.
    """
    starts = {u: -phases[u] for u in graph.inputs}
    least = _least(graph, starts, period)
    upper, lower = longest_paths(graph, starts, period)
    return [
        Response(first=phases[o] + least[o], full=phases[o] + upper[o], full_is_exact=upper[o] == lower[o])
        for o in outputs
    ]


def _least(graph: IndexedPattern, starts: dict[int, int], period: int) -> list[int]:
    """Least start plus P times streaming edges over all walks (Dijkstra: no weight is negative)."""
    best: dict[int, int] = {}
    heap = [(value, u) for u, value in starts.items()]
    heapq.heapify(heap)
    while heap:
        value, u = heapq.heappop(heap)
        if u in best:
            continue
        best[u] = value
        for e in graph.outgoing[u]:
            if graph.targets[e] not in best:
                heapq.heappush(heap, (value + period * graph.values[e], graph.targets[e]))
    return [best[v] for v in range(graph.n)]
