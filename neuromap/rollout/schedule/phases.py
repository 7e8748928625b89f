"""Phases of nodes as early as possible, and the best pattern of a behaviour class.

Patterns of a class are R(e) + rho(v) - rho(u) on every edge e = (u, v) that the outputs see, with integers rho(v), 0 on
inputs; all other edges are free, and best all streaming. F is at most k iff every path of more than k non-input nodes
has an edge with R >= 1 between two of them. Both this and the range of R are difference constraints on rho, as
in C. E. Leiserson, J. B. Saxe: Retiming synchronous circuitry, Algorithmica 6, 1991. Proofs:
``docs/theorems/best-in-class.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from math import gcd
from typing import TypeVar

from neuromap.arrays.times import Time, whole
from neuromap.errors import NotSupportedError, PatternError
from neuromap.files.argument_checks import needs
from neuromap.rollout.cycles.indexed_network import IndexedNetwork, met
from neuromap.rollout.indexed_pattern import IndexedPattern, LongestWalks, windowed_phases
from neuromap.rollout.pattern import RolloutPattern
from neuromap.rollout.schedule.node_times import indexed_cycle_ratio, pipelined_period

Found = TypeVar("Found")


def best_in_class(pattern: RolloutPattern, *, bridging: bool = False) -> RolloutPattern:
    """Find the pattern with the least inference factor F that computes the same function.

    Polynomial: no patterns are enumerated. Of several such patterns, it is the one with the least shift rho(v) at every
    node. Edges that no output depends on stream.

    Parameters
    ----------
    pattern : RolloutPattern
        Any valid pattern of the class.
    bridging : bool
        Whether edges may bridge frames, R >= 2. Then F is the frame period of pipelined execution, which no pattern of
        the class undercuts, and the greatest R is as small as that allows.

    Returns
    -------
    RolloutPattern
        Without a name.

    Raises
    ------
    PatternError
        If the pattern is invalid, or no pattern of its class has R of 0 and 1 only.
    NotSupportedError
        If the network is spiking: all its edges stream, and a frame is a tick.
    """
    needs("best_in_class", pattern, RolloutPattern, PatternError)
    pattern.require_valid()
    if pattern.network.is_spiking:
        raise NotSupportedError(
            f"best_in_class: network {pattern.network.name} is spiking, and all its edges stream; there is "
            "nothing to choose"
        )
    seen = _seen(pattern)
    rho = _best_bridging(seen) if bridging else _best_binary(pattern, seen)
    return _shifted_pattern(pattern, seen, rho)


def pattern_with_factor(pattern: RolloutPattern, factor: int) -> RolloutPattern | None:
    """Find a pattern of the same class with R of 0 and 1 and an inference factor of at most ``factor``."""
    # factor: greatest F, at least the frame period of pipelined execution
    # returns the pattern with the least shifts; ``None`` if there is none
    seen = _seen(pattern)
    rho = least_shifts(seen, factor, 1)
    return None if rho is None else _shifted_pattern(pattern, seen, rho)


def _seen(pattern: RolloutPattern) -> IndexedPattern:
    """Keep the edges from which a path leads to an output; nodes behind the others become inputs without targets."""
    whole = pattern.indexed
    edges = whole.graph.seen
    sources, targets = (tuple(ends[e] for e in edges) for ends in (whole.graph.sources, whole.graph.targets))
    graph = IndexedNetwork(whole.graph.n, sources, targets, whole.graph.outputs)
    return IndexedPattern(graph, tuple(whole.values[e] for e in edges))


def _shifted_pattern(pattern: RolloutPattern, seen: IndexedPattern, rho: Sequence[int]) -> RolloutPattern:
    values = [1] * len(pattern.values)
    for e, r in zip(pattern.indexed.graph.seen, _shifted(seen, rho), strict=True):
        values[e] = r
    return RolloutPattern(pattern.network, tuple(values))


def _best_binary(pattern: RolloutPattern, indexed: IndexedPattern) -> list[int]:
    most = indexed.graph.n
    if max(pattern.values, default=0) <= 1:
        most = pattern.inference_factor  # the pattern is one of those searched
    least = _least_period(indexed)
    _, rho = _first_found(least, max(least, most), lambda k: least_shifts(indexed, k, 1))
    if rho is None:
        raise PatternError(
            f"pattern {pattern.name or '(unnamed)'}: no pattern of its behaviour class has R of 0 and 1 only; give "
            "bridging=True"
        )
    return rho


def _best_bridging(indexed: IndexedPattern) -> list[int]:
    period = _least_period(indexed)
    unbounded = _shifts_of_phases(indexed, period)
    most = max(_shifted(indexed, unbounded), default=1)
    _, rho = _first_found(1, most, lambda r: least_shifts(indexed, period, r))
    return unbounded if rho is None else rho


def _least_period(indexed: IndexedPattern) -> int:
    return pipelined_period(indexed_cycle_ratio(indexed, (1,) * len(indexed.values)))


def _first_found(low: int, high: int, find: Callable[[int], Found | None]) -> tuple[int, Found | None]:
    """Bisect for the least number from ``low`` to ``high`` that ``find`` succeeds for; it is monotonic."""
    found = find(high)
    while found is not None and low < high:
        middle = (low + high) // 2
        earlier = find(middle)
        if earlier is None:
            low = middle + 1
        else:
            high, found = middle, earlier
    return high, found


def least_shifts(indexed: IndexedPattern, factor: int, most: int) -> list[int] | None:
    """Find the least shifts that give F <= ``factor`` and 0 <= R <= ``most``."""
    # The constraints are rho(v) - rho(u) >= -R(e) and rho(u) - rho(v) >= R(e) - most on every edge, and rho(v) - rho(u)
    # >= (t - 1) // factor - R(path) on every path of t non-input nodes. Systems of this kind have a least solution.
    # Start from that of the system without ``most``, pipelined phases in whole frames, and repeatedly raise what a
    # violated constraint asks to be raised; path constraints, which are too many, show as nodes known later than step
    # ``factor``. Shifts only grow, and none exceeds the sum of most - R along a walk from an input, or an input would
    # have to be raised.
    # factor: greatest F, at least the frame period of pipelined execution
    # most: greatest R, at least 1
    # returns rho, 0 on inputs; ``None`` if there are no such shifts
    one_step = (1,) * len(indexed.values)
    rho = _shifts_of_phases(indexed, factor)
    raised = list(range(indexed.graph.n))
    while raised:
        if not _raise_into_range(indexed, most, rho, raised):
            return None
        known = windowed_phases(IndexedPattern(indexed.graph, _shifted(indexed, rho)), one_step)
        raised = [v for v, step in enumerate(known) if step > factor]
        for v in raised:
            rho[v] += (known[v] - 1) // factor
    return rho


def _shifts_of_phases(indexed: IndexedPattern, period: int) -> list[int]:
    """Whole frames of pipelined phases, with 1 to P left inside a frame: the least shifts without a bound on R."""
    phases = pipelined_phases(indexed, (1,) * len(indexed.values), period)
    inputs = set(indexed.graph.inputs)
    return [0 if v in inputs else (phase - 1) // period for v, phase in enumerate(phases)]


def _raise_into_range(indexed: IndexedPattern, most: int, rho: list[int], raised: Sequence[int]) -> bool:
    """Raise shifts, in place, until R lies between 0 and ``most``; false if an input would have to be raised."""
    graph, values = indexed.graph, indexed.values
    front = list(raised)
    for u in front:  # grows while it is read
        asked = [(graph.targets[e], rho[u] - values[e]) for e in graph.outgoing[u]]
        asked += [(graph.sources[e], rho[u] + values[e] - most) for e in graph.incoming[u]]
        for v, least in asked:
            if rho[v] < least:
                if not graph.incoming[v]:
                    return False
                rho[v] = least
                front.append(v)
    return True


def _shifted(indexed: IndexedPattern, rho: Sequence[int]) -> tuple[int, ...]:
    """R of every edge after the shift."""
    graph = indexed.graph
    return tuple(r + rho[v] - rho[u] for u, v, r in zip(graph.sources, graph.targets, indexed.values, strict=True))


# Phases of both executions for edges with latencies; proofs are in ``docs/theorems/frame-period.md``.
#
# Every edge e asks for a delay of at least its latency c(e): 1 in update steps, any number of ticks in a tick-level
# schedule. The functions work on an indexed valid pattern and return one phase per node.


def pipelined_phases(pattern: IndexedPattern, latencies: Sequence[int], period: Time) -> list[Time]:
    """Least phases with phi(v) - phi(u) + R(e) P >= c(e) on every edge and all inputs at 0."""
    # They are the longest walks from the inputs under the weights c(e) - R(e) P, and may be negative. If P is a
    # fraction, inputs are at the fraction of a step, 0 or more and below 1, that makes all delays whole numbers.
    # latencies: c, at least 1
    # period: P, at least the maximum cycle ratio
    # returns update steps or ticks
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
    """Set the phases of inputs, in place, as late as their edges allow, so that samples are fresh."""
    # latencies: c, at least 1
    graph = pattern.graph
    for u in graph.inputs:
        late = (phases[graph.targets[e]] + pattern.values[e] * period - latencies[e] for e in graph.outgoing[u])
        phases[u] = whole(min(late))


# The least mean frame period of schedules with fixed delays, and the position of each node in it.
#
# The theorem and its proof are in ``docs/theorems/least-average-period.md``.
class FrameShifts:
    """Relative frame shifts of nodes, summed along undirected paths."""

    # of_node: in frames: the sum of R along a path to the node from the first input of its connected part, with edges
    # crossed against their direction counting as -R
    # streams: g, the greatest common divisor of the sums of R around undirected cycles; 0 if all of them are 0. The
    # frames fall into g streams that no path joins

    def __init__(self, pattern: IndexedPattern) -> None:
        graph, values = pattern.graph, pattern.values
        shifts: dict[int, int] = {}

        def ways(u: int) -> Iterator[tuple[int, tuple[int, int]]]:
            """Edges in both directions: other end, and u with R."""
            yield from ((graph.targets[e], (u, values[e])) for e in graph.outgoing[u])
            yield from ((graph.sources[e], (u, -values[e])) for e in graph.incoming[u])

        for root in (*graph.inputs, *range(graph.n)):
            if root not in shifts:
                shifts[root] = 0
                for v, (u, r) in met([root], ways):
                    shifts[v] = shifts[u] + r
        self.of_node = tuple(shifts[v] for v in range(graph.n))
        ends = zip(graph.sources, graph.targets, values, strict=True)
        self.streams = gcd(*(self.of_node[u] + r - self.of_node[v] for u, v, r in ends))

    def parts(self, node: int, period: Time) -> int:
        """Fractional part of the exact time of a node's frame 0, in parts of a step or tick; 0 at equal intervals."""
        return -self.of_node[node] * period.numerator % period.denominator


def least_mean_period(ratio: Fraction | None, streams: int, least: int = 1) -> Time:
    """Least mean frame period that fixed delays allow: ceil(g rho) / g, but at least ``least``.

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
