"""First and full response of output nodes; definitions in ``docs/time.md``.

Times are in the schedule's unit: update steps, or ticks where edges have latencies. Neither search asks which:
latencies are in the phases.

Along a path the delays add up to phi(output) - phi(input) + P times the streaming edges on it. The sampling step of
every input is its own onset, so each input starts at -phi(input); inputs that do not reach an output play no
part in it.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

from neuromap.rollout.patterns.indexed_pattern import IndexedPattern
from neuromap.rollout.schedule.longest_paths import longest_paths

__all__ = ["FullResponse", "first_responses", "full_responses"]


@dataclass(frozen=True)
class FullResponse:
    """Full response of one output.

    Attributes
    ----------
    steps : int
        Update steps (ticks of a tick-level schedule) from stimulus onset to the first output that the longest
        path has reached, or an upper bound of them.
    is_exact : bool
        False where ``steps`` is an upper bound.
    """

    steps: int
    is_exact: bool


def first_responses(pattern: IndexedPattern, phases: Sequence[int], period: int) -> list[int]:
    """Time from stimulus onset to the first frame that depends on it, for every node.

    Parameters
    ----------
    pattern : IndexedPattern
        A valid pattern.
    phases : sequence of int, one per node
        In the schedule's unit.
    period : int
        Frame period P, in the same unit.
    """
    least = _least(pattern, _onsets(pattern, phases), period)
    return [phase + value for phase, value in zip(phases, least, strict=True)]


def full_responses(pattern: IndexedPattern, phases: Sequence[int], period: int) -> list[FullResponse]:
    """Full response of every node; the search is NP-hard and may end in a bound.

    Parameters
    ----------
    pattern : IndexedPattern
        A valid pattern.
    phases : sequence of int, one per node
        In the schedule's unit.
    period : int
        Frame period P, in the same unit.
    """
    upper, lower = longest_paths(pattern, _onsets(pattern, phases), period)
    return [FullResponse(phase + most, most == found) for phase, most, found in zip(phases, upper, lower, strict=True)]


def _onsets(pattern: IndexedPattern, phases: Sequence[int]) -> dict[int, int]:
    """Where paths start: every input, at minus its sampling step."""
    return {u: -phases[u] for u in pattern.graph.inputs}


def _least(pattern: IndexedPattern, starts: dict[int, int], period: int) -> list[int]:
    """Least start plus P times streaming edges over all walks (Dijkstra: no weight is negative)."""
    graph = pattern.graph
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
                heapq.heappush(heap, (value + period * pattern.values[e], graph.targets[e]))
    return [best[v] for v in range(graph.n)]
