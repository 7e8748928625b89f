"""Exchanges of cores, compiled: annealing at one temperature, and a descent to a local optimum.

All compiled code is in this file, because Numba's disk cache checks only the file of an entry point. It is imported
only when a placement needs it: Numba is slow to import.

A pair of wired cores costs its weight times the distance of their coordinates along the board, plus the penalty, if
any, for every core beyond the reach and for every direction whose route is blocked. Exchanging core a with the occupant
of place (X, Y), a core or nothing, changes only the terms of a and of the other core: O(degree).

Common arguments: ``graph``, the row pointers, neighbours, weights and directions of a
:class:`~neuromap.mapping.place.board.Wiring`; ``axes``, ``along_x`` and ``along_y`` of the board; ``limits``, its reach
along x and y and the prefix sums of dead routers and links; ``where``, x and y of every core; ``along``, the same in
the coordinates of the axes; ``occupant``, the core at ``[y, x]`` or ``VACANT`` or ``UNUSABLE``; ``regions`` of the
cores.

Where many pairs are wired, ``dense`` holds the weights of all pairs as a table, and the coordinates of the cores, axis
by axis. Then the terms of an exchange are added up over all cores, many at a time, and a descent keeps the ``prices``
of every core at every column and row. All values are whole numbers that 32-bit floats represent exactly, so both ways
lead to the same layout. Otherwise the table is empty.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import njit, uint64

from neuromap.compiling import INSIDE, cached

VACANT, UNUSABLE = -1, -2
# Share of the proposals that draw a place near a neighbour of the core.
DIRECTED = 0.2
# Distance along either axis that counts as near.
NEAR = 2
# As in ``board.py``; repeated because the cache sees edits of this file only.
FORWARD, BACKWARD = 1, 2
_part = njit(error_model="numpy", **INSIDE)
# For sums of whole numbers, which have the same value in any order.
_exact = njit(error_model="numpy", fastmath={"reassoc", "nsz"}, **INSIDE)


class Kernels(NamedTuple):
    """Compiled entry points; their arrays are those of :class:`neuromap.mapping.place.board.ManyCores`."""

    anneal: Any
    """Propose exchanges at one temperature."""
    descend: Any
    """Make the best exchange of every core in turn."""


@_part
def _draw(state):  # type: ignore[no-untyped-def]
    """Return the next 64 random bits: SplitMix64, a counter and a mixing function (Steele et al. 2014)."""
    state[0] += uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> uint64(30))) * uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> uint64(27))) * uint64(0x94D049BB133111EB)
    return z ^ (z >> uint64(31))


@_part
def _below(state, n):  # type: ignore[no-untyped-def]
    return np.int64(((_draw(state) >> uint64(32)) * uint64(n)) >> uint64(32))


@_part
def _unit(state):  # type: ignore[no-untyped-def]
    return float(_draw(state) >> uint64(11)) / 2.0**53


@_part
def _is_crossed(counted, line, one, other):  # type: ignore[no-untyped-def]
    return counted[line, 2 * max(one, other) + 1] != counted[line, 2 * min(one, other)]


@_part
def _fault(limits, x, y, to_x, to_y, direction):  # type: ignore[no-untyped-def]
    """Count the cores beyond the reach and the blocked directions between a core and a neighbour."""
    reach_x, reach_y, dead_x, dead_y = limits
    count = max(abs(x - to_x) - reach_x, 0) + max(abs(y - to_y) - reach_y, 0)
    if direction & FORWARD and (_is_crossed(dead_x, y, x, to_x) or _is_crossed(dead_y, to_x, y, to_y)):
        count += 1
    if direction & BACKWARD and (_is_crossed(dead_x, to_y, to_x, x) or _is_crossed(dead_y, x, to_y, y)):
        count += 1
    return count


@_part
def _change(graph, axes, limits, penalty, where, along, core, x, y, other):  # type: ignore[no-untyped-def]
    """Cost change of all pairs of a core, except the one with ``other``, when it moves to (x, y)."""
    start, neighbour, weight, direction = graph
    to_x, to_y = axes[0][x], axes[1][y]
    from_x, from_y = along[core, 0], along[core, 1]
    change = 0.0
    for k in range(start[core], start[core + 1]):
        n = neighbour[k]
        if n != other:
            n_x, n_y = along[n, 0], along[n, 1]
            change += weight[k] * (abs(to_x - n_x) + abs(to_y - n_y) - abs(from_x - n_x) - abs(from_y - n_y))
    if penalty > 0.0:
        for k in range(start[core], start[core + 1]):
            n = neighbour[k]
            if n != other:
                n_x, n_y = where[n, 0], where[n, 1]
                now = _fault(limits, where[core, 0], where[core, 1], n_x, n_y, direction[k])
                change += penalty * (_fault(limits, x, y, n_x, n_y, direction[k]) - now)
    return change


@_part
def _turn(graph, limits, penalty, where, core, other):  # type: ignore[no-untyped-def]
    """Cost change of a pair of cores that exchange places: only their routes reverse."""
    start, neighbour, _, direction = graph
    for k in range(start[core], start[core + 1]):
        if neighbour[k] == other:
            x, y, to_x, to_y = where[core, 0], where[core, 1], where[other, 0], where[other, 1]
            now = _fault(limits, x, y, to_x, to_y, direction[k])
            return penalty * (_fault(limits, to_x, to_y, x, y, direction[k]) - now)
    return 0.0


@_part
def _is_inside(regions, core, x, y):  # type: ignore[no-untyped-def]
    return regions[core, 0] <= x <= regions[core, 2] and regions[core, 1] <= y <= regions[core, 3]


@_part
def _theirs(graph, axes, limits, penalty, where, along, core, other):  # type: ignore[no-untyped-def]
    """Cost change of an exchange beyond the core's own pairs."""
    x, y = where[core, 0], where[core, 1]
    change = _change(graph, axes, limits, penalty, where, along, other, x, y, core)
    if penalty > 0.0:
        change += _turn(graph, limits, penalty, where, core, other)
    return change


