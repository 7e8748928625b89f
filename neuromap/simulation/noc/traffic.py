"""Traffic of a run on the network-on-chip: loads of links and ports, arrivals, and the ticks they allow."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.array_types import Ints
from neuromap.arrays.frozen import ReadOnly, adopted
from neuromap.arrays.value import Value
from neuromap.errors import InputError
from neuromap.hardware.chip.chip_document import MAX_ROUTER_CYCLES, router_cycles
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.render.value import Card
from neuromap.simulation.run.tick_run import TickSpikes


@dataclass(frozen=True, eq=False)
class Flow(ReadOnly, Value):
    """Where spikes enter the mesh, turn, and leave it; flows are additive."""

    # (5, rows, columns): spikes that go from their core east, west, north, south, or directly back into the core
    starts: Ints
    # (2, 3, rows, columns): spikes that reach a router eastwards or westwards and leave it north, south, or into
    # the core
    turns: Ints
    ends: Ints  # (2, rows, columns): spikes that reach a router northwards or southwards and leave it into the core

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
        """Spikes that enter the links north and south of a router from core or row, shape (2, rows, columns)."""
        enters: Ints = self.starts[2:4] + self.turns[:, :2].sum(axis=0)
        return enters

    @cached_property
    def loads(self) -> Ints:
        """Spikes over every link, shape (6, rows, columns); see :class:`neuromap.simulation.noc.traffic.Mesh`."""
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
    """Count the spikes through the ports of every chip, leaving or entering it."""
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
# Names of the links that leave a router, in the order of their numbers; "in" leads from the core to its router.
DIRECTIONS = ("east", "west", "north", "south", "in", "out")


class LinkName(NamedTuple):
    """A link, named by the router it belongs to."""

    # x, y: the router, in board coordinates
    x: int
    y: int
    # one of ``DIRECTIONS``: east to x + 1, west to x - 1, north to y + 1, south to y - 1, in from the core to its
    # router, out from the router to its core
    direction: str

    def __str__(self) -> str:
        return f"link {self.direction} of router ({self.x}, {self.y})"


class LinkLoad(NamedTuple):
    """A link and its load."""

    link: LinkName  # the link
    spikes: int  # spikes in one tick
    tick: int  # the first tick with this load


class Ways(NamedTuple):
    """Ways of n spikes, along x first and then along y; ndarrays of int64, shape (n,), in coordinates of the board."""

    x: Ints
    y: Ints
    end_x: Ints
    end_y: Ints

    @property
    def hops(self) -> Ints:
        """Number of links between routers on every way."""
        hops: Ints = np.abs(self.end_x - self.x) + np.abs(self.end_y - self.y)
        return hops

    def part(self, which: slice | NDArray[np.bool_] | Ints) -> Ways:
        """Select some of the ways."""
        return Ways(self.x[which], self.y[which], self.end_x[which], self.end_y[which])


@dataclass(frozen=True)
class Mesh(Card):
    """Routers of a board and their chips."""

    # Links are indexed ``[direction, y, x]`` in arrays of shape (6, rows, columns), by their router.

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
        """Count the chip boundaries on every way."""
        along_x: Ints = np.abs(ways.end_x // self.chip_columns - ways.x // self.chip_columns)
        along_y: Ints = np.abs(ways.end_y // self.chip_rows - ways.y // self.chip_rows)
        return along_x + along_y


class Window(NamedTuple):
    """The part of a board that contains all ways of a program: the bounding box of its cores."""

    # x, y: board coordinates of the window's router (0, 0)
    x: int
    y: int
    mesh: Mesh  # the window's routers; chip boundaries are those of the board

    @classmethod
    def of(cls, program: ChipProgram) -> Self:
        """Bounding box of a program's cores; begins at a chip's first router if it spans more than one chip."""
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
        """Ways of spikes from cores to target cores, in window coordinates."""
        x, y, end_x, end_y = ways_of(program, cores, targets)
        return Ways(x - self.x, y - self.y, end_x - self.x, end_y - self.y)

    @property
    def links(self) -> tuple[slice, slice, slice]:
        """Index of the window's links in an array with a value for every link of the board."""
        return np.s_[:, self.y : self.y + self.mesh.rows, self.x : self.x + self.mesh.columns]

    @property
    def chips(self) -> tuple[slice, slice]:
        """Index of the window's chips in an array with a value for every chip; only if there is more than one."""
        (rows, columns), row, column = self.mesh.chips, self.y // self.mesh.chip_rows, self.x // self.mesh.chip_columns
        return np.s_[row : row + rows, column : column + columns]


