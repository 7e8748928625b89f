"""Distinct schedules of a network, one row each, with the times of every row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.array_types import Bools, Words
from neuromap.arrays.frozen import ReadOnly, adopted
from neuromap.arrays.packed_rows import first_of_equal
from neuromap.arrays.value import Value
from neuromap.explorer.candidates.schedules import CoreWeights, Graph, RowKeys, schedules_of
from neuromap.network.network import Network
from neuromap.rollout.behaviour import count_valid, enumerate_valid, every_choice
from neuromap.rollout.class_numbers import ClassNumbers, class_words
from neuromap.rollout.cycles.cycle_structure import cycle_structure
from neuromap.rollout.indexed_pattern import EXACT_NODES
from neuromap.rollout.pattern import RolloutPattern

Ints = NDArray[np.int32]
Values = NDArray[np.uint8]
Columns = dict[str, NDArray[Any]]
_SEQUENTIAL_BITS = 16
"""Bits of a number of sequential edges (uint16)."""
_FIRST_MERGE = 1 << 20
"""Number of rows at which equal ones are first merged."""


@dataclass(frozen=True, eq=False)
class RowTable(ReadOnly, Value):
    """Distinct schedules in update steps (M rows), in ascending order of their keys."""

    row_keys: RowKeys  # makes the keys; has the network and the executions
    keys: Words  # (M, words): key of every row
    # (M, E / 8 rounded up): R of the row's pattern with the most streaming edges, eight edges per byte
    # (``numpy.packbits``)
    values: Values
    execution: NDArray[np.uint8]  # (M,): position of its execution
    behaviour_class: Ints  # (M,): number of its class (:mod:`neuromap.rollout.class_numbers`)
    needs_retraining: Bools  # (M,): whether its class differs from the given pattern's
    n_patterns: Ints  # (M,): patterns that share the row
    # period, first, slowest, full: (M,): frame period (its numerator at unequal intervals), first responses of the
    # inputs answered first and last, full response, in update steps
    period: Ints
    frames: NDArray[np.int16]  # (M,): denominator of the frame period, 1 at equal intervals
    first: Ints
    slowest: Ints
    full: Ints
    exact: Bools  # (M,): whether the full response is exact
    estimate: NDArray[np.float32]  # (M,): estimated cores, used only to choose what to map first

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def graph(self) -> Graph:
        """The network."""
        return self.row_keys.graph

    @property
    def executions(self) -> tuple[str, ...]:
        """Executions asked for; ``execution`` holds positions in this tuple."""
        return self.row_keys.executions

    def pattern(self, row: int) -> tuple[int, ...]:
        """R of every edge of the row's pattern."""
        return tuple(np.unpackbits(self.values[row], count=self.graph.n_edges).tolist())

    def key_text(self, row: int) -> str:
        """Key of a row with everything that gives it its meaning, except the network."""
        words = self.keys[row].tobytes().hex()
        return f"{self.row_keys.meaning} {words}"

    def row_of(self, values: tuple[int, ...], execution: str) -> int:
        """Position of the row of a pattern (R of every edge) in an execution; -1 if there is none."""
        pattern = np.array([values], np.uint8)
        stands_for = (self.values == np.packbits(pattern, axis=1)).all(axis=1)
        stands_for &= self.execution == self.executions.index(execution)
        if stands_for.any():  # no need to compute its schedule
            return int(np.argmax(stands_for))
        schedules = schedules_of(self.graph, pattern, execution)
        if not schedules.period[0]:  # shorter than the pattern's cycles allow
            return -1
        return self.find(self.row_keys.of(pattern, schedules, execution)[0])

    def find(self, key: Words) -> int:
        """Position of the row with this key; -1 if there is none."""
        low, high = 0, len(self.keys)
        for k, word in enumerate(key):
            column = self.keys[low:high, k]
            low, high = (
                low + int(np.searchsorted(column, word, side="left")),
                low + int(np.searchsorted(column, word, side="right")),
            )
        return low if high > low else -1


