"""What a run does to the network-on-chip: loads of links and ports, arrivals, and the ticks that they allow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuromap.arrays.frozen import freeze_arrays
from neuromap.hardware.program.program import Program
from neuromap.simulation.noc.arrival_bound import arrival_bounds
from neuromap.simulation.noc.arrival_events import simulate_arrivals
from neuromap.simulation.noc.clock import RouterClock
from neuromap.simulation.noc.loads import Flow, port_spikes
from neuromap.simulation.noc.mesh import LinkLoad, Mesh, Ways, Window
from neuromap.simulation.noc.wires import WireCounter, WireCounts
from neuromap.simulation.run.tick_run import TickSpikes, run_ticks

__all__ = ["Traffic", "TrafficCounter", "measure_traffic"]

Ints = NDArray[np.int64]
_T = TypeVar("_T", bound=np.generic)
_CHUNK = 2**20
"""Neurons whose ways are looked at together."""


@dataclass(frozen=True, eq=False)
class Traffic:
    """Spikes of a run on the network-on-chip; ``docs/network-on-chip.md`` defines every figure.

    Arrays of links have the shape (6, rows, columns) of the board, ``[direction, y, x]`` of the router that the link
    leaves: 0 east, 1 west, 2 north, 3 south, 4 from the core into the router, 5 from the router into the core.

    Attributes
    ----------
    n_ticks : int
        Ticks of the run.
    spikes : int
        Spikes of neurons with a target; those of neurons that are read out are ``readout_spikes``.
    hops : int
        Links between routers that they cross.
    loads : ndarray of int64, shape (6, rows, columns)
        Spikes over every link, summed over the ticks.
    peak_loads : ndarray of int32, shape (6, rows, columns)
        Most of them in one tick, for every link.
    peak_ticks : ndarray of int64, shape (6, rows, columns)
        The first tick in which they were so many; -1 where no spike came.
    full_loads : ndarray of int64, shape (6, rows, columns)
        Spikes over every link if every neuron with a target fires once.
    crossings : int
        Boundaries between chips that the spikes cross.
    host_spikes : int
        Spikes from the host to axons, input and bias.
    readout_spikes : int
        Spikes of neurons that are read out, once for every row of the output table.
    port_peaks : ndarray of int64, shape (rows of chips, columns of chips)
        Most spikes through the ports of every chip in one tick: those that leave it, those that enter it, those from
        the host and those read out.
    shortest_tick_cycles : int
        Worst arrival in the event simulation over all ticks, in router cycles; 0 without a spike.
    shortest_tick_at : int or None
        The first tick in which it occurs; ``None`` without a spike.
    safe_tick_cycles : int
        Worst bound of an arrival over the run's ticks, whatever the order in which links serve spikes.
    safe_tick_any_cycles : int
        The same if every neuron with a target fires in one tick: on the mesh no stimulus needs a longer tick. It must
        be as long as ``port_seconds`` too, which also holds the spikes of the host and of the readout.
    node_arrivals : mapping of str to int
        By node the worst bound of an arrival of its neurons' spikes over the run's ticks, in router cycles; 0 without
        one. Relays and splitters, which bear the label of their source, are left out.
    simulated_ticks : int
        Ticks whose event simulation was needed; in the others the bound shows that none is worse.
    clock : RouterClock
        What a cycle is.
    tick_seconds : float
        Length of a tick by the chip file.
    boundary_spikes_per_second : float or None
        Spikes that all ports of a chip carry together; ``None`` where the chip file lacks it.
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

    def __post_init__(self) -> None:
        freeze_arrays(self)
        object.__setattr__(self, "node_arrivals", MappingProxyType(dict(self.node_arrivals)))

    @property
    def wires(self) -> WireCounts:
        """The counts alone."""
        return WireCounts(self.spikes, self.hops, self.crossings, self.host_spikes, self.readout_spikes)

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
        """The link between routers with most spikes in one tick; ``None`` where no spike leaves its core's router."""
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
        """Shortest tick of this run, in seconds; ``None`` where the length of a router cycle is not known."""
        return self.clock.seconds(self.shortest_tick_cycles)

    @property
    def safe_tick_seconds(self) -> float | None:
        """Safe tick of this run, in seconds; ``None`` where the length of a router cycle is not known."""
        return self.clock.seconds(self.safe_tick_cycles)

    @property
    def safe_tick_any_seconds(self) -> float | None:
        """Safe tick for any stimulus, in seconds; ``None`` where the length of a router cycle is not known."""
        return self.clock.seconds(self.safe_tick_any_cycles)

    @property
    def longest_cycle_seconds(self) -> float | None:
        """Longest router cycle with which the chip's tick holds for any stimulus; ``None`` without a target."""
        return self.tick_seconds / self.safe_tick_any_cycles if self.safe_tick_any_cycles else None

    @property
    def port_seconds(self) -> float | None:
        """Time that the busiest chip's ports need in the worst tick; ``None`` where their rate is not known."""
        rate = self.boundary_spikes_per_second
        return self.peak_port_spikes / rate if rate else None