def ways_of(program: ChipProgram, cores: NDArray[np.integer], targets: NDArray[np.integer]) -> Ways:
    """Ways of spikes from cores to target cores."""
    # shapes: cores, targets (n,)
    router = program.coordinates.astype(np.int64) // np.array(program.chip.tile)  # divide once per core, not per spike
    start, end = router[cores], router[targets]
    return Ways(*(np.ascontiguousarray(column) for column in (*start.T, *end.T)))


# Speed of routers, in router cycles, and in seconds if the chip file gives it.
# Relative rounding error of the figures' quotients that does not count as another cycle.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class RouterClock:
    """Times of the mesh in router cycles: a link passes one spike per cycle.

    Attributes
    ----------
    cycle_seconds : float or None
        Length of a router cycle; ``None`` if the chip file lacks ``link_spikes_per_second`` or ``hop_seconds``.
    hop_cycles : int
        Cycles that a spike takes over a link between two routers, 1 or more; links between router and core take one.
    port_cycles : int or None
        Cycles in which the ports of a chip pass one spike; ``None`` if unknown, then they pass any number.
    boundary_cycles : int or None
        Cycles that a spike takes over a link between two chips; ``None`` if unknown, then as for any other link.

    Raises
    ------
    InputError
        If a number is out of range.
    """

    cycle_seconds: float | None = None
    hop_cycles: int = 1
    port_cycles: int | None = None
    boundary_cycles: int | None = None

    def __post_init__(self) -> None:
        for name in ("hop_cycles", "port_cycles", "boundary_cycles"):
            value = getattr(self, name)
            if value is not None and not 1 <= value <= MAX_ROUTER_CYCLES:
                raise InputError(f"router clock: {name} = {value}; must be 1 to {MAX_ROUTER_CYCLES}")
        if self.cycle_seconds is not None and not 0 < self.cycle_seconds < math.inf:
            raise InputError(f"router clock: cycle_seconds = {self.cycle_seconds}; must be above 0 and finite")

    @classmethod
    def of(cls, chip: ChipSpec) -> Self:
        """Clock of a chip.

        Times are rounded up to whole cycles, so that arrivals in seconds are never too early.

        Parameters
        ----------
        chip : ChipSpec
            Its ``router`` table is used: ``link_spikes_per_second`` and ``hop_seconds``; if either is missing, times
            are in cycles only, with a hop of one cycle. Otherwise also ``boundary_spikes_per_second`` (of all ports of
            a chip together) and ``boundary_seconds``.

        Returns
        -------
        RouterClock

        Raises
        ------
        InputError
            If a figure corresponds to more cycles than a clock may have.
        """
        cycles = {key: _whole(value) for key, value in router_cycles(chip.router).items()}
        if not cycles:
            return cls()
        return cls(
            cycle_seconds=1.0 / chip.router["link_spikes_per_second"],
            hop_cycles=cycles["hop_seconds"],
            port_cycles=cycles.get("boundary_spikes_per_second"),
            boundary_cycles=cycles.get("boundary_seconds"),
        )

    @property
    def crossing_cycles(self) -> int:
        """Cycles that a spike takes over a link between two chips."""
        return self.hop_cycles if self.boundary_cycles is None else self.boundary_cycles

    def seconds(self, cycles: int) -> float | None:
        """Convert cycles to seconds; ``None`` if the length of a cycle is unknown."""
        return None if self.cycle_seconds is None else cycles * self.cycle_seconds


