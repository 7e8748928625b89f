"""All distinct schedules of a network, one row each, with the times of every row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import adopted, freeze_arrays
from neuromap.arrays.packed_rows import first_of_equal
from neuromap.arrays.value import Value
from neuromap.explorer.candidates.core_estimate import CoreWeights
from neuromap.explorer.candidates.graph import Graph
from neuromap.explorer.candidates.pattern_space import PatternSpace
from neuromap.explorer.candidates.row_keys import RowKeys
from neuromap.explorer.candidates.schedules import schedules_of
from neuromap.rollout.class_numbers import ClassNumbers

__all__ = ["RowTable", "row_table"]

Ints = NDArray[np.int32]
Values = NDArray[np.uint8]
Words = NDArray[np.uint64]
Columns = dict[str, NDArray[Any]]

_SEQUENTIAL_BITS = 16
"""Bits that a number of sequential edges is kept in (uint16)."""
_FIRST_MERGE = 1 << 20
"""Rows from which equal ones are merged for the first time."""


@dataclass(frozen=True, eq=False)
class RowTable(Value):
    """Distinct schedules in update steps (M rows), in ascending order of their keys."""

    row_keys: RowKeys  # makes the keys: knows the network and the executions that were asked for
    keys: Words  # (M, words): key of every row
    # (M, E / 8 rounded up): R of the row's pattern with most streaming edges, eight edges to a byte
    # (``numpy.packbits``)
    values: Values
    execution: NDArray[np.uint8]  # (M,): position of its execution
    behaviour_class: Ints  # (M,): number of its class (:mod:`neuromap.rollout.class_numbers`)
    needs_retraining: NDArray[np.bool_]  # (M,): whether that is another one than the given pattern's
    n_patterns: Ints  # (M,): patterns that share the row
    # period, first, full: (M,): frame period (its numerator at unequal intervals), first and full response in update
    # steps
    period: Ints
    frames: NDArray[np.int16]  # (M,): denominator of the frame period, 1 at equal intervals
    first: Ints
    full: Ints
    exact: NDArray[np.bool_]  # (M,): whether the full response is
    estimate: NDArray[np.float32]  # (M,): what the row may cost in cores: only ever used to choose what to map first

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def graph(self) -> Graph:
        """The network."""
        return self.row_keys.graph

    @property
    def executions(self) -> tuple[str, ...]:
        """Executions that were asked for; ``execution`` holds positions here."""
        return self.row_keys.executions

    def pattern(self, row: int) -> tuple[int, ...]:
        """R of every edge of the row's pattern."""
        return tuple(np.unpackbits(self.values[row], count=self.graph.n_edges).tolist())

    def key_text(self, row: int) -> str:
        """Key of a row with all that gives it its meaning, but for the network."""
        words = self.keys[row].tobytes().hex()
        return f"{self.row_keys.meaning} {words}"

    def row_of(self, values: tuple[int, ...], execution: str) -> int:
        """Position of the row of a pattern (R of every edge) in an execution; -1 where there is none."""
        pattern = np.array([values], np.uint8)
        stands_for = (self.values == np.packbits(pattern, axis=1)).all(axis=1)
        stands_for &= self.execution == self.executions.index(execution)
        if stands_for.any():  # it need not be computed again
            return int(np.argmax(stands_for))
        schedules = schedules_of(self.graph, pattern, execution)
        if not schedules.period[0]:  # shorter than the pattern's cycles allow
            return -1
        return self.find(self.row_keys.of(pattern, schedules, execution)[0])

    def find(self, key: Words) -> int:
        """Position of the row with this key; -1 where there is none."""
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
    """Compute the rows of some patterns, one execution after the other; equal rows are still there several times."""
    graph = row_keys.graph
    before: list[Words] = []
    for number, execution in enumerate(row_keys.executions):
        schedules = schedules_of(graph, values, execution)
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
            "period": schedules.period.astype(np.int32),
            "frames": schedules.frames.astype(np.int16),
            "first": schedules.first.astype(np.int32),
            "full": schedules.full.astype(np.int32),
            "exact": schedules.exact,
            "estimate": weights.estimate(schedules.delays),
        }
        possible = schedules.period > 0  # else shorter than the pattern's cycles allow
        yield part if possible.all() else {name: column[possible] for name, column in part.items()}


def _numbers(retimings: Words, packed: Values, row_keys: RowKeys, numbers: ClassNumbers) -> Ints:
    """Look up the numbers of the rows' classes, once for patterns that are shifts of each other."""
    chosen, group = first_of_equal(retimings, np.zeros(len(retimings), np.int64))
    values = np.unpackbits(packed[chosen], axis=1, count=row_keys.graph.n_edges)
    return numbers.of(values)[group].astype(np.int32)


@dataclass
class _Collected:
    """Rows found so far; equal ones are merged whenever there are many."""

    parts: list[Columns]
    n_rows: int = 0
    limit: int = _FIRST_MERGE

    def add(self, part: Columns) -> None:
        self.parts.append(part)
        self.n_rows += len(part["execution"])
        if self.n_rows > self.limit:
            self.merge()
            self.limit = max(self.limit, 2 * self.n_rows)  # so that no row is merged many times

    def merge(self) -> Columns:
        joined = {}
        for name in list(self.parts[0]):  # column by column, so that nothing is there twice
            joined[name] = np.concatenate([part.pop(name) for part in self.parts])
        self.parts = [_merged(joined)]
        self.n_rows = len(self.parts[0]["execution"])
        return self.parts[0]


def _merged(rows: Columns) -> Columns:
    """Keep one of equal rows: of the first execution, with most streaming edges; add up their patterns."""
    # Takes the columns out of ``rows``, one by one so that nothing is there twice; it is of no use afterwards.
    keys = rows["keys"].astype(np.uint64, copy=False)
    rank = (rows["execution"].astype(np.int32) << _SEQUENTIAL_BITS) + rows["sequential"].astype(np.int32)
    chosen, group = first_of_equal(keys, rank)
    total = np.bincount(group, rows["n_patterns"].astype(np.float64), len(chosen)).astype(np.int32)
    del group
    return {name: total if name == "n_patterns" else rows.pop(name)[chosen] for name in list(rows)}
