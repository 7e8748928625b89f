"""First and full response of output nodes; definitions in ``docs/time.md``.

Times are in the schedule's unit: update steps, or ticks where edges have latencies. Neither search asks which:
latencies are in the phases.

Along a path the delays add up to phi(output) - phi(input) + P times the streaming edges on it. The sampling step of
every input is its own onset, so each input starts at -phi(input); inputs that do not reach an output play no
part in it. All sums are counted in parts of a step (``arrays/times.py``), so that they stay integers at unequal
intervals too; responses are whole numbers, as delays are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from neuromap.arrays.parts_of_ticks import in_parts
from neuromap.arrays.times import Time
from neuromap.rollout.indexed_pattern import IndexedPattern, longest_paths
from neuromap.rollout.shortest_walks import shortest_walks


@dataclass(frozen=True)
class FullResponse:
    """Full response of one output."""

    # update steps (ticks of a tick-level schedule) from stimulus onset to the first output that the longest path has
    # reached, or an upper bound of them
    steps: int
    is_exact: bool  # false where ``steps`` is an upper bound


def first_responses(pattern: IndexedPattern, phases: Sequence[Time], period: Time) -> list[int]:
    """Time from stimulus onset to the first frame that depends on it, for every node."""
    known = in_parts(phases, period).tolist()
    least = _least(pattern, _onsets(pattern, known), period.numerator)
    return [(phase + value) // period.denominator for phase, value in zip(known, least, strict=True)]


def first_inputs(pattern: IndexedPattern, phases: Sequence[Time], period: Time) -> list[tuple[int, ...]]:
    """Find the inputs whose shortest ways make the first response, for every node; parameters as above."""
    known = in_parts(phases, period).tolist()
    of_input = {u: _walks(pattern, {u: onset}, period.numerator) for u, onset in _onsets(pattern, known).items()}
    first, q = first_responses(pattern, phases, period), period.denominator
    return [
        tuple(u for u, least in of_input.items() if v in least and (known[v] + least[v]) // q == first[v])
        for v in range(pattern.graph.n)
    ]


def full_responses(pattern: IndexedPattern, phases: Sequence[Time], period: Time) -> list[FullResponse]:
    """Full response of every node; the search is NP-hard and may end in a bound."""
    known, q = in_parts(phases, period).tolist(), period.denominator
    upper, lower = longest_paths(pattern, _onsets(pattern, known), period.numerator)
    sums = zip(known, upper, lower, strict=True)
    return [
        FullResponse((phase + most) // q, (phase + most) // q == (phase + found) // q) for phase, most, found in sums
    ]


def _onsets(pattern: IndexedPattern, phases: Sequence[int]) -> dict[int, int]:
    """Where paths start: every input, at minus its sampling step, in parts."""
    return {u: -phases[u] for u in pattern.graph.inputs}


def _least(pattern: IndexedPattern, starts: dict[int, int], period: int) -> list[int]:
    """Least start plus P times streaming edges over all walks, for every node."""
    found = _walks(pattern, starts, period)
    return [found[v] for v in range(pattern.graph.n)]


def _walks(pattern: IndexedPattern, starts: dict[int, int], period: int) -> dict[int, int]:
    graph, values = pattern.graph, pattern.values
    return shortest_walks(starts, lambda u: ((graph.targets[e], period * values[e]) for e in graph.outgoing[u]))
