"""Moves of groups between tiles where groups are few: all tiles are looked at together, item by item of one group.

What :mod:`neuromap.mapping.tile.cut.exchange_neurons` does in a plain loop, with the same moves.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["move_few"]

Ints = NDArray[np.int64]
_NEVER = 2**60


def move_few(
    groups: Ints,
    whole: bool,
    indptr: Ints,
    items: Ints,
    price: Ints,
    load: Ints,
    tile: Ints,
    count: NDArray[np.int32],
    read: Ints,
    taken: Ints,
    size: Ints,
    axons: int,
    neurons: int,
    core: int,
    came_from: Ints,
) -> int:
    """Move groups where that saves, and count them; ``whole``: all or none, if it saves in the end."""
    # load, tile: neurons that every group takes; its tile, which is changed
    # shapes: load, tile (groups,); count (tiles, items)

    def transfer(u: int, origin: int, target: int) -> None:
        own = items[indptr[u] : indptr[u + 1]]
        count[origin, own] -= 1
        read[origin] -= np.count_nonzero(count[origin, own] == 0)
        read[target] += np.count_nonzero(count[target, own] == 0)
        count[target, own] += 1
        taken[origin] -= load[u]
        taken[target] += load[u]
        size[origin] -= 1
        size[target] += 1
        tile[u] = target

    moved, spent, failed = 0, 0, False
    for g, u in enumerate(groups.tolist()):
        home, own = int(tile[u]), items[indptr[u] : indptr[u + 1]]
        prices = price[own]
        freed = int(prices[count[home, own] == 1].sum()) + (core if size[home] == 1 else 0)
        may = (size > 0) & (taken + load[u] <= neurons)
        may[home] = False
        where = np.flatnonzero(may)
        fresh = count[where[:, None], own] == 0
        paid = fresh @ prices - freed
        able = read[where] + fresh.sum(axis=1) <= axons
        if not whole:
            able &= (paid < 0) | ((paid == 0) & (taken[where] > taken[home]))  # without gain: only towards fuller tiles
        paid = np.where(able, paid, _NEVER)
        best = int(paid.argmin()) if len(paid) else 0
        if not len(paid) or paid[best] >= _NEVER:
            if whole:
                failed = True
                break
            continue
        came_from[g] = home
        spent += int(paid[best])
        moved += 1
        transfer(u, home, int(where[best]))
    if whole and (failed or spent >= 0):
        for g, u in enumerate(groups.tolist()):
            if came_from[g] >= 0:
                transfer(u, int(tile[u]), int(came_from[g]))
        moved = 0
    return moved
