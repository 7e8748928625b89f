"""The least mean frame period of schedules with fixed delays, and where each node stands in it.

The theorem and its proof are in ``docs/theorems/least-average-period.md``.
"""

from __future__ import annotations

from fractions import Fraction
from math import gcd

from neuromap.arrays.times import Time, whole
from neuromap.rollout.indexed_pattern import IndexedPattern

__all__ = ["FrameShifts", "least_mean_period"]


class FrameShifts:
    """How far the frames of nodes are shifted against each other, summed along undirected paths."""

    # of_node: frames: the sum of R along a path to the node from the first input of its part of the network, where
    # edges that are crossed against their direction count as -R
    # streams: g, the greatest number that divides the sum of R around every undirected cycle; 0 where all of them are
    # 0. The frames fall into g streams that no path joins

    def __init__(self, pattern: IndexedPattern) -> None:
        graph, values = pattern.graph, pattern.values
        shifts: list[int | None] = [None] * graph.n
        for root in (*graph.inputs, *range(graph.n)):
            if shifts[root] is None:
                _spread(pattern, shifts, root)
        self.of_node = tuple(shift or 0 for shift in shifts)
        ends = zip(graph.sources, graph.targets, values, strict=True)
        self.streams = gcd(*(self.of_node[u] + r - self.of_node[v] for u, v, r in ends))

    def parts(self, node: int, period: Time) -> int:
        """Parts of a tick, or update step, that the exact times of a node's frame 0 end in; 0 at equal intervals."""
        return -self.of_node[node] * period.numerator % period.denominator


def _spread(pattern: IndexedPattern, shifts: list[int | None], root: int) -> None:
    """Walk over all edges, in both directions, from a node that is given shift 0."""
    graph = pattern.graph
    shifts[root] = 0
    front = [root]
    for u in front:  # grows while it is read
        ways = [(graph.targets[e], pattern.values[e]) for e in graph.outgoing[u]]
        ways += [(graph.sources[e], -pattern.values[e]) for e in graph.incoming[u]]
        for v, r in ways:
            if shifts[v] is None:
                shifts[v] = (shifts[u] or 0) + r
                front.append(v)


def least_mean_period(ratio: Fraction | None, streams: int, least: int = 1) -> Time:
    """Least mean frame period that fixed delays allow: ceil(g rho) / g, and no less than a node is busy with a frame.

    Parameters
    ----------
    ratio : Fraction or None
        rho, the maximum cycle ratio; ``None`` without cycles.
    streams : int
        g (:class:`FrameShifts`).
    least : int
        Update steps or ticks for which some node is busy with a frame, at least 1.

    Returns
    -------
    int or Fraction
        In update steps or ticks.

    Examples
    --------
    >>> least_mean_period(Fraction(3, 2), 2), least_mean_period(Fraction(3, 2), 1), least_mean_period(None, 0)
    (Fraction(3, 2), 2, 1)
    """
    if ratio is None:
        return least
    scaled = ratio * streams
    return whole(max(Fraction(-(-scaled.numerator // scaled.denominator), streams), Fraction(least)))
