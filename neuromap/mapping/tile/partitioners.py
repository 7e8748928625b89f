"""The partitioners by name: each orders the neurons of a population, and cuts that order into tiles at least cost."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.array_types import Ints
from neuromap.arrays.packed_rows import ragged_ranges, rows_of_entries
from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.loops import TwoForms, join_items
from neuromap.mapping.core.core_model import CrossbarCore
from neuromap.mapping.options.budget import NO_LIMIT, Budget
from neuromap.mapping.options.options import Partitioner
from neuromap.mapping.tile.overlap_order import CORE_PRICE, NO_CUT, AxonDemand, Cutter, Units, overlap_order
from neuromap.mapping.tile.tile import key_of
from neuromap.registry import require_package

# Chunk sizes tried in full, after a quick look has ranked all.
FINALISTS = 2
# Cost, as a multiple of the least at the quick look, up to which a chunk size is tried in full.
CLOSE = 1.1
# Units of a tile below which units are halved: cores fill up only to the nearest unit.
FINE = 6
# Greatest band height up to which all are tried; above it, some.
EVERY_HEIGHT = 12
# Maximum number of visits per item; beyond, tiles are made as long as possible.
PATIENCE = 400


class CutOrder(NamedTuple):
    """An order of neurons and the tiles that it is cut into."""

    neurons: Ints  # (n,): positions within the population
    ends: Ints  # (tiles,): where the tiles end
    cost: int  # cores and what the tiles pay for their axons


def cut_single(order: Ints, demand: AxonDemand, copies: Ints, core: CrossbarCore) -> CutOrder | None:
    """Cut one order of single neurons; ``None`` where a neuron does not fit."""
    # returns the cheapest cut or, if an exact search would take too long, tiles as long as possible
    # shapes: copies (n,)
    items = int((demand.indptr[order + 1] - demand.indptr[order]).sum())
    longest = core.neurons // max(1, int(copies[order].min(initial=core.neurons)))
    greedy = min(longest, len(order)) > PATIENCE // 4
    work = items * (2 if greedy else min(longest, len(order)))
    cutter = _cutter(demand.indptr, demand, demand.items, copies, core, work)
    cost = cutter.cost(order, greedy=greedy)
    return None if cost == NO_CUT else CutOrder(order, np.array(cutter.ends(order, greedy=greedy), np.int64), cost)


def _cutter(indptr: Ints, demand: AxonDemand, items: Ints, load: Ints, core: CrossbarCore, work: int) -> Cutter:
    return Cutter(indptr, items, demand.price, load, (demand.limit, core.neurons), CORE_PRICE, work)


def cheapest_blocks(
    shape: tuple[int, int, int], demand: AxonDemand, copies: Ints, core: CrossbarCore
) -> CutOrder | None:
    """Find the cheapest tiles of a node with rows and columns."""
    # copies: of each neuron, at most as many as a core has neurons; those with 0 are left out
    # returns ``None`` if a neuron does not fit a core even alone
    # shapes: copies (n,)
    looks = []
    for chunk in (d for d in range(shape[2], 0, -1) if shape[2] % d == 0):
        look = _Chunked(shape, chunk, demand, copies, core).look()
        if look is not None:
            looks.append((look, -chunk))
    looks.sort()
    found = []
    for look, chunk in looks[:FINALISTS]:
        if look > CLOSE * looks[0][0]:
            break
        whole = _Chunked(shape, -chunk, demand, copies, core)
        found += [cut for transposed in (False, True) if (cut := whole.cut(transposed=transposed)) is not None]
    return min(found, key=lambda cut: cut.cost) if found else None


class _Chunked:
    """A node whose features are cut into chunks; a unit is the neurons of a chunk at one place, or a part of them."""

    def __init__(
        self, shape: tuple[int, int, int], chunk: int, demand: AxonDemand, copies: Ints, core: CrossbarCore
    ) -> None:
        rows, columns, features = shape
        self._shape, self._chunks = shape, features // chunk
        self._demand, self._copies, self._core = demand, copies, core
        per_place = float(copies.sum()) / max(1, rows * columns * self._chunks)
        parts = 1
        while chunk % (2 * parts) == 0 and per_place / parts > core.neurons / FINE:
            parts *= 2
        self._parts = parts
        r, c, f = np.unravel_index(np.arange(rows * columns * features), shape)
        unit = (((f // chunk) * rows + r) * columns + c) * parts + (f % chunk) // (chunk // parts)
        n_units = self._chunks * rows * columns * parts
        self._unit = np.where(copies > 0, unit, -1)
        self._load = np.bincount(unit, weights=copies, minlength=n_units).astype(np.int64)
        self._indptr, self._items = join_items(demand.indptr, demand.items, self._unit, n_units, len(demand.price))
        self._reads = len(self._items) / max(1, int(np.count_nonzero(self._load)))

    def look(self) -> float | None:
        """Cost per neuron of a core of the first chunk, cut greedily in even bands; ``None`` if a unit is too large."""
        rows, columns, _ = self._shape
        n = rows * columns * self._parts
        if (np.diff(self._indptr) > self._demand.limit).any() or (self._load > self._core.neurons).any():
            return None
        if not self._load[:n].any():
            return 0.0
        cutter = self._cutter(n, 4)
        side = math.sqrt(self._tile(cutter, 0) / self._parts)
        costs = []
        for height in sorted({max(1, math.floor(side)), math.ceil(side), 2 * math.ceil(side)}):
            bands = [self._band(0, row, min(rows, row + height), transposed=False) for row in range(0, rows, height)]
            costs.append(sum(cutter.cost(band, greedy=True) for band in bands))
        return min(costs) / float(self._load[:n].sum())

    def cut(self, *, transposed: bool) -> CutOrder | None:
        """Cut every chunk into bands and those into tiles; chunks that are alike are cut alike."""
        known: dict[bytes, tuple[list[Ints], list[int], int]] = {}
        orders, ends, total, done = [], [], 0, 0
        n = self._shape[0] * self._shape[1] * self._parts
        for chunk in range(self._chunks):
            base = chunk * n
            if not self._load[base : base + n].any():
                continue
            look = self._appearance(base, base + n)
            if look not in known:
                found = self._bands(chunk, transposed=transposed)
                if found is None:
                    return None
                known[look] = found
            bands, of_bands, cost = known[look]
            orders += [band + base for band in bands]
            ends += [done + end for end in of_bands]
            done, total = done + sum(map(len, bands)), total + cost
        return self._of_neurons(np.concatenate(orders), np.array(ends, np.int64), total)

    def _of_neurons(self, units: Ints, ends: Ints, cost: int) -> CutOrder:
        place = np.full(len(self._load), -1, np.int64)
        place[units] = np.arange(len(units))
        alive = np.flatnonzero(self._unit >= 0)
        where = place[self._unit[alive]]
        order = np.argsort(where, kind="stable")
        return CutOrder(alive[order], np.searchsorted(where[order], ends), cost)

    def _cutter(self, units: int, times: int) -> Cutter:
        work = int(len(self._items) * units / max(1, len(self._load))) * times
        return _cutter(self._indptr, self._demand, self._items, self._load, self._core, work)

    def _tile(self, cutter: Cutter, chunk: int) -> float:
        """Approximate number of units of a square tile."""
        rows = self._shape[0]
        band = self._band(chunk, 0, min(rows, 4), transposed=False)
        in_line = len(band) / max(1, len(cutter.ends(band, greedy=True)))
        return max(1.0, in_line, self._demand.limit / max(1.0, self._reads) / 2)

    def _band(self, chunk: int, low: int, high: int, *, transposed: bool) -> Ints:
        """Units of a band, column by column, without those that have no copies."""
        rows, columns, _ = self._shape
        row, column = np.arange(rows)[None, :], np.arange(columns)[:, None]
        row, column = (row, column[low:high]) if transposed else (row[:, low:high], column)
        places = row * columns + column  # column by column
        places = places.T if transposed else places
        units = ((chunk * rows * columns + places.ravel())[:, None] * self._parts + np.arange(self._parts)).ravel()
        band: Ints = units[self._load[units] > 0]
        return band

    def _bands(self, chunk: int, *, transposed: bool) -> tuple[list[Ints], list[int], int] | None:
        """Units of the cheapest bands, counted from the first of the chunk, the ends of their tiles, and their cost."""
        rows = self._shape[1] if transposed else self._shape[0]
        n = self._shape[0] * self._shape[1] * self._parts
        cutter = self._cutter(n, PATIENCE)
        per_tile = self._tile(cutter, chunk)
        heights = _heights(rows, math.sqrt(per_tile / self._parts))
        greedy = per_tile * len(heights) > PATIENCE
        cost, back = [0] + [NO_CUT] * rows, [0] * (rows + 1)
        for low in range(rows):
            for height in heights if cost[low] < NO_CUT else ():
                high = low + height
                if high > rows:
                    break
                more = cutter.cost(self._band(chunk, low, high, transposed=transposed), greedy=greedy)
                if more < NO_CUT and cost[low] + more < cost[high]:
                    cost[high], back[high] = cost[low] + more, low
        if cost[rows] == NO_CUT:
            return None
        cuts = [rows]
        while cuts[-1] > 0:
            cuts.append(back[cuts[-1]])
        bands, ends, done = [], [], 0
        for low, high in itertools.pairwise(cuts[::-1]):
            band = self._band(chunk, low, high, transposed=transposed)
            bands.append(band - chunk * n)
            ends += [done + end for end in cutter.ends(band, greedy=greedy)]
            done += len(band)
        return bands, ends, cost[rows]

    def _appearance(self, low: int, high: int) -> bytes:
        """Digest a chunk, up to a shift of its items."""
        begin, end = self._indptr[low], self._indptr[high]
        items = self._items[begin:end]
        shifted = items - items.min(initial=self._items.max(initial=0))
        ends = self._indptr[low : high + 1] - begin
        return key_of("", self._load[low:high], ends, shifted, self._demand.price[items])


def _heights(rows: int, side: float) -> list[int]:
    """Band heights worth trying for tiles of side ``side``: all small ones, and some of the others."""
    most = min(rows, 2 * math.ceil(side))
    return [h for h in range(1, most + 1) if h <= EVERY_HEIGHT or h % 4 == 0 or h in (most, rows)]


# Maximum of tiles times items of a window.
TABLE = 2**22
# Maximum number of rounds in which every neuron of a window is offered a move.
ROUNDS = 6


def exchange_neurons(
    cut: CutOrder, demand: AxonDemand, copies: Ints, core: CrossbarCore, budget: Budget = NO_LIMIT
) -> CutOrder:
    """Move neurons between tiles where that saves."""
    # returns a cut that costs at most as much
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
                tile_of[inside] = window.tile[window.group_of] + low
    if saved <= 0:
        return cut
    neurons = np.flatnonzero(tile_of >= 0)
    order = np.lexsort((neurons, tile_of[neurons]))
    ends = np.flatnonzero(np.diff(tile_of[neurons][order], append=-1)) + 1
    return CutOrder(neurons[order], ends, cut.cost - saved)


def _alike(demand: AxonDemand) -> NDArray[np.uint64]:
    """Hash the items of every neuron, as a sum of one random number per item."""
    draw = np.random.Generator(np.random.Philox(key=0))
    mark = draw.integers(0, 2**63, len(demand.price), dtype=np.uint64)
    total = np.concatenate([np.zeros(1, np.uint64), np.cumsum(mark[demand.items], dtype=np.uint64)])
    sums: NDArray[np.uint64] = total[demand.indptr[1:]] - total[demand.indptr[:-1]]
    return sums


def _windows(demand: AxonDemand, n_tiles: int, shift: int) -> list[tuple[int, int]]:
    """Choose runs of tiles to improve together; with ``shift``, runs that straddle those."""
    width = TABLE // max(1, len(demand.price))
    width = max(2, width, math.isqrt(TABLE // demand.limit))  # items are numbered anew in a window
    if shift and width >= n_tiles:
        return []
    cuts = [*range(width // 2 if shift else 0, n_tiles, width), n_tiles]
    return [(low, high) for low, high in itertools.pairwise(cuts) if high - low > 1]


class _Window:
    """Some tiles, their neurons in groups that read the same, and how often each tile reads each item."""

    # tile: of every group, counted from the window's first; group_of: of every neuron

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
        self.group_of = np.unique(keys, return_inverse=True)[1].astype(np.int64)
        n_groups = int(self.group_of.max()) + 1
        begin, end = demand.indptr[neurons], demand.indptr[neurons + 1]
        items = demand.items[ragged_ranges(begin, end - begin)]
        read = np.zeros(len(demand.price), bool)
        read[items] = True
        seen, items = np.flatnonzero(read), (np.cumsum(read) - 1)[items]
        indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(end - begin)])
        indptr, self._items = join_items(indptr, items, self.group_of, n_groups, len(seen))
        self._price = demand.price[seen]
        load = np.bincount(self.group_of, weights=copies[neurons], minlength=n_groups).astype(np.int64)
        self._units: Units = (indptr, self._items, self._price, load, demand.limit, core.neurons, CORE_PRICE)
        self.tile = np.zeros(n_groups, np.int64)
        self.tile[self.group_of] = tile_of
        self._count = np.zeros((n_tiles, len(seen)), np.int32)
        np.add.at(self._count, (np.repeat(self.tile, np.diff(indptr)), self._items), 1)
        self._read = (self._count > 0).sum(axis=1)
        self._taken = np.bincount(self.tile, weights=load, minlength=n_tiles).astype(np.int64)
        self._size = np.bincount(self.tile, minlength=n_tiles)
        self._loop = TwoForms(_move, move_few)

    def improve(self) -> int:
        """Move groups as long as that pays; return the saving."""
        before = self._cost()
        everyone = np.arange(len(self.tile))
        for _ in range(ROUNDS):
            if not self._offer(everyone, whole=False):
                break
        for tile in np.lexsort((self._taken, self._read)).tolist():
            groups = np.flatnonzero(self.tile == tile)
            if len(groups):
                self._offer(groups, whole=True)
        return before - self._cost()

    def _cost(self) -> int:
        fed = int(((self._count > 0) @ self._price).sum())
        return CORE_PRICE * int(np.count_nonzero(self._size)) + fed

    def _offer(self, groups: Ints, *, whole: bool) -> int:
        move = self._loop.form_for(len(self._items) * len(self._count) * len(groups) // len(self.tile))
        tiles = (self.tile, self._count, self._read, self._taken, self._size)
        return move(groups, whole, self._units, tiles, np.full(len(groups), -1, np.int64))


def _move(groups: Any, whole: bool, units: Any, tiles: Any, came_from: Any) -> int:
    """Move groups where that saves, or with ``whole`` all or none, if it saves in the end; return how many moved."""
    # units: the groups. tiles: tile of every group; how many of a tile's groups read each item; and the items read,
    # neurons taken and groups of every tile
    indptr, items, price, load, axons, neurons, core = units
    tile, count, read, taken, size = tiles

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
# Makes the same moves as the plain loop.
_NEVER = 2**60


def move_few(
    groups: Ints, whole: bool, units: Units, tiles: tuple[Ints, NDArray[np.int32], Ints, Ints, Ints], came_from: Ints
) -> int:
    """Move groups where that saves, or with ``whole`` all or none, if it saves in the end; return how many moved."""
    # shapes: tile (groups,); count (tiles, items)
    indptr, items, price, load, axons, neurons, core = units
    tile, count, read, taken, size = tiles

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


# Maximum number of items for which neurons are also ordered by overlap: of nodes with rows and columns, and of others.
FEW, MANY = 2**18, 2**25


class NeuronsToCut(NamedTuple):
    """The neurons to cut into tiles."""

    shape: tuple[int, int, int] | None  # of their node; ``None`` for relays
    demand: AxonDemand  # what they read
    copies: Ints  # (n,): copies of each; neurons with 0 are left out
    core: CrossbarCore  # limits
    seed: int  # of METIS

    @property
    def alive(self) -> Ints:
        """Neurons with copies, ascending."""
        return np.flatnonzero(self.copies > 0)

    @property
    def is_image(self) -> bool:
        """Whether their node has rows or columns."""
        return self.shape is not None and self.shape[0] * self.shape[1] > 1

    def cut(self, order: Ints) -> CutOrder | None:
        """Cut an order of them; ``None`` where a neuron does not fit."""
        return cut_single(order, self.demand, self.copies, self.core)


# Each orders neurons and cuts the order; ``None`` if a neuron does not fit, or the order takes too long to find.
Cuts = tuple[Callable[[NeuronsToCut], CutOrder | None], ...]


def cuts_by(
    partitioner: Partitioner, neurons: NeuronsToCut, budget: Budget = NO_LIMIT, *, exchanged: bool = True
) -> list[CutOrder]:
    """Cut the orders of a partitioner."""
    # returns the cheapest first; at least one
    cuts: list[CutOrder] = []
    for cut_order in CUTS[partitioner]:
        if not (cuts and budget.is_over("tiling")) and (cut := cut_order(neurons)) is not None:
            cuts.append(cut)
    if exchanged:
        cuts = [exchange_neurons(cut, neurons.demand, neurons.copies, neurons.core, budget) for cut in cuts]
    if not cuts:  # the demand is a guess: only a plan can tell
        alive = neurons.alive
        cuts = [CutOrder(alive, np.arange(1, len(alive) + 1), 0)]
    return sorted(cuts, key=lambda cut: cut.cost)


def _blocks(neurons: NeuronsToCut) -> CutOrder | None:
    """Cut blocks of rows, columns and features; without rows and columns, cut the neurons in numerical order."""
    if neurons.shape is not None and neurons.is_image:
        return cheapest_blocks(neurons.shape, neurons.demand, neurons.copies, neurons.core)
    return neurons.cut(neurons.alive)


def _overlap(neurons: NeuronsToCut) -> CutOrder | None:
    """Cut an order in which neurons that read the same are adjacent."""
    return neurons.cut(overlap_order(neurons.demand, neurons.copies, neurons.core))


def _metis(neurons: NeuronsToCut) -> CutOrder | None:
    """Cut the order of METIS, which is told how many tiles to expect: those of the neurons in numerical order."""
    as_numbered = neurons.cut(neurons.alive)
    tiles = max(1, len(as_numbered.ends)) if as_numbered is not None else 1
    return neurons.cut(metis_order(neurons.demand, neurons.copies, tiles, neurons.seed))


def _quick_overlap(neurons: NeuronsToCut) -> CutOrder | None:
    """Cut by overlap where that does not take too long."""
    few = len(neurons.demand.items) <= (FEW if neurons.is_image else MANY)
    return _overlap(neurons) if few else None


# One for every name in :data:`neuromap.mapping.options.options.PARTITIONERS`.
CUTS: Mapping[Partitioner, Cuts] = ReadOnlyMapping(
    {"auto": (_blocks, _quick_overlap), "blocks": (_blocks,), "overlap": (_overlap,), "metis": (_metis,)}
)


# Orders from METIS (extra ``partition``): parts of the graph that ties neurons to what they read.
#
# METIS does not know the axon limit of a core, so its parts, far finer than cores, only give an order; tiles are cut
# from it as from any other, and are legal. Parts of a recursive bisection are numbered so that neighbours are
# related.


# Parts per expected tile.
PARTS_PER_TILE = 4


def metis_order(demand: AxonDemand, copies: Ints, tiles: int, seed: int) -> Ints:
    """Order the neurons of a population by recursive bisection."""
    # Every item is a vertex of weight 0 that is tied to its readers (a star for each hyperedge), so that cut ties count
    # parts that read it.
    # shapes: copies (n,)
    require_package("partitioner metis", "pymetis", "partition", instead="choose overlap")
    import pymetis

    alive = np.flatnonzero(copies > 0)
    place = np.full(len(copies), -1, np.int64)
    place[alive] = np.arange(len(alive))
    reader = place[rows_of_entries(demand.indptr)]
    item = demand.items[reader >= 0]
    reader = reader[reader >= 0]
    read, item = np.unique(item, return_inverse=True)
    ends = np.concatenate([reader, len(alive) + item]), np.concatenate([len(alive) + item, reader])
    sort = np.lexsort((ends[1], ends[0]))
    n_vertices = len(alive) + len(read)
    begin = np.searchsorted(ends[0][sort], np.arange(n_vertices + 1))
    weights = np.concatenate([copies[alive], np.zeros(len(read), np.int64)])
    parts = min(max(1, len(alive) // 2), 2 ** (PARTS_PER_TILE * tiles - 1).bit_length())
    if parts < 2:
        return alive
    _, part = pymetis.part_graph(
        parts,
        pymetis.CSRAdjacency(begin.tolist(), ends[1][sort].tolist()),
        vweights=weights.tolist(),
        recursive=True,
        options=pymetis.Options(seed=seed % 2**31),
    )
    return alive[np.argsort(np.asarray(part, np.int64)[: len(alive)], kind="stable")]
