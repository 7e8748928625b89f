"""The maximum cycle ratio of a pattern, exact, and the phases of pipelined execution that rest on it."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from neuromap.rollout.walks import IndexedPattern, LongestWalks

if TYPE_CHECKING:
    from neuromap.rollout.pattern import RolloutPattern

__all__ = ["indexed_cycle_ratio", "maximum_cycle_ratio", "pipelined_period", "pipelined_phases"]


def maximum_cycle_ratio(pattern: RolloutPattern) -> Fraction | None:
    """Maximum over all cycles of (edges on the cycle) / (streaming edges on it).

    Its ceiling is the smallest frame period of pipelined execution (``docs/time.md``).

    Parameters
    ----------
    pattern : RolloutPattern
        A valid pattern: every cycle has a streaming edge.

    Returns
    -------
    Fraction or None
        Exact; ``None`` where the network has no cycle.

    Raises
    ------
    PatternError
        If the pattern is invalid; the message names the cycle.
    """
    pattern.require_valid()
    return indexed_cycle_ratio(pattern.indexed)


def indexed_cycle_ratio(graph: IndexedPattern) -> Fraction | None:
    """Like :func:`maximum_cycle_ratio`, on an indexed valid pattern.

    A cycle beats the ratio p/q iff its weight under q - p R(e) is positive. Start at 1, which no cycle falls
    below; while a cycle beats the ratio, take the best that was found (Newton's method on the parametric
    longest walk). Ratios are strictly increasing and finite in number.
    """
    where = graph.component_of
    inside = [e for e in range(len(graph.sources)) if where[graph.sources[e]] == where[graph.targets[e]]]
    if not inside:
        return None
    ratio = Fraction(1)
    walks = LongestWalks(graph, inside, [-1] * graph.n)
    while cycles := walks.settle(ratio.denominator, ratio.numerator):
        ratio = max(Fraction(len(cycle), sum(graph.values[e] for e in cycle)) for cycle in cycles)
    return ratio


def pipelined_period(ratio: Fraction | None) -> int:
    """Frame period of pipelined execution, in update steps: the ceiling of the ratio, 1 without cycles."""
    return 1 if ratio is None else -(-ratio.numerator // ratio.denominator)


def pipelined_phases(graph: IndexedPattern, period: int) -> list[int]:
    """Least phases with phi(v) - phi(u) + R(e) P >= 1 on every edge and all inputs at 0.

    They are the longest walks from the inputs under the weights 1 - R(e) P, and may be negative.

    Parameters
    ----------
    graph : IndexedPattern
        A valid pattern; every node is reachable from an input.
    period : int
        P, at least the maximum cycle ratio.
    """
    parents = [-1] * graph.n
    reached = [not edges for edges in graph.incoming]
    front = list(graph.inputs)
    for u in front:
        for e in graph.outgoing[u]:
            v = graph.targets[e]
            if not reached[v]:
                reached[v] = True
                parents[v] = e
                front.append(v)
    walks = LongestWalks(graph, range(len(graph.sources)), parents)
    if walks.settle(1, period):
        raise AssertionError(f"period {period} is below the maximum cycle ratio")
    return walks.values
