"""Starts of a partition for short ticks: nodes cut into blocks of rows, columns and features, one for each core.

A node gets cores by its share of the work, and is halved until every core has a block: across rows, columns or
features, wherever the parts are most even and the fewest signals are read by both.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from neuromap.arrays.array_types import Floats, Ints
from neuromap.arrays.frozen import freeze_arrays
from neuromap.arrays.value import Value
from neuromap.cores.synapse_list.list_network import ListNetwork, NeuronGroups, Room
from neuromap.cores.synapse_list.recorded_work import RecordedWork

ROUNDS = 3
"""Times that blocks are cut: what a neuron takes to send depends on the cores that read it, which the cuts make."""
SLACK = 1.15
"""Shares of memory, output axons and neurons are counted so much too high: blocks are never quite even."""
FIRST_TARGETS = 8
"""Cores that read a signal, before the first round."""
RECEIVED = 1.3
"""How much more receiving counts than sending: it comes in bursts."""


@dataclass(frozen=True, eq=False)
class Layout(Value):
    """Which node every group is of, and where in it."""

    population: Ints  # (g,)
    place: Ints  # (g, 3): row, column and feature
    stride: Ints  # (g, 2): how far apart groups of neighbouring columns, and rows, stand

    def __post_init__(self) -> None:
        freeze_arrays(self)


def layout_of(lists: ListNetwork, groups: NeuronGroups) -> Layout:
    """Find where in its node every group is; nodes without a shape are a row of features."""
    population = np.searchsorted(lists.offset, groups.neuron, side="right") - 1
    place, stride = np.zeros((len(groups), 3), np.int64), np.ones((len(groups), 2), np.int64)
    for number, one in enumerate(lists.network.populations):
        mine = population == number
        shape = one.shape if one.shape is not None else (1, 1, len(one.neurons))
        place[mine] = np.stack(np.unravel_index(groups.neuron[mine] - lists.offset[number], shape), axis=1)
        stride[mine] = shape[2], shape[1] * shape[2]
    return Layout(population, place, stride)


def block_start(layout: Layout, work: RecordedWork, room: Room, n_cores: int) -> Ints | None:
    """Cut nodes into as many blocks as there are cores; None where there are more nodes than cores."""
    # shapes: returns (g,)
    known, of = np.unique(layout.population, return_inverse=True)
    if len(known) > n_cores:
        return None
    cuts = _Cuts(work, room, layout.place)
    core = np.zeros(len(of), np.int64)
    for _ in range(ROUNDS):
        cuts.weigh(n_cores)
        share = np.bincount(of, cuts.weight)
        number = np.ones(len(known), np.int64)
        for _ in range(n_cores - len(known)):
            number[np.argmax(share / number)] += 1
        targets, first = np.zeros_like(cuts.targets), 0
        for p in range(len(known) - 1, -1, -1):  # readers mostly come later
            for block in cuts.blocks(np.flatnonzero(of == p), int(number[p])):
                core[block] = first
                targets[cuts.read_by(block)] += 1
                first += 1
        cuts.targets = targets
    return core


class _Cuts:
    """Cuts groups into blocks."""

    def __init__(self, work: RecordedWork, room: Room, place: Ints) -> None:
        groups, n_ticks = work.groups, max(1, work.n_ticks)
        self._groups, self._room, self._place, self._own = groups, room, place, work.own
        access, update, fire, spike, arrival, event = work.costs.tolist()
        self._rate: Floats = np.asarray(work.sent.sum(axis=1)).ravel() / n_ticks
        active = np.asarray(work.active.sum(axis=1)).ravel() / n_ticks
        self._busy = access * groups.load + update * active + fire * self._rate[work.own]
        self._heard: Floats = np.asarray(work.reads @ self._rate) * event
        self._spike, self._message = spike, spike + arrival
        self.targets = np.full(groups.n_signals, FIRST_TARGETS, np.int64)
        self.weight: Floats = np.zeros(len(groups))
        self._mean = 1.0

    def weigh(self, n_cores: int) -> None:
        """Weigh groups by the share of a core that they take: of its time, its memory, output axons or neurons."""
        groups, room, targets = self._groups, self._room, self.targets[self._own]
        time = np.maximum(RECEIVED * self._heard, self._busy + self._rate[self._own] * targets * self._spike)
        self._mean = max(1.0, time.sum() / n_cores)
        memory = groups.synapses * room.synapse_bits / room.memory
        shares = (memory, targets / room.output_axons, groups.load / room.neurons)
        self.weight = np.maximum(time / self._mean, SLACK * np.maximum.reduce(shares))

    def read_by(self, block: Ints) -> Ints:
        """List the signals that a block reads, ascending."""
        return np.unique(self._groups.read_by(block)).astype(np.int64)

    def blocks(self, mine: Ints, n: int) -> list[Ints]:
        """Cut groups into n blocks, or fewer where there are not as many groups."""
        if n == 1 or len(mine) == 1:
            return [mine]
        best, least = None, np.inf
        for axis in range(3):
            at = self._place[mine, axis]
            at = at - at.min()
            if not at.any():
                continue
            sums = np.cumsum(np.bincount(at, self.weight[mine]))
            for first in {n // 2, n - n // 2}:
                cut = int(np.searchsorted(sums, sums[-1] * first / n))
                for end in {min(max(cut, 1), len(sums) - 1), min(cut + 1, len(sums) - 1)}:
                    one, other = mine[at < end], mine[at >= end]
                    price = self._price(one, other, first, n)
                    if price < least:
                        best, least = (one, other, first), price
        assert best is not None, "two groups differ in a row, a column or a feature"
        one, other, first = best
        return self.blocks(one, first) + self.blocks(other, n - first)

    def _price(self, one: Ints, other: Ints, first: int, n: int) -> float:
        """Price a cut: by the fuller of the two sides, and by the messages that both read."""
        uneven = max(self.weight[one].sum() / first, self.weight[other].sum() / (n - first))
        both = np.intersect1d(self.read_by(one), self.read_by(other), assume_unique=True)
        return float(uneven + self._rate[both].sum() * self._message / n / self._mean)
