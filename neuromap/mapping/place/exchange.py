"""Exchange cores until no exchange saves, or until every target can be reached."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.array_types import Ints
from neuromap.arrays.packed_rows import rows_of_entries
from neuromap.mapping.place.board import FEW_CORES, Board, Deadline, Wiring, improve_few

# Starting temperatures, relative to the root mean square cost change of a random exchange, and shares of the work.
#
# A cold start keeps the large-scale structure of a good layout, a hot one loses it: which is better depends on the
# graph.
_ROUNDS = ((1 / 100, 0.25), (1 / 32, 0.5), (1 / 8, 1.0))
_LARGE_ROUNDS = ((1 / 32, 1.0),)
_REPAIR_HEAT, _REPAIR_SHARE = 1 / 32, 0.5
# With at most this many proposals per core and temperature, there is at most one round.
_FEW_PROPOSALS = 8
# With so few proposals, there is no round at all if more than this share of the pairs of cores is wired.
#
# A core wired to so many has no place much better than others: on 3,200 cores with two thirds of the pairs wired,
# annealing saves 0.3 % of the hops that a descent leaves, and takes three times as long.
_MOST_WIRED = 1 / 4


def exchange(start: Ints, wiring: Wiring, board: Board, *, seed: int, deadline: Deadline) -> Ints:
    """Improve a layout, ignoring reach and blocked routes."""
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
    """Exchange cores so that every target is within reach and no route is blocked, as far as possible."""
    # shapes: start (n_cores, 2); returns (n_cores, 2)
    degree = np.add.reduceat(np.append(wiring.weight, 0.0), wiring.start[:-1])[np.diff(wiring.start) > 0]
    # one fault costs more than any exchange can save in route cost
    dear = 2.0 * float(degree.max()) * float(board.along_x[-1] + board.along_y[-1] + 1) + 1
    if wiring.n_cores <= FEW_CORES:
        return improve_few(start, wiring, board, seed=seed, deadline=deadline, penalty=dear)
    layout = ManyCores(start, wiring, board, dear)
    layout.descend(deadline)
    if faults(layout.where, wiring, board):
        # at so high a penalty nothing moves; one close to the route cost lets the layout cross a ridge
        layout = ManyCores(layout.where, wiring, board, float(degree.mean()))
        layout.anneal(seed, deadline, _REPAIR_HEAT, _REPAIR_SHARE * proposals_per_core(wiring))
        layout = ManyCores(layout.where, wiring, board, dear)
        layout.descend(deadline)
    return layout.where


# Exchanges of many cores, compiled: simulated annealing, and a descent to a local optimum.
#
# The annealing follows VPR (Betz and Rose, FPL 1997): the acceptance rate sets the cooling, and the range of proposed
# places shrinks so that this rate stays near 44 %. Some places are drawn near a neighbour of the core, where it is
# likely to fit well. Work grows with cores times their degree, not with the square of the cores.
Floats = NDArray[np.float32]
_WANTED_RATE = 0.44
# Lowest temperature, relative to the mean cost of a pair.
_COLDEST = 0.02
# Approximate number of temperatures of an annealing.
_STAGES = 85
# Approximate limit on the pair terms that an annealing computes; a minute or two on one thread.
_MOST_WORK = 6e9
# Proposals per core and temperature.
_LEAST_PROPOSALS, _MOST_PROPOSALS = 2, 100
# Share of the remaining time that an annealing uses; the descent after it takes the rest.
_USABLE_TIME = 0.8
_MOST_SWEEPS = 200
# Maximum number of pairs of cores for which a table of all weights is kept: 128 MiB.
_MOST_PAIRS = 2**25
# Share of wired pairs from which adding up all pairs is faster than looking up the wired ones.
_DENSE = 1 / 32
# 32-bit floats represent all whole numbers up to this.
_EXACT = 2**24


def proposals_per_core(wiring: Wiring) -> float:
    """Exchanges to propose per core at each temperature, which bounds the work of an annealing."""
    entries = max(wiring.n_cores, len(wiring.neighbour))
    return float(np.clip(_MOST_WORK / (_STAGES * 2 * entries), _LEAST_PROPOSALS, _MOST_PROPOSALS))


class ManyCores:
    """A layout being improved, in the arrays of the compiled code."""

    # where: (n_cores, 2): x and y of every core

    def __init__(self, where: Ints, wiring: Wiring, board: Board, penalty: float = 0.0) -> None:
        from neuromap.compiling import announced
        from neuromap.mapping.place.exchange_kernel import UNUSABLE, VACANT, compiled

        self._kernels, self._announced = compiled(), announced
        self._wiring, self._board = wiring, board
        self.where = np.array(where, np.int64)
        along = np.stack([board.along_x[where[:, 0]], board.along_y[where[:, 1]]], axis=1)
        occupant = np.where(board.usable, VACANT, UNUSABLE)
        occupant[where[:, 1], where[:, 0]] = np.arange(len(where))
        graph = (wiring.start, wiring.neighbour, wiring.weight, wiring.direction)
        axes = (board.along_x, board.along_y)
        limits = (int(board.reach[0]), int(board.reach[1]), board.dead_along_x, board.dead_along_y)
        penalty = penalty if board.is_strict else 0.0
        self._table = _table(wiring, board) if not penalty else np.zeros((0, 0), np.float32)
        dense = (self._table, np.ascontiguousarray(along.T, np.float32))
        self._arrays = (graph, dense, axes, limits, penalty, self.where, along, occupant, board.regions)

    def anneal(self, seed: int, deadline: Deadline, heat: float, per_core: float) -> None:
        """Anneal, with ``per_core`` proposals per core and temperature; ``heat`` sets the first temperature."""
        wiring, n = self._wiring, self._wiring.n_cores
        text = f"placing {n} cores"
        state = np.array([seed], np.uint64)
        radius = max(self._board.columns, self._board.rows)
        proposals = max(1, round(per_core * n))
        possible, _, _, squares = self._propose(np.inf, radius, n, state)
        temperature = heat * np.sqrt(squares / max(1, possible))
        now = cost(self.where, wiring, self._board)
        reach, stage, begun = float(radius), 0, time.monotonic()
        while temperature > _COLDEST * now / (len(wiring.neighbour) / 2) and not deadline.is_over:
            deadline.tell(stage, _STAGES, text)
            possible, made, change, _ = self._propose(temperature, max(1, round(reach)), proposals, state)
            rate = made / max(1, possible)
            now, stage = now + change, stage + 1
            if stage == 1 and deadline.at is not None:
                took = time.monotonic() - begun
                proposals = max(1, int(proposals * min(1.0, _USABLE_TIME * deadline.left_s() / (_STAGES * took))))
            reach = min(max(1.0, reach * (1 - _WANTED_RATE + rate)), radius)
            temperature *= _cooling(rate, reach)
        deadline.tell(_STAGES, _STAGES, text)

    def _propose(self, temperature: float, radius: int, proposals: int, state: NDArray[np.uint64]) -> Any:
        with self._announced("the placement for this processor"):
            return self._kernels.anneal(*self._arrays, float(temperature), radius, proposals, state)

    def descend(self, deadline: Deadline) -> None:
        """Exchange cores until no exchange saves."""
        ways = np.zeros((2, max(self._board.columns, self._board.rows)))
        prices = self._prices()
        tolerance = 1e-9 * (1.0 + cost(self.where, self._wiring, self._board) / self._wiring.n_cores)
        for sweep in range(_MOST_SWEEPS):
            deadline.tell(sweep, _MOST_SWEEPS, f"exchanging {self._wiring.n_cores} cores")
            with self._announced("the placement for this processor"):
                saved = self._kernels.descend(*self._arrays, prices, ways, tolerance)
            if not saved or deadline.is_over:
                break

    def _prices(self) -> Floats:
        """Price every core at every column and every row; empty without a table."""
        n, axes = len(self._table), (self._board.along_x, self._board.along_y)
        prices = np.zeros((n, 2, max(len(axes[0]), len(axes[1]))), np.float32)
        for number, axis in enumerate(axes if n else ()):
            away = np.abs(axis[self.where[:, number], None] - axis).astype(np.float32)
            prices[:, number, : len(axis)] = self._table @ away
        return prices


def _table(wiring: Wiring, board: Board) -> Floats:
    """Weights of all pairs of cores, where that is quicker and exact; else empty."""
    n = wiring.n_cores
    whole = all((np.mod(values, 1.0) == 0.0).all() for values in (wiring.weight, board.along_x, board.along_y))
    if not whole or n * n > _MOST_PAIRS or len(wiring.neighbour) < _DENSE * n * n:
        return np.zeros((0, 0), np.float32)
    degree = wiring.matrix().sum(axis=1).max()
    if 4 * degree * (board.along_x[-1] + board.along_y[-1]) >= _EXACT:
        return np.zeros((0, 0), np.float32)
    return np.asarray(wiring.matrix().astype(np.float32).toarray())


def _cooling(rate: float, reach: float) -> float:
    """Cooling factor, from the acceptance rate and the range of proposals."""
    if rate > 0.96:
        return 0.5
    if rate > 0.8:
        return 0.9
    return 0.95 if rate > 0.15 or reach > 1 else 0.9


# Cost of a layout: the length of its routes, and the pairs of cores left without a legal one.


@dataclass(frozen=True)
class Faults:
    """What makes a layout illegal."""

    far: tuple[int, int]  # greatest distance along x and y between wired cores
    too_far: int  # pairs of cores farther apart than a spike reaches
    blocked: int  # pairs of cores whose route meets a dead router or link

    def __bool__(self) -> bool:
        return bool(self.too_far or self.blocked)


def cost(where: Ints, wiring: Wiring, board: Board) -> float:
    """Add up the route cost of all wires: hops and chip boundaries."""
    # shapes: where (n_cores, 2)
    if not len(wiring.neighbour):
        return 0.0
    x, y = board.along_x[where[:, 0]], board.along_y[where[:, 1]]
    core = rows_of_entries(wiring.start)
    way = np.abs(x[core] - x[wiring.neighbour]) + np.abs(y[core] - y[wiring.neighbour])
    return float(wiring.weight @ way) / 2


def faults(where: Ints, wiring: Wiring, board: Board) -> Faults:
    """Count the pairs of cores that a layout cannot wire."""
    # shapes: where (n_cores, 2)
    if not len(wiring.source):
        return Faults((0, 0), 0, 0)
    start, end = where[wiring.source], where[wiring.target]
    way = np.abs(start - end)
    too_far = int((way > board.reach).any(axis=1).sum())
    blocked = int(board.blocked(start, end).sum())
    return Faults((int(way[:, 0].max()), int(way[:, 1].max())), too_far, blocked)
