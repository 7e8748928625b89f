"""What a layout costs: the length of its ways, and the pairs of cores that it leaves without one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.ragged import rows_of_entries
from neuromap.mapping.place.board import Board
from neuromap.mapping.place.wiring import Wiring

__all__ = ["Faults", "cost", "faults", "weighted_hops"]

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Faults:
    """What makes a layout illegal."""

    far: tuple[int, int]  # the longest way along x and y that any wire takes
    too_far: int  # pairs of cores whose way is longer than a spike reaches
    blocked: int  # pairs of cores whose route meets a dead router or link

    def __bool__(self) -> bool:
        return bool(self.too_far or self.blocked)


def cost(where: Ints, wiring: Wiring, board: Board) -> float:
    """Add up what the ways of all wires cost: hops and chip boundaries."""
    # shapes: where (n_cores, 2)
    if not len(wiring.neighbour):
        return 0.0
    x, y = board.along_x[where[:, 0]], board.along_y[where[:, 1]]
    core = rows_of_entries(wiring.start)
    way = np.abs(x[core] - x[wiring.neighbour]) + np.abs(y[core] - y[wiring.neighbour])
    return float(wiring.weight @ way) / 2


def faults(where: Ints, wiring: Wiring, board: Board) -> Faults:
    """Find the pairs of cores that cannot be wired in a layout."""
    # shapes: where (n_cores, 2)
    if not len(wiring.source):
        return Faults((0, 0), 0, 0)
    start, end = where[wiring.source], where[wiring.target]
    way = np.abs(start - end)
    too_far = int((way > board.reach).any(axis=1).sum())
    blocked = int(board.blocked(start, end).sum())
    return Faults((int(way[:, 0].max()), int(way[:, 1].max())), too_far, blocked)


def weighted_hops(where: NDArray[np.integer], wires: tuple[Ints, Ints]) -> int:
    """Add up the ways of one spike over every wire: first along x, then along y.

    Parameters
    ----------
    where : ndarray of int, shape (n_cores, 2)
        x and y of every core.
    wires : tuple of ndarray of int64
        Source core and target core of every neuron's target.

    Returns
    -------
    int
        Links of the mesh that are crossed.

    Examples
    --------
    >>> import numpy as np
    >>> weighted_hops(np.array([[0, 0], [2, 1]]), (np.array([0, 0, 1]), np.array([1, 1, 1])))
    6
    """
    where = np.asarray(where, np.int64)
    return int(np.abs(where[wires[0]] - where[wires[1]]).sum())
