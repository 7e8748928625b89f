"""Whether neurons that read the host alone fit so many crossbar cores: an integer program, for some dozen neurons."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp

__all__ = ["fits"]

Ints = NDArray[np.int64]
_OPTIMAL, _INFEASIBLE = 0, 2


def fits(weights: Ints, core: tuple[int, int, int], cores: int, seconds: float, *, legal: bool) -> bool | None:
    """Say whether neurons fit so many cores.

    Parameters
    ----------
    weights : ndarray of int64, shape (n, s)
        At most as many distinct ones, 0 left out, as there are axon types; a source with both signs has two values.
    core : (int, int, int)
        Axons, neurons, axon types.
    cores : int
        How many.
    seconds : float
        After which the solver gives up.
    legal : bool
        Whether a yes is a legal mapping: then two types are each other's opposite in every neuron, so that two axons
        make any weights. Else two axons may always do, and a no is a proof.

    Returns
    -------
    bool or None
        ``None`` where the solver gave up.
    """
    program = _Program(weights, core, cores)
    if legal:
        program.oppose_two_types()
    answer = program.solve(seconds)
    return {_OPTIMAL: True, _INFEASIBLE: False}.get(answer)


class _Program:
    """A core has, all 0 or 1: neurons computed, sources read, read twice, of a type; signs of neurons for types."""

    def __init__(self, weights: Ints, core: tuple[int, int, int], cores: int) -> None:
        self._weights, self._cores = weights, cores
        self._axons, self._neurons, self._types = core
        self._mixed = np.flatnonzero((weights > 0).any(axis=0) & (weights < 0).any(axis=0))
        n, s, m, t = *weights.shape, len(self._mixed), self._types
        self._starts = np.cumsum([0, n, s, m, m * t, n * t])
        self._rows: list[list[tuple[int, int]]] = []
        self._low: list[float] = []
        self._high: list[float] = []
        for i in range(n):
            self._add([(self._computed(i, c), 1) for c in range(cores)], 1)
        for c in range(cores):
            self._describe(c)

    def _describe(self, c: int) -> None:
        n, s = self._weights.shape
        for i, j in np.argwhere(self._weights).tolist():
            self._add([(self._read(j, c), 1), (self._computed(i, c), -1)], 0)
        twice = [(self._twice(k, c), 1) for k in range(len(self._mixed))]
        self._add([*((self._read(j, c), 1) for j in range(s)), *twice], -np.inf, self._axons)
        self._add([(self._computed(i, c), 1) for i in range(n)], -np.inf, self._neurons)
        for k, j in enumerate(self._mixed.tolist()):
            kinds = [(self._kind(k, t, c), 1) for t in range(self._types)]
            self._add([*kinds, (self._twice(k, c), 1), (self._read(j, c), -1)], 0)
            for i in np.flatnonzero(self._weights[:, j]).tolist():
                self._agree(i, k, c, positive=bool(self._weights[i, j] > 0))

    def _agree(self, i: int, k: int, c: int, *, positive: bool) -> None:
        """Tie signs to types: a source with one axon has its weight in every neuron that reads it in this core."""
        for t in range(self._types):
            sign, kind, computed = self._sign(i, t, c), self._kind(k, t, c), self._computed(i, c)
            if positive:
                self._add([(sign, 1), (kind, -1), (computed, -1)], -1)
            else:
                self._add([(sign, 1), (kind, 1), (computed, 1)], -np.inf, 2)

    def oppose_two_types(self) -> None:
        """Let the first two types have opposite signs in every neuron."""
        for c in range(self._cores if len(self._mixed) else 0):
            for i in range(len(self._weights)):
                self._add([(self._sign(i, 0, c), 1), (self._sign(i, 1, c), 1)], 1, 1)

    def solve(self, seconds: float) -> int:
        """Return the solver's status. The first neuron is in the first core, for cores are alike."""
        size = self._cores * int(self._starts[-1])
        least = np.zeros(size)
        least[self._computed(0, 0)] = 1
        entries = [(row, column, factor) for row, some in enumerate(self._rows) for column, factor in some]
        row, column, factor = np.array(entries, np.int64).T
        matrix = sparse.csr_array((factor, (row, column)), shape=(len(self._rows), size))
        found = milp(
            np.zeros(size),
            integrality=np.ones(size),
            bounds=Bounds(least, 1),
            constraints=LinearConstraint(matrix, self._low, self._high),
            options={"time_limit": seconds},
        )
        return int(found.status)

    def _add(self, terms: Iterable[tuple[int, int]], low: float, high: float = np.inf) -> None:
        self._rows.append(list(terms))
        self._low.append(low)
        self._high.append(high)

    def _at(self, block: int, number: int, c: int) -> int:
        return c * int(self._starts[-1]) + int(self._starts[block]) + number

    def _computed(self, i: int, c: int) -> int:
        return self._at(0, i, c)

    def _read(self, j: int, c: int) -> int:
        return self._at(1, j, c)

    def _twice(self, k: int, c: int) -> int:
        return self._at(2, k, c)

    def _kind(self, k: int, t: int, c: int) -> int:
        return self._at(3, k * self._types + t, c)

    def _sign(self, i: int, t: int, c: int) -> int:
        return self._at(4, i * self._types + t, c)
