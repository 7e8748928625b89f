"""Numbers of behaviour classes, the same wherever a network's classes are shown.

Streaming's class is number 1. The classes of the other named patterns follow in order: sequential, then those of the
network's file with R of 0 and 1 only. All others follow in the order in which their first patterns are enumerated
(:func:`neuromap.rollout.behaviour.enumerate_valid`), so that numbers depend on the network only.

If a network has too many valid patterns to enumerate (:data:`ENUMERATED_PATTERNS`), classes without a named pattern
are numbered in the order in which they are met.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.array_types import Ints, Words
from neuromap.arrays.frozen import ReadOnly
from neuromap.arrays.packed_rows import first_of_equal
from neuromap.network.network import Network
from neuromap.rollout.behaviour import class_key, count_valid, enumerate_valid, every_choice
from neuromap.rollout.cycles.cycle_structure import cycle_structure
from neuromap.rollout.cycles.indexed_network import IndexedNetwork, indexed_network, once_per_network
from neuromap.rollout.pattern import RolloutPattern

ENUMERATED_PATTERNS = (1 << 23, 100_000)
"""Most valid patterns for which classes are enumerated: without and with cycles other than self-edges."""

_CHUNK = 1 << 16
_FIRST_MERGE = 1 << 20
_MOST_NODES_OF_INT16 = 1 << 13
"""In larger networks a shifted R may need more bits."""

Values = NDArray[np.integer]


@dataclass(frozen=True, eq=False)
class ClassNumbers(ReadOnly):
    """Numbered behaviour classes of a network."""

    indexed: IndexedNetwork  # the network
    keys: Words  # (classes, words): key of each class (:func:`class_words`), by class number from 1
    # whether all numbers depend on the network only; else classes without a named pattern are numbered in the order in
    # which they were met
    are_of_network: bool = True

    def __len__(self) -> int:
        return len(self.keys)

    def of(self, values: Values) -> Ints:
        """Class numbers of valid patterns, one row of R per pattern; 0 for classes without a number."""
        known = len(self.keys)
        first, group = self._first_alike(class_words(self.indexed, values))
        numbers = first[group[known:]] + 1
        return np.where(numbers <= known, numbers, 0)

    def of_patterns(self, patterns: Sequence[RolloutPattern]) -> list[int | None]:
        """Class numbers of patterns; ``None`` for those without one, such as invalid patterns."""
        # Patterns that bridge frames have none if they are far from every pattern with R of 0 and 1 only.
        values = _values(patterns, len(self.indexed.sources))
        are_kept = _are_kept(self.indexed, patterns)
        numbers = self.of(np.where(np.array(are_kept, np.bool_)[:, None], values, 0)).tolist()
        return [number or None if is_kept else None for number, is_kept in zip(numbers, are_kept, strict=True)]

    def followed_by(self, words: Words) -> ClassNumbers:
        """Assign numbers to the classes that have none yet, in the order of their first keys."""
        first, _ = self._first_alike(words)
        new = np.sort(first[first >= len(self.keys)]) - len(self.keys)
        return replace(self, keys=np.concatenate([self.keys, words[new]]))

    def met(self, values: Values) -> ClassNumbers:
        """Assign numbers to the classes of patterns in the order in which they are met, unless all have one."""
        if self.are_of_network and not (self.of(values) == 0).any():
            return self
        return replace(self.followed_by(class_words(self.indexed, values)), are_of_network=False)

    def _first_alike(self, words: Words) -> tuple[Ints, Ints]:
        """Find the first row of each class among the known and the given keys, and the class of every row."""
        return first_of_equal(np.concatenate([self.keys, words]), np.zeros(len(self.keys) + len(words), np.int64))


def class_numbers(network: Network, patterns: Sequence[RolloutPattern], *, in_order: bool = False) -> ClassNumbers:
    """Assign numbers to the classes of some patterns, enumerating all patterns only if needed."""
    # in_order: whether they are the first valid patterns in the order of enumeration
    kept = _are_kept(indexed_network(network), patterns)
    values = _values([pattern for pattern, is_kept in zip(patterns, kept, strict=True) if is_kept], len(network.edges))
    named = _named_numbers(network)
    if (named.of(values) > 0).all():
        return named
    if in_order:
        return named.followed_by(class_words(named.indexed, values))
    return all_class_numbers(network).met(values)


@once_per_network
def all_class_numbers(network: Network) -> ClassNumbers:
    """Assign numbers to all behaviour classes, or only to those of named patterns if there are too many patterns."""
    numbers, number_of_patterns = _named_numbers(network), count_valid(network)
    has_cycles = bool(cycle_structure(network).blocks)
    if number_of_patterns is None or number_of_patterns > ENUMERATED_PATTERNS[has_cycles]:
        return replace(numbers, are_of_network=False)
    parts: list[Words] = []
    for values in _in_order(network, number_of_patterns):
        words = class_words(numbers.indexed, values)
        first, _ = first_of_equal(words, np.zeros(len(words), np.int64))
        parts.append(words[np.sort(first)])
        if sum(map(len, parts)) > max(_FIRST_MERGE, len(numbers)):  # so that no class is sorted many times
            numbers, parts = numbers.followed_by(np.concatenate(parts)), []
    return numbers.followed_by(np.concatenate(parts)) if parts else numbers


def class_words(indexed: IndexedNetwork, values: Values, *, of_all: bool = False) -> Words:
    """R after the shift that makes a spanning forest sequential, packed: equal iff the behaviour class is."""
    # of_all: R of all edges, equal iff patterns are shifts of each other at every node. Nodes that no output depends on
    # do not affect the class, but they do affect schedules: their cycles bound P.
    # shapes: values (N, E); returns (N, words)
    edges = range(len(indexed.sources)) if of_all else indexed.seen
    n_rows, n = len(values), indexed.n
    number = np.int16 if n < _MOST_NODES_OF_INT16 else np.int32
    shift = np.zeros((n, n_rows), number)
    r = np.ascontiguousarray(values.T).astype(number)
    for e in indexed.tree:
        shift[indexed.targets[e]] = shift[indexed.sources[e]] - r[e]
    in_forest, sources, targets = set(indexed.tree), np.array(indexed.sources), np.array(indexed.targets)
    free = [e for e in edges if e not in in_forest and sources[e] != targets[e]]
    return _packed(r[free] + shift[targets[free]] - shift[sources[free]] + n, shift_bits(n))


def _packed(numbers: NDArray[np.integer], bits: int) -> Words:
    """Pack numbers of ``bits`` bits, shape (numbers, N), into words, shape (N, words), with at least one word."""
    count, n_rows = numbers.shape
    in_word = 64 // bits
    words = max(1, -(-count // in_word))
    padded = np.zeros((words * in_word, n_rows), np.uint64)
    padded[:count] = numbers
    places = np.arange(in_word, dtype=np.uint64) * np.uint64(bits)
    packed: Words = np.bitwise_or.reduce(padded.reshape(words, in_word, n_rows) << places[:, None], axis=1)
    return packed.T


def shift_bits(n: int) -> int:
    """Bits that a shifted R takes in a network of n nodes."""
    return (2 * n + 2).bit_length()


def _in_order(network: Network, n_patterns: int) -> Iterator[Values]:
    """Yield all valid patterns in the order of enumeration, in chunks."""
    if cycle_structure(network).blocks:
        patterns = enumerate_valid(network)
        while part := [pattern.values for pattern in islice(patterns, _CHUNK)]:
            yield np.array(part, np.uint8)
        return
    free = [e for e, (u, v) in enumerate(network.edges) if u != v]
    for start in range(0, n_patterns, _CHUNK):
        yield every_choice(free, len(network.edges), start, min(start + _CHUNK, n_patterns))


def _values(patterns: Sequence[RolloutPattern], n_edges: int) -> Values:
    """R of every edge, one row per pattern."""
    values = np.array([pattern.values for pattern in patterns], np.int32).reshape(len(patterns), n_edges)
    return values if values.max(initial=0) > 1 else values.astype(np.uint8)


def _are_kept(indexed: IndexedNetwork, patterns: Sequence[RolloutPattern]) -> list[bool]:
    """Whether each pattern is valid and, shifted, has R in the range of binary patterns, which packing relies on."""
    return [p.is_valid and (not p.bridging_edges or max(map(abs, class_key(p))) <= indexed.n) for p in patterns]


@once_per_network
def _named_numbers(network: Network) -> ClassNumbers:
    """Assign numbers to the classes of the named patterns."""
    names = ("streaming", "sequential", *network.patterns)
    patterns = [RolloutPattern.named(network, name) for name in names]
    indexed = indexed_network(network)
    kept = [pattern for pattern in patterns if pattern.is_valid and not pattern.bridging_edges]
    words = class_words(indexed, _values(kept, len(network.edges)))
    return ClassNumbers(indexed, words[:0]).followed_by(words)
