"""When nodes compute: latencies, the maximum cycle ratio of a pattern, and the frame period that follows."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from neuromap.errors import InputError, PatternError
from neuromap.files.argument_checks import needs
from neuromap.rollout.indexed_pattern import IndexedPattern, LongestWalks
from neuromap.rollout.pattern import RolloutPattern

if TYPE_CHECKING:
    from neuromap.network.edge import EdgeKey
    from neuromap.network.network import Network


def maximum_cycle_ratio(pattern: RolloutPattern, latencies: Mapping[EdgeKey, int] | None = None) -> Fraction | None:
    """Maximum over all cycles of (edges on the cycle) / (streaming edges on it).

    With latencies every edge counts by its ticks: (sum of c) / (streaming edges).

    Its ceiling is the smallest frame period of pipelined execution (``docs/time.md``).

    Parameters
    ----------
    pattern : RolloutPattern
        A valid pattern: every cycle has a streaming edge.
    latencies : mapping of (str, str) to int, optional
        Latency c(e) in ticks; 1 for edges not named.

    Returns
    -------
    Fraction or None
        Exact; ``None`` if the network has no cycle.

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
    """As :func:`maximum_cycle_ratio`, for an indexed valid pattern and the latency of every edge."""
    # A cycle beats the ratio p/q iff its weight under q c(e) - p R(e) is positive. Start at 1 over the greatest R, a
    # lower bound for every cycle; while a cycle beats the ratio, move to the best one found (Newton's method on the
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


# Nodes that take unequal times, on hardware that computes all nodes in parallel.
#
# Update steps count every node as one step. Fischer, Köhler, Pfeil 2018 also compare patterns where nodes take
# unequal times: a streaming frame takes as long as the slowest node, a sequential frame as the sum along its longest
# chain. :func:`frame_time` is this comparison; :func:`latencies_of` makes schedules of the same times.


_ROUNDING = 1e-12
"""Relative error by which a floating-point quotient may be too large."""


def frame_time(pattern: RolloutPattern, node_times: Mapping[str, float]) -> float:
    """Time of one frame in windowed execution: the slowest chain of sequential edges.

    A node starts as soon as all its sources inside the frame are done; values on streaming edges are already there.
    So the time is the maximum, over chains of sequential edges, of the sum of their nodes' times. With time 1 for
    every node it is the inference factor.

    Parameters
    ----------
    pattern : RolloutPattern
        A valid pattern.
    node_times : mapping of str to float
        Time of every node that is not an input, 0 or more, in any unit; inputs take no time.

    Returns
    -------
    float
        In the unit of the node times.

    Raises
    ------
    PatternError
        If the pattern is invalid; the message names the cycle.
    InputError
        If a node's time is missing or below 0, or a name is not a node that is computed.
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
    """Latencies of edges for a tick-level schedule that gives every node the ticks it needs.

    An edge into node v gets ceil(t(v) / tick) ticks: the node starts when its sources are known and is itself known
    that much later. In windowed execution the frame period is then :func:`frame_time` of these ticks.

    Parameters
    ----------
    network : Network
        The network.
    node_times : mapping of str to float
        Time t(v) of every node that is not an input, 0 or more; inputs take no time.
    tick : float
        Length of a tick in the same unit, above 0.

    Returns
    -------
    dict of (str, str) to int
        Ticks, 1 or more, for :meth:`neuromap.rollout.schedule.rollout.Rollout.with_latencies`.

    Raises
    ------
    InputError
        If a node's time is missing or below 0, a name is not a node that is computed, the tick is not above 0 and
        finite, or a node needs more than :data:`MAX_LATENCY` ticks.
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
    """Raise an error unless there is exactly one time, 0 or more, per computed node."""
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


# Latencies of edges: the least delay of an edge in a tick-level schedule, in ticks.
MAX_LATENCY = 1_000_000
"""Greatest latency in ticks: far beyond any chip, and keeps sums along paths within 64 bits."""


def edge_latencies(network: Network, latencies: Mapping[EdgeKey, int] | None) -> tuple[int, ...]:
    """Latencies in edge order, 1 for every edge not named."""
    if latencies is None:
        return (1,) * len(network.edges)
    if not isinstance(latencies, Mapping):
        raise InputError(
            f"latencies {latencies!r}: not a mapping; give {{(source, target): ticks}} with edges of network "
            f"{network.name}"
        )
    checked = {key: _ticks(network, key, ticks) for key, ticks in latencies.items()}
    return tuple(checked.get(key, 1) for key in network.edges)


def _ticks(network: Network, key: EdgeKey, ticks: int) -> int:
    if key not in network.edges:
        shown = " -> ".join(map(str, key)) if isinstance(key, tuple) else repr(key)
        raise InputError(
            f"latency of edge {shown}: is not an edge of network {network.name}; name its edges as (source, target)"
        )
    try:
        number = None if isinstance(ticks, bool) else operator.index(ticks)
    except TypeError:
        number = None
    if number is None or not 1 <= number <= MAX_LATENCY:
        raise InputError(
            f"latency of edge {' -> '.join(key)}: {ticks!r} ticks; give an integer from 1 to {MAX_LATENCY}"
        )
    return number


def kept_latencies(network: Network, is_tick_level: bool, _latencies: tuple[int, ...]) -> Mapping[EdgeKey, int] | None:
    """Latencies of a rollout from the fields that ``dataclasses.replace`` passes."""
    # It passes all fields by name.
    if not is_tick_level:
        return None
    if len(_latencies) != len(network.edges):
        raise InputError(f"Rollout: the latencies are of a network of other edges; give latencies for {network.name}")
    return dict(zip(network.edges, _latencies, strict=True))