def _whole(cycles: float) -> int:
    # numbers far out of range are refused later all the same, and an infinite one has no ceiling
    return max(1, math.ceil(min(cycles, 2.0 * MAX_ROUTER_CYCLES) * (1 - _ROUNDING)))


@dataclass(frozen=True, eq=False)
class Traffic(ReadOnly, Card):
    """Traffic of a run on the network-on-chip; ``docs/network-on-chip.md`` defines every figure.

    Arrays of links have the shape (6, rows, columns) of the board, indexed ``[direction, y, x]`` by the link's
    router: 0 east, 1 west, 2 north, 3 south, 4 from the core into the router, 5 from the router into the core.

    Attributes
    ----------
    n_ticks : int
        Ticks of the run.
    spikes : int
        Spikes of neurons with a target; those of neurons that are read out are ``readout_spikes``.
    hops : int
        Links between routers that these spikes cross.
    loads : ndarray of int64, shape (6, rows, columns)
        Spikes over every link, summed over the ticks.
    peak_loads : ndarray of int32, shape (6, rows, columns)
        Most spikes over every link in one tick.
    peak_ticks : ndarray of int64, shape (6, rows, columns)
        First tick with the peak load; -1 if no spike crossed the link.
    full_loads : ndarray of int64, shape (6, rows, columns)
        Spikes over every link if every neuron with a target fires once.
    crossings : int
        Chip boundaries that the spikes cross.
    host_spikes : int
        Spikes from the host to axons, input and bias.
    readout_spikes : int
        Spikes of neurons that are read out, once for every row of the output table.
    hops_x : int
        Hops along x.
    port_peaks : ndarray of int64, shape (rows of chips, columns of chips)
        Most spikes through the ports of every chip in one tick: leaving, entering, from the host and read out.
    shortest_tick_cycles : int
        Worst arrival in the event simulation over all ticks, in router cycles; 0 without a spike.
    shortest_tick_at : int or None
        The first tick with this arrival; ``None`` without a spike.
    safe_tick_cycles : int
        Worst arrival bound over the run's ticks, for any order in which links serve spikes.
    safe_tick_any_cycles : int
        The same if every neuron with a target fires in one tick: on the mesh, no stimulus needs a longer tick. The tick
        must also be at least ``port_seconds``, which includes the spikes of the host and of the readout.
    node_arrivals : mapping of str to int
        By node, the worst arrival bound of its neurons' spikes over the run's ticks, in router cycles; 0 without
        spikes. Relays and splitters, which carry the label of their source, are left out.
    simulated_ticks : int
        Ticks that needed the event simulation; in the others, the bound shows that no arrival is worse.
    clock : RouterClock
        Length of a cycle and times in cycles.
    tick_seconds : float
        Length of a tick by the chip file.
    boundary_spikes_per_second : float or None
        Spike rate of all ports of a chip together; ``None`` if the chip file lacks it.
    """

    n_ticks: int
    spikes: int
    hops: int
    loads: NDArray[np.int64]
    peak_loads: NDArray[np.int32]
    peak_ticks: NDArray[np.int64]
    full_loads: NDArray[np.int64]
    crossings: int
    host_spikes: int
    readout_spikes: int
    hops_x: int
    port_peaks: NDArray[np.int64]
    shortest_tick_cycles: int
    shortest_tick_at: int | None
    safe_tick_cycles: int
    safe_tick_any_cycles: int
    node_arrivals: Mapping[str, int]
    simulated_ticks: int
    clock: RouterClock
    tick_seconds: float
    boundary_spikes_per_second: float | None = None

    @property
    def wires(self) -> WireCounts:
        """The counts only."""
        return WireCounts(*(getattr(self, name) for name in WireCounts._fields))

    @property
    def mean_hops(self) -> float | None:
        """Hops per spike; ``None`` without a spike."""
        return self.hops / self.spikes if self.spikes else None

    @property
    def peak_port_spikes(self) -> int:
        """Most spikes through the ports of one chip in one tick, those of the host included."""
        return int(self.port_peaks.max(initial=0))

    @property
    def busiest_link(self) -> LinkLoad | None:
        """The link between routers with most spikes in one tick; ``None`` if no spike leaves its core's router."""
        return self._busiest(self.peak_loads[:4])

    @property
    def busiest_core_link(self) -> LinkLoad | None:
        """The link between a router and its core with most spikes in one tick; ``None`` without a spike."""
        return self._busiest(np.concatenate([np.zeros_like(self.peak_loads[:4]), self.peak_loads[4:]]))

    def _busiest(self, peaks: NDArray[np.int32]) -> LinkLoad | None:
        _, rows, columns = self.peak_loads.shape
        number = int(peaks.argmax())
        load = int(peaks.reshape(-1)[number])
        if not load:
            return None
        link = Mesh(columns, rows, columns, rows).link(number)
        return LinkLoad(link, load, int(self.peak_ticks.reshape(-1)[number]))

    @property
    def shortest_tick_seconds(self) -> float | None:
        """Shortest tick of this run, in seconds; ``None`` if the length of a router cycle is unknown."""
        return self.clock.seconds(self.shortest_tick_cycles)

    @property
    def safe_tick_seconds(self) -> float | None:
        """Safe tick of this run, in seconds; ``None`` if the length of a router cycle is unknown."""
        return self.clock.seconds(self.safe_tick_cycles)

    @property
    def safe_tick_any_seconds(self) -> float | None:
        """Safe tick for any stimulus, in seconds; ``None`` if the length of a router cycle is unknown."""
        return self.clock.seconds(self.safe_tick_any_cycles)

    @property
    def longest_cycle_seconds(self) -> float | None:
        """Longest router cycle for which the chip's tick is safe with any stimulus; ``None`` without a target."""
        return self.tick_seconds / self.safe_tick_any_cycles if self.safe_tick_any_cycles else None

    @property
    def port_seconds(self) -> float | None:
        """Time that the busiest chip's ports need in the worst tick; ``None`` if their rate is unknown."""
        rate = self.boundary_spikes_per_second
        return self.peak_port_spikes / rate if rate else None