def row_table(
    space: PatternSpace, row_keys: RowKeys, given: Values, weights: CoreWeights, numbers: ClassNumbers
) -> RowTable:
    """Compute the schedules of all patterns of a space and find the distinct ones."""
    # shapes: given (E,)
    found = _Collected([])
    for values in space.chunks():
        for part in _rows_of(values, row_keys, weights):
            found.add(_merged(part))
    rows = found.merge()
    keys = rows["keys"].astype(np.uint64, copy=False)
    rows["behaviour_class"] = _numbers(keys[:, : row_keys.n_retiming_words], rows["values"], row_keys, numbers)
    rows["needs_retraining"] = rows["behaviour_class"] != numbers.of(given[None, :])[0]
    kept = {name: adopted(column) for name, column in rows.items() if name not in ("keys", "sequential")}
    return RowTable(row_keys=row_keys, keys=adopted(keys), **kept)


def _rows_of(values: Values, row_keys: RowKeys, weights: CoreWeights) -> Iterator[Columns]:
    """Compute the rows of some patterns, one execution after the other; equal rows are not merged yet."""
    graph = row_keys.graph
    before: list[Words] = []
    for number, execution in enumerate(row_keys.executions):
        schedules = schedules_of(graph, values, execution, soonest=row_keys.soonest)
        key = row_keys.of(values, schedules, execution)
        # a pattern whose executions share a row is one pattern of that row
        again = np.zeros(len(values), np.bool_)
        for other in before:
            again |= (other == key).all(axis=1)
        before.append(key)
        part: Columns = {
            "keys": key,
            "values": np.packbits(values, axis=1),
            "execution": np.full(len(values), number, np.uint8),
            "sequential": (graph.n_edges - values.sum(axis=1, dtype=np.int64)).astype(np.uint16),
            "n_patterns": (~again).astype(np.int32),
            "frames": schedules.frames.astype(np.int16),
            **{name: getattr(schedules, name).astype(np.int32) for name in ("period", "first", "slowest", "full")},
            "exact": schedules.exact,
            "estimate": weights.estimate(schedules.delays),
        }
        possible = schedules.period > 0  # else shorter than the pattern's cycles allow
        if row_keys.only_gains:
            possible &= schedules.gains
        yield part if possible.all() else {name: column[possible] for name, column in part.items()}


def _numbers(retimings: Words, packed: Values, row_keys: RowKeys, numbers: ClassNumbers) -> Ints:
    """Look up the class numbers of rows, once for patterns that are shifts of each other."""
    chosen, group = first_of_equal(retimings, np.zeros(len(retimings), np.int64))
    values = np.unpackbits(packed[chosen], axis=1, count=row_keys.graph.n_edges)
    return numbers.of(values)[group].astype(np.int32)


@dataclass
class _Collected:
    """Rows found so far; equal rows are merged whenever there are many."""

    parts: list[Columns]
    n_rows: int = 0
    limit: int = _FIRST_MERGE

    def add(self, part: Columns) -> None:
        self.parts.append(part)
        self.n_rows += len(part["execution"])
        if self.n_rows > self.limit:
            self.merge()
            self.limit = max(self.limit, 2 * self.n_rows)  # so that no row is merged too often

    def merge(self) -> Columns:
        joined = {}
        for name in list(self.parts[0]):  # column by column, to avoid a second copy of the table
            joined[name] = np.concatenate([part.pop(name) for part in self.parts])
        self.parts = [_merged(joined)]
        self.n_rows = len(self.parts[0]["execution"])
        return self.parts[0]


def _merged(rows: Columns) -> Columns:
    """Keep one of equal rows: of the first execution, with the most streaming edges; add up their patterns."""
    # Removes the columns from ``rows`` one by one, to avoid a second copy; ``rows`` is unusable afterwards.
    keys = rows["keys"].astype(np.uint64, copy=False)
    rank = (rows["execution"].astype(np.int32) << _SEQUENTIAL_BITS) + rows["sequential"].astype(np.int32)
    chosen, group = first_of_equal(keys, rank)
    total = np.bincount(group, rows["n_patterns"].astype(np.float64), len(chosen)).astype(np.int32)
    del group
    return {name: total if name == "n_patterns" else rows.pop(name)[chosen] for name in list(rows)}


