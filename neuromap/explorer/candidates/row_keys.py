"""Row keys: when two candidates are one row.

Two candidates are one row if the mapper makes the same program of them, up to labels. What it sees of a schedule are
the delays of the edges in ticks, the ticks at which inputs arrive and bias spikes are due, and the frame period.
Within a behaviour class the delays along a spanning forest, the sampling steps of the inputs relative to each other,
and P fix all of that up to shifts by whole frames (docs/explorer.md). Such shifts show in two places only, and the key
holds both: which of the nodes that need bias spikes get them at the same tick, and whether two edges of one input begin
with the same frame.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from neuromap.explorer.candidates.packed import pack
from neuromap.explorer.candidates.schedules import Graph, Schedules
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.rollout.schedule.execution import chosen_period

__all__ = ["Keys", "Sharing", "sharing_of"]

Ints = NDArray[np.int64]
Values = NDArray[np.uint8]
Words = NDArray[np.uint64]


@dataclass(frozen=True)
class Sharing:
    """What makes the mapper tell schedules apart that differ by whole frames only.

    Attributes
    ----------
    biased : tuple of int
        Nodes with a neuron whose threshold the leak cannot hold.
    host_pairs : tuple of (int, int)
        Pairs of edges that leave one input.
    """

    biased: tuple[int, ...] = ()
    host_pairs: tuple[tuple[int, int], ...] = ()


class Keys:
    """Makes the keys of schedules of one network: equal iff the candidates are one row.

    Parameters
    ----------
    graph : Graph
        The network.
    sharing : Sharing
        What the mapper tells apart besides.
    by_pattern : bool
        Whether every pattern and execution is a row of its own: where splitters may change the schedule, the delays
        in update steps do not say what they will be. Pipelined schedules still depend on the class only.
    executions : sequence of str
        In the order of their numbers.
    """

    def __init__(self, graph: Graph, sharing: Sharing, executions: Sequence[str], by_pattern: bool = False) -> None:
        self._graph, self._sharing, self._by_pattern = graph, sharing, by_pattern
        self._executions = tuple(executions)
        n = graph.n_nodes
        fixed = {*graph.tree, *graph.self_edges}
        self._free = [e for e in range(graph.n_edges) if e not in fixed]
        self._shift_bits = (2 * n + 2).bit_length()
        # where the nodes have an order, P is at most n or what the user asks for, windowed delays are at most 2 P, and
        # pipelined ones, sums of a term of size P per node, at most (n + 1) (P + 1)
        longest = max([1, *(chosen_period(e) or 1 for e in executions)])
        greatest = 2 * n + 2 if longest == 1 else 2 * (n + 1) * (longest + 1)
        self._period_bits = max(n, longest).bit_length() if graph.is_ordered else 24
        self._delay_bits = greatest.bit_length() if graph.is_ordered else 24
        self._execution_bits = max(1, (len(self._executions) - 1).bit_length())
        self._pairs = list(combinations(sharing.biased, 2))

    @property
    def widths(self) -> str:
        """Bits of the parts of a key: the same words say other things where they differ."""
        return f"{self._shift_bits} {self._period_bits} {self._delay_bits} {self._execution_bits}"

    @property
    def class_words(self) -> int:
        """Words of a key that tell the behaviour class; they come first."""
        return int(self.classes(np.zeros((0, self._graph.n_edges), np.uint8)).shape[1])

    def classes(self, values: Values) -> Words:
        """R of every edge after the shift that makes the forest sequential: equal iff the class is."""
        graph, n_rows = self._graph, len(values)
        shift = np.zeros((graph.n_nodes, n_rows), np.int16)
        r = np.ascontiguousarray(values.T).astype(np.int16)
        for e in graph.tree:
            shift[graph.targets[e]] = shift[graph.sources[e]] - r[e]
        n = graph.n_nodes
        columns = [r[e] + shift[graph.targets[e]] - shift[graph.sources[e]] + n for e in self._free]
        return pack(columns, n_rows, [self._shift_bits] * len(columns))

    def of(self, values: Values, schedules: Schedules, execution: str) -> Words:
        """Keys of schedules: an array of shape (N, words)."""
        graph, n_rows = self._graph, len(values)
        columns: list[NDArray[np.integer]] = []
        bits: list[int] = []
        relabelled = [*self._bias_order(schedules), *self._host_frames(values, schedules)]
        if self._by_pattern:
            columns.append(np.full(n_rows, self._executions.index(execution)))
            bits.append(self._execution_bits)
            if execution == "windowed" or relabelled:
                columns.extend(values.T)
            else:
                columns.extend([np.zeros(n_rows, np.int64)] * graph.n_edges)
            bits += [1] * graph.n_edges
        else:
            columns.append(schedules.period)
            bits.append(self._period_bits)
            tree = [schedules.delays[:, e] for e in graph.tree]
            columns += tree
            bits += [self._delay_bits] * len(tree)
            first_input = schedules.phases[:, graph.inputs[0]]
            others = [schedules.phases[:, u] - first_input for u in graph.inputs[1:]]
            columns += [c + (1 << (self._delay_bits + 1)) for c in others]
            bits += [self._delay_bits + 2] * len(others)
            columns += relabelled
            bits += [2] * len(relabelled)
        return np.concatenate([self.classes(values), pack(columns, n_rows, bits)], axis=1)

    def _bias_order(self, schedules: Schedules) -> list[Ints]:
        phases = schedules.phases
        return [np.sign(phases[:, a] - phases[:, b]) + 1 for a, b in self._pairs]

    def _host_frames(self, values: Values, schedules: Schedules) -> list[Ints]:
        # edges with equal delays share an axon if they begin with the same frame, 0 where R = 1
        r, d = values.astype(np.int64), schedules.delays
        return [np.where(d[:, a] == d[:, b], r[:, a] - r[:, b], 0) + 1 for a, b in self._sharing.host_pairs]


def sharing_of(graph: Graph, thresholds: Mapping[int, Ints], chips: Sequence[ChipSpec]) -> Sharing:
    """Find what the mapper tells apart besides delays.

    Parameters
    ----------
    graph : Graph
        The network.
    thresholds : dict of int to ndarray of int64
        Thresholds of every node that is no input, clipped as the mapper does.
    chips : sequence of ChipSpec
        Their leak says which thresholds need bias spikes.

    Returns
    -------
    Sharing
    """
    longest_leak = min(-chip.leak_range[0] for chip in chips)
    biased = [v for v, theta in thresholds.items() if ((theta < 1) | (theta > longest_leak)).any()]
    pairs = []
    for u in graph.inputs:
        pairs += list(combinations([e for e in range(graph.n_edges) if graph.sources[e] == u], 2))
    return Sharing(tuple(sorted(biased)), tuple(pairs))
