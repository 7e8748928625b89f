"""Counting the traffic of a run, tick by tick, and what a tick needs if every neuron fires."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.simulation.engine.engine_choice import DEFAULT_ENGINE, EngineChoice
from neuromap.simulation.noc.arrival_bound import arrival_bounds
from neuromap.simulation.noc.arrival_events import simulate_arrivals
from neuromap.simulation.noc.clock import RouterClock
from neuromap.simulation.noc.loads import Flow, port_spikes
from neuromap.simulation.noc.mesh import Mesh, Ways, Window
from neuromap.simulation.noc.traffic import Traffic
from neuromap.simulation.noc.wires import WireCounter, WireCounts
from neuromap.simulation.run.tick_run import TickSpikes, run_ticks

__all__ = ["TrafficCounter", "measure_traffic"]

Ints = NDArray[np.int64]
_T = TypeVar("_T", bound=np.generic)
_CHUNK = 2**20
"""Neurons whose ways are looked at together."""


class TrafficCounter:
    """Counts the traffic of a run, tick by tick."""

    def __init__(self, program: ChipProgram) -> None:
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

    @property
    def counts(self) -> WireCounts:
        """The sums so far."""
        return self._wires.counts

    def add(self, spikes: TickSpikes) -> None:
        """Count one tick."""
        mesh, cores, neurons = self._window.mesh, spikes.cores, spikes.neurons
        self._n_ticks += 1
        at_ports = np.bincount(self._chip[spikes.host_cores], minlength=self._port_peaks.size)
        firing, ways, readouts = self._wires.add(spikes)
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
            np.maximum.at(self._node_arrivals, self._node[cores[firing], neurons[firing]], bounds)
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
            **self._wires.counts._asdict(),
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
) -> Traffic:
    """Run a program and count what its spikes do to the network-on-chip."""
    # shapes: frames (n_frames, size)
    counter = TrafficCounter(program)
    for spikes in run_ticks(program, frames, n_ticks=n_ticks, choice=choice):
        counter.add(spikes)
    return counter.result()


def _chip_of_cores(program: ChipProgram, mesh: Mesh) -> Ints:
    """Position of every core's chip in the flattened array of chips."""
    x, y = program.coordinates.astype(np.int64).T
    number: Ints = y // mesh.chip_rows * mesh.chips[1] + x // mesh.chip_columns
    return number


def _all_fire(program: ChipProgram, window: Window, clock: RouterClock) -> tuple[Ints, int]:
    """Give loads and worst bound if every neuron with a target fires in one tick; neurons of many cores at a time."""
    mesh, (n_cores, n_neurons) = window.mesh, program.shape
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


def _ways_of_cores(program: ChipProgram, window: Window, first: int, stop: int) -> Ways:
    n_cores, n_neurons = program.shape
    cores, neurons = np.divmod(np.arange(first * n_neurons, min(stop, n_cores) * n_neurons), max(1, n_neurons))
    sent = program.sent_by(cores, neurons)
    return window.ways_of(program, cores[sent.spike], sent.core)
