"""Loads of all links by many spikes at once: starts, turns and ends are counted, sums along the lines do the rest."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import adopted, freeze_arrays
from neuromap.arrays.value import Value
from neuromap.simulation.noc.mesh import EAST, IN, NORTH, OUT, SOUTH, WEST, Mesh, Ways

__all__ = ["Flow", "link_loads", "port_spikes"]

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Flow(Value):
    """Where spikes come into the mesh, where they turn, and where they leave it; flows of more spikes add up."""

    # (5, rows, columns): spikes that go from their core to east, west, north, south, or at once back into the core
    starts: Ints
    # (2, 3, rows, columns): spikes that come to a router eastwards or westwards and leave it to north, south, or into
    # the core
    turns: Ints
    ends: Ints  # (2, rows, columns): spikes that come to a router northwards or southwards and leave it into the core

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @classmethod
    def of(cls, mesh: Mesh, ways: Ways) -> Self:
        """Count the flow of spikes."""
        x, y, end_x, end_y = ways
        n = mesh.rows * mesh.columns
        dx, dy = np.sign(end_x - x), np.sign(end_y - y)
        along_y = np.where(dy > 0, 0, np.where(dy < 0, 1, 2))
        first = np.where(dx > 0, 0, np.where(dx < 0, 1, 2 + along_y))
        moves, rises = dx != 0, dy != 0
        start, turn, end = y * mesh.columns + x, y * mesh.columns + end_x, end_y * mesh.columns + end_x
        shape = (mesh.rows, mesh.columns)
        return cls(
            _count(first * n + start, (5, *shape)),
            _count(((first * 3 + along_y) * n + turn)[moves], (2, 3, *shape)),
            _count((along_y * n + end)[rises], (2, *shape)),
        )

    def __add__(self, other: Flow) -> Flow:
        return Flow(self.starts + other.starts, self.turns + other.turns, self.ends + other.ends)

    @cached_property
    def enters(self) -> Ints:
        """Spikes that come onto the links north and south of a router from core or row, shape (2, rows, columns)."""
        enters: Ints = self.starts[2:4] + self.turns[:, :2].sum(axis=0)
        return enters

    @cached_property
    def loads(self) -> Ints:
        """Spikes over every link, shape (6, rows, columns); see :class:`neuromap.simulation.noc.mesh.Mesh`."""
        loads = np.empty((6, *self.starts.shape[1:]), np.int64)
        along_x = self.starts[:2] - self.turns.sum(axis=1)
        np.cumsum(along_x[0], axis=1, out=loads[EAST])
        loads[WEST] = np.cumsum(along_x[1, :, ::-1], axis=1)[:, ::-1]
        along_y = self.enters - self.ends
        np.cumsum(along_y[0], axis=0, out=loads[NORTH])
        loads[SOUTH] = np.cumsum(along_y[1, ::-1], axis=0)[::-1]
        loads[IN] = self.starts.sum(axis=0)
        loads[OUT] = self.starts[4] + self.turns[:, 2].sum(axis=0) + self.ends.sum(axis=0)
        return adopted(loads)


def link_loads(mesh: Mesh, ways: Ways) -> Ints:
    """Count the spikes over every link."""
    # shapes: returns (6, rows, columns)
    return Flow.of(mesh, ways).loads


def port_spikes(mesh: Mesh, loads: Ints) -> Ints:
    """Count the spikes through the ports of every chip: those that leave it and those that enter it."""
    # shapes: loads (6, rows, columns); returns (rows of chips, columns of chips)
    chip_rows, chip_columns = mesh.chips
    spikes = np.zeros((chip_rows, chip_columns), np.int64)
    # boundaries between chips, per pair of chips side by side
    edge = np.arange(1, chip_columns) * mesh.chip_columns
    first_row = np.arange(chip_rows) * mesh.chip_rows
    across = np.add.reduceat(loads[EAST][:, edge - 1] + loads[WEST][:, edge], first_row, axis=0)
    spikes[:, :-1] += across
    spikes[:, 1:] += across
    edge = np.arange(1, chip_rows) * mesh.chip_rows
    first_column = np.arange(chip_columns) * mesh.chip_columns
    across = np.add.reduceat(loads[NORTH][edge - 1] + loads[SOUTH][edge], first_column, axis=1)
    spikes[:-1] += across
    spikes[1:] += across
    return spikes


def _count(places: Ints, shape: tuple[int, ...]) -> Ints:
    return np.bincount(places, minlength=int(np.prod(shape))).reshape(shape)
