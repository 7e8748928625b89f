"""Cores that must lie in given rectangles: find a layout that keeps them, near the one that was wanted."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from neuromap.mapping.place.board import Board
from neuromap.mapping.refused.infeasible import Remedy, refuse

__all__ = ["within_regions"]

Ints = NDArray[np.int64]


def within_regions(wanted: Ints, board: Board) -> Ints:
    """Move cores so that each lies in its region."""
    # shapes: wanted (n_cores, 2); returns (n_cores, 2)
    low, high = board.regions[:, :2], board.regions[:, 2:]
    if ((low <= wanted) & (wanted <= high)).all():
        return wanted
    pinned = np.flatnonzero(board.is_pinned)
    regions, region_of = np.unique(board.regions[pinned], axis=0, return_inverse=True)
    demand = np.bincount(region_of, minlength=len(regions))
    owner = _share_out(regions, demand, board)
    where = wanted.copy()
    for number in range(len(regions)):
        rows, columns = np.nonzero(owner == number)
        cores = pinned[region_of == number]
        where[cores] = _in_same_order(wanted[cores], np.stack([columns, rows], axis=1))
    taken = np.zeros_like(board.usable)
    taken[where[pinned, 1], where[pinned, 0]] = True
    return _give_way(where, np.flatnonzero(~board.is_pinned), taken, board)


def _share_out(regions: Ints, demand: Ints, board: Board) -> Ints:
    """Give every region as many of its usable places as it has cores; shape (rows, columns), -1 where nobody's."""
    # A greedy choice, the tightest region first, takes compact places; where regions overlap it may fail, and then a
    # maximum flow from regions to places decides.
    owner = np.full(board.usable.shape, -1, np.int64)
    room = np.array([board.usable[y0 : y1 + 1, x0 : x1 + 1].sum() for x0, y0, x1, y1 in regions])
    for number in np.argsort(room - demand, kind="stable"):
        x0, y0, x1, y1 = regions[number]
        y, x = np.nonzero((board.usable & (owner < 0))[y0 : y1 + 1, x0 : x1 + 1])
        if len(x) < demand[number]:
            return _by_flow(regions, demand, board)
        side = int(np.ceil(np.sqrt(demand[number])))
        order = np.lexsort((x, y, np.maximum(x // side, y // side)))[: demand[number]]
        owner[y0 + y[order], x0 + x[order]] = number
    return owner


def _by_flow(regions: Ints, demand: Ints, board: Board) -> Ints:
    from scipy.sparse.csgraph import maximum_flow  # slow to import

    rows, columns = board.usable.shape
    n, sink = len(regions), len(regions) + rows * columns + 1
    edges = [np.stack([np.zeros(n, np.int64), 1 + np.arange(n), demand])]  # the source is 0
    for number, (x0, y0, x1, y1) in enumerate(regions):
        y, x = np.nonzero(board.usable[y0 : y1 + 1, x0 : x1 + 1])
        place = 1 + n + (y0 + y) * columns + x0 + x
        edges.append(np.stack([np.full(len(place), 1 + number), place, np.ones_like(place)]))
    place = 1 + n + np.flatnonzero(board.usable.ravel())
    edges.append(np.stack([place, np.full(len(place), sink), np.ones_like(place)]))
    start, end, capacity = np.concatenate(edges, axis=1)
    graph = sparse.csr_array((capacity.astype(np.int32), (start, end)), shape=(sink + 1, sink + 1))
    found = maximum_flow(graph, 0, sink)
    total = int(demand.sum())
    if found.flow_value < total:
        text = f"{total} cores must lie in regions whose usable places hold {int(found.flow_value)} of them"
        advice = Remedy("pins.regions", None, "larger regions, or regions that overlap less, may hold them")
        raise refuse("cores", None, total, int(found.flow_value), text, [advice])
    flow = found.flow.tocoo()
    used = (flow.data > 0) & (flow.row >= 1) & (flow.row <= n)
    owner = np.full(rows * columns, -1, np.int64)
    owner[flow.col[used] - 1 - n] = flow.row[used] - 1
    return owner.reshape(rows, columns)


def _in_same_order(wanted: Ints, places: Ints) -> Ints:
    """Give places to cores so that both are in the same order along rows."""
    result = np.empty_like(wanted)
    result[np.lexsort(wanted.T)] = places[np.lexsort(places.T)]
    return result


def _give_way(where: Ints, cores: Ints, taken: NDArray[np.bool_], board: Board) -> Ints:
    """Send cores whose places were taken to the nearest vacant ones, one after the other."""
    stays = ~taken[where[cores, 1], where[cores, 0]]
    taken = taken.copy()
    taken[where[cores[stays], 1], where[cores[stays], 0]] = True
    y, x = np.nonzero(board.usable & ~taken)
    vacant = np.stack([x, y], axis=1)
    is_vacant = np.ones(len(vacant), bool)
    for core in cores[~stays]:
        way = np.abs(vacant - where[core]).sum(axis=1)
        nearest = int(np.argmin(np.where(is_vacant, way, np.iinfo(np.int64).max)))
        is_vacant[nearest] = False
        where[core] = vacant[nearest]
    return where