@_exact
def _change_in_table(table, spots, core, other, x, y):  # type: ignore[no-untyped-def]
    """Cost change of exchanging a core with the occupant of coordinates (x, y), over all pairs."""
    xs, ys, mine = spots[0], spots[1], table[core]
    from_x, from_y = xs[core], ys[core]
    change = np.float32(0.0)
    if other < 0:
        for n in range(len(mine)):
            change += mine[n] * (abs(x - xs[n]) + abs(y - ys[n]) - abs(from_x - xs[n]) - abs(from_y - ys[n]))
        return change
    theirs = table[other]
    for n in range(len(mine)):
        further = abs(x - xs[n]) + abs(y - ys[n]) - abs(from_x - xs[n]) - abs(from_y - ys[n])
        change += (mine[n] - theirs[n]) * further
    # as far apart as before: each of the two was counted as if the other one stayed
    return change + 2 * mine[other] * (abs(x - from_x) + abs(y - from_y))


@_exact
def _reprice(table, spots, prices, axes, core, other, x, y):  # type: ignore[no-untyped-def]
    """Update ``prices`` ahead of exchanging a core with the occupant of coordinates (x, y)."""
    from_x, from_y = spots[0, core], spots[1, core]
    shift = np.zeros(prices.shape[1:], np.float32)
    for i in range(len(axes[0])):
        shift[0, i] = abs(axes[0][i] - x) - abs(axes[0][i] - from_x)
    for i in range(len(axes[1])):
        shift[1, i] = abs(axes[1][i] - y) - abs(axes[1][i] - from_y)
    for n in range(len(table)):
        weight = table[core, n]
        if other >= 0:
            weight -= table[other, n]
        if weight != 0.0:
            for i in range(prices.shape[2]):
                prices[n, 0, i] += weight * shift[0, i]
                prices[n, 1, i] += weight * shift[1, i]


