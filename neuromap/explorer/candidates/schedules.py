"""Row keys: when two candidates are one row.

Two candidates are one row if the mapper makes the same program of them, up to labels. It depends on a schedule only by
the delays of the edges in ticks, the ticks at which inputs arrive and bias spikes are due, and the frame period. (At
unequal intervals these are exact times, in parts of a tick, and the key holds the number of parts too.)
If patterns are shifts of each other at every node (within a behaviour class, unless some nodes reach no output), the
delays along a spanning forest, the relative sampling steps of the inputs, and P determine all of these up to shifts by
whole frames (docs/theorems/one-row.md). Such shifts show in two places only, and the key holds both: which of the nodes
that need bias spikes get them at the same tick, and whether two edges of one input begin with the same frame. If
synapses have delays, spikes that arrive in different ticks may share an axon too; then the key holds the distances in
steps between the nodes' bias spikes, and the frames of all edges of an input.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from graphlib import TopologicalSorter
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.array_types import Bools, Ints, Words
from neuromap.arrays.frozen import ReadOnly
from neuromap.arrays.packed_rows import pack
from neuromap.arrays.parts_of_ticks import in_parts
from neuromap.arrays.value import Value
from neuromap.explorer.candidates.named_patterns import LeastResponses
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.mapping.core.core_of import core_of
from neuromap.network.network import Network
from neuromap.rollout.class_numbers import class_words, shift_bits
from neuromap.rollout.cycles.cycle_structure import cycle_structure
from neuromap.rollout.cycles.indexed_network import IndexedNetwork, indexed_network
from neuromap.rollout.pattern import RolloutPattern
from neuromap.rollout.schedule.execution import BEST, chosen_period
from neuromap.rollout.schedule.fastest_phases import responses_of_pairs, soonest_responses
from neuromap.rollout.schedule.node_times import indexed_cycle_ratio, pipelined_period
from neuromap.rollout.schedule.rollout import Rollout

Values = NDArray[np.uint8]


@dataclass(frozen=True)
class Sharing:
    """What makes the mapper distinguish schedules that differ by whole frames only."""

    biased: tuple[int, ...] = ()  # nodes with a neuron whose threshold needs a constant from the host
    host_pairs: tuple[tuple[int, int], ...] = ()  # pairs of edges that leave one input
    over_delays: bool = False  # whether spikes that arrive in different ticks may share an axon (synapse lists)

    def __str__(self) -> str:
        over_delays = ", over_delays=True" if self.over_delays else ""
        return f"Sharing(biased={self.biased}, host_pairs={self.host_pairs}{over_delays})"


class RowKeys:
    """Makes the keys of schedules of one network: equal iff the candidates are one row."""

    # graph, executions: as given; executions in the order of their numbers
    # by_pattern: whether every pattern and execution is a row of its own: if splitters may change the schedule, delays
    # in update steps do not determine it. Pipelined schedules are still shared by all shifts
    # soonest, only_gains: whether times are lower bounds over all phases, and whether rows that attain them anyway are
    # left out

    def __init__(
        self,
        graph: Graph,
        sharing: Sharing,
        executions: Sequence[str],
        by_pattern: bool = False,
        *,
        soonest: bool = False,
        only_gains: bool = False,
    ) -> None:
        self.graph, self.executions, self.soonest, self.only_gains = graph, tuple(executions), soonest, only_gains
        self._sharing, self._by_pattern, self._has_best = sharing, by_pattern, BEST in self.executions
        n = graph.n_nodes
        # if the nodes have an order, P is at most n or the period that the user chose, windowed delays are at most 2 P,
        # and pipelined ones, sums of a term of size P per node, at most (n + 1) (P + 1)
        longest = max([1, *(chosen_period(e) or 1 for e in executions)])
        greatest = 2 * n + 2 if longest == 1 else 2 * (n + 1) * (longest + 1)
        self._period_bits = max(n, longest).bit_length() if graph.is_ordered else 24
        self._delay_bits = greatest.bit_length() if graph.is_ordered else 24
        self._execution_bits = max(1, (len(self.executions) - 1).bit_length())
        self._pairs = list(combinations(sharing.biased, 2))

    @property
    def meaning(self) -> str:
        """What keys of one network depend on: keys are comparable only if it is equal."""
        # It is part of the fingerprint of stored results, so they are reused only while it stays the same.
        widths = f"{shift_bits(self.graph.n_nodes)} {self._period_bits} {self._delay_bits} {self._execution_bits}"
        best = f" {BEST}" if self._has_best else ""
        return f"{self._sharing} {self.executions if self._by_pattern else ''} {widths}{best}"

    @property
    def tells_frames_apart(self) -> bool:
        """Whether shifts by whole frames may show, so that pipelined patterns of a class may be distinct rows."""
        return bool(self._pairs or self._sharing.host_pairs)

    @property
    def n_retiming_words(self) -> int:
        """Number of leading words of a key, equal iff patterns are shifts of each other at every node."""
        return int(self.retimings(np.zeros((0, self.graph.n_edges), np.uint8)).shape[1])

    def retimings(self, values: Values) -> Words:
        """R of every edge after the shift that makes the forest sequential; it determines the behaviour class."""
        return class_words(self.graph.indexed, values, of_all=True)

    def of(self, values: Values, schedules: Schedules, execution: str) -> Words:
        """Keys of schedules: an array of shape (N, words)."""
        shown = [*self._bias_order(schedules), *self._host_frames(values, schedules)]
        if self._by_pattern:  # words for the execution and, if the row depends on it, the pattern
            number = np.full(len(values), self.executions.index(execution))
            r = values if execution == "windowed" or shown else np.zeros_like(values)
            rest = pack([number, *r.T], len(values), [self._execution_bits, *[1] * self.graph.n_edges])
        else:
            rest = self._schedule_words(schedules, shown)
        return np.concatenate([self.retimings(values), rest], axis=1)

    def _schedule_words(self, schedules: Schedules, shown: Sequence[Ints]) -> Words:
        """Words for period, delays along the forest, sampling steps, and what shows shifts by whole frames."""
        graph = self.graph.indexed
        tree = [schedules.delays[:, e] for e in graph.tree]
        first, *others = graph.inputs
        from_first = (schedules.phases[:, u] - schedules.phases[:, first] for u in others)
        later = [steps + (1 << (self._delay_bits + 1)) for steps in from_first]
        bits = [
            self._period_bits,
            *[self._delay_bits] * len(tree),
            *[self._delay_bits + 2] * len(later),
            *[self._delay_bits + 2 if self._sharing.over_delays else 2] * len(shown),
        ]
        columns = [schedules.period, *tree, *later, *shown]
        if self._has_best:
            columns, bits = [*columns, schedules.frames], [*bits, self._period_bits]
        return pack(columns, len(schedules.period), bits)

    def _bias_order(self, schedules: Schedules) -> list[Ints]:
        apart = [schedules.phases[:, a] - schedules.phases[:, b] for a, b in self._pairs]
        if self._sharing.over_delays:
            return [steps + (1 << (self._delay_bits + 1)) for steps in apart]
        return [np.sign(steps) + 1 for steps in apart]

    def _host_frames(self, values: Values, schedules: Schedules) -> list[Ints]:
        # edges whose spikes can share an axon do so if they begin with the same frame: 0 if R = 1
        r, d, any_delay = values.astype(np.int64), schedules.delays, self._sharing.over_delays
        pairs = self._sharing.host_pairs
        return [np.where(any_delay | (d[:, a] == d[:, b]), r[:, a] - r[:, b], 0) + 1 for a, b in pairs]


def sharing_of(graph: Graph, thresholds: Mapping[int, Ints], chips: Sequence[ChipSpec]) -> Sharing:
    """Find what the mapper distinguishes besides delays."""
    free = [core_of(chip).free_threshold for chip in chips if chip.leak_bits]  # others hold every threshold
    over_delays = any(chip.kind.structure.DELAYS_BEHIND_AXONS for chip in chips)
    least_free = min(free, default=math.inf)
    biased = [v for v, theta in thresholds.items() if ((theta < 1) | (theta > least_free)).any()]
    pairs = tuple(pair for u in graph.indexed.inputs for pair in combinations(graph.indexed.outgoing[u], 2))
    return Sharing(tuple(sorted(biased)), pairs, over_delays)


# Schedules of many patterns at once: those of ``Rollout``, as arrays with a row per pattern.
#
# If the only cycles of a network are self-edges, one order of the nodes serves every pattern, and phases and responses
# are recurrences along it, computed for all patterns together. Otherwise every pattern is given to
# :class:`~neuromap.rollout.schedule.rollout.Rollout`, against which the tests also check the recurrences.
Narrow = NDArray[np.signedinteger[Any]]
"""A row per node or edge, a column per pattern, in as narrow a type as possible; a period has one value per pattern."""


@dataclass(frozen=True, eq=False)
class Schedules(ReadOnly, Value):
    """Schedules of N patterns in one execution, in update steps."""

    # (N,): numerator of the frame period P, which is P itself at equal intervals; 0 if the execution names one that is
    # too short for the pattern, whose other figures are then meaningless
    period: Ints
    frames: Ints  # (N,): denominator of P: ``frames`` frames in every ``period`` update steps
    # (N, n): phase of every node, in parts of an update step (``arrays/times.py``), which are steps at equal intervals
    phases: Ints
    delays: Ints  # (N, E): delay of every edge
    # first, slowest, full: (N,): least first response over the outputs, first response to the input that is answered
    # last, and greatest full response over the outputs
    first: Ints
    slowest: Ints
    full: Ints
    exact: Bools  # (N,): whether the full responses are exact, else upper bounds
    gains: Bools  # (N,): whether some output answers some input later than in the phases best for that pair alone


def schedules_of(graph: Graph, values: Values, execution: str, *, soonest: bool = False) -> Schedules:
    """Compute the schedules of many patterns of one network."""
    # soonest: responses are those of every pair of an input and an output in the phases that are best for it alone,
    # which no phases with the same frame period undercut; else ``gains`` is false
    # shapes: values (N, E)
    compute = _ordered if graph.is_ordered else _one_by_one
    return compute(graph, values, execution, soonest)


def _ordered(graph: Graph, values: Values, execution: str, soonest: bool) -> Schedules:
    """Compute phases, then responses, node by node in the order that serves every pattern."""
    # All cycles are streaming self-edges here, so that P can be 1.
    # arrays below have a row per edge or node, so that every step accesses memory in order
    chosen = chosen_period(execution) or 1
    # a type that holds all phases, sums of at most one term of size P per node
    narrow: type[np.signedinteger[Any]] = np.int16 if (graph.n_nodes + 2) * (chosen + 2) < 2**14 else np.int32
    r = np.ascontiguousarray(values.T).astype(narrow)
    sources, targets = graph.indexed.sources, graph.indexed.targets
    into = [[e for e in edges if sources[e] != v] for v, edges in enumerate(graph.indexed.incoming)]
    if execution == "windowed":  # frame 0 is known, so a streaming edge waits for nothing (a self-edge for one step)
        phase = _phases(graph, into, r, lambda e, before: before * (1 - r[e]) + 1)
        period = phase.max(axis=0)
    else:  # an edge weighs 1 - R P; a self-edge has delay P at any phase
        phase = _phases(graph, into, r, lambda e, before: before + 1 - r[e] * chosen)
        period = np.full(len(values), chosen, r.dtype)
    for u in graph.indexed.inputs:  # sampled at the last step at which no edge that leaves it has a delay below 1
        phase[u] = np.min([phase[targets[e]] + r[e] * period - 1 for e in graph.indexed.outgoing[u]], axis=0)
    delays = phase[list(targets)] - phase[list(sources)] + r * period
    first, slowest, full, gains = _responses(graph, into, period * r, phase, delays - 1 if soonest else None)
    columns = (period, np.ones(len(values)), phase.T, delays.T, first, slowest, full)
    names = ("period", "frames", "phases", "delays", "first", "slowest", "full")
    steps = {name: column.astype(np.int64) for name, column in zip(names, columns, strict=True)}
    return Schedules(**steps, exact=np.ones(len(values), np.bool_), gains=gains)


def _phases(graph: Graph, into: Sequence[Sequence[int]], r: Narrow, behind: Callable[[int, Narrow], Narrow]) -> Narrow:
    """Compute when each node is known; ``behind`` gives the earliest phase after an edge from that before it."""
    phase = np.zeros((graph.n_nodes, r.shape[1]), r.dtype)
    for v in graph.order:
        if into[v]:
            phase[v] = reduce(np.maximum, (behind(e, phase[graph.indexed.sources[e]]) for e in into[v]))
    return phase


def _responses(
    graph: Graph, into: Sequence[Sequence[int]], frames: Narrow, phase: Narrow, spare: Narrow | None
) -> tuple[Narrow, Narrow, Narrow, Bools]:
    """Compute the first responses of the inputs answered first and last, the greatest full response, and what gains."""
    # Phases aside, a path takes a frame period for each of its streaming edges: ``frames``, by edge. Its ends may move
    # closer by the ``spare`` of the delays along a walk, the least over all walks.
    answers, fulls, gains = [], [], np.zeros(phase.shape[1], np.bool_)
    sources = graph.indexed.sources
    for u in graph.indexed.inputs:
        least, most, gain = {u: -phase[u]}, {u: -phase[u]}, {u: np.zeros_like(phase[u])}  # by reached node
        for v in graph.order:
            ways = [(e, sources[e]) for e in into[v] if sources[e] in least]
            if ways:
                least[v] = np.min([least[w] + frames[e] for e, w in ways], axis=0)
                most[v] = np.max([most[w] + frames[e] for e, w in ways], axis=0)
                if spare is not None:
                    gain[v] = np.min([gain[w] + spare[e] for e, w in ways], axis=0)
        reached = [o for o in graph.indexed.outputs if o in least]
        known = {o: phase[o] if spare is None else phase[o] - gain[o] for o in reached}
        if reached:
            answers.append(np.min([known[o] + least[o] for o in reached], axis=0))
            fulls += [known[o] + most[o] for o in reached]
            gains |= np.any([known[o] < phase[o] for o in reached], axis=0)
    return np.min(answers, axis=0), np.max(answers, axis=0), np.max(fulls, axis=0), gains


def _one_by_one(graph: Graph, values: Values, execution: str, soonest: bool) -> Schedules:
    network, n_rows = graph.network, len(values)
    period, first, slowest, full = (np.zeros(n_rows, np.int64) for _ in range(4))
    phases, delays = np.zeros((n_rows, graph.n_nodes), np.int64), np.zeros((n_rows, graph.n_edges), np.int64)
    exact, gains, frames = np.zeros(n_rows, np.bool_), np.zeros(n_rows, np.bool_), np.ones(n_rows, np.int64)
    chosen, one_step = chosen_period(execution), (1,) * graph.n_edges
    for k, row in enumerate(values.tolist()):
        pattern = RolloutPattern(network, tuple(row))
        if chosen is not None and chosen < pipelined_period(indexed_cycle_ratio(pattern.indexed, one_step)):
            continue
        rollout = Rollout(network, pattern, execution)
        period[k], frames[k] = rollout.frame_period.numerator, rollout.frame_period.denominator
        phases[k] = in_parts(rollout.phases.values(), rollout.frame_period)
        delays[k] = list(rollout.delays.values())
        exact[k] = all(response.is_exact for response in rollout.full_responses.values())
        full[k] = max(response.steps for response in rollout.full_responses.values())
        first[k], slowest[k] = min(rollout.first_responses.values()), rollout.slowest_response()
        if soonest and frames[k] == 1:  # at unequal intervals phases are never moved
            first[k], slowest[k], full[k] = LeastResponses.soonest(rollout)
            gains[k] = soonest_responses(rollout) != responses_of_pairs(rollout)
    return Schedules(period, frames, phases, delays, first, slowest, full, exact, gains)


# A cheap estimate of the cores of a schedule, only to choose what to map first.


@dataclass(frozen=True)
class CoreWeights:
    """Weights of the distinct signals of a schedule."""

    # A neuron that is read at k different delays sends at least k spikes to different axons; a delay beyond the longest
    # takes relays. So cores grow with the distinct pairs of node and delay, weighted by the neurons of the node.

    # for every non-input node with outgoing edges: its neurons in units of cores, and these edges
    outgoing: tuple[tuple[float, tuple[int, ...]], ...]
    longest: int  # longest delay of a neuron in update steps

    def estimate(self, delays: Ints) -> NDArray[np.float32]:
        """Estimate cores, shape (N,), from delays, shape (N, E)."""
        total = np.zeros(len(delays), np.float32)
        for size, edges in self.outgoing:
            columns = [delays[:, e] for e in edges]
            for k, column in enumerate(columns):
                new = np.ones(len(delays), np.bool_)
                for other in columns[:k]:
                    new &= column != other
                total += np.float32(size) * new
            relays = np.max([(column - 1) // self.longest for column in columns], axis=0)
            total += np.float32(size) * relays.astype(np.float32)
        return total


def core_weights(graph: Graph, chip: ChipSpec) -> CoreWeights:
    """Weights from the sizes of nodes and the longest delay; none if neurons have no copies."""
    if not chip.kind.structure.ONE_TARGET:
        return CoreWeights((), chip.delay[1])
    sizes = [node.size / chip.neurons for node in graph.network.nodes.values()]
    leaving = zip(sizes, map(tuple, graph.indexed.outgoing), graph.indexed.incoming, strict=True)
    outgoing = tuple((size, edges) for size, edges, entering in leaving if edges and entering)
    return CoreWeights(outgoing, chip.delay[1])


# A network with numbered nodes and edges, and what all its patterns share.
@dataclass(frozen=True, eq=False)
class Graph:
    """A network with numbered nodes and edges."""

    network: Network  # the network (n nodes, E edges)
    indexed: IndexedNetwork  # the same in integers
    # topological order of the nodes, self-edges aside; empty if there are longer cycles
    order: tuple[int, ...]

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return self.indexed.n

    @property
    def n_edges(self) -> int:
        """Number of edges."""
        return len(self.indexed.sources)

    @property
    def free_edges(self) -> list[int]:
        """Edges that need not stream: all but those from a node to itself, which do in every valid pattern."""
        ends = zip(self.indexed.sources, self.indexed.targets, strict=True)
        return [e for e, (source, target) in enumerate(ends) if source != target]

    @property
    def is_ordered(self) -> bool:
        """Whether one order of the nodes serves every pattern."""
        return bool(self.order)


def graph_of(network: Network) -> Graph:
    """Index the nodes and edges of a network, and find what all its patterns share."""
    indexed = indexed_network(network)
    if cycle_structure(network).blocks:
        return Graph(network, indexed, ())
    before = {v: {indexed.sources[e] for e in edges} - {v} for v, edges in enumerate(indexed.incoming)}
    return Graph(network, indexed, tuple(TopologicalSorter(before).static_order()))
