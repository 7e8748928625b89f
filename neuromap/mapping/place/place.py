"""Place cores on the board so that spikes travel short ways: the contract of all placers, and their choice by name."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from neuromap.errors import InputError
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.mapping.asked.options import PLACERS, Placer
from neuromap.mapping.place.assignment import assignment_layout
from neuromap.mapping.place.board import Board, Faults, Region, board_for, cost, faults
from neuromap.mapping.place.curves import along_hilbert, hilbert_curve, row_by_row
from neuromap.mapping.place.deadline import Deadline
from neuromap.mapping.place.exchange import exchange, repair
from neuromap.mapping.place.regions import within_regions
from neuromap.mapping.place.spectral import spectral_layout
from neuromap.mapping.place.wiring import Wiring, weighted_hops, wiring
from neuromap.mapping.refused.infeasible import Remedy, refuse

__all__ = ["PLACERS", "Placer", "hilbert_curve", "place", "weighted_hops"]

Ints = NDArray[np.int64]


def place(
    n_cores: int,
    wires: tuple[Ints, Ints],
    chip: ChipSpec,
    placer: str = "auto",
    *,
    regions: Sequence[Region | None] | None = None,
    boundary_cost: float | None = None,
    seed: int = 0,
    seconds: float | None = None,
    progress: Callable[[int, int, str], None] | None = None,
) -> Ints:
    """Give every core of a partition its coordinates.

    A way costs its hops, and ``boundary_cost`` more for every chip boundary that it crosses. No core is placed where
    the chip is dead; where a target is out of reach, or a dead router or link lies on its x-then-y route, cores are
    exchanged until none is, whatever the placer.

    Parameters
    ----------
    n_cores : int
        Cores of the partition.
    wires : tuple of ndarray of int64
        Source core and target core of every neuron's target.
    chip : ChipSpec
        Board, reach and defects.
    placer : {"auto", "row-major", "hilbert", "spectral", "assignment", "exchange"}
        Rows of a square, a Hilbert curve, eigenvectors, SciPy's quadratic assignment (few cores only), exchanges by
        simulated annealing. ``auto`` is ``exchange``, whose work is bounded at every size.
    regions : sequence of (x0, y0, x1, y1) or None, optional
        Rectangle in which each core must lie, corners included; ``None`` for the whole board.
    boundary_cost : float, optional
        Cost of crossing from one chip of the board to the next, in hops; by default ``boundary_hops`` of the chip's
        router, and 0 where that is absent.
    seed : int
        Of the annealing; without ``seconds`` the same seed gives the same layout on every machine.
    seconds : float, optional
        Limit on the refinement. What it reaches then depends on the machine's speed.
    progress : callable, optional
        Called with parts done, parts in all, and what is being done.

    Returns
    -------
    ndarray of int64, shape (n_cores, 2)
        x and y, all different.

    Raises
    ------
    InputError
        On an unknown strategy, more cores than it can place, or a region, seed, cost or limit out of range.
    DoesNotFitError
        If the usable places or the regions do not hold the cores (limit ``cores``), a target lies farther than a
        spike can travel (``reach``), or every layout found has a blocked route (``routes``).
    """
    if placer not in PLACERS:
        raise InputError(f"placer {placer!r} is not known; choose one of {', '.join(PLACERS)}")
    boundary_cost = chip.router.get("boundary_hops", 0.0) if boundary_cost is None else boundary_cost
    for name, value in (("boundary_cost", boundary_cost), ("seconds", seconds)):
        if value is not None and not (math.isfinite(value) and value >= 0):
            raise InputError(f"{name}: found {value}; allowed are numbers from 0")
    if not 0 <= seed < 2**64:
        raise InputError(f"seed: found {seed}; allowed are integers from 0 to {2**64 - 1}")
    deadline = Deadline(None if seconds is None else time.monotonic() + seconds, progress)
    board = board_for(n_cores, chip, regions, boundary_cost)
    room = int(board.usable.sum())
    if n_cores > room:
        text = f"{n_cores} cores are needed, {chip.name} has {room} that work"
        raise refuse("cores", None, n_cores, room, text, [Remedy("chip.cores", n_cores, f"{n_cores} cores would do")])
    graph = wiring(n_cores, wires)
    first = _layout(graph, board, placer, seed, deadline)
    where = _legal(first, graph, board, seed, deadline)
    wrong = faults(where, graph, board)
    if wrong:
        raise _refusal(wrong, first, graph, board, chip, seed)
    return where


def _layout(graph: Wiring, board: Board, placer: str, seed: int, deadline: Deadline) -> Ints:
    """Let a strategy place the cores; of the chip's limits it keeps usable places and regions."""
    n = graph.n_cores
    if placer == "row-major":
        return within_regions(row_by_row(n, board)[:n], board)
    if placer == "spectral":
        return within_regions(spectral_layout(graph, board), board)
    if placer == "assignment":
        return within_regions(assignment_layout(along_hilbert(n, board), graph, board), board)
    curve = within_regions(along_hilbert(n, board)[:n], board)
    if placer == "hilbert":
        return curve
    starts = [curve] if deadline.is_over else [curve, within_regions(spectral_layout(graph, board), board)]
    start = min(starts, key=lambda where: cost(where, graph, board))
    return exchange(start, graph, board, seed=seed, deadline=deadline)


def _legal(where: Ints, graph: Wiring, board: Board, seed: int, deadline: Deadline) -> Ints:
    """Repair a layout; if that fails, repair others. The first one without faults, or the one with the least."""
    if not board.is_strict or not faults(where, graph, board):
        return where
    n = graph.n_cores
    best, least = where, math.inf
    for other in (where, row_by_row(n, board)[:n], along_hilbert(n, board)[:n]):
        plain = within_regions(other, board)
        for tried in (plain, repair(plain, graph, board, seed=seed, deadline=deadline)):
            wrong = faults(tried, graph, board)
            if not wrong:
                return tried
            if wrong.too_far + wrong.blocked < least:
                best, least = tried, wrong.too_far + wrong.blocked
    return best


def _refusal(wrong: Faults, first: Ints, graph: Wiring, board: Board, chip: ChipSpec, seed: int) -> Exception:
    """Make the refusal of the best layout that was found; a wider reach is tried as it would be on that chip."""
    if not wrong.too_far:
        text = f"the routes of {wrong.blocked} pairs of cores meet dead routers or links in the best layout found"
        advice = Remedy("chip.defects", None, "a board with fewer defects, or a network on fewer cores, may fit")
        return refuse("routes", None, wrong.blocked, 0, text, [advice])
    axis = int(wrong.far[1] > board.reach[1] and wrong.far[0] <= board.reach[0])
    way, bound = wrong.far[axis], int(board.reach[axis])
    text = f"a target lies {way} cores away along {'xy'[axis]}, a {chip.name} spike reaches {bound}"
    remedies = [Remedy("cores", None, "a network on fewer cores may fit")]
    for enough in (max(wrong.far), max(faults(first, graph, board).far)):
        wider = replace(board, reach=np.maximum(board.reach, enough))
        if not faults(_legal(first, graph, wider, seed, Deadline()), graph, wider):
            remedies.insert(0, Remedy("chip.reach", enough, f"a reach of {enough} along x and y would do"))
            break
    return refuse("reach", None, way, bound, text, remedies)