# Spikes that leave and enter the cores of a running program, regardless of their arrival times.


class WireCounts(NamedTuple):
    """Counts of spikes and of the links they cross."""

    spikes: int  # spikes sent: one for every target of a neuron that fires
    hops: int  # links between routers that they cross
    crossings: int  # chip boundaries that they cross
    host_spikes: int  # spikes from the host to axons, input and bias
    readout_spikes: int  # spikes of neurons that are read out, once for every row of the output table
    hops_x: int  # hops along x


class WireSums:
    """Counts spikes tick by tick: a neuron's spikes always take the same ways, so counts of firing suffice."""

    def __init__(self, program: ChipProgram) -> None:
        self._fired, self._host_spikes = np.zeros(program.shape, np.int64), 0
        window, wires, outputs = Window.of(program), program.wires, program.outputs
        self._source, self._read_out = (wires.core, wires.neuron), (outputs.core, outputs.neuron)
        ways = window.ways_of(program, wires.core, wires.target_core)
        self._ways = (ways.hops, window.mesh.crossings(ways), np.abs(ways.end_x - ways.x))

    @property
    def counts(self) -> WireCounts:
        """Counts so far."""
        sent = self._fired[self._source]
        hops, crossings, hops_x = (int(sent @ each) for each in self._ways)
        readouts = int(self._fired[self._read_out].sum())
        return WireCounts(int(sent.sum()), hops, crossings, self._host_spikes, readouts, hops_x)

    def add(self, spikes: TickSpikes) -> None:
        """Count one tick, in which no neuron fires twice."""
        self._fired[spikes.cores, spikes.neurons] += 1
        self._host_spikes += len(spikes.host_cores)
