"""Loads of all links by many spikes at once: starts, turns and ends are counted, sums along the lines do the rest."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.array_types import Ints
from neuromap.arrays.frozen import ReadOnly, adopted
from neuromap.arrays.value import Value
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.render.value import Card


@dataclass(frozen=True, eq=False)
class Flow(ReadOnly, Value):
    """Where spikes come into the mesh, where they turn, and where they leave it; flows of more spikes add up."""

    # (5, rows, columns): spikes that go from their core to east, west, north, south, or at once back into the core
    starts: Ints
    # (2, 3, rows, columns): spikes that come to a router eastwards or westwards and leave it to north, south, or into
    # the core
    turns: Ints
    ends: Ints  # (2, rows, columns): spikes that come to a router northwards or southwards and leave it into the core

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
        """Spikes over every link, shape (6, rows, columns); see :class:`neuromap.simulation.noc.loads.Mesh`."""
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


# The links of a board's mesh: their numbering, their names, and the ways of spikes through it.


EAST, WEST, NORTH, SOUTH, IN, OUT = range(6)
DIRECTIONS = ("east", "west", "north", "south", "in", "out")
"""Names of the links that leave a router, in the order of their numbers; "in" leads from the core to its router."""


class LinkName(NamedTuple):
    """A link by the router that it leaves."""

    # x, y: the router, in coordinates of the board
    x: int
    y: int
    # one of ``DIRECTIONS``: east to x + 1, west to x - 1, north to y + 1, south to y - 1, in from the core to its
    # router, out from the router to its core
    direction: str

    def __str__(self) -> str:
        return f"link {self.direction} of router ({self.x}, {self.y})"


class LinkLoad(NamedTuple):
    """A link and the spikes that it carries."""

    link: LinkName  # the link
    spikes: int  # how many, in one tick
    tick: int  # the first tick in which they were so many


class Ways(NamedTuple):
    """Ways of n spikes, along x first and then along y; ndarrays of int64, shape (n,), in coordinates of the board."""

    x: Ints
    y: Ints
    end_x: Ints
    end_y: Ints

    @property
    def hops(self) -> Ints:
        """Links between routers on every way."""
        hops: Ints = np.abs(self.end_x - self.x) + np.abs(self.end_y - self.y)
        return hops

    def part(self, which: slice | NDArray[np.bool_] | Ints) -> Ways:
        """Take some of the ways."""
        return Ways(self.x[which], self.y[which], self.end_x[which], self.end_y[which])


@dataclass(frozen=True)
class Mesh(Card):
    """Routers of a board and the chips that they are on."""

    # Links are numbered ``[direction, y, x]`` in arrays of shape (6, rows, columns), by the router that they leave.

    # columns, rows: routers along x and y over the whole board
    columns: int
    rows: int
    # chip_columns, chip_rows: routers along x and y of one chip
    chip_columns: int
    chip_rows: int

    @classmethod
    def of(cls, chip: ChipSpec) -> Self:
        """Mesh of a board; cores of a tile share a router."""
        columns, rows = chip.routers
        return cls(columns, rows, columns // chip.chips[0], rows // chip.chips[1])

    @property
    def shape(self) -> tuple[int, int, int]:
        """Shape of an array with a value for every link."""
        return 6, self.rows, self.columns

    @property
    def chips(self) -> tuple[int, int]:
        """Rows and columns of chips: the shape of an array with a value for every chip."""
        return -(-self.rows // self.chip_rows), -(-self.columns // self.chip_columns)

    def link(self, number: int) -> LinkName:
        """Name the link at a position of the flattened array."""
        direction, place = divmod(number, self.rows * self.columns)
        return LinkName(place % self.columns, place // self.columns, DIRECTIONS[direction])

    def crossings(self, ways: Ways) -> Ints:
        """Boundaries between chips on every way."""
        along_x: Ints = np.abs(ways.end_x // self.chip_columns - ways.x // self.chip_columns)
        along_y: Ints = np.abs(ways.end_y // self.chip_rows - ways.y // self.chip_rows)
        return along_x + along_y


class Window(NamedTuple):
    """The part of a board in which all ways of a program lie: the box around its cores."""

    # x, y: the router of the board that is (0, 0) in the window
    x: int
    y: int
    mesh: Mesh  # the window's routers; boundaries between chips are where those of the board are

    @classmethod
    def of(cls, program: ChipProgram) -> Self:
        """Take the box around a program's cores, from a chip's first router on where it holds more than one chip."""
        board = Mesh.of(program.chip)
        if not program.n_cores:
            return cls(0, 0, Mesh(1, 1, 1, 1))
        routers = program.coordinates // np.array(program.chip.tile)
        low, high = routers.min(axis=0), routers.max(axis=0)
        chip = np.array([board.chip_columns, board.chip_rows])
        if (low // chip == high // chip).all():
            columns, rows = (int(size) for size in high - low + 1)
            return cls(int(low[0]), int(low[1]), Mesh(columns, rows, columns, rows))
        low = low // chip * chip
        columns, rows = (int(size) for size in high - low + 1)
        return cls(int(low[0]), int(low[1]), Mesh(columns, rows, board.chip_columns, board.chip_rows))

    def ways_of(self, program: ChipProgram, cores: NDArray[np.integer], targets: NDArray[np.integer]) -> Ways:
        """Ways of spikes from cores to cores, in coordinates of the window."""
        x, y, end_x, end_y = ways_of(program, cores, targets)
        return Ways(x - self.x, y - self.y, end_x - self.x, end_y - self.y)

    @property
    def links(self) -> tuple[slice, slice, slice]:
        """Where its links lie in an array with a value for every link of the board."""
        return np.s_[:, self.y : self.y + self.mesh.rows, self.x : self.x + self.mesh.columns]

    @property
    def chips(self) -> tuple[slice, slice]:
        """Where its chips lie in an array with a value for every chip; only for windows of more than one chip."""
        (rows, columns), row, column = self.mesh.chips, self.y // self.mesh.chip_rows, self.x // self.mesh.chip_columns
        return np.s_[row : row + rows, column : column + columns]


def ways_of(program: ChipProgram, cores: NDArray[np.integer], targets: NDArray[np.integer]) -> Ways:
    """Ways of spikes from cores to cores."""
    # shapes: cores, targets (n,)
    tile = np.array(program.chip.tile)
    start = program.coordinates[cores].astype(np.int64) // tile
    end = program.coordinates[targets].astype(np.int64) // tile
    return Ways(*(np.ascontiguousarray(column) for column in (*start.T, *end.T)))
