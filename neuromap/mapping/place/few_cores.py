"""Exchanges of few cores, in NumPy: every exchange is priced at once, so nothing has to be compiled."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neuromap.mapping.place.board import Board
from neuromap.mapping.place.deadline import Deadline
from neuromap.mapping.place.wiring import Wiring

__all__ = ["FEW_CORES", "improve_few"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

FEW_CORES = 64
"""Cores up to which compiling would take longer than all that is gained."""
_PLACES = 256
"""Places that are looked at: those nearest to the start."""
_MOST_KICKS = 80


def improve_few(start: Ints, wiring: Wiring, board: Board, *, seed: int, deadline: Deadline, penalty: float) -> Ints:
    """Take the best exchange until none saves; then shake and try again, some times."""
    # shapes: start (n_cores, 2); returns (n_cores, 2)
    layout = _FewCores(start, wiring, board, penalty if board.is_strict else 0.0)
    rng = np.random.default_rng(seed)
    least = layout.descend(deadline)
    best = layout.at.copy()
    near = 2 * wiring.n_cores  # places in the order of their distance from the start
    for _ in range(min(_MOST_KICKS, 12 * wiring.n_cores) if wiring.n_cores > 2 else 0):
        if deadline.is_over:
            break
        for core in rng.integers(0, wiring.n_cores, 3):
            places = np.flatnonzero(np.isfinite(layout.changes()[core, :near]))
            if len(places):
                layout.exchange(int(core), int(rng.choice(places)))
        found = layout.descend(deadline)
        if found < least - layout.tolerance:
            best, least = layout.at.copy(), found
        else:
            layout.go_to(best)
    return layout.places[best]


class _FewCores:
    """A layout that is being worked on; a place is its number in ``places``."""

    def __init__(self, start: Ints, wiring: Wiring, board: Board, penalty: float) -> None:
        y, x = np.nonzero(board.usable)
        places = np.stack([x, y], axis=1).astype(np.int64)
        near = np.full(len(places), np.iinfo(np.int64).max)
        for place in start:  # core by core: a board may have a million places
            near = np.minimum(near, np.abs(places - place).sum(axis=1))
        nearest = np.argsort(near, kind="stable")[:_PLACES]
        self.places = places[nearest]  # those of the start come first, as they are at distance 0
        number = np.full((board.rows, board.columns), -1, np.int64)
        number[self.places[:, 1], self.places[:, 0]] = np.arange(len(self.places))
        self._board, self._penalty = board, penalty
        self._weight: Floats = np.asarray(wiring.matrix().toarray(), np.float64)
        low, high = board.regions[:, None, :2], board.regions[:, None, 2:]
        self._wired = np.asarray(self._weight > 0, np.float64)
        inside: NDArray[np.bool_] = (low <= self.places) & (self.places <= high)
        self._allowed: NDArray[np.bool_] = np.asarray(inside.all(axis=2))
        self._feeds = np.zeros(self._weight.shape)
        self._feeds[wiring.source, wiring.target] = 1.0
        if penalty:
            self._blocked, self._excess = _faults_between(self.places, board)
        self.go_to(number[start[:, 1], start[:, 0]])
        self.tolerance = 1e-9 * (1.0 + float(self._weight.sum()))

    def go_to(self, at: Ints) -> None:
        """Take another layout: the place of every core."""
        self.at = at.copy()

    def exchange(self, core: int, place: int) -> None:
        """Send a core to a place, and the core that is there to the place of the first."""
        other = np.flatnonzero(self.at == place)
        self.at[other] = self.at[core]
        self.at[core] = place

    def descend(self, deadline: Deadline) -> float:
        """Take the best exchange while one saves; return the cost."""
        while True:
            changes = self.changes()
            best = int(np.argmin(changes))
            core, place = divmod(best, len(self.places))
            if not changes[core, place] < -self.tolerance or deadline.is_over:
                break
            self.exchange(core, place)
        return self.cost()

    def cost(self) -> float:
        """Cost of the layout."""
        return float(self._prices()[np.arange(len(self.at)), self.at].sum() / 2)

    def changes(self) -> Floats:
        """Change of cost by every exchange of a core with a place, shape (n_cores, places); infinite if not allowed."""
        prices: Floats = self._prices()
        now: Floats = prices[np.arange(len(self.at)), self.at]
        change: Floats = prices - now[:, None]
        # an exchanged pair stays as far apart as it was, but its own routes turn around
        theirs: Floats = prices[:, self.at].T - now + self._pairs() + self._pairs(turned=True)
        theirs[~self._allowed[:, self.at].T] = np.inf
        np.fill_diagonal(theirs, np.inf)
        change[:, self.at] += theirs
        change[~self._allowed] = np.inf
        return np.asarray(change)

    def _prices(self) -> Floats:
        """Cost of every core at every place if the others stay, shape (n_cores, places)."""
        x, y = self.places[self.at].T
        along_x, along_y = self._board.along_x, self._board.along_y
        in_column = self._weight @ np.abs(along_x[x][:, None] - along_x)
        in_row = self._weight @ np.abs(along_y[y][:, None] - along_y)
        prices = in_column[:, self.places[:, 0]] + in_row[:, self.places[:, 1]]
        if self._penalty:
            faults = self._feeds @ self._blocked[:, self.at].T + self._feeds.T @ self._blocked[self.at]
            prices += self._penalty * (faults + self._wired @ self._excess[self.at])
        return np.asarray(prices)

    def _pairs(self, *, turned: bool = False) -> Floats:
        """Cost of every pair of cores, shape (n_cores, n_cores); ``turned``: if both exchanged their places."""
        at = self.at
        x, y = self.places[at].T
        along_x, along_y = self._board.along_x[x], self._board.along_y[y]
        price = self._weight * (np.abs(along_x[:, None] - along_x) + np.abs(along_y[:, None] - along_y))
        if self._penalty:
            blocked = self._blocked[np.ix_(at, at)]
            forth, back = (blocked.T, blocked) if turned else (blocked, blocked.T)
            faults = self._feeds * forth + self._feeds.T * back
            price += self._penalty * (faults + self._wired * self._excess[np.ix_(at, at)])
        return np.asarray(price)


def _faults_between(places: Ints, board: Board) -> tuple[Floats, Floats]:
    """Whether the route between any two places is blocked, and how many cores it is beyond the reach."""
    k = len(places)
    start, end = np.repeat(places, k, axis=0), np.tile(places, (k, 1))
    blocked = board.blocked(start, end).reshape(k, k).astype(np.float64)
    excess = np.maximum(np.abs(start - end) - board.reach, 0).sum(axis=1).reshape(k, k)
    return blocked, excess.astype(np.float64)
