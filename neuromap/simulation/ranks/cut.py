"""Which rank has which cores: equal work, few wires between ranks, and neighbours on the board together."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neuromap.errors import InputError
from neuromap.hardware.program.chip_program import ChipProgram

__all__ = ["cut_cores"]

Ints = NDArray[np.int64]

_VISIT = 64
"""What visiting a core costs beside the axons that are fed: as much as so many of them."""
_SLACK = 0.02
"""By how much of the work a cut may miss its share, where fewer wires cross it there."""


def cut_cores(program: ChipProgram, n_ranks: int) -> Ints:
    """Give every core a rank: halves of the board, halves of these, and so on.

    Each cut goes through the rows or the columns of the board, whichever fewer wires cross; the placement has put cores
    that talk to each other side by side. The result depends on the program and the number of ranks alone.

    Parameters
    ----------
    program : ChipProgram
        What runs.
    n_ranks : int
        1 or more.

    Returns
    -------
    ndarray of int64, shape (C,)
        Ranks from 0; each has a core.

    Raises
    ------
    InputError
        If there are more ranks than cores.
    """
    if not 1 <= n_ranks <= program.n_cores:
        raise InputError(
            f"ranks: {n_ranks} for the {program.n_cores} cores of program {program.name}; each needs one, start "
            f"mpiexec -n {program.n_cores} or fewer"
        )
    wires = program.wires
    ends = np.stack([wires.core, wires.target_core], axis=1)
    fed = np.bincount(ends[:, 1], minlength=program.n_cores)
    fed += np.bincount(program.host.core, minlength=program.n_cores)
    rank = np.zeros(program.n_cores, np.int64)
    _divide(rank, np.arange(program.n_cores), n_ranks, program.coordinates.astype(np.int64), fed + _VISIT, ends)
    return rank


def _divide(rank: Ints, cores: Ints, n_ranks: int, places: Ints, work: Ints, ends: Ints) -> None:
    """Add to the ranks of some cores so that they are ``n_ranks`` ranks from the present one on."""
    if n_ranks == 1:
        return
    first = n_ranks // 2
    inside = ends[np.isin(ends, cores).all(axis=1)]
    cuts = [_cut(cores[_order(places[cores], axis)], first, n_ranks, work, inside) for axis in (0, 1)]
    _, ordered, position = min(cuts, key=lambda cut: cut[0])
    parts = (np.sort(ordered[:position]), np.sort(ordered[position:]))
    rank[parts[1]] += first
    for part, share in zip(parts, (first, n_ranks - first), strict=True):
        _divide(rank, part, share, places, work, inside)


def _order(places: Ints, axis: int) -> Ints:
    order: Ints = np.lexsort((places[:, 1 - axis], places[:, axis]))
    return order


def _cut(ordered: Ints, first: int, n_ranks: int, work: Ints, ends: Ints) -> tuple[int, Ints, int]:
    """Cut cores in an order near the share of ``first`` ranks: wires that cross, the order, cores before the cut."""
    done = np.append(0, np.cumsum(work[ordered]))
    aim, room = done[-1] * first / n_ranks, done[-1] * _SLACK
    allowed = np.arange(first, len(ordered) - (n_ranks - first) + 1)  # every rank needs a core
    missed = np.abs(done[allowed] - aim)
    allowed = allowed[missed <= max(room, missed.min())]
    crossing = _crossing(ordered, ends)[allowed]
    best = np.lexsort((np.abs(done[allowed] - aim), crossing))[0]
    return int(crossing[best]), ordered, int(allowed[best])


def _crossing(ordered: Ints, ends: Ints) -> Ints:
    """Count the wires between the cores before and after every cut of an order, shape (n + 1,)."""
    position = np.zeros(int(ordered.max()) + 1, np.int64)
    position[ordered] = np.arange(len(ordered))
    low, high = np.sort(position[ends], axis=1).T
    begin, end = (np.bincount(at + 1, minlength=len(ordered) + 2) for at in (low, high))
    crossing: Ints = np.cumsum(begin - end)[: len(ordered) + 1]
    return crossing
