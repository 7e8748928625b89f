"""Sets of places of a node that a core can hold: grown at random, and the one that is worth most at given prices."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp

__all__ = ["Places", "TileSets", "all_sets", "best_worth"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
GAP = 1e-3
"""Relative gap at which the solver may stop."""


class Places(NamedTuple):
    """Places of a node that have one and the same group of features, and what each reads."""

    reads: Bools
    """Which sources; shape (places, sources); those that are always read together are one."""
    width: Ints
    """Axons of every source."""
    copies: Ints
    """Neurons of a core that the neurons of every place take."""


def all_sets(places: Places, axons: int, most: int) -> list[Bools] | None:
    """List all sets that take so many axons, copies aside; ``None`` where there are more than ``most``."""
    width = np.repeat(np.arange(len(places.width)), places.width)  # a bit for every axon
    axons_of = [int("".join("01"[bit] for bit in row[width].astype(int)), 2) for row in places.reads]
    found: list[Bools] = []
    waiting = [([n], read, list(range(n + 1, len(axons_of)))) for n, read in enumerate(axons_of)]
    while waiting:
        members, read, others = waiting.pop()
        if len(found) == most:
            return None
        found.append(np.isin(np.arange(len(axons_of)), members))
        fit = [n for n in others if (read | axons_of[n]).bit_count() <= axons]  # part of a set that fits, fits
        waiting += [([*members, n], read | axons_of[n], fit[k + 1 :]) for k, n in enumerate(fit)]
    return found


def best_worth(places: Places, price: Floats, axons: int, seconds: float) -> tuple[Bools | None, float]:
    """Find the set that is worth most among those that take so many axons, by an integer program.

    Copies do not count.

    Returns
    -------
    ndarray of bool or None
        The set; ``None`` where none was found in time.
    float
        No set is worth more.
    """
    n, s = places.reads.shape
    place, source = np.nonzero(places.reads)
    k = len(place)
    row = np.concatenate([np.arange(k), np.arange(k), np.full(s, k)])
    column = np.concatenate([place, n + source, n + np.arange(s)])
    value = np.concatenate([np.ones(k), -np.ones(k), places.width])
    found = milp(
        np.concatenate([-price, np.zeros(s)]),
        integrality=np.concatenate([np.ones(n), np.zeros(s)]),
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(
            sparse.csr_array((value, (row, column)), shape=(k + 1, n + s)), -np.inf, np.append(np.zeros(k), axons)
        ),
        options={"time_limit": seconds, "mip_rel_gap": GAP},
    )
    bound = price.sum() if found.mip_dual_bound is None else -float(found.mip_dual_bound)
    return (None if found.x is None else found.x[:n] > 1 / 2), bound


class TileSets:
    """Sets that fit a core, each kept once.

    Parameters
    ----------
    places : Places
    room : (int, int)
        Axons and neurons of a core.
    """

    def __init__(self, places: Places, room: tuple[int, int]) -> None:
        self._places, self._room = places, room
        self._reads = places.reads.astype(np.float64)
        self._draw = np.random.Generator(np.random.Philox(key=0))
        self._known: set[bytes] = set()
        self.sets: list[Bools] = []

    def add(self, some: Bools) -> bool:
        """Keep a set, if it is new and fits; whether it was kept."""
        axons = self._places.width[self._places.reads[some].any(axis=0)].sum()
        if axons > self._room[0] or self._places.copies[some].sum() > self._room[1] or some.tobytes() in self._known:
            return False
        self._known.add(some.tobytes())
        self.sets.append(some)
        return True

    def grow(self, price: Floats, noise: float) -> Bools:
        """Grow a set from any place: next comes what is worth most for its new axons, as chance has it."""
        places, (axons, neurons) = self._places, self._room
        n = len(places.reads)
        some, read = np.zeros(n, bool), np.zeros(places.reads.shape[1], bool)
        taken, place = 0, int(self._draw.integers(n))
        while True:
            some[place] = True
            read |= places.reads[place]
            taken += int(places.copies[place])
            more = self._reads[:, ~read] @ places.width[~read]
            fits = ~some & (more + places.width[read].sum() <= axons) & (places.copies + taken <= neurons)
            if not fits.any():
                return some
            score = price / (1 + more) * np.exp(noise * self._draw.standard_normal(n))
            place = int(np.argmax(np.where(fits, score, -np.inf)))

    def grow_worthy(self, price: Floats, times: int) -> int:
        """Grow sets that are worth more than a core; return how many are new."""
        found = 0
        for attempt in range(times):
            some = self.grow(price + 1e-4, (0.1, 0.6)[attempt % 2])
            found += price @ some > 1 + GAP and self.add(some)
        return found