# The patterns of a search: all valid ones, or a sample around the named patterns.


ORDERED_PATTERNS = 1 << 23
"""Most valid patterns that are all searched, in networks whose only cycles are self-edges."""
LISTED_PATTERNS = ((8, 20_000), (EXACT_NODES, 4_000), (1 << 62, 150))
"""The same for other networks, by the nodes of their largest block of cycles; samples have the same size.

Searching paths takes longer in larger blocks, and in blocks with more edges: see :func:`affordable_patterns`.
"""
_MICROSECONDS = 20_000_000
_LEAST_AFFORDABLE = 150
_CHUNK = 1 << 16


@dataclass(frozen=True, eq=False)
class PatternSpace(ReadOnly, Value):
    """The patterns that are searched."""

    graph: Graph  # the network
    n_valid: int | None  # valid patterns of the network; ``None`` if they could not be counted
    n_patterns: int  # patterns that are searched
    # (n_patterns, E): these patterns; ``None`` if they are all choices for the edges other than self-edges
    sample: Values | None = None
    is_complete: bool = True  # whether no valid pattern is left out (of the class, if only one is searched)

    def of_class(self, given: RolloutPattern) -> PatternSpace:
        """Keep the patterns of the given one's behaviour class: those that need no retraining."""
        indexed = self.graph.indexed
        own = class_words(indexed, np.array([given.values], np.uint8))[0]
        kept = [values[(class_words(indexed, values) == own).all(axis=1)] for values in self.chunks()]
        rows = np.concatenate(kept)
        return PatternSpace(self.graph, self.n_valid, len(rows), rows, self.is_complete)

    def chunks(self) -> Iterator[Values]:
        """Yield the patterns in chunks, as R of every edge: arrays of shape (chunk, E)."""
        if self.sample is not None:
            for start in range(0, self.n_patterns, _CHUNK):
                yield self.sample[start : start + _CHUNK]
            return
        free = self.graph.free_edges
        for start in range(0, self.n_patterns, _CHUNK):
            yield every_choice(free, self.graph.n_edges, start, min(start + _CHUNK, self.n_patterns))


def few_patterns(graph: Graph, patterns: Sequence[RolloutPattern]) -> PatternSpace:
    """Make a space of a few patterns."""
    n_valid = count_valid(graph.network)
    values = np.array([pattern.values for pattern in patterns], np.uint8)
    return PatternSpace(graph, n_valid, len(patterns), values, len(patterns) == n_valid)


def affordable_patterns(network: Network) -> int:
    """Greatest number of patterns to search in a network with cycles other than self-edges."""
    # The schedules of one pattern in two executions were measured to take up to 25 E + (sum of B^3 over the blocks of
    # cycles) / 25 microseconds, with E edges in the network and B in the block: 8 ms for 8 fully connected nodes (E =
    # 57). The number is chosen so that all take about 20 s, by this estimate and not by a clock, so that every machine
    # searches the same patterns; at least 150, and no more than :data:`LISTED_PATTERNS` allows.
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
    """Flip random edges of the patterns known so far, until there are enough or hardly any new ones are found."""
    rng = np.random.default_rng(seed)
    known = list(dict.fromkeys(pattern.values for pattern in seeds))
    found = set(known)

    def add(flipped: list[int]) -> None:
        values = tuple(flipped)
        if values not in found and (graph.is_ordered or RolloutPattern(graph.network, values).is_valid):
            found.add(values)
            known.append(values)

    free = graph.free_edges
    for values in list(known):  # all patterns one edge away, then any
        for e in free:
            add([*values[:e], 1 - values[e], *values[e + 1 :]])
    tries = 0
    while free and len(found) < most and tries < 50 * most:
        tries += 1
        flipped = list(known[int(rng.integers(len(known)))])
        for e in rng.choice(free, size=int(rng.integers(1, 4)), replace=True).tolist():
            flipped[e] = 1 - flipped[e]
        add(flipped)
    return np.array(known[:most], np.uint8)
