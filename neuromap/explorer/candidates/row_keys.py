"""Row keys: when two candidates are one row.

Two candidates are one row if the mapper makes the same program of them, up to labels. What it sees of a schedule are
the delays of the edges in ticks, the ticks at which inputs arrive and bias spikes are due, and the frame period. (At
unequal intervals these are exact times, in parts of a tick, and the key holds their number too.)
Where patterns are shifts of each other at every node (within a behaviour class, unless some nodes reach no output) the
delays along a spanning forest, the sampling steps of the inputs relative to each other, and P fix all of that up to
shifts by whole frames (docs/theorems/one-row.md). Such shifts show in two places only, and
the key holds both: which of the nodes that need bias spikes get them at the same tick, and whether two edges of
one input begin with the same frame. Where synapses have delays, spikes that arrive in different ticks may share an axon
too; then the key holds by how many steps the nodes' bias spikes are apart, and the frames of all edges of an input.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.packed_rows import pack
from neuromap.explorer.candidates.graph import Graph
from neuromap.explorer.candidates.schedules import Schedules
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.mapping.core.core_of import core_of
from neuromap.rollout.class_numbers import retiming_words, shift_bits
from neuromap.rollout.cycles.indexed_network import indexed_network
from neuromap.rollout.schedule.execution import BEST, chosen_period

__all__ = ["RowKeys", "Sharing", "sharing_of"]

Ints = NDArray[np.int64]
Values = NDArray[np.uint8]
Words = NDArray[np.uint64]


@dataclass(frozen=True)
class Sharing:
    """What makes the mapper tell schedules apart that differ by whole frames only."""

    biased: tuple[int, ...] = ()  # nodes with a neuron whose threshold needs a constant from the host
    host_pairs: tuple[tuple[int, int], ...] = ()  # pairs of edges that leave one input
    over_delays: bool = False  # whether spikes that arrive in different ticks may share an axon, as with synapse lists

    def __str__(self) -> str:
        over_delays = ", over_delays=True" if self.over_delays else ""
        return f"Sharing(biased={self.biased}, host_pairs={self.host_pairs}{over_delays})"


class RowKeys:
    """Makes the keys of schedules of one network: equal iff the candidates are one row."""

    # graph, executions: as given
    # by_pattern: whether every pattern and execution is a row of its own: where splitters may change the schedule, the
    # delays in update steps do not say what they will be. Pipelined schedules still are those of all shifts
    # executions: in the order of their numbers

    def __init__(self, graph: Graph, sharing: Sharing, executions: Sequence[str], by_pattern: bool = False) -> None:
        self.graph, self.executions = graph, tuple(executions)
        self._sharing, self._by_pattern, self._has_best = sharing, by_pattern, BEST in self.executions
        n = graph.n_nodes
        self._indexed = indexed_network(graph.network)
        # where the nodes have an order, P is at most n or what the user asks for, windowed delays are at most 2 P, and
        # pipelined ones, sums of a term of size P per node, at most (n + 1) (P + 1)
        longest = max([1, *(chosen_period(e) or 1 for e in executions)])
        greatest = 2 * n + 2 if longest == 1 else 2 * (n + 1) * (longest + 1)
        self._period_bits = max(n, longest).bit_length() if graph.is_ordered else 24
        self._delay_bits = greatest.bit_length() if graph.is_ordered else 24
        self._execution_bits = max(1, (len(self.executions) - 1).bit_length())
        self._pairs = list(combinations(sharing.biased, 2))

    @property
    def meaning(self) -> str:
        """What keys of one network depend on: keys of makers that differ in it say different things."""
        # It is part of what results are kept under, so files of results are only taken up while it stays as it is.
        widths = f"{shift_bits(self.graph.n_nodes)} {self._period_bits} {self._delay_bits} {self._execution_bits}"
        best = f" {BEST}" if self._has_best else ""
        return f"{self._sharing} {self.executions if self._by_pattern else ''} {widths}{best}"

    @property
    def tells_frames_apart(self) -> bool:
        """Whether shifts by whole frames may show, so that pipelined patterns of a class may be different rows."""
        return bool(self._pairs or self._sharing.host_pairs)

    @property
    def n_retiming_words(self) -> int:
        """Words of a key that tell of which patterns its pattern is a shift at every node; they come first."""
        return int(self.retimings(np.zeros((0, self.graph.n_edges), np.uint8)).shape[1])

    def retimings(self, values: Values) -> Words:
        """R of every edge after the shift that makes the forest sequential: the behaviour class follows from it."""
        return retiming_words(self._indexed, values)

    def of(self, values: Values, schedules: Schedules, execution: str) -> Words:
        """Keys of schedules: an array of shape (N, words)."""
        shown = [*self._bias_order(schedules), *self._host_frames(values, schedules)]
        if self._by_pattern:
            rest = self._pattern_words(values, execution, depends_on_pattern=execution == "windowed" or bool(shown))
        else:
            rest = self._schedule_words(schedules, shown)
        return np.concatenate([self.retimings(values), rest], axis=1)

    def _pattern_words(self, values: Values, execution: str, *, depends_on_pattern: bool) -> Words:
        """Words that tell execution and, where the row depends on it, pattern."""
        number = np.full(len(values), self.executions.index(execution))
        r = values if depends_on_pattern else np.zeros_like(values)
        return pack([number, *r.T], len(values), [self._execution_bits, *[1] * self.graph.n_edges])

    def _schedule_words(self, schedules: Schedules, shown: Sequence[Ints]) -> Words:
        """Words that tell period, delays along the forest, sampling steps, and where shifts by whole frames show."""
        graph = self.graph
        tree = [schedules.delays[:, e] for e in graph.tree]
        first_input = schedules.phases[:, graph.inputs[0]]
        later = [schedules.phases[:, u] - first_input + (1 << (self._delay_bits + 1)) for u in graph.inputs[1:]]
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
        # edges whose spikes can share an axon do if they begin with the same frame, 0 where R = 1
        r, d, any_delay = values.astype(np.int64), schedules.delays, self._sharing.over_delays
        pairs = self._sharing.host_pairs
        return [np.where(any_delay | (d[:, a] == d[:, b]), r[:, a] - r[:, b], 0) + 1 for a, b in pairs]


def sharing_of(graph: Graph, thresholds: Mapping[int, Ints], chips: Sequence[ChipSpec]) -> Sharing:
    """Find what the mapper tells apart besides delays."""
    free = [core_of(chip).free_threshold for chip in chips if chip.core_model == "crossbar"]
    least_free = min(free, default=math.inf)
    biased = [v for v, theta in thresholds.items() if ((theta < 1) | (theta > least_free)).any()]
    pairs = []
    for u in graph.inputs:
        pairs += list(combinations(graph.leaving(u), 2))
    return Sharing(tuple(sorted(biased)), tuple(pairs), len(free) < len(chips))
