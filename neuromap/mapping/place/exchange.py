"""Exchange cores until no exchange saves: simulated annealing, then a descent to a local optimum.

The annealing follows VPR (Betz and Rose, FPL 1997): the temperature falls as the share of accepted exchanges says, and
the places that are tried come nearer so that this share stays near 44 %. Some places are drawn near a neighbour of the
core, where it would like to be. Work grows with cores times their degree, not with the square of the cores.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.mapping.place.board import Board, cost, faults
from neuromap.mapping.place.deadline import Deadline
from neuromap.mapping.place.few_cores import FEW_CORES, improve_few
from neuromap.mapping.place.wiring import Wiring

__all__ = ["exchange", "repair"]

Ints = NDArray[np.int64]

_DIRECTED = 0.2
_ROUNDS = ((1 / 100, 0.25), (1 / 32, 0.5), (1 / 8, 1.0))
"""First temperatures, in standard deviations of the change by an exchange of any two places, and shares of the work.

A cold start keeps what a good layout has in the large, a hot one forgets it: which is better depends on the graph.
"""
_LARGE_ROUNDS = ((1 / 32, 1.0),)
_WANTED_RATE = 0.44
_COLDEST = 0.02
"""Lowest temperature, in mean costs of a pair."""
_MOST_SWEEPS = 200
_MOST_WORK = 6e9
"""Terms of pairs that an annealing computes at most, about; a minute or two on one thread."""
_MOST_PROPOSALS = 100
"""Per core and temperature."""
_FEW_PROPOSALS = 8
"""Where there is work for no more than so many, one round is all."""
_STAGES = 85
"""Temperatures of an annealing, about."""


def exchange(start: Ints, wiring: Wiring, board: Board, *, seed: int, deadline: Deadline) -> Ints:
    """Improve a layout; reach and blocked routes are not looked at.

    Parameters
    ----------
    start : ndarray of int64, shape (n_cores, 2)
        A layout that keeps usable places and regions.
    wiring : Wiring
    board : Board
    seed : int
    deadline : Deadline

    Returns
    -------
    ndarray of int64, shape (n_cores, 2)
        Never costs more than ``start``. Unless the time ran out, no exchange of two cores, or of a core and a vacant
        place, saves anything.
    """
    if not len(wiring.neighbour) or deadline.is_over:
        return start
    if wiring.n_cores <= FEW_CORES:
        return improve_few(start, wiring, board, seed=seed, deadline=deadline, penalty=0.0)
    per_core = _proposals_per_core(wiring)
    rounds = _ROUNDS if per_core > _FEW_PROPOSALS else _LARGE_ROUNDS
    best, least = start, cost(start, wiring, board)
    for number, (heat, share) in enumerate(rounds):
        if deadline.is_over:
            break
        layout = _Layout(start, wiring, board, 0.0)
        part = deadline.part(share / sum(later for _, later in rounds[number:]), number, len(rounds))
        layout.anneal(seed, part, heat, share * per_core)
        layout.descend(deadline)
        found = cost(layout.where, wiring, board)
        if found < least:
            best, least = layout.where, found
    if best is start:
        layout = _Layout(start, wiring, board, 0.0)
        layout.descend(deadline)
        best = layout.where
    return best


def _proposals_per_core(wiring: Wiring) -> float:
    """At a temperature, so that the work is bounded."""
    entries = max(wiring.n_cores, len(wiring.neighbour))
    return float(np.clip(_MOST_WORK / (_STAGES * 2 * entries), 2, _MOST_PROPOSALS))


def repair(start: Ints, wiring: Wiring, board: Board, *, seed: int, deadline: Deadline) -> Ints:
    """Exchange cores so that every target is within reach and no route is blocked, as far as that succeeds.

    Parameters
    ----------
    start : ndarray of int64, shape (n_cores, 2)
    wiring : Wiring
    board : Board
    seed : int
    deadline : Deadline
        When to stop at the latest.

    Returns
    -------
    ndarray of int64, shape (n_cores, 2)
        Ask :func:`~neuromap.mapping.place.board.faults` whether it is legal.
    """
    degree = np.add.reduceat(np.append(wiring.weight, 0.0), wiring.start[:-1])[np.diff(wiring.start) > 0]
    # one fault costs more than any exchange can save in ways
    dear = 2.0 * float(degree.max()) * float(board.along_x[-1] + board.along_y[-1] + 1) + 1
    if wiring.n_cores <= FEW_CORES:
        return improve_few(start, wiring, board, seed=seed, deadline=deadline, penalty=dear)
    layout = _Layout(start, wiring, board, dear)
    layout.descend(deadline)
    if faults(layout.where, wiring, board):
        layout = _Layout(layout.where, wiring, board, float(degree.mean()))
        layout.anneal(seed, deadline, 1 / 32, _proposals_per_core(wiring) / 2)
        layout = _Layout(layout.where, wiring, board, dear)
        layout.descend(deadline)
    return layout.where


class _Layout:
    """A layout that is being worked on, in the arrays of the compiled code."""

    def __init__(self, where: Ints, wiring: Wiring, board: Board, penalty: float) -> None:
        from neuromap.compiling.numba_cache import announced
        from neuromap.mapping.place.kernel import UNUSABLE, VACANT, compiled

        self._kernels, self._announced = compiled(), announced
        self._wiring, self._board = wiring, board
        self._penalty = penalty if board.is_strict else 0.0
        self.where = np.array(where, np.int64)
        at = np.stack([board.along_x[where[:, 0]], board.along_y[where[:, 1]]], axis=1)
        occupant = np.where(board.usable, VACANT, UNUSABLE)
        occupant[where[:, 1], where[:, 0]] = np.arange(len(where))
        graph = (wiring.start, wiring.neighbour, wiring.weight, wiring.direction)
        axes = (board.along_x, board.along_y)
        limits = (int(board.reach[0]), int(board.reach[1]), board.dead_along_x, board.dead_along_y)
        self._arrays = (graph, axes, limits, self._penalty, self.where, at, occupant, board.regions)

    def anneal(self, seed: int, deadline: Deadline, heat: float, per_core: float) -> None:
        """Anneal, with so many proposals per core and temperature."""
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
                proposals = max(1, int(proposals * min(1.0, 0.8 * deadline.left_s() / (_STAGES * took))))
            reach = min(max(1.0, reach * (1 - _WANTED_RATE + rate)), radius)
            temperature *= _cooling(rate, reach)
        deadline.tell(_STAGES, _STAGES, text)

    def _propose(self, temperature: float, radius: int, proposals: int, state: NDArray[np.uint64]) -> Any:
        with self._announced("the placement for this processor"):
            return self._kernels.anneal(*self._arrays, float(temperature), radius, proposals, _DIRECTED, state)

    def descend(self, deadline: Deadline) -> None:
        """Exchange until nothing is saved."""
        ways = np.zeros((2, max(self._board.columns, self._board.rows)))
        tolerance = 1e-9 * (1.0 + cost(self.where, self._wiring, self._board) / self._wiring.n_cores)
        for sweep in range(_MOST_SWEEPS):
            deadline.tell(sweep, _MOST_SWEEPS, f"exchanging {self._wiring.n_cores} cores")
            with self._announced("the placement for this processor"):
                saved = self._kernels.descend(*self._arrays, ways, tolerance)
            if not saved or deadline.is_over:
                break


def _cooling(rate: float, reach: float) -> float:
    """By how much the temperature falls, from the share of exchanges that were accepted."""
    if rate > 0.96:
        return 0.5
    if rate > 0.8:
        return 0.9
    return 0.95 if rate > 0.15 or reach > 1 else 0.9
