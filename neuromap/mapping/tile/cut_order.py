"""Cut an order of units into tiles at least cost: the loops that the mapper spends its time in.

They run as they stand for small populations and are compiled for large ones, so that tiny networks wait for no
compiler.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from neuromap.arrays.array_types import Ints
from neuromap.arrays.packed_rows import ragged_ranges
from neuromap.loops import compiled_for, pays

NO_CUT = 2**62
"""Cost where there is no cut."""
PLAIN, FEW_WITHOUT_COMPILER = 300_000, 20_000_000
"""Items looked at up to which the plain loop is quick, and up to which units are cut a place at a time instead."""


class Cutter:
    """Cuts orders of the same units."""

    # shapes: load (units,)

    def __init__(
        self, indptr: Ints, items: Ints, price: Ints, load: Ints, limits: tuple[int, int], core: int, work: int
    ) -> None:
        self._units = (indptr, items, price, load, *limits, core)
        self._stamp = np.zeros(len(price), np.int64)
        self._clock = 0
        self._cost = np.zeros(len(load) + 1, np.int64)
        self._start = np.zeros(len(load) + 1, np.int64)
        is_few = work > PLAIN and not pays(work, without_compiler=FEW_WITHOUT_COMPILER)
        self._cut: Callable[..., int] = cut_few if is_few else compiled_for(_cut, work)

    def cost(self, order: Ints, *, greedy: bool = False) -> int:
        """Least cost of cutting an order, ``NO_CUT`` where a unit does not fit; ``greedy`` makes every tile longest."""
        self._clock = self._cut(order, *self._units, greedy, self._stamp, self._clock, self._cost, self._start)
        return int(self._cost[len(order)])

    def ends(self, order: Ints, *, greedy: bool = False) -> list[int]:
        """Where the tiles of the cheapest cut end, ascending; the order must be one that can be cut."""
        self.cost(order, greedy=greedy)
        ends = [len(order)]
        while ends[-1] > 0:
            ends.append(int(self._start[ends[-1]]))
        return ends[-2::-1]


def _cut(
    order: Any,
    indptr: Any,
    items: Any,
    price: Any,
    load: Any,
    axons: int,
    neurons: int,
    core: int,
    greedy: bool,
    stamp: Any,
    clock: int,
    cost: Any,
    start: Any,
) -> int:
    """Fill ``cost[j]``, the least cost of cutting ``order[:j]``, and ``start[j]``, where its last tile begins."""
    n = len(order)
    cost[0] = 0
    for j in range(1, n + 1):
        cost[j] = 2**62
    for i in range(n):
        if cost[i] == 2**62:
            continue
        clock += 1  # marks the items of this tile
        read, taken = 0, 0
        total = cost[i] + core
        last, best = i, 0
        for j in range(i, n):
            unit = order[j]
            taken += load[unit]
            if taken > neurons:
                break
            for k in range(indptr[unit], indptr[unit + 1]):
                item = items[k]
                if stamp[item] != clock:
                    stamp[item] = clock
                    read += 1
                    total += price[item]
            if read > axons:
                break
            last = j + 1
            best = total
            if not greedy and best < cost[last]:
                cost[last] = best
                start[last] = i
        if greedy and last > i:
            cost[last] = best
            start[last] = i
    return clock


def longest_run(load: Ints, neurons: int) -> int:
    """How many of the first in an order a core of so many neurons holds, by the neurons that each takes."""
    return int(np.searchsorted(np.cumsum(load), neurons, side="right"))


# Cut an order of few units into tiles at least cost: a step for every place where a tile may begin.
#
# What the plain loop of :mod:`neuromap.mapping.tile.cut_order` does item by item, with the same tiles.


_NO_CUT = 2**62


def cut_few(
    order: Ints,
    indptr: Ints,
    items: Ints,
    price: Ints,
    load: Ints,
    axons: int,
    neurons: int,
    core: int,
    greedy: bool,
    stamp: Ints,
    clock: int,
    cost: Ints,
    start: Ints,
) -> int:
    """Fill ``cost[j]``, the least cost of cutting ``order[:j]``, and ``start[j]``, where its last tile begins."""
    # shapes: order (n,)
    n = len(order)
    length = indptr[order + 1] - indptr[order]
    own = items[ragged_ranges(indptr[order], length)]
    begin = np.concatenate([np.zeros(1, np.int64), np.cumsum(length)])
    before = _place_before(own, np.repeat(np.arange(n), length))
    prices, taken = price[own], np.concatenate([np.zeros(1, np.int64), np.cumsum(load[order])])
    cost[0], cost[1 : n + 1] = 0, _NO_CUT
    longest = 1
    for i in range(n):
        if cost[i] == _NO_CUT:
            continue
        most = int(np.searchsorted(taken, taken[i] + neurons, side="right")) - 1
        end = min(most, i + 2 * longest)
        while True:
            where = slice(begin[i], begin[end])
            new = before[where] < i  # nobody of the tile has read the item yet
            ends = begin[i + 1 : end + 1] - begin[i]
            fits = int(np.searchsorted(np.concatenate([[0], np.cumsum(new)])[ends], axons, side="right"))
            if i + fits < end or end == most:
                break
            end = min(most, 2 * end - i)
        if fits == 0:
            continue
        longest = fits
        paid = np.concatenate([[0], np.cumsum(np.where(new, prices[where], 0))])[ends[:fits]]
        total = cost[i] + core + paid
        first = i + fits if greedy else i + 1
        total = total[first - i - 1 :]
        cheaper = total < cost[first : i + fits + 1]
        if greedy:
            cheaper[:] = True
        cost[first : i + fits + 1][cheaper] = total[cheaper]
        start[first : i + fits + 1][cheaper] = i
    return clock


def _place_before(own: Ints, place: Ints) -> Ints:
    """Give the last place before its own at which every item is read, -1 where there is none."""
    by_item = np.argsort(own, kind="stable")
    before = np.full(len(own), -1, np.int64)
    again = own[by_item][1:] == own[by_item][:-1]
    before[by_item[1:][again]] = place[by_item[:-1][again]]
    return before
