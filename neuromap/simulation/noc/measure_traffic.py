"""Count the traffic of a run tick by tick, and bound a tick in which every neuron fires."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuromap.arrays.array_types import Bools, Ints
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.simulation.engine.engine_choice import DEFAULT_ENGINE, EngineChoice
from neuromap.simulation.noc import traffic
from neuromap.simulation.noc.delivery import simulate_arrivals
from neuromap.simulation.run.tick_run import TickSpikes, run_ticks

_T = TypeVar("_T", bound=np.generic)
# Neurons whose ways are processed together.
_CHUNK = 2**20


class TrafficCounter:
    """Counts the traffic of a run, tick by tick."""

    def __init__(self, program: ChipProgram) -> None:
        self._program = program
        self.wires = traffic.WireSums(program)
        self._board, self._window = traffic.Mesh.of(program.chip), traffic.Window.of(program)
        self._clock = traffic.RouterClock.of(program.chip)
        self._loads = np.zeros(self._window.mesh.shape, np.int64)
        self._peak_loads = np.zeros(self._window.mesh.shape, np.int32)
        self._peak_ticks = np.full(self._window.mesh.shape, -1, np.int64)
        self._port_peaks = np.zeros(self._board.chips, np.int64)
        x, y = (program.coordinates.astype(np.int64) // np.array(program.chip.tile)).T
        # position of every core's chip in the flattened array of chips
        self._chip = y // self._board.chip_rows * self._board.chips[1] + x // self._board.chip_columns
        self._readouts = np.zeros(program.shape, np.int64)  # number of output rows per neuron
        np.add.at(self._readouts, (program.outputs.core, program.outputs.neuron), 1)
        self._n_ticks = 0
        self._worst_at: int | None = None
        self._worst = self._safe = self._simulated = 0
        self._node = np.where(program.is_relay, -1, program.neuron_node)
        self._node_arrivals = np.zeros(len(program.nodes) + 1, np.int64)  # the last: without a node

    @property
    def counts(self) -> traffic.WireCounts:
        """Sums so far."""
        return self.wires.counts

    def add(self, spikes: TickSpikes) -> None:
        """Count one tick."""
        mesh, cores, neurons = self._window.mesh, spikes.cores, spikes.neurons
        self._n_ticks += 1
        at_ports = np.bincount(self._chip[spikes.host_cores], minlength=self._port_peaks.size)
        self.wires.add(spikes)
        readouts = self._readouts[cores, neurons]
        at_ports += np.bincount(self._chip[cores], readouts, self._port_peaks.size).astype(np.int64)
        sent = self._program.sent_by(cores, neurons)
        ways = self._window.ways_of(self._program, cores[sent.spike], sent.core)
        ports = at_ports.reshape(self._board.chips)
        if len(ways.x):
            flow = traffic.Flow.of(mesh, ways)
            self._loads += flow.loads
            self._peak_ticks[flow.loads > self._peak_loads] = spikes.tick
            np.maximum(self._peak_loads, flow.loads, out=self._peak_loads, casting="unsafe")
            if mesh.chips != (1, 1):
                ports[self._window.chips] += traffic.port_spikes(mesh, flow.loads)
            bounds = arrival_bounds(mesh, self._clock, ways, flow)
            np.maximum.at(self._node_arrivals, self._node[cores[sent.spike], neurons[sent.spike]], bounds)
            bound = int(bounds.max())
            self._safe = max(self._safe, bound)
            if bound > self._worst:  # else no arrival of this tick exceeds the worst so far
                self._simulated += 1
                worst = int(simulate_arrivals(mesh, self._clock, ways).max())
                if worst > self._worst:
                    self._worst, self._worst_at = worst, spikes.tick
        np.maximum(self._port_peaks, ports, out=self._port_peaks)

    def result(self) -> traffic.Traffic:
        """Return the traffic counted so far."""
        full, safe_any = _all_fire(self._program, self._window, self._clock)
        return traffic.Traffic(
            n_ticks=self._n_ticks,
            **self.wires.counts._asdict(),
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


def measure_traffic(
    program: ChipProgram,
    frames: Mapping[str, ArrayLike] | None = None,
    *,
    n_ticks: int | None = None,
    choice: EngineChoice = DEFAULT_ENGINE,
) -> traffic.Traffic:
    """Run a program and count its traffic on the network-on-chip."""
    # shapes: frames (n_frames, size)
    counter = TrafficCounter(program)
    for spikes in run_ticks(program, frames, n_ticks=n_ticks, choice=choice):
        counter.add(spikes)
    return counter.result()


def _all_fire(program: ChipProgram, window: traffic.Window, clock: traffic.RouterClock) -> tuple[Ints, int]:
    """Compute loads and worst arrival bound if every neuron with a target fires in one tick; many cores at a time."""
    mesh, (n_cores, n_neurons) = window.mesh, program.shape
    step = max(1, _CHUNK // max(1, n_neurons))
    flow: traffic.Flow | None = None
    for first in range(0, n_cores, step):
        part = traffic.Flow.of(mesh, _ways_of_cores(program, window, first, first + step))
        flow = part if flow is None else flow + part
    if flow is None:
        return np.zeros(mesh.shape, np.int64), 0
    worst = 0
    for first in range(0, n_cores, step):
        ways = _ways_of_cores(program, window, first, first + step)
        worst = max(worst, int(arrival_bounds(mesh, clock, ways, flow).max(initial=0)))
    return flow.loads, worst


def _ways_of_cores(program: ChipProgram, window: traffic.Window, first: int, stop: int) -> traffic.Ways:
    n_cores, n_neurons = program.shape
    cores, neurons = np.divmod(np.arange(first * n_neurons, min(stop, n_cores) * n_neurons), max(1, n_neurons))
    sent = program.sent_by(cores, neurons)
    return window.ways_of(program, cores[sent.spike], sent.core)


# Bounds of arrivals: a spike's unloaded time, plus a cycle for every spike that shares a link with it.
#
# ``docs/network-on-chip.md`` has the proof, for every order in which links serve spikes, as long as no link
# idles while a spike waits for it.


def unloaded_times(mesh: traffic.Mesh, clock: traffic.RouterClock, ways: traffic.Ways) -> Ints:
    """Cycles from release to arrival of spikes that meet no other."""
    # shapes: returns (n,)
    crossings = mesh.crossings(ways)
    ports = 0 if clock.port_cycles is None else 2 * clock.port_cycles
    return 2 + clock.hop_cycles * (ways.hops - crossings) + (clock.crossing_cycles + ports) * crossings


def sharing_spikes(
    mesh: traffic.Mesh, ways: traffic.Ways, flow: traffic.Flow | None = None, *, by_chip: bool = False
) -> Ints:
    """Count, for every spike, the other spikes that share at least one link with it."""
    # Two ways share one stretch, so every other spike joins a way once: on a link of the way, a spike joins if it was
    # not on the link before. Joins are counted per router, and summed along the lines.
    # shapes: returns (n,)
    flow = traffic.Flow.of(mesh, ways) if flow is None else flow
    loads = flow.loads
    x, y, end_x, end_y = ways
    dx, dy = np.sign(end_x - x), np.sign(end_y - y)
    leaves, reached = _boundaries(mesh) if by_chip else (np.zeros(mesh.shape, np.bool_),) * 2
    straight = np.stack([*flow.starts[:2], *flow.enters])  # joins on the way from a link to the next in its direction
    straight = np.where(leaves[:4], 0, np.where(reached[:4], loads[:4] - 1, straight))

    shared: Ints = loads[traffic.IN, y, x] - 1
    along_x, along_y = np.where(dx < 0, 1, 0), np.where(dy < 0, 1, 0)
    second = np.where(dy == 0, traffic.OUT, 2 + along_y)
    first = np.where(dx == 0, second, along_x)
    start = np.where(first == traffic.OUT, 4, first)
    shared += np.where(leaves[first, y, x], 0, loads[first, y, x] - flow.starts[start, y, x])

    moves = np.flatnonzero(dx != 0)
    shared[moves] += _between(straight[:2], along_x[moves], x[moves], y[moves], end_x[moves], 1)
    turn = along_x[moves], np.where(second == traffic.OUT, 2, second - 2)[moves], y[moves], end_x[moves]
    load = loads[second[moves], y[moves], end_x[moves]]
    joins = np.where(reached[along_x[moves], y[moves], end_x[moves]], load - 1, load - flow.turns[turn])
    shared[moves] += np.where(leaves[second[moves], y[moves], end_x[moves]], 0, joins)

    rises = np.flatnonzero(dy != 0)
    column, line = end_x[rises], along_y[rises]
    shared[rises] += _between(straight[2:], line, y[rises], column, end_y[rises], 0)
    load = loads[traffic.OUT, end_y[rises], column]
    came = reached[2 + line, end_y[rises], column]
    shared[rises] += np.where(came, load - 1, load - flow.ends[line, end_y[rises], column])
    return shared


def arrival_bounds(
    mesh: traffic.Mesh, clock: traffic.RouterClock, ways: traffic.Ways, flow: traffic.Flow | None = None
) -> Ints:
    """Bound the arrivals of spikes released together, for any order in which links serve them."""
    # returns upper bounds on the cycles from release to arrival at the target core
    # shapes: returns (n,)
    flow = traffic.Flow.of(mesh, ways) if flow is None else flow
    bounds = unloaded_times(mesh, clock, ways)
    if clock.port_cycles is None or mesh.chips == (1, 1):
        return bounds + sharing_spikes(mesh, ways, flow)
    waits = _others_at_ports(mesh, ways, flow) * clock.port_cycles
    return bounds + sharing_spikes(mesh, ways, flow, by_chip=True) + waits


def _others_at_ports(mesh: traffic.Mesh, ways: traffic.Ways, flow: traffic.Flow) -> Ints:
    """Other spikes through the ports of the chips on every way, each chip counted once; 0 without a boundary."""
    spikes = traffic.port_spikes(mesh, flow.loads)
    x, y = ways.x // mesh.chip_columns, ways.y // mesh.chip_rows
    end_x, end_y = ways.end_x // mesh.chip_columns, ways.end_y // mesh.chip_rows
    rows = np.pad(spikes.cumsum(axis=1), ((0, 0), (1, 0)))
    columns = np.pad(spikes.cumsum(axis=0), ((1, 0), (0, 0)))
    along_x = rows[y, np.maximum(x, end_x) + 1] - rows[y, np.minimum(x, end_x)]
    along_y = columns[np.maximum(y, end_y) + 1, end_x] - columns[np.minimum(y, end_y), end_x]
    crossings = mesh.crossings(ways)
    return np.where(crossings > 0, along_x + along_y - spikes[y, end_x] - 2 * crossings, 0)


def _boundaries(mesh: traffic.Mesh) -> tuple[Bools, Bools]:
    """Mark the links that leave a chip, and the routers that a spike reaches over such a link, by its direction."""
    leaves, reached = np.zeros((2, *mesh.shape), np.bool_)
    along_x = np.diff(np.arange(mesh.columns) // mesh.chip_columns) > 0  # whether a chip ends behind a column
    along_y = np.diff(np.arange(mesh.rows) // mesh.chip_rows) > 0
    leaves[traffic.EAST, :, :-1] = leaves[traffic.WEST, :, 1:] = along_x
    leaves[traffic.NORTH, :-1] = leaves[traffic.SOUTH, 1:] = along_y[:, None]
    # a spike reaches the other side of a boundary in the direction in which it leaves this side
    forwards, backwards = [traffic.EAST, traffic.NORTH], [traffic.WEST, traffic.SOUTH]
    reached[forwards], reached[backwards] = leaves[backwards], leaves[forwards]
    return leaves, reached


def _between(joins: Ints, backwards: Ints, start: Ints, line: Ints, end: Ints, axis: int) -> Ints:
    """Sum ``joins[backwards]`` over the routers strictly between start and end of a straight stretch."""
    sums: Ints = joins.cumsum(axis=axis + 1)
    low, high = np.minimum(start, end), np.maximum(start, end) - 1
    places = ((line, high), (line, low)) if axis == 1 else ((high, line), (low, line))
    between: Ints = sums[backwards, *places[0]] - sums[backwards, *places[1]]
    return between
