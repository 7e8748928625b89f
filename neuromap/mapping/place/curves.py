"""Orders in which places are filled: row by row, along a Hilbert curve, or around one core.

Near neighbours of the first two lie near. The last is for stars, whose wires all meet in one core: the others lie
around it, those with most wires nearest. No layout on any board is cheaper (the rearrangement inequality, with the
distances of a grid without an edge), so nothing is searched.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neuromap.mapping.place.board import Board
from neuromap.mapping.place.wiring import Wiring

__all__ = ["along_hilbert", "box", "hilbert_curve", "row_by_row", "star_layout"]

Ints = NDArray[np.int64]


def hilbert_curve(order: int) -> Ints:
    """Return the points of the Hilbert curve that fills a square of side ``2**order``; shape (4**order, 2)."""
    points = np.zeros((1, 2), np.int64)
    for k in range(order):
        side = 2**k
        flipped = points[:, ::-1]
        points = np.concatenate(
            [
                flipped,
                points + [0, side],
                points + [side, side],
                np.array([2 * side - 1, side - 1]) - flipped,
            ]
        )
    return points


def row_by_row(n_cores: int, board: Board) -> Ints:
    """Return usable places of a nearly square box, row by row, then those beyond it; shape (places, 2)."""
    width, height = box(n_cores, board)
    y, x = np.nonzero(board.usable)
    outside = np.maximum(x // width, y // height)
    order = np.lexsort((x, y, outside))
    return np.asarray(np.stack([x, y], axis=1)[order], np.int64)


def along_hilbert(n_cores: int, board: Board) -> Ints:
    """Return usable places of a nearly square box along a Hilbert curve, then those beyond; shape (places, 2)."""
    width, height = box(n_cores, board)
    curve = hilbert_curve(max(1, int(np.ceil(np.log2(max(board.columns, board.rows))))))
    curve = curve[(curve[:, 0] < board.columns) & (curve[:, 1] < board.rows)]
    curve = curve[board.usable[curve[:, 1], curve[:, 0]]]
    outside = (curve[:, 0] >= width) | (curve[:, 1] >= height)
    return np.asarray(curve[np.argsort(outside, kind="stable")], np.int64)


def box(n_cores: int, board: Board) -> tuple[int, int]:
    """Choose width and height of a nearly square box from (0, 0) with enough usable places, if there are."""
    width = min(board.columns, max(1, int(np.ceil(np.sqrt(n_cores)))))
    height = min(board.rows, max(1, -(-n_cores // width)))
    width = max(width, min(board.columns, -(-n_cores // height)))
    while int(board.usable[:height, :width].sum()) < n_cores and (width, height) != (board.columns, board.rows):
        if height < board.rows and (height <= width or width == board.columns):
            height += 1
        else:
            width += 1
    return width, height


def star_layout(wiring: Wiring, board: Board) -> Ints | None:
    """Lay out cores of which one is wired to all that are wired."""
    # gives proven to cost least; ``None`` where wires do not meet in one core, cores have regions, or the board has no
    # room for a whole diamond around it
    # shapes: returns (n_cores, 2)
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
