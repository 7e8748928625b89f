"""Cut an order of few units into tiles at least cost: a step for every place where a tile may begin.

What the plain loop of :mod:`neuromap.mapping.tile.cut.cut_order` does item by item, with the same tiles.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.ragged import ragged_ranges

__all__ = ["cut_few"]

Ints = NDArray[np.int64]
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
