"""The maximum cycle ratio of a pattern, exact, and the frame period of pipelined execution that it gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from neuromap.errors import PatternError
from neuromap.files.given import needs
from neuromap.rollout.indexed_pattern import IndexedPattern
from neuromap.rollout.longest_walks import LongestWalks
from neuromap.rollout.pattern import RolloutPattern
from neuromap.rollout.schedule.latencies import edge_latencies

if TYPE_CHECKING:
    from neuromap.network.edge import EdgeKey

__all__ = ["indexed_cycle_ratio", "maximum_cycle_ratio", "pipelined_period"]


def maximum_cycle_ratio(pattern: RolloutPattern, latencies: Mapping[EdgeKey, int] | None = None) -> Fraction | None:
    """Maximum over all cycles of (edges on the cycle) / (streaming edges on it).

    With latencies every edge counts as many times as it has ticks: (sum of c) / (streaming edges).

    Its ceiling is the smallest frame period of pipelined execution (``docs/time.md``).

    Parameters
    ----------
    pattern : RolloutPattern
        A valid pattern: every cycle has a streaming edge.
    latencies : mapping of (str, str) to int, optional
        Latency c(e) in ticks, 1 for edges that are not named.

    Returns
    -------
    Fraction or None
        Exact; ``None`` where the network has no cycle.

    Raises
    ------
    PatternError
        If the pattern is invalid; the message names the cycle.
    InputError
        If an edge with a latency is unknown, or a latency is no integer or out of range.
    """
    needs("maximum_cycle_ratio", pattern, RolloutPattern, PatternError)
    pattern.require_valid()
    return indexed_cycle_ratio(pattern.indexed, edge_latencies(pattern.network, latencies))


def indexed_cycle_ratio(pattern: IndexedPattern, latencies: Sequence[int]) -> Fraction | None:
    """Like :func:`maximum_cycle_ratio`, on an indexed valid pattern with the latency of every edge."""
    # A cycle beats the ratio p/q iff its weight under q c(e) - p R(e) is positive. Start at 1 over the greatest R,
    # which no cycle falls below; while a cycle beats the ratio, take the best that was found (Newton's method on the
    # parametric longest walk). Ratios are strictly increasing and finite in number.
    graph = pattern.graph
    where = graph.component_of
    inside = [e for e in range(len(graph.sources)) if where[graph.sources[e]] == where[graph.targets[e]]]
    if not inside:
        return None
    ratio = Fraction(1, max(1, *(pattern.values[e] for e in inside)))
    walks = LongestWalks(pattern, latencies, inside, [-1] * graph.n)
    while cycles := walks.settle(ratio.denominator, ratio.numerator):
        ratio = max(
            Fraction(sum(latencies[e] for e in cycle), sum(pattern.values[e] for e in cycle)) for cycle in cycles
        )
    return ratio


def pipelined_period(ratio: Fraction | None) -> int:
    """Frame period of pipelined execution, in update steps or ticks: the ceiling of the ratio, 1 without cycles."""
    return 1 if ratio is None else -(-ratio.numerator // ratio.denominator)
