"""Stars: all wires meet in one core. Their best layout is known, so that nothing is searched.

The others lie around that core, those with most wires nearest. No layout on any board is cheaper (the rearrangement
inequality, with the distances that a grid without an edge has), so what is found is proven.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neuromap.mapping.place.board import Board
from neuromap.mapping.place.curves import row_by_row
from neuromap.mapping.place.wiring import Wiring

__all__ = ["star_layout"]

Ints = NDArray[np.int64]


def star_layout(wiring: Wiring, board: Board) -> Ints | None:
    """Lay out cores of which one is wired to all that are wired.

    Parameters
    ----------
    wiring : Wiring
    board : Board

    Returns
    -------
    ndarray of int64, shape (n_cores, 2), or None
        Proven to cost least; ``None`` where wires do not meet in one core, cores have regions, or the board has no room
        for a whole diamond around it.
    """
    degree = np.diff(wiring.start)
    hub = int(degree.argmax())
    if not degree[hub] or 2 * degree[hub] != len(wiring.neighbour) or board.is_pinned.any() or board.is_strict:
        return None
    around = slice(wiring.start[hub], wiring.start[hub + 1])
    leaves = wiring.neighbour[around][np.argsort(-wiring.weight[around], kind="stable")]
    radius = _radius(len(leaves))
    if 2 * radius >= min(board.columns, board.rows):
        return None
    places = _diamond(radius)[: len(leaves) + 1]
    steps = np.diff(board.along_x[: 2 * radius + 1]), np.diff(board.along_y[: 2 * radius + 1])
    if any((step != 1).any() for step in steps) or not board.usable[places[:, 1], places[:, 0]].all():
        return None
    where = np.full((wiring.n_cores, 2), -1, np.int64)
    where[[hub, *leaves]] = places
    apart = np.flatnonzero(where[:, 0] < 0)  # they are wired to nothing
    if len(apart):
        taken = np.zeros_like(board.usable)
        taken[places[:, 1], places[:, 0]] = True
        free = row_by_row(wiring.n_cores, board)
        where[apart] = free[~taken[free[:, 1], free[:, 0]]][: len(apart)]
    return where


def _radius(n_leaves: int) -> int:
    """Give the least radius of a diamond that holds so many places besides its centre."""
    radius = 0
    while 2 * radius * (radius + 1) < n_leaves:
        radius += 1
    return radius


def _diamond(radius: int) -> Ints:
    """List the places of a diamond that touches both edges, those nearest to its centre first; shape (places, 2)."""
    y, x = np.mgrid[: 2 * radius + 1, : 2 * radius + 1]
    away = np.abs(x - radius) + np.abs(y - radius)
    order = np.lexsort((x.ravel(), y.ravel(), away.ravel()))
    order = order[away.ravel()[order] <= radius]
    places: Ints = np.stack([x.ravel()[order], y.ravel()[order]], axis=1).astype(np.int64)
    return places
