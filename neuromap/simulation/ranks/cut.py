"""Which rank has which cores: equal work, few wires between ranks, and neighbours on the board together."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neuromap.errors import InputError
from neuromap.hardware.program.chip_program import ChipProgram

__all__ = ["cut_cores"]

Ints = NDArray[np.int64]
_Wires = tuple[Ints, Ints]
"""Pairs of cores, shape (n, 2), and how many wires each has."""

_AT_ONCE = 1024
"""Cores whose wires are counted at once: bounds the memory."""

_VISIT = 64
"""What visiting a core costs beside the axons that are fed: as much as so many of them."""
_SLACK = 0.02
"""By how much of the work a cut may miss its share, where fewer wires cross it there."""


def cut_cores(program: ChipProgram, n_ranks: int) -> Ints:
    """Give every core a rank: halves of the board, halves of these, and so on."""
    # Each cut goes through the rows or the columns of the board, whichever fewer wires cross; the placement has put
    # cores that talk to each other side by side. The result depends on the program and the number of ranks alone.
    # shapes: returns (C,)
    if not 1 <= n_ranks <= program.n_cores:
        raise InputError(
            f"ranks: {n_ranks} for the {program.n_cores} cores of program {program.name}; each needs one, start "
            f"{program.n_cores} or fewer"
        )
    ends, n_wires = _pairs(program)
    fed = np.bincount(ends[:, 1], n_wires, program.n_cores).astype(np.int64)
    fed += np.bincount(program.host.core, minlength=program.n_cores)
    rank = np.zeros(program.n_cores, np.int64)
    places = program.coordinates.astype(np.int64)
    _divide(rank, np.arange(program.n_cores), n_ranks, places, fed + _VISIT, (ends, n_wires))
    return rank


def _pairs(program: ChipProgram) -> _Wires:
    """List the pairs of cores that have wires, from and to, and count these; some cores at a time."""
    neurons, pairs, counts = np.arange(program.chip.neurons), [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for start in range(0, program.n_cores, _AT_ONCE):
        cores = np.arange(start, min(start + _AT_ONCE, program.n_cores))
        sent = program.sent_by(np.repeat(cores, len(neurons)), np.tile(neurons, len(cores)))
        found = np.unique((sent.spike // len(neurons) + start) * program.n_cores + sent.core, return_counts=True)
        pairs.append(found[0])
        counts.append(found[1])
    return np.stack(np.divmod(np.concatenate(pairs), program.n_cores), axis=1), np.concatenate(counts)


def _divide(rank: Ints, cores: Ints, n_ranks: int, places: Ints, work: Ints, wires: _Wires) -> None:
    """Add to the ranks of some cores so that they are ``n_ranks`` ranks from the present one on."""
    if n_ranks == 1:
        return
    first = n_ranks // 2
    mine = np.zeros(len(rank), np.bool_)
    mine[cores] = True
    between = mine[wires[0]].all(axis=1)
    inside = wires[0][between], wires[1][between]
    cuts = [_cut(cores[_order(places[cores], axis)], first, n_ranks, work, inside) for axis in (0, 1)]
    _, ordered, position = min(cuts, key=lambda cut: cut[0])
    parts = (np.sort(ordered[:position]), np.sort(ordered[position:]))
    rank[parts[1]] += first
    for part, share in zip(parts, (first, n_ranks - first), strict=True):
        _divide(rank, part, share, places, work, inside)


def _order(places: Ints, axis: int) -> Ints:
    order: Ints = np.lexsort((places[:, 1 - axis], places[:, axis]))
    return order


def _cut(ordered: Ints, first: int, n_ranks: int, work: Ints, wires: _Wires) -> tuple[int, Ints, int]:
    """Cut cores in an order near the share of ``first`` ranks: wires that cross, the order, cores before the cut."""
    done = np.append(0, np.cumsum(work[ordered]))
    aim, room = done[-1] * first / n_ranks, done[-1] * _SLACK
    allowed = np.arange(first, len(ordered) - (n_ranks - first) + 1)  # every rank needs a core
    missed = np.abs(done[allowed] - aim)
    allowed = allowed[missed <= max(room, missed.min())]
    crossing = _crossing(ordered, wires)[allowed]
    best = np.lexsort((np.abs(done[allowed] - aim), crossing))[0]
    return int(crossing[best]), ordered, int(allowed[best])


def _crossing(ordered: Ints, wires: _Wires) -> Ints:
    """Count the wires between the cores before and after every cut of an order, shape (n + 1,)."""
    position = np.zeros(int(ordered.max()) + 1, np.int64)
    position[ordered] = np.arange(len(ordered))
    low, high = np.sort(position[wires[0]], axis=1).T
    begin, end = (np.bincount(at + 1, wires[1], len(ordered) + 2).astype(np.int64) for at in (low, high))
    crossing: Ints = np.cumsum(begin - end)[: len(ordered) + 1]
    return crossing
