"""Arrivals, bounded: a spike's own time without others, and a cycle for every spike that it shares a link with.

``docs/network-on-chip.md`` has the proof; it holds for every order in which links serve spikes, as long as no link
idles while a spike waits for it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neuromap.simulation.noc.clock import RouterClock
from neuromap.simulation.noc.loads import Flow, port_spikes
from neuromap.simulation.noc.mesh import EAST, IN, OUT, Mesh, Ways

__all__ = ["arrival_bounds", "sharing_spikes", "unloaded_times"]

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


def unloaded_times(mesh: Mesh, clock: RouterClock, ways: Ways) -> Ints:
    """Cycles from release to arrival of spikes that meet no other."""
    # shapes: returns (n,)
    crossings = mesh.crossings(ways)
    ports = 0 if clock.port_cycles is None else 2 * clock.port_cycles
    return 2 + clock.hop_cycles * (ways.hops - crossings) + (clock.crossing_cycles + ports) * crossings


def sharing_spikes(mesh: Mesh, ways: Ways, flow: Flow | None = None, *, by_chip: bool = False) -> Ints:
    """Count for every spike the others that share at least one link with it."""
    # Two ways share one stretch, so every other spike joins a way once: those on a link of the way that were not on the
    # link before it. Joins are counted per router, and summed along the lines.
    # shapes: returns (n,)
    flow = Flow.of(mesh, ways) if flow is None else flow
    loads = flow.loads
    x, y, end_x, end_y = ways
    dx, dy = np.sign(end_x - x), np.sign(end_y - y)
    leaves, reached = _boundaries(mesh) if by_chip else (np.zeros(mesh.shape, np.bool_),) * 2
    straight = np.stack([*flow.starts[:2], *flow.enters])  # joins on the way from a link to the next in its direction
    straight = np.where(leaves[:4], 0, np.where(reached[:4], loads[:4] - 1, straight))

    shared: Ints = loads[IN, y, x] - 1
    along_x, along_y = np.where(dx < 0, 1, 0), np.where(dy < 0, 1, 0)
    second = np.where(dy == 0, OUT, 2 + along_y)
    first = np.where(dx == 0, second, along_x)
    start = np.where(first == OUT, 4, first)
    shared += np.where(leaves[first, y, x], 0, loads[first, y, x] - flow.starts[start, y, x])

    moves = np.flatnonzero(dx != 0)
    shared[moves] += _between(straight[:2], along_x[moves], x[moves], y[moves], end_x[moves], 1)
    turn = along_x[moves], np.where(second == OUT, 2, second - 2)[moves], y[moves], end_x[moves]
    load = loads[second[moves], y[moves], end_x[moves]]
    joins = np.where(reached[along_x[moves], y[moves], end_x[moves]], load - 1, load - flow.turns[turn])
    shared[moves] += np.where(leaves[second[moves], y[moves], end_x[moves]], 0, joins)

    rises = np.flatnonzero(dy != 0)
    column, line = end_x[rises], along_y[rises]
    shared[rises] += _between(straight[2:], line, y[rises], column, end_y[rises], 0)
    load = loads[OUT, end_y[rises], column]
    came = reached[2 + line, end_y[rises], column]
    shared[rises] += np.where(came, load - 1, load - flow.ends[line, end_y[rises], column])
    return shared


def arrival_bounds(mesh: Mesh, clock: RouterClock, ways: Ways, flow: Flow | None = None) -> Ints:
    """Bound the arrivals of spikes that are released together, whatever the order in which links serve them."""
    # gives cycles from the release to the arrival at the target core, at most
    # shapes: returns (n,)
    flow = Flow.of(mesh, ways) if flow is None else flow
    bounds = unloaded_times(mesh, clock, ways)
    if clock.port_cycles is None or mesh.chips == (1, 1):
        return bounds + sharing_spikes(mesh, ways, flow)
    waits = _others_at_ports(mesh, ways, flow) * clock.port_cycles
    return bounds + sharing_spikes(mesh, ways, flow, by_chip=True) + waits


def _others_at_ports(mesh: Mesh, ways: Ways, flow: Flow) -> Ints:
    """Spikes of others through the ports of the chips on every way, each chip counted once; 0 without a boundary."""
    spikes = port_spikes(mesh, flow.loads)
    x, y = ways.x // mesh.chip_columns, ways.y // mesh.chip_rows
    end_x, end_y = ways.end_x // mesh.chip_columns, ways.end_y // mesh.chip_rows
    rows = np.pad(spikes.cumsum(axis=1), ((0, 0), (1, 0)))
    columns = np.pad(spikes.cumsum(axis=0), ((1, 0), (0, 0)))
    along_x = rows[y, np.maximum(x, end_x) + 1] - rows[y, np.minimum(x, end_x)]
    along_y = columns[np.maximum(y, end_y) + 1, end_x] - columns[np.minimum(y, end_y), end_x]
    crossings = mesh.crossings(ways)
    others: Ints = np.where(crossings > 0, along_x + along_y - spikes[y, end_x] - 2 * crossings, 0)
    return others


def _boundaries(mesh: Mesh) -> tuple[Bools, Bools]:
    """Tell the links that leave a chip, and the routers that a spike reaches over such a link, by its direction."""
    leaves = np.zeros(mesh.shape, np.bool_)
    reached = np.zeros(mesh.shape, np.bool_)
    x, y = np.arange(mesh.columns), np.arange(mesh.rows)[:, None]
    first_x, last_x = (x % mesh.chip_columns == 0) & (x > 0), (x + 1) % mesh.chip_columns == 0
    first_y, last_y = (y % mesh.chip_rows == 0) & (y > 0), (y + 1) % mesh.chip_rows == 0
    last_x, last_y = last_x & (x + 1 < mesh.columns), last_y & (y + 1 < mesh.rows)
    for direction, (leaving, reaching) in enumerate(
        [(last_x, first_x), (first_x, last_x), (last_y, first_y), (first_y, last_y)], start=EAST
    ):
        leaves[direction] |= leaving
        reached[direction] |= reaching
    return leaves, reached


def _between(joins: Ints, backwards: Ints, start: Ints, line: Ints, end: Ints, axis: int) -> Ints:
    """Sum ``joins[backwards]`` over the routers strictly between start and end of a straight stretch."""
    sums: Ints = joins.cumsum(axis=axis + 1)
    low, high = np.minimum(start, end), np.maximum(start, end) - 1
    places = ((line, high), (line, low)) if axis == 1 else ((high, line), (low, line))
    between: Ints = sums[backwards, *places[0]] - sums[backwards, *places[1]]
    return between