@_part
def _move(axes, dense, where, along, occupant, core, x, y):  # type: ignore[no-untyped-def]
    from_x, from_y = where[core, 0], where[core, 1]
    other = occupant[y, x]
    occupant[from_y, from_x] = other
    occupant[y, x] = core
    where[core, 0], where[core, 1] = x, y
    along[core, 0], along[core, 1] = axes[0][x], axes[1][y]
    if other >= 0:
        where[other, 0], where[other, 1] = from_x, from_y
        along[other, 0], along[other, 1] = axes[0][from_x], axes[1][from_y]
    table, spots = dense
    if len(table) > 0:
        spots[0, core], spots[1, core] = along[core, 0], along[core, 1]
        if other >= 0:
            spots[0, other], spots[1, other] = along[other, 0], along[other, 1]


def _anneal(  # type: ignore[no-untyped-def]
    graph, dense, axes, limits, penalty, where, along, occupant, regions, temperature, radius, proposals, state
):
    """Propose exchanges; return how many were possible and made, the cost change, and the sum of squared changes."""
    # A core and a place are drawn: near one of its neighbours (with probability ``DIRECTED``), or within ``radius``. At
    # infinite temperature no exchange is made: the mean square of the changes then tells where to start.
    start, neighbour = graph[0], graph[1]
    table, spots = dense
    possible, made, total, squares = 0, 0, 0.0, 0.0
    for _ in range(proposals):
        core = _below(state, len(where))
        degree = start[core + 1] - start[core]
        x, y, r = where[core, 0], where[core, 1], radius
        if degree > 0 and _unit(state) < DIRECTED:
            n = neighbour[start[core] + _below(state, degree)]
            x, y, r = where[n, 0], where[n, 1], min(radius, NEAR)
        low_x, high_x = max(x - r, regions[core, 0]), min(x + r, regions[core, 2])
        low_y, high_y = max(y - r, regions[core, 1]), min(y + r, regions[core, 3])
        if low_x > high_x or low_y > high_y:
            continue  # the neighbour is too far from the region
        x, y = low_x + _below(state, high_x - low_x + 1), low_y + _below(state, high_y - low_y + 1)
        other = occupant[y, x]
        if other in (core, UNUSABLE) or (other >= 0 and not _is_inside(regions, other, where[core, 0], where[core, 1])):
            continue
        if len(table) > 0:
            to_x, to_y = np.float32(axes[0][x]), np.float32(axes[1][y])
            change = np.float64(_change_in_table(table, spots, core, other, to_x, to_y))
        else:
            change = _change(graph, axes, limits, penalty, where, along, core, x, y, other)
            if other >= 0:
                change += _theirs(graph, axes, limits, penalty, where, along, core, other)
        possible += 1
        squares += change * change
        if temperature < np.inf and (change <= 0.0 or _unit(state) < np.exp(-change / temperature)):
            _move(axes, dense, where, along, occupant, core, x, y)
            made += 1
            total += change
    return possible, made, total, squares


@_part
def _add_up_ways(graph, axes, along, core, ways):  # type: ignore[no-untyped-def]
    """Fill ``ways`` with the route cost of a core along either axis: ``[0, x]`` plus ``[1, y]`` at (x, y)."""
    start, neighbour, weight, _ = graph
    ways[:] = 0.0
    for k in range(start[core], start[core + 1]):
        n_x, n_y, w = along[neighbour[k], 0], along[neighbour[k], 1], weight[k]
        for i in range(len(axes[0])):
            ways[0, i] += w * abs(axes[0][i] - n_x)
        for i in range(len(axes[1])):
            ways[1, i] += w * abs(axes[1][i] - n_y)


@_part
def _has_fault(graph, limits, where, core):  # type: ignore[no-untyped-def]
    start, neighbour, _, direction = graph
    for k in range(start[core], start[core + 1]):
        n = neighbour[k]
        if _fault(limits, where[core, 0], where[core, 1], where[n, 0], where[n, 1], direction[k]) > 0:
            return True
    return False


