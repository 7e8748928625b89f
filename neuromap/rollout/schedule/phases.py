"""Phases of both executions for edges with latencies; the proofs are in ``docs/theorems/frame-period.md``.

Every edge e asks for a delay of at least its latency c(e): 1 in update steps, any number of ticks in a
tick-level schedule. The functions work on an indexed valid pattern and give one phase per node.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from neuromap.arrays.times import Time, whole
from neuromap.rollout.indexed_pattern import IndexedPattern
from neuromap.rollout.longest_walks import LongestWalks
from neuromap.rollout.schedule.mean_period import FrameShifts

__all__ = ["pipelined_phases", "sample_late", "windowed_phases"]


def windowed_phases(pattern: IndexedPattern, latencies: Sequence[int]) -> list[int]:
    """Longest paths inside a frame: phi(v) = max over its edges of c(e) plus, where R(e) = 0, phi(u)."""
    # Frame 0 and the inputs are known at time 0, so inputs have phase 0 here; with latency 1 everywhere it is the
    # tableau of the window of size 1 (Fischer, Köhler, Pfeil 2018).
    # latencies: c, at least 1
    # gives in update steps or ticks
    graph = pattern.graph
    phases = [0] * graph.n
    for v in pattern.sequential_order:
        for e in graph.incoming[v]:
            begin = 0 if pattern.values[e] else phases[graph.sources[e]]
            if begin + latencies[e] > phases[v]:
                phases[v] = begin + latencies[e]
    return phases


def pipelined_phases(pattern: IndexedPattern, latencies: Sequence[int], period: Time) -> list[Time]:
    """Least phases with phi(v) - phi(u) + R(e) P >= c(e) on every edge and all inputs at 0."""
    # They are the longest walks from the inputs under the weights c(e) - R(e) P, and may be negative. Where P is a
    # fraction, inputs are at the fraction of a step, 0 or more and below 1, that makes all delays whole numbers.
    # latencies: c, at least 1
    # period: P, at least the maximum cycle ratio
    # gives in update steps or ticks
    graph = pattern.graph
    parents = [-1] * graph.n
    for e in graph.tree:
        parents[graph.targets[e]] = e
    q, starts = period.denominator, None
    if q > 1:
        shifts = FrameShifts(pattern)
        starts = [shifts.parts(v, period) for v in range(graph.n)]
    walks = LongestWalks(pattern, latencies, range(len(graph.sources)), parents, starts)
    if walks.settle(q, period.numerator):
        raise AssertionError(f"period {period} is below the maximum cycle ratio")
    return list(walks.values) if q == 1 else [whole(Fraction(value, q)) for value in walks.values]


def sample_late(pattern: IndexedPattern, latencies: Sequence[int], period: Time, phases: list[Time]) -> None:
    """Set the phases of inputs, in place, as late as their edges allow: an earlier sample would be an older one."""
    # latencies: c, at least 1
    graph = pattern.graph
    for u in graph.inputs:
        late = (phases[graph.targets[e]] + pattern.values[e] * period - latencies[e] for e in graph.outgoing[u])
        phases[u] = whole(min(late))
