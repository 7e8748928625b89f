"""Phases of both executions for edges with latencies; the proofs are in ``docs/time.md``.

Every edge e asks for a delay of at least its latency c(e): 1 in update steps, any number of ticks in a
tick-level schedule. All functions work on an indexed valid pattern and give one phase per node.
"""

from __future__ import annotations

from collections.abc import Sequence

from neuromap.rollout.patterns.indexed_pattern import IndexedPattern
from neuromap.rollout.schedule.longest_walks import LongestWalks

__all__ = ["pipelined_phases", "sample_late", "windowed_phases"]


def windowed_phases(pattern: IndexedPattern, latencies: Sequence[int]) -> list[int]:
    """Longest paths inside a frame: phi(v) = max over its edges of c(e) plus, where R(e) = 0, phi(u).

    Frame 0 and the inputs are known at time 0, so inputs have phase 0 here; with latency 1 everywhere it is the
    tableau of the window of size 1 (Fischer, Köhler, Pfeil 2018).

    Parameters
    ----------
    pattern : IndexedPattern
        A valid pattern.
    latencies : sequence of int, one per edge
        c, at least 1.

    Returns
    -------
    list of int, one per node
        In update steps or ticks.
    """
    graph = pattern.graph
    phases = [0] * graph.n
    for v in pattern.sequential_order:
        for e in graph.incoming[v]:
            begin = 0 if pattern.values[e] else phases[graph.sources[e]]
            if begin + latencies[e] > phases[v]:
                phases[v] = begin + latencies[e]
    return phases


def pipelined_phases(pattern: IndexedPattern, latencies: Sequence[int], period: int) -> list[int]:
    """Least phases with phi(v) - phi(u) + R(e) P >= c(e) on every edge and all inputs at 0.

    They are the longest walks from the inputs under the weights c(e) - R(e) P, and may be negative.

    Parameters
    ----------
    pattern : IndexedPattern
        A valid pattern; every node is reachable from an input.
    latencies : sequence of int, one per edge
        c, at least 1.
    period : int
        P, at least the maximum cycle ratio.

    Returns
    -------
    list of int, one per node
        In update steps or ticks.

    Raises
    ------
    AssertionError
        If the period is below the maximum cycle ratio.
    """
    graph = pattern.graph
    parents = [-1] * graph.n
    for e in graph.tree:
        parents[graph.targets[e]] = e
    walks = LongestWalks(pattern, latencies, range(len(graph.sources)), parents)
    if walks.settle(1, period):
        raise AssertionError(f"period {period} is below the maximum cycle ratio")
    return walks.values


def sample_late(pattern: IndexedPattern, latencies: Sequence[int], period: int, phases: list[int]) -> None:
    """Set the phases of inputs, in place, as late as their edges allow: an earlier sample would be an older one.

    Parameters
    ----------
    pattern : IndexedPattern
        A valid pattern.
    latencies : sequence of int, one per edge
        c, at least 1.
    period : int
        P.
    phases : list of int, one per node
        Those of inputs are overwritten.
    """
    graph = pattern.graph
    for u in graph.inputs:
        phases[u] = min(phases[graph.targets[e]] + pattern.values[e] * period - latencies[e] for e in graph.outgoing[u])
