"""Orders in which places are filled: row by row, or along a Hilbert curve; near neighbours of an order lie near."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neuromap.mapping.place.board import Board

__all__ = ["along_hilbert", "box", "hilbert_curve", "row_by_row"]

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
