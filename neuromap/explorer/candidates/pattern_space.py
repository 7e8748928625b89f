"""Which patterns a search is over: all valid ones, or a sample around the patterns with names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import freeze_arrays
from neuromap.arrays.value import Value
from neuromap.explorer.candidates.graph import Graph
from neuromap.network.network import Network
from neuromap.rollout.block_paths import EXACT_NODES
from neuromap.rollout.class_numbers import class_words
from neuromap.rollout.counting import count_valid, enumerate_valid, every_choice
from neuromap.rollout.cycles.cycle_structure import cycle_structure
from neuromap.rollout.cycles.indexed_network import indexed_network
from neuromap.rollout.pattern import RolloutPattern

__all__ = [
    "LISTED_PATTERNS",
    "ORDERED_PATTERNS",
    "PatternSpace",
    "affordable_patterns",
    "few_patterns",
    "pattern_space",
]

Values = NDArray[np.uint8]

ORDERED_PATTERNS = 1 << 23
"""Networks whose only cycles are self-edges are searched over all patterns up to this many."""

LISTED_PATTERNS = ((8, 20_000), (EXACT_NODES, 4_000), (1 << 62, 150))
"""Other networks are, up to this many, by the nodes of their largest block of cycles; a sample has as many.

Paths through large blocks take long to search, and the more edges a block has the longer: see
:func:`affordable_patterns`.
"""

_MICROSECONDS = 20_000_000
_LEAST_AFFORDABLE = 150

_CHUNK = 1 << 16


@dataclass(frozen=True, eq=False)
class PatternSpace(Value):
    """The patterns that are searched."""

    graph: Graph  # the network
    n_valid: int | None  # valid patterns of the network; ``None`` where they could not be counted
    n_patterns: int  # patterns that are searched
    # (n_patterns, E): they, where not simply every choice for the edges that are no self-edges
    sample: Values | None = None
    is_complete: bool = True  # whether no valid pattern is left out (of the class, where only one is searched)

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def of_class(self, given: RolloutPattern) -> PatternSpace:
        """Keep the patterns of one behaviour class: those that need no retraining."""
        indexed = indexed_network(self.graph.network)
        own = class_words(indexed, np.array([given.values], np.uint8))[0]
        kept = [values[(class_words(indexed, values) == own).all(axis=1)] for values in self.chunks()]
        rows = np.concatenate(kept)
        return PatternSpace(self.graph, self.n_valid, len(rows), rows, self.is_complete)

    def chunks(self) -> Iterator[Values]:
        """Hand out the patterns, some at a time, as R of every edge: arrays of shape (some, E)."""
        if self.sample is not None:
            for start in range(0, self.n_patterns, _CHUNK):
                yield self.sample[start : start + _CHUNK]
            return
        free = [e for e in range(self.graph.n_edges) if e not in set(self.graph.self_edges)]
        for start in range(0, self.n_patterns, _CHUNK):
            yield every_choice(free, self.graph.n_edges, start, min(start + _CHUNK, self.n_patterns))


def few_patterns(graph: Graph, patterns: Sequence[RolloutPattern]) -> PatternSpace:
    """Make a space of a few patterns."""
    n_valid = count_valid(graph.network)
    values = np.array([pattern.values for pattern in patterns], np.uint8)
    return PatternSpace(graph, n_valid, len(patterns), values, len(patterns) == n_valid)


def affordable_patterns(network: Network) -> int:
    """Say how many patterns of a network with longer cycles are looked at, at most."""
    # The schedules of one pattern in two executions were measured to take up to 25 E + (sum of B^3 over the blocks of
    # cycles) / 25 microseconds, with E edges in the network and B in the block: 8 ms for 8 nodes that are all joined (E
    # = 57). So many patterns are looked at that all take about 20 s, by this count and not by a clock, so that every
    # machine looks at the same; 150 in any case, and no more than :data:`LISTED_PATTERNS` says.
    blocks = cycle_structure(network).blocks
    largest = max((len({v for pair in block.pairs for v in pair}) for block in blocks), default=0)
    listed = next(number for nodes, number in LISTED_PATTERNS if largest <= nodes)
    each = 25 * len(network.edges) + sum(len(block.edges) ** 3 for block in blocks) / 25
    return min(listed, max(_LEAST_AFFORDABLE, int(_MICROSECONDS / max(each, 1))))


def pattern_space(
    graph: Graph,
    seeds: Sequence[RolloutPattern],
    *,
    ordered: int = ORDERED_PATTERNS,
    listed: int | None = None,
    most_sampled: int | None = None,
    seed: int = 0,
) -> PatternSpace:
    """Decide which patterns to search."""
    n_valid = count_valid(graph.network)
    if listed is None:
        listed = affordable_patterns(graph.network)
    if graph.is_ordered and n_valid is not None and n_valid <= ordered:
        return PatternSpace(graph, n_valid, n_valid)
    if n_valid is not None and n_valid <= listed:
        found = [pattern.values for pattern in islice(enumerate_valid(graph.network), n_valid)]
        return PatternSpace(graph, n_valid, n_valid, np.array(found, np.uint8))
    sample = _sample(graph, seeds, listed if most_sampled is None else most_sampled, seed)
    return PatternSpace(graph, n_valid, len(sample), sample, len(sample) == n_valid)


def _sample(graph: Graph, seeds: Sequence[RolloutPattern], most: int, seed: int) -> Values:
    """Flip edges of the patterns known so far, at random, until there are enough or hardly a new one is found."""
    rng = np.random.default_rng(seed)
    network = graph.network
    found = dict.fromkeys(pattern.values for pattern in seeds)
    known = list(found)
    fixed = set(graph.self_edges)
    free = [e for e in range(graph.n_edges) if e not in fixed]
    for values in list(found):  # all patterns one edge away, then any
        for e in free:
            _add(network, found, known, (*values[:e], 1 - values[e], *values[e + 1 :]), graph.is_ordered)
    tries = 0
    while free and len(found) < most and tries < 50 * most:
        tries += 1
        flipped = list(known[int(rng.integers(len(known)))])
        for e in rng.choice(free, size=int(rng.integers(1, 4)), replace=True).tolist():
            flipped[e] = 1 - flipped[e]
        _add(network, found, known, tuple(flipped), graph.is_ordered)
    return np.array(known[:most], np.uint8)


def _add(
    network: Network,
    found: dict[tuple[int, ...], None],
    known: list[tuple[int, ...]],
    values: tuple[int, ...],
    is_ordered: bool,
) -> None:
    if values not in found and (is_ordered or RolloutPattern(network, values).is_valid):
        found[values] = None
        known.append(values)
