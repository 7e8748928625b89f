"""Distinct schedules of a network, one row each, with the times of every row; and the patterns of trained networks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.array_types import Bools, Words
from neuromap.arrays.frozen import ReadOnly, adopted
from neuromap.arrays.packed_rows import first_of_equal
from neuromap.arrays.value import Value
from neuromap.errors import InputError, NetworkError, PatternError
from neuromap.explorer.candidates.named_patterns import NamedPatterns
from neuromap.explorer.candidates.schedules import CoreWeights, Graph, RowKeys, graph_of, schedules_of
from neuromap.files.messages import show
from neuromap.network.build import require_weights
from neuromap.network.network import Network
from neuromap.network.network_file import load_network
from neuromap.rollout.behaviour import class_key, count_valid, enumerate_valid, every_choice
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
    # class numbers are looked up once for patterns that are shifts of each other
    chosen, group = first_of_equal(keys[:, : row_keys.n_retiming_words], np.zeros(len(keys), np.int64))
    of_shifts = numbers.of(np.unpackbits(rows["values"][chosen], axis=1, count=row_keys.graph.n_edges))
    rows["behaviour_class"] = of_shifts[group].astype(np.int32)
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


# Patterns served by trained networks, and classes without one.


MOST_NAMED = 4
"""Most classes without trained weights that are named."""


def trained_spaces(space: PatternSpace, trained: Sequence[TrainedNetwork]) -> list[PatternSpace]:
    """Pattern space of every trained network: the patterns of its class."""
    return [replace(space.of_class(one.pattern), graph=graph_of(one.network)) for one in trained]


def untrained_classes(
    space: PatternSpace, numbers: ClassNumbers, names: NamedPatterns, trained: Sequence[int]
) -> tuple[tuple[int, str], ...]:
    """Name some classes without trained weights, those of named patterns first."""
    found: dict[int, str] = {}
    for pattern, number in zip(names.patterns, numbers.of_patterns(names.patterns), strict=True):
        found.setdefault(number or 0, names.name_of(pattern.values))
    values = next(space.chunks())
    values = values[np.argsort(-values.sum(axis=1, dtype=np.int64), kind="stable")]
    of_all, first = np.unique(numbers.of(values), return_index=True)
    for number, k in zip(of_all.tolist(), first.tolist(), strict=True):
        found.setdefault(number, names.name_of(tuple(values[k].tolist())))
    return tuple((number, text) for number, text in found.items() if number and number not in trained)[:MOST_NAMED]


# Networks of one graph, each trained under a pattern: the weights of the rows of its behaviour class.


@dataclass(frozen=True, eq=False)
class TrainedNetwork:
    """A network with the pattern under which it was trained."""

    pattern: RolloutPattern  # of this network
    network: Network  # with weights; nodes and edges in the order of the network that is explored
    file: str | None  # file it was read from


def trained_networks(network: Network, trained: Any) -> tuple[TrainedNetwork, ...]:
    """Read and check the trained networks of an exploration."""
    pairs = trained.items() if isinstance(trained, Mapping) else trained
    if not isinstance(pairs, Iterable) or isinstance(pairs, str):
        raise InputError(f"trained: found {show(trained)}; give patterns with networks, {{'streaming': 'a.toml'}}")
    found = [_read(network, pattern, given) for pattern, given in pairs]
    if not found:
        raise InputError("trained: none given; name at least one pattern with the network that was trained under it")
    for first, second in pairwise(sorted(found, key=lambda one: class_key(one.pattern))):
        if class_key(first.pattern) == class_key(second.pattern):
            one, other = _title(first.pattern), _title(second.pattern)
            told = f"pattern {one} is given twice" if one == other else f"patterns {one} and {other} are of one"
            rest = ", with weights each" if one == other else " behaviour class, which takes the same weights"
            raise InputError(f"trained: {told}{rest}; give one of them")
    return tuple(found)


def _read(network: Network, pattern: RolloutPattern | str, given: Network | str | Path) -> TrainedNetwork:
    """Read one network, in the node and edge order of the explored one, with its pattern."""
    loaded = given if isinstance(given, Network) else load_network(given)
    called = f"trained {_title(pattern)}: network {loaded.name}"
    require_weights(loaded)
    for difference in _differences(network, loaded):
        raise NetworkError(f"{called}: {difference}; give networks of one graph")
    ordered = replace(
        loaded,
        nodes={name: loaded.nodes[name] for name in network.nodes},
        edges={key: loaded.edges[key] for key in network.edges},
        outputs=network.outputs,
    )
    return TrainedNetwork(_pattern(network, ordered, pattern), ordered, None if loaded is given else str(given))


def _pattern(network: Network, ordered: Network, pattern: RolloutPattern | str) -> RolloutPattern:
    """Read the pattern for a trained network; names refer to the explored network."""
    if isinstance(pattern, str):
        digits = bool(pattern) and set(pattern) <= set("01") and pattern not in network.patterns
        if digits and len(pattern) != len(network.edges):
            raise PatternError(
                f"trained: pattern {show(pattern)} has R of {len(pattern)} edges, network {network.name} has "
                f"{len(network.edges)} edges; give one digit for each"
            )
        values = tuple(map(int, pattern)) if digits else None
        pattern = RolloutPattern(network, values) if values else RolloutPattern.named(network, pattern)
    if not isinstance(pattern, RolloutPattern) or tuple(pattern.network.edges) != tuple(network.edges):
        raise PatternError(
            f"trained: {show(pattern)} is not a pattern of network {network.name}; give one, its name, or R of every "
            "edge as digits"
        )
    pattern.require_valid()
    return RolloutPattern(ordered, pattern.values, pattern.name)


def _differences(network: Network, other: Network) -> Iterator[str]:
    """Describe the differences of two networks: nodes, edges, outputs, then given shapes and transforms."""
    yield from _missing("node", network.nodes, other.nodes, network.name)
    edges, others = ([f"{u} -> {v}" for u, v in found.edges] for found in (network, other))
    yield from _missing("edge", edges, others, network.name)
    if set(network.outputs) != set(other.outputs):
        yield f"its outputs are {', '.join(other.outputs)}, those of {network.name} {', '.join(network.outputs)}"
    for name, node in network.nodes.items():
        shape = other.nodes[name].shape
        if node.shape is not None and node.shape != shape:
            yield f"node {name} has the shape {list(shape or ())}, in {network.name} {list(node.shape)}"
    for key, edge in network.edges.items():
        mine, its = _settings(edge.transform), _settings(other.edges[key].transform)
        if edge.transform is not None and mine != its:
            yield f"edge {edge.label} is {_told(its)}, in {network.name} {_told(mine)}"


def _missing(what: str, mine: Iterable[str], its: Iterable[str], name: str) -> Iterator[str]:
    mine, its = list(mine), list(its)
    yield from (f"has no {what} {one}, which {name} has" for one in mine if one not in set(its))
    yield from (f"has {what} {one}, which {name} has not" for one in its if one not in set(mine))


def _settings(transform: object) -> dict[str, Any]:
    """Collect the settings of a transform, not its weights or groups (chosen in training); matrices count as dense."""
    names = ("kernel", "stride", "padding")
    kind = getattr(transform, "kind", None)
    found = {"transform": "dense" if kind == "matrix" else kind}
    return found | {name: getattr(transform, name) for name in names if hasattr(transform, name)}


def _told(settings: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {list(value) if isinstance(value, tuple) else value}" for name, value in settings.items())


def _title(pattern: object) -> str:
    if isinstance(pattern, RolloutPattern):
        return pattern.name or "".join(map(str, pattern.values))
    return show(pattern).strip("'")
