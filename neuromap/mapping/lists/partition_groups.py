"""From groups to cores: the best of a few orders, refined.

The orders are that of the neurons, blocks of rows, columns and features, and cores grown by shared signals. Counted
are deliveries: pairs of a signal and a core that reads it. No order but the first may take more cores than the first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.value import Value
from neuromap.mapping.asked.budget import NO_LIMIT, Budget
from neuromap.mapping.lists.block_order import Layer, block_order
from neuromap.mapping.lists.fill_order import GroupOrder, fill_order
from neuromap.mapping.lists.grow_order import grow_order
from neuromap.mapping.lists.merge_cores import empty_cores, merge_cores
from neuromap.mapping.lists.move_groups import move_groups
from neuromap.mapping.lists.neuron_groups import NeuronGroups, Room

__all__ = ["number_order", "partition_groups", "settle"]

Ints = NDArray[np.int64]
SHRINK = 0.75
"""Share of the compartments that a core keeps where its output axons do not suffice."""
ENOUGH = 0.95
"""Share of the deliveries in the order of the neurons above which cores are grown, too."""
MOST_GROWTH = 40_000_000_000
"""Signals of cores times readers up to which cores are grown; some minutes."""
GROWN_PER_SECOND = 50_000_000
"""Of these, how many are surely looked at in a second; what takes longer than there is time is not begun."""


def partition_groups(groups: NeuronGroups, room: Room, layers: Sequence[Layer] = (), budget: Budget = NO_LIMIT) -> Ints:
    """Put groups into cores with few deliveries."""
    # budget: ends the search for fewer deliveries; the order of the neurons is filled in any case
    # gives core of every group, numbered by their first groups. Deliveries are at most those of the order of the
    # neurons where that order is possible; a core may then still lack output axons, as it may where no order is
    # shapes: returns (g,)
    first = _Filled(*settle(number_order(groups), groups, room))
    if first.n_cores == 1:
        return first.core
    if first.stuck < 0 and budget.is_over("filling"):
        return first.core
    best = first
    for order in _block_orders(groups, room, layers):
        best = _better(best, order, groups, room, first, budget)
        if best.stuck < 0 and budget.is_over("filling"):
            break
    if best.deliveries > ENOUGH * first.deliveries and _may_grow(first, groups, budget):
        best = _better(best, grow_order(groups, room), groups, room, first, budget)
    if best.stuck >= 0:
        return first.core
    return merge_cores(move_groups(best.core, groups, room, best.deliveries, budget), groups, room, budget)


def _may_grow(first: _Filled, groups: NeuronGroups, budget: Budget) -> bool:
    """Whether there is the time to grow cores; if not, that is an end of the search."""
    work = first.deliveries * len(groups.signal) / max(1, groups.n_signals)
    return work < MOST_GROWTH and not budget.is_over("filling", work / GROWN_PER_SECOND)


@dataclass(frozen=True, eq=False)
class _Filled(Value):
    """Cores, what ``settle`` tells of them."""

    core: Ints
    stuck: int
    deliveries: int

    @property
    def n_cores(self) -> int:
        return int(self.core.max(initial=0)) + 1


def _better(
    best: _Filled, order: GroupOrder, groups: NeuronGroups, room: Room, first: _Filled, budget: Budget
) -> _Filled:
    """Fill cores in one more order; what comes out, if it is better, or the best so far."""
    found = _Filled(*settle(order, groups, room))
    if found.stuck < 0 and first.stuck < 0 and found.n_cores > first.n_cores:
        core = merge_cores(found.core, groups, room, budget)
        core = empty_cores(core, groups, room, first.n_cores, budget)
        found = _Filled(core, -1, groups.deliveries(core))
        if found.n_cores > first.n_cores or _crowded(core, groups, room, found.deliveries):
            return best
    if found.stuck >= 0 or (best.stuck < 0 and found.deliveries >= best.deliveries):
        return best
    return found


def _block_orders(groups: NeuronGroups, room: Room, layers: Sequence[Layer]) -> Iterator[GroupOrder]:
    if layers:
        blocks = block_order(layers, groups, room)
        yield blocks
        yield GroupOrder(blocks.groups, np.arange(1, len(groups) + 1))  # cores are filled up with parts of blocks


def number_order(groups: NeuronGroups) -> GroupOrder:
    """Give the order of the neurons, without blocks."""
    return GroupOrder(np.arange(len(groups)), np.arange(1, len(groups) + 1))


def settle(order: GroupOrder, groups: NeuronGroups, room: Room) -> tuple[Ints, int, int]:
    """Fill cores in an order, with fewer neurons where output axons do not suffice."""
    # shapes: core (g,)
    most = np.full(len(groups), room.neurons, np.int64)
    while True:
        core, deliveries = fill_order(order, groups, room, most)
        crowded = _crowded(core, groups, room, deliveries)
        for one in crowded:
            mine = np.flatnonzero(core == one)
            if len(mine) == 1:
                return core, int(mine[0]), deliveries
            load = groups.load[mine]
            most[mine] = np.minimum(most[mine], max(int(load.max()), int(SHRINK * load.sum())))
        if not crowded:
            return core, -1, deliveries


def _crowded(core: Ints, groups: NeuronGroups, room: Room, deliveries: int) -> list[int]:
    """List the cores that lack output axons."""
    if deliveries <= room.output_axons:
        return []
    sender = groups.sender[groups.read_in(core)[0]]
    used = np.bincount(core[sender[sender >= 0]])
    return np.flatnonzero(used > room.output_axons).tolist()  # type: ignore[no-any-return]
