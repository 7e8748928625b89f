"""A run at a given length of tick, where what has not arrived when its tick ends stays in the mesh."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from neuromap.errors import InputError
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.simulation.noc.arrival_events import Arrivals, MeshEvents
from neuromap.simulation.noc.clock import RouterClock
from neuromap.simulation.noc.late_spikes import LateSpikes
from neuromap.simulation.noc.mesh import Mesh, ways_of
from neuromap.simulation.run.tick_run import TickSpikes

__all__ = ["find_late_spikes"]

Ints = NDArray[np.int64]


def find_late_spikes(
    program: ChipProgram, ticks: Iterable[TickSpikes], tick_cycles: int, clock: RouterClock | None = None
) -> LateSpikes:
    """Simulate the mesh over a run at a length of tick, and find the spikes that are late.

    Spikes that have not arrived when their tick ends stay in the mesh and meet those of the next ticks. What neurons
    compute does not change: late spikes are found, their effect on the network is not followed.

    Parameters
    ----------
    program : ChipProgram
        Mapped, or written by hand.
    ticks : iterable of TickSpikes
        The run, ticks in order, as :func:`neuromap.simulation.run.tick_run.run_ticks` gives them.
    tick_cycles : int
        Length of a tick in router cycles, 1 or more.
    clock : RouterClock, optional
        By default that of the program's chip.

    Returns
    -------
    LateSpikes

    Raises
    ------
    InputError
        If the length is not positive, or ticks do not rise.
    """
    if tick_cycles < 1:
        raise InputError(f"tick_cycles = {tick_cycles}; must be 1 or more router cycles")
    search = _LateSearch(program, tick_cycles, RouterClock.of(program.chip) if clock is None else clock)
    for spikes in ticks:
        search.add(spikes)
    return search.result()


class _LateSearch:
    """The mesh with the spikes of a run, tick by tick."""

    def __init__(self, program: ChipProgram, tick_cycles: int, clock: RouterClock) -> None:
        self._program = program
        self._tick_cycles = tick_cycles
        self._events = MeshEvents(Mesh.of(program.chip), clock)
        self._sent = np.zeros((0, 4), np.int64)  # tick, core, neuron and delay of the spikes from number _first on
        self._first = 0
        self._late: list[Ints] = []
        self._n_ticks = self._n_spikes = self._worst = 0
        self._last: int | None = None

    def add(self, spikes: TickSpikes) -> None:
        """Let the mesh run until a tick begins, and send the tick's spikes."""
        tick = spikes.tick
        if self._last is not None and tick <= self._last:
            raise InputError(f"ticks: tick {tick} comes after tick {self._last}; give the ticks of a run in order")
        self._last = tick
        self._take(self._events.run(tick * self._tick_cycles))
        sent = self._program.sent_by(spikes.cores, spikes.neurons)
        cores, neurons = spikes.cores[sent.spike], spikes.neurons[sent.spike]
        arrived = self._events.oldest - self._first
        now = np.column_stack([np.full_like(cores, tick), cores, neurons, sent.delay])
        self._sent = np.concatenate([self._sent[arrived:], now])
        self._first += arrived
        self._events.send(ways_of(self._program, cores, sent.core), tick * self._tick_cycles)
        self._n_ticks += 1
        self._n_spikes += len(cores)

    def _take(self, arrivals: Arrivals) -> None:
        """Keep the late ones of the spikes that have arrived."""
        rows = self._sent[arrivals.spikes - self._first]
        cycles = arrivals.cycles - rows[:, 0] * self._tick_cycles
        self._worst = max(self._worst, int(cycles.max(initial=0)))
        is_late = cycles > self._tick_cycles
        self._late.append(np.column_stack([arrivals.spikes, rows, cycles])[is_late])

    def result(self) -> LateSpikes:
        """Let all spikes arrive, and list the late ones in the order of firing."""
        self._take(self._events.run())
        late = np.concatenate(self._late)
        late = late[np.argsort(late[:, 0])]
        _, tick, core, neuron, delay, cycles = late.T
        program = self._program
        return LateSpikes(
            tick_cycles=self._tick_cycles,
            n_ticks=self._n_ticks,
            spikes=self._n_spikes,
            worst_cycles=self._worst,
            tick=tick,
            core=core,
            neuron=neuron,
            arrival_cycles=cycles,
            delay=delay,
            node=program.neuron_node[core, neuron].astype(np.int64),
            node_index=program.neuron_index[core, neuron].astype(np.int64),
            node_names=tuple(port.name for port in program.nodes),
        )
