"""Place cores on the board so that spikes travel short ways: what holds whatever the placer, and what is refused."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from neuromap.arrays.array_types import Ints
from neuromap.errors import DoesNotFitError, InputError
from neuromap.files.messages import counted
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.mapping.options.budget import Progress
from neuromap.mapping.options.infeasibility import Remedy, refuse
from neuromap.mapping.options.options import PLACERS, SEEDS
from neuromap.mapping.place.board import Board, Deadline, Region, Wiring, best_reached, board_for, wiring
from neuromap.mapping.place.exchange import Faults, faults, repair
from neuromap.mapping.place.strategies import hilbert, row_major


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
    progress: Progress | None = None,
    by_tiles: bool = False,
) -> Ints:
    """Give every core of a partition its coordinates."""
    # A way costs its hops, and ``boundary_cost`` more for every chip boundary that it crosses. No core is placed where
    # the chip is dead; where a target is out of reach, or a dead router or link lies on its x-then-y route, cores are
    # exchanged until none is, whatever the placer.
    # regions: rectangle in which each core must lie, corners included; ``None`` for the whole board
    # boundary_cost: cost of crossing from one chip of the board to the next, in hops; by default ``boundary_hops`` of
    # the chip's router, and 0 where that is absent
    # seed: of the annealing; without ``seconds`` the same seed gives the same layout on every machine
    # by_tiles: as the board counts hops (``board.board_for``)
    # shapes: returns (n_cores, 2)
    strategy = PLACERS.find(placer)
    boundary_cost = chip.router.get("boundary_hops", 0.0) if boundary_cost is None else boundary_cost
    for name, value in (("boundary_cost", boundary_cost), ("seconds", seconds)):
        if value is not None and not (math.isfinite(value) and value >= 0):
            raise InputError(f"{name}: found {value}; allowed are numbers from 0")
    if not 0 <= seed < SEEDS:
        raise InputError(f"seed: found {seed}; allowed are integers from 0 to {SEEDS - 1}")
    deadline = Deadline.after(seconds, progress)
    board = board_for(n_cores, chip, regions, boundary_cost, by_tiles=by_tiles)
    room = int(board.usable.sum())
    if n_cores > room:
        text = f"{n_cores} cores are needed, {chip.name} has {room} that work"
        raise refuse(
            "cores", None, n_cores, room, text, [Remedy("chip.cores", n_cores, f"{counted(n_cores, 'core')} would do")]
        )
    graph = wiring(n_cores, wires)
    first = strategy(graph, board, seed, deadline)
    if placer not in PLACERS.ours:
        _require_places(placer, first, board)
    where = _legal(first, graph, board, seed, deadline)
    if not board.is_strict:
        return where
    wrong = faults(where, graph, board)
    if wrong:
        if wrong.too_far:
            raise _refuse_reach(wrong, first, graph, board, chip, seed)
        raise _refuse_routes(wrong, where, graph, board)
    return where


def _require_places(placer: str, found: Any, board: Board) -> None:
    """Refuse what a placer of another package gives, if it is no layout."""
    is_layout = isinstance(found, np.ndarray) and found.shape == board.regions[:, :2].shape and found.dtype == np.int64
    if is_layout:
        inside = ((board.regions[:, :2] <= found) & (found <= board.regions[:, 2:])).all()
        is_layout = bool(inside and board.usable[*found.T[::-1]].all() and len(np.unique(found, axis=0)) == len(found))
    if not is_layout:
        raise InputError(
            f"placer {placer}: gave no layout, which is x and y of every core (int64), each on a working place of its "
            "own within its region; choose another placer"
        )


def _legal(where: Ints, graph: Wiring, board: Board, seed: int, deadline: Deadline) -> Ints:
    """Repair a layout; if that fails, repair others. The first one without faults, or the one with the least."""
    if not board.is_strict or not faults(where, graph, board):
        return where
    best, least = where, math.inf
    for start, part in _starts(where, graph, board, seed, deadline):
        for tried in (start, repair(start, graph, part, seed=seed, deadline=deadline)):
            wrong = faults(tried, graph, board)
            if not wrong:
                return tried
            if wrong.too_far + wrong.blocked < least:
                best, least = tried, wrong.too_far + wrong.blocked
    return best


def _starts(where: Ints, graph: Wiring, board: Board, seed: int, deadline: Deadline) -> Iterator[tuple[Ints, Board]]:
    """Give layouts to be repaired, each with the part of the board on which its cores stay."""
    yield where, board
    side = _side(graph, board)
    if side is not None:
        yield row_major(graph, side, seed, deadline), side
    for strategy in (row_major, hilbert):
        yield strategy(graph, board, seed, deadline), board


def _side(graph: Wiring, board: Board) -> Board | None:
    """Keep the places that routes from one place lead to, if they are enough, on a board that defects cut apart."""
    reached = None if board.is_pinned.any() else best_reached(board)
    if reached is None or not graph.n_cores <= int(reached.sum()) < int(board.usable.sum()):
        return None
    return replace(board, usable=reached)


def _refuse_routes(wrong: Faults, where: Ints, graph: Wiring, board: Board) -> DoesNotFitError:
    """Say how many cores are cut off in the best layout that was found, and how many places are from any place."""
    cut_off = np.unique(graph.target[board.blocked(where[graph.source], where[graph.target])])
    text = (
        f"the routes of {counted(wrong.blocked, 'pair')} of cores meet dead routers or links in the best layout found, "
        f"so that {len(cut_off)} of {counted(len(where), 'core')} cannot be reached by all that feed them"
    )
    room, reached = int(board.usable.sum()), best_reached(board)
    if reached is not None and not reached[board.usable].all():
        text += f"; of {room} cores of the board that work, none reaches more than {reached.sum()}, itself included"
    advice = Remedy("chip.defects", None, "a board with fewer defects, or a network on fewer cores, may fit")
    return refuse("routes", None, wrong.blocked, 0, text, [advice])


def _refuse_reach(
    wrong: Faults, first: Ints, graph: Wiring, board: Board, chip: ChipSpec, seed: int
) -> DoesNotFitError:
    """Say how far the best layout that was found goes; a wider reach is tried as it would be on that chip."""
    axis = int(wrong.far[1] > board.reach[1] and wrong.far[0] <= board.reach[0])
    way, bound = wrong.far[axis], int(board.reach[axis])
    text = f"a target lies {counted(way, 'core')} away along {'xy'[axis]}, a {chip.name} spike reaches {bound}"
    remedies = [Remedy("cores", None, "a network on fewer cores may fit")]
    for enough in (max(wrong.far), max(faults(first, graph, board).far)):
        wider = replace(board, reach=np.maximum(board.reach, enough))
        if not faults(_legal(first, graph, wider, seed, Deadline()), graph, wider):
            remedies.insert(0, Remedy("chip.reach", enough, f"a reach of {enough} along x and y would do"))
            break
    return refuse("reach", None, way, bound, text, remedies)