@_part
def _best_place(graph, axes, limits, penalty, where, along, occupant, regions, core, ways, dearest):  # type: ignore[no-untyped-def]
    """Find the exchange with the least cost change below ``dearest``; x and y are -1 if there is none."""
    # An exchange that saves has at least one core whose own pairs save, so only places where this core's pairs save are
    # checked; for a core without faults, these are places that cost it less by distance alone.
    low_x, low_y, high_x, high_y = regions[core, 0], regions[core, 1], regions[core, 2], regions[core, 3]
    now = ways[0, where[core, 0]] + ways[1, where[core, 1]]
    if penalty > 0.0 and _has_fault(graph, limits, where, core):
        now = np.inf  # any place may repair it
    least_y = np.inf
    for j in range(low_y, high_y + 1):
        least_y = min(least_y, ways[1, j])
    best, best_x, best_y = dearest, -1, -1
    for i in range(low_x, high_x + 1):
        if ways[0, i] + least_y >= now:
            continue
        for j in range(low_y, high_y + 1):
            other = occupant[j, i]
            if ways[0, i] + ways[1, j] >= now or other in (core, UNUSABLE):
                continue
            change = _change(graph, axes, limits, penalty, where, along, core, i, j, other)
            if other >= 0:
                if change >= 0.0 and penalty <= 0.0:
                    continue  # if it saves, the other core's turn finds it
                if not _is_inside(regions, other, where[core, 0], where[core, 1]):
                    continue
                change += _theirs(graph, axes, limits, penalty, where, along, core, other)
            if change < best:
                best, best_x, best_y = change, i, j
    return best, best_x, best_y


@_part
def _best_priced_place(table, prices, axes, where, occupant, regions, core, dearest):  # type: ignore[no-untyped-def]
    """Find the same place as :func:`_best_place`, from the prices of all cores."""
    along_x, along_y = prices[core, 0], prices[core, 1]
    low_x, low_y, high_x, high_y = regions[core, 0], regions[core, 1], regions[core, 2], regions[core, 3]
    from_x, from_y = where[core, 0], where[core, 1]
    now = along_x[from_x] + along_y[from_y]
    least_y = along_y[low_y : high_y + 1].min()
    best, best_x, best_y = dearest, -1, -1
    for i in range(low_x, high_x + 1):
        if along_x[i] + least_y >= now:
            continue
        for j in range(low_y, high_y + 1):
            change = np.float64(along_x[i] + along_y[j] - now)
            if change >= 0.0:
                continue
            other = occupant[j, i]
            if other in (core, UNUSABLE):
                continue
            if other >= 0:
                pair = table[core, other] * (abs(axes[0][i] - axes[0][from_x]) + abs(axes[1][j] - axes[1][from_y]))
                change += pair
                if change >= 0.0 or not _is_inside(regions, other, from_x, from_y):
                    continue
                theirs = prices[other]
                change += pair + theirs[0, from_x] + theirs[1, from_y] - theirs[0, i] - theirs[1, j]
            if change < best:
                best, best_x, best_y = change, i, j
    return best, best_x, best_y


def _descend(  # type: ignore[no-untyped-def]
    graph, dense, axes, limits, penalty, where, along, occupant, regions, prices, ways, tolerance
):
    """Make the best exchange of every core if it saves more than ``tolerance``; return the total saving."""
    # ``ways`` is scratch space for the cost of a core along either axis, shape (2, max(columns, rows)).
    start = graph[0]
    table, spots = dense
    saved = 0.0
    for core in range(len(where)):
        if start[core + 1] == start[core]:
            continue
        if len(table) > 0:
            change, x, y = _best_priced_place(table, prices, axes, where, occupant, regions, core, -tolerance)
        else:
            _add_up_ways(graph, axes, along, core, ways)
            change, x, y = _best_place(
                graph, axes, limits, penalty, where, along, occupant, regions, core, ways, -tolerance
            )
        if x >= 0:
            if len(table) > 0:
                to_x, to_y = np.float32(axes[0][x]), np.float32(axes[1][y])
                _reprice(table, spots, prices, axes, core, occupant[y, x], to_x, to_y)
            _move(axes, dense, where, along, occupant, core, x, y)
            saved -= change
    return saved


@cache
def compiled() -> Kernels:
    """Entry points for this machine, compiled on first call."""
    return Kernels(cached(_anneal), cached(_descend))
