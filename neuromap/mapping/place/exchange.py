"""Exchange cores until no exchange saves, or until every target can be reached."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neuromap.mapping.place.board import Board
from neuromap.mapping.place.deadline import Deadline
from neuromap.mapping.place.few_cores import FEW_CORES, improve_few
from neuromap.mapping.place.layout_cost import cost, faults
from neuromap.mapping.place.many_cores import ManyCores, proposals_per_core
from neuromap.mapping.place.wiring import Wiring

__all__ = ["exchange", "repair"]

Ints = NDArray[np.int64]

_ROUNDS = ((1 / 100, 0.25), (1 / 32, 0.5), (1 / 8, 1.0))
"""First temperatures, in standard deviations of the change by an exchange of any two places, and shares of the work.

A cold start keeps what a good layout has in the large, a hot one forgets it: which is better depends on the graph.
"""
_LARGE_ROUNDS = ((1 / 32, 1.0),)
_REPAIR_HEAT, _REPAIR_SHARE = 1 / 32, 0.5
_FEW_PROPOSALS = 8
"""Where there is work for no more than so many per core and temperature, one round is all."""
_MOST_WIRED = 1 / 4
"""Share of all pairs of cores that are wired from which there is no round where there is so little work for it.

Who is wired to so many has no place that is much better than others: on 3,200 cores of which two thirds of the pairs
are wired, an annealing saves 0.3 % of the hops that a descent leaves, and takes three times as long.
"""


def exchange(start: Ints, wiring: Wiring, board: Board, *, seed: int, deadline: Deadline) -> Ints:
    """Improve a layout; reach and blocked routes are not looked at."""
    # shapes: start (n_cores, 2); returns (n_cores, 2)
    if not len(wiring.neighbour) or deadline.is_over:
        return start
    if wiring.n_cores <= FEW_CORES:
        return improve_few(start, wiring, board, seed=seed, deadline=deadline, penalty=0.0)
    per_core = proposals_per_core(wiring)
    rounds: tuple[tuple[float, float], ...] = _ROUNDS
    if per_core <= _FEW_PROPOSALS:
        rounds = () if len(wiring.neighbour) > _MOST_WIRED * wiring.n_cores**2 else _LARGE_ROUNDS
    best, least = start, cost(start, wiring, board) if rounds else 0.0
    for number, (heat, share) in enumerate(rounds):
        if deadline.is_over:
            break
        work_left = sum(later for _, later in rounds[number:])
        layout = ManyCores(start, wiring, board)
        layout.anneal(seed, deadline.of_round(number, len(rounds), share / work_left), heat, share * per_core)
        layout.descend(deadline)
        found = cost(layout.where, wiring, board)
        if found < least:
            best, least = layout.where, found
    if best is start:
        layout = ManyCores(start, wiring, board)
        layout.descend(deadline)
        best = layout.where
    return best


def repair(start: Ints, wiring: Wiring, board: Board, *, seed: int, deadline: Deadline) -> Ints:
    """Exchange cores so that every target is within reach and no route is blocked, as far as that succeeds."""
    # shapes: start (n_cores, 2); returns (n_cores, 2)
    degree = np.add.reduceat(np.append(wiring.weight, 0.0), wiring.start[:-1])[np.diff(wiring.start) > 0]
    # one fault costs more than any exchange can save in ways
    dear = 2.0 * float(degree.max()) * float(board.along_x[-1] + board.along_y[-1] + 1) + 1
    if wiring.n_cores <= FEW_CORES:
        return improve_few(start, wiring, board, seed=seed, deadline=deadline, penalty=dear)
    layout = ManyCores(start, wiring, board, dear)
    layout.descend(deadline)
    if faults(layout.where, wiring, board):
        # where faults are so dear, nothing moves: at a price near that of ways the layout can cross a ridge
        layout = ManyCores(layout.where, wiring, board, float(degree.mean()))
        layout.anneal(seed, deadline, _REPAIR_HEAT, _REPAIR_SHARE * proposals_per_core(wiring))
        layout = ManyCores(layout.where, wiring, board, dear)
        layout.descend(deadline)
    return layout.where
