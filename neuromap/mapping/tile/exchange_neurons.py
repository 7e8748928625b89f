"""Refine a cut: move neurons between tiles of their population while that saves axons, and empty tiles that can be.

Every step keeps the limits of both tiles, so that what comes out fits where what went in did. Neurons of a tile that
read the same items move together.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.array_types import Ints
from neuromap.arrays.packed_rows import ragged_ranges
from neuromap.loops import compiled_for, join_items, pays
from neuromap.mapping.core.core_of import CrossbarCore
from neuromap.mapping.options.budget import NO_LIMIT, Budget
from neuromap.mapping.tile.overlap_order import CORE_PRICE, AxonDemand
from neuromap.mapping.tile.tile_shapes import CutOrder

TABLE = 2**22
"""Tiles times items of a window: as many as are looked at together."""
PLAIN, WITHOUT_COMPILER = 30_000, 20_000_000
"""Tiles times items of a window up to which a plain loop is quick, and up to which nothing waits for a compiler."""
ROUNDS = 6
"""Times that every neuron of a window is offered a move."""


def exchange_neurons(
    cut: CutOrder, demand: AxonDemand, copies: Ints, core: CrossbarCore, budget: Budget = NO_LIMIT
) -> CutOrder:
    """Move neurons between tiles."""
    # gives it costs at most as much
    # shapes: copies (n,)
    tile_of = np.full(len(copies), -1, np.int64)
    tile_of[cut.neurons] = np.repeat(np.arange(len(cut.ends)), np.diff(cut.ends, prepend=0))
    alike, saved = _alike(demand), 0
    for shift in (0, 1):
        neurons = cut.neurons if shift == 0 else np.flatnonzero(tile_of >= 0)
        neurons = neurons[np.argsort(tile_of[neurons], kind="stable")]
        for low, high in _windows(demand, len(cut.ends), shift):
            inside = neurons[slice(*np.searchsorted(tile_of[neurons], (low, high)))]
            if len(inside) and not budget.is_over("tiling"):
                window = _Window(inside, alike, tile_of[inside] - low, high - low, demand, copies, core)
                saved += window.improve()
                tile_of[inside] = window.tile_of_neurons + low
    if saved <= 0:
        return cut
    neurons = np.flatnonzero(tile_of >= 0)
    order = np.lexsort((neurons, tile_of[neurons]))
    ends = np.flatnonzero(np.diff(tile_of[neurons][order], append=-1)) + 1
    return CutOrder(neurons[order], ends, cut.cost - saved)


def _alike(demand: AxonDemand) -> NDArray[np.uint64]:
    """Give neurons that read the same items the same number: the sum of a random number per item."""
    draw = np.random.Generator(np.random.Philox(key=0))
    mark = draw.integers(0, 2**63, len(demand.price), dtype=np.uint64)
    total = np.concatenate([np.zeros(1, np.uint64), np.cumsum(mark[demand.items], dtype=np.uint64)])
    sums: NDArray[np.uint64] = total[demand.indptr[1:]] - total[demand.indptr[:-1]]
    return sums


def _windows(demand: AxonDemand, n_tiles: int, shift: int) -> list[tuple[int, int]]:
    """Choose runs of tiles that are looked at together; with ``shift``, runs that lie across those."""
    width = TABLE // max(1, len(demand.price))
    width = max(2, width, math.isqrt(TABLE // demand.limit))  # items are numbered anew in a window
    if shift and width >= n_tiles:
        return []
    cuts = [*range(width // 2 if shift else 0, n_tiles, width), n_tiles]
    return [(low, high) for low, high in itertools.pairwise(cuts) if high - low > 1]


class _Window:
    """Some tiles, their neurons in groups that read the same, and who reads what how often."""

    def __init__(
        self,
        neurons: Ints,
        alike: NDArray[np.uint64],
        tile_of: Ints,
        n_tiles: int,
        demand: AxonDemand,
        copies: Ints,
        core: CrossbarCore,
    ) -> None:
        keys = alike[neurons] + tile_of.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)  # golden ratio: spreads tiles
        self._group_of = np.unique(keys, return_inverse=True)[1].astype(np.int64)
        n_groups = int(self._group_of.max()) + 1
        begin, end = demand.indptr[neurons], demand.indptr[neurons + 1]
        items = demand.items[ragged_ranges(begin, end - begin)]
        read = np.zeros(len(demand.price), bool)
        read[items] = True
        seen, items = np.flatnonzero(read), (np.cumsum(read) - 1)[items]
        indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(end - begin)])
        self._indptr, self._items = join_items(indptr, items, self._group_of, n_groups, len(seen))
        self._price = demand.price[seen]
        self._load = np.bincount(self._group_of, weights=copies[neurons], minlength=n_groups).astype(np.int64)
        self._tile = np.zeros(n_groups, np.int64)
        self._tile[self._group_of] = tile_of
        self._count = np.zeros((n_tiles, len(seen)), np.int32)
        np.add.at(self._count, (np.repeat(self._tile, np.diff(self._indptr)), self._items), 1)
        self._read = (self._count > 0).sum(axis=1)
        self._taken = np.bincount(self._tile, weights=self._load, minlength=n_tiles).astype(np.int64)
        self._groups = np.bincount(self._tile, minlength=n_tiles)
        self._limits = demand.limit, core.neurons
        work = len(self._items) * n_tiles
        is_few = work > PLAIN and not pays(work, without_compiler=WITHOUT_COMPILER)
        self._move: Callable[..., int] = move_few if is_few else compiled_for(_move, work)

    @property
    def tile_of_neurons(self) -> Ints:
        """Tile of every neuron of the window, from its first."""
        return self._tile[self._group_of]

    def improve(self) -> int:
        """Move groups as long as that pays; return what it saves."""
        before = self._cost()
        everyone = np.arange(len(self._load))
        for _ in range(ROUNDS):
            if not self._offer(everyone, whole=False):
                break
        for tile in np.lexsort((self._taken, self._read)).tolist():
            groups = np.flatnonzero(self._tile == tile)
            if len(groups):
                self._offer(groups, whole=True)
        return before - self._cost()

    def _cost(self) -> int:
        fed = int(((self._count > 0) @ self._price).sum())
        return CORE_PRICE * int(np.count_nonzero(self._groups)) + fed

    def _offer(self, groups: Ints, *, whole: bool) -> int:
        return self._move(
            groups, whole, self._indptr, self._items, self._price, self._load, self._tile, self._count, self._read,
            self._taken, self._groups, *self._limits, CORE_PRICE, np.full(len(groups), -1, np.int64),
        )  # fmt: skip


def _move(
    groups: Any,
    whole: bool,
    indptr: Any,
    items: Any,
    price: Any,
    load: Any,
    tile: Any,
    count: Any,
    read: Any,
    taken: Any,
    size: Any,
    axons: int,
    neurons: int,
    core: int,
    came_from: Any,
) -> int:
    """Move groups where that saves; ``whole``: all or none, if it saves in the end. Return how many were moved."""

    def transfer(u: int, origin: int, target: int) -> None:
        for k in range(indptr[u], indptr[u + 1]):
            item = items[k]
            count[origin, item] -= 1
            if count[origin, item] == 0:
                read[origin] -= 1
            if count[target, item] == 0:
                read[target] += 1
            count[target, item] += 1
        taken[origin] -= load[u]
        taken[target] += load[u]
        size[origin] -= 1
        size[target] += 1
        tile[u] = target

    moved, spent = 0, 0
    failed = False
    for g in range(len(groups)):
        u = groups[g]
        home = tile[u]
        freed = 0
        for k in range(indptr[u], indptr[u + 1]):
            if count[home, items[k]] == 1:
                freed += price[items[k]]
        if size[home] == 1:
            freed += core
        found, best = -1, 2**60 if whole else 1
        for t in range(len(read)):
            if t == home or size[t] == 0 or taken[t] + load[u] > neurons:
                continue
            fresh, paid = 0, -freed
            for k in range(indptr[u], indptr[u + 1]):
                if count[t, items[k]] == 0:
                    fresh += 1
                    paid += price[items[k]]
                    if paid >= best or read[t] + fresh > axons:
                        break
            if paid >= best or read[t] + fresh > axons:
                continue
            if not whole and paid == 0 and taken[t] <= taken[home]:
                continue  # no gain: then only towards fuller tiles, so that this ends
            found, best = t, paid
        if found < 0:
            if whole:
                failed = True
                break
            continue
        came_from[g] = home
        spent += best
        moved += 1
        transfer(u, home, found)
    if whole and (failed or spent >= 0):
        for g in range(len(groups)):
            if came_from[g] >= 0:
                transfer(groups[g], tile[groups[g]], came_from[g])
        moved = 0
    return moved


# Moves of groups between tiles where groups are few: all tiles are looked at together, item by item of one group.
#
# What :mod:`neuromap.mapping.tile.exchange_neurons` does in a plain loop, with the same moves.


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