class TrafficCounter:
    """Counts the traffic of a run, tick by tick.

    Parameters
    ----------
    program : Program
        Mapped, or written by hand.
    """

    def __init__(self, program: Program) -> None:
        self._program = program
        self._wires = WireCounter(program)
        self._board, self._window = Mesh.of(program.chip), self._wires.window
        self._clock = RouterClock.of(program.chip)
        self._loads = np.zeros(self._window.mesh.shape, np.int64)
        self._peak_loads = np.zeros(self._window.mesh.shape, np.int32)
        self._peak_ticks = np.full(self._window.mesh.shape, -1, np.int64)
        self._port_peaks = np.zeros(self._board.chips, np.int64)
        self._chip = _chip_of_cores(program, self._board)
        self._n_ticks = 0
        self._worst_at: int | None = None
        self._worst = self._safe = self._simulated = 0
        self._node = np.where(program.is_relay, -1, program.neuron_node)
        self._node_arrivals = np.zeros(len(program.nodes) + 1, np.int64)  # the last: without a node

    def add(self, spikes: TickSpikes) -> None:
        """Count one tick.

        Parameters
        ----------
        spikes : TickSpikes
            What is sent in it.
        """
        mesh, cores, neurons = self._window.mesh, spikes.cores, spikes.neurons
        self._n_ticks += 1
        at_ports = np.bincount(self._chip[spikes.host_cores], minlength=self._port_peaks.size)
        sent, ways, readouts = self._wires.add(spikes)
        at_ports += np.bincount(self._chip[cores], readouts, self._port_peaks.size).astype(np.int64)
        ports = at_ports.reshape(self._board.chips)
        if len(ways.x):
            flow = Flow.of(mesh, ways)
            self._loads += flow.loads
            self._peak_ticks[flow.loads > self._peak_loads] = spikes.tick
            np.maximum(self._peak_loads, flow.loads, out=self._peak_loads, casting="unsafe")
            if mesh.chips != (1, 1):
                ports[self._window.chips] += port_spikes(mesh, flow.loads)
            bounds = arrival_bounds(mesh, self._clock, ways, flow)
            np.maximum.at(self._node_arrivals, self._node[cores[sent], neurons[sent]], bounds)
            bound = int(bounds.max())
            self._safe = max(self._safe, bound)
            if bound > self._worst:  # else no spike of this tick is worse than the worst so far
                self._simulated += 1
                worst = int(simulate_arrivals(mesh, self._clock, ways).max())
                if worst > self._worst:
                    self._worst, self._worst_at = worst, spikes.tick
        np.maximum(self._port_peaks, ports, out=self._port_peaks)

    def result(self) -> Traffic:
        """Give what was counted so far."""
        full, safe_any = _all_fire(self._program, self._window, self._clock)
        return Traffic(
            n_ticks=self._n_ticks,
            **self._wires.result()._asdict(),
            loads=self._on_board(self._loads),
            peak_loads=self._on_board(self._peak_loads),
            peak_ticks=self._on_board(self._peak_ticks, -1),
            full_loads=self._on_board(full),
            port_peaks=self._port_peaks,
            shortest_tick_cycles=self._worst,
            shortest_tick_at=self._worst_at,
            safe_tick_cycles=self._safe,
            safe_tick_any_cycles=safe_any,
            node_arrivals=dict(
                zip((port.name for port in self._program.nodes), self._node_arrivals[:-1].tolist(), strict=True)
            ),
            simulated_ticks=self._simulated,
            clock=self._clock,
            tick_seconds=self._program.chip.tick_seconds,
            boundary_spikes_per_second=self._program.chip.router.get("boundary_spikes_per_second"),
        )

    def _on_board(self, values: NDArray[_T], beyond: int = 0) -> NDArray[_T]:
        board = np.full(self._board.shape, beyond, values.dtype)
        board[self._window.links] = values
        return board


def measure_traffic(program: Program, frames: Mapping[str, ArrayLike] | None = None, **run: Any) -> Traffic:
    """Run a program and count what its spikes do to the network-on-chip.

    Parameters
    ----------
    program : Program
        Mapped, or written by hand.
    frames : mapping of str to array_like, shape (n_frames, size), optional
        Input frames for every input node.
    **run
        As in :func:`neuromap.simulation.run.tick_run.run_ticks`: ``n_ticks``, ``engine``, ``threads`` and so on.

    Returns
    -------
    Traffic

    Raises
    ------
    InputError
        As in :func:`neuromap.simulation.run.tick_run.run_ticks`.
    """
    counter = TrafficCounter(program)
    for spikes in run_ticks(program, frames, **run):
        counter.add(spikes)
    return counter.result()


def _chip_of_cores(program: Program, mesh: Mesh) -> Ints:
    """Position of every core's chip in the flattened array of chips."""
    x, y = program.coordinates.astype(np.int64).T
    number: Ints = y // mesh.chip_rows * mesh.chips[1] + x // mesh.chip_columns
    return number


def _all_fire(program: Program, window: Window, clock: RouterClock) -> tuple[Ints, int]:
    """Give loads and worst bound if every neuron with a target fires in one tick; neurons of many cores at a time."""
    mesh, (n_cores, n_neurons) = window.mesh, program.target_core.shape
    step = max(1, _CHUNK // max(1, n_neurons))
    flow: Flow | None = None
    for first in range(0, n_cores, step):
        part = Flow.of(mesh, _ways_of_cores(program, window, first, first + step))
        flow = part if flow is None else flow + part
    if flow is None:
        return np.zeros(mesh.shape, np.int64), 0
    worst = 0
    for first in range(0, n_cores, step):
        ways = _ways_of_cores(program, window, first, first + step)
        worst = max(worst, int(arrival_bounds(mesh, clock, ways, flow).max(initial=0)))
    return flow.loads, worst


def _ways_of_cores(program: Program, window: Window, first: int, stop: int) -> Ways:
    cores, neurons = np.nonzero(program.target_core[first:stop] >= 0)
    return window.ways_of(program, cores + first, neurons)
