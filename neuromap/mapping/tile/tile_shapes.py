"""Tiles of a node with rows, columns and features: bands of uneven heights, cut at least cost, chunk by chunk.

Features are cut into equal chunks, and a chunk's image into bands of rows (or of columns). Within a band the neurons
are taken column by column, so that tiles are rectangles where that is cheapest and rectangles with a step where that
is. Heights of bands and ends of tiles are optimal for the chunk: both are shortest paths.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from dataclasses import dataclass

import numpy as np

from neuromap.arrays.array_types import Ints
from neuromap.arrays.frozen import ReadOnly
from neuromap.arrays.value import Value
from neuromap.mapping.core.core_of import CrossbarCore
from neuromap.mapping.tile.overlap_order import CORE_PRICE, NO_CUT, AxonDemand, Cutter

FINALISTS = 2
"""Sizes of chunks that are tried in full, after a quick look has ranked all."""
CLOSE = 1.1
"""Cost, as a multiple of the least at a quick look, up to which a size of chunks is tried in full."""
FINE = 6
"""Units of a tile below which units are halved: a core is filled to the size of a unit."""
EVERY_HEIGHT = 12
"""Heights of bands up to which each is tried; above, some."""
PATIENCE = 400
"""Times that every item may be looked at; beyond, tiles are made as long as they can be."""


@dataclass(frozen=True, eq=False)
class CutOrder(ReadOnly, Value):
    """An order of neurons and the tiles that it is cut into."""

    neurons: Ints  # (n,): positions within the population
    ends: Ints  # (tiles,): where the tiles end
    cost: int  # cores and what the tiles pay for their axons


def cut_single(order: Ints, demand: AxonDemand, copies: Ints, core: CrossbarCore) -> CutOrder | None:
    """Cut one order of single neurons; ``None`` where a neuron does not fit."""
    # gives the cheapest cut; where an exact search would take too long, tiles as long as they can be
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
    # copies: neurons of a core that each takes, at most as many as a core has; those with 0 are left out
    # gives ``None`` where a neuron does not fit a core even alone
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
        self._indptr, self._items = demand.of_units(self._unit, n_units)
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
        """Units of a tile that is about square."""
        rows = self._shape[0]
        band = self._band(chunk, 0, min(rows, 4), transposed=False)
        in_line = len(band) / max(1, len(cutter.ends(band, greedy=True)))
        return max(1.0, in_line, self._demand.limit / max(1.0, self._reads) / 2)

    def _band(self, chunk: int, low: int, high: int, *, transposed: bool) -> Ints:
        """Units of a band, column by column, without those that nobody reads."""
        rows, columns, _ = self._shape
        row, column = np.arange(rows)[None, :], np.arange(columns)[:, None]
        row, column = (row, column[low:high]) if transposed else (row[:, low:high], column)
        places = row * columns + column  # column by column
        places = places.T if transposed else places
        units = ((chunk * rows * columns + places.ravel())[:, None] * self._parts + np.arange(self._parts)).ravel()
        band: Ints = units[self._load[units] > 0]
        return band

    def _bands(self, chunk: int, *, transposed: bool) -> tuple[list[Ints], list[int], int] | None:
        """Units of the cheapest bands, from the first of the chunk, where their tiles end, and what they cost."""
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
        """Name what a chunk looks like, but for a shift of its items."""
        begin, end = self._indptr[low], self._indptr[high]
        items = self._items[begin:end]
        digest = hashlib.blake2b(digest_size=16)
        shifted = items - items.min(initial=self._items.max(initial=0))
        for part in (self._load[low:high], self._indptr[low : high + 1] - begin, shifted, self._demand.price[items]):
            digest.update(np.ascontiguousarray(part).tobytes())
        return digest.digest()


def _heights(rows: int, side: float) -> list[int]:
    """Heights of bands worth trying for tiles of that side: all small ones, and some of the others."""
    most = min(rows, 2 * math.ceil(side))
    return [h for h in range(1, most + 1) if h <= EVERY_HEIGHT or h % 4 == 0 or h in (most, rows)]
