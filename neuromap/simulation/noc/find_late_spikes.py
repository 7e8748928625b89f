"""A run at a given length of tick, where what has not arrived when its tick ends stays in the mesh."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import freeze_arrays
from neuromap.errors import InputError
from neuromap.forms.card import Card
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.simulation.noc.arrival_events import Arrivals, MeshEvents
from neuromap.simulation.noc.clock import RouterClock
from neuromap.simulation.noc.mesh import Mesh, ways_of
from neuromap.simulation.run.tick_run import TickSpikes

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


# Late and overdue spikes: those that have not arrived when the tick in which they are fired ends.


class LateSpike(NamedTuple):
    """One spike that is late."""

    tick: int  # the tick in which it is fired
    # core, neuron: the neuron that fires, by row of the program and place in its core
    core: int
    neuron: int
    node: str | None  # its node by the program's labels; ``None`` without a label
    node_index: int  # its place in the node
    arrival_cycles: int  # router cycles from the start of the tick to the arrival
    delay: int  # ticks from the tick in which it is fired to the one in which it is due
    is_overdue: bool  # whether it arrives after the start of the tick in which it is due

    def __str__(self) -> str:
        label = "no label" if self.node is None else f"{self.node}[{self.node_index}]"
        due = f"overdue: it was due in tick {self.tick + self.delay}" if self.is_overdue else "in time for its due tick"
        return (
            f"tick {self.tick}: spike of neuron {self.neuron} of core {self.core} ({label}) arrives "
            f"{self.arrival_cycles} router cycles after the start of the tick, {due}"
        )


@dataclass(frozen=True, eq=False)
class LateSpikes(Card):
    """Spikes that have not arrived when the tick in which they are fired ends, in the order of firing.

    Attributes
    ----------
    tick_cycles : int
        Length of a tick in router cycles.
    n_ticks : int
        Ticks of the run.
    spikes : int
        Spikes that were sent, late or not.
    worst_cycles : int
        Latest arrival, in cycles after the start of the spike's own tick; 0 without a spike.
    tick, core, neuron : ndarray of int64, shape (n,)
        When and where each late spike is fired.
    arrival_cycles : ndarray of int64, shape (n,)
        Cycles from the start of that tick to its arrival.
    delay : ndarray of int64, shape (n,)
        Ticks from that tick to the one in which it is due.
    node, node_index : ndarray of int64, shape (n,)
        Labels of the neurons that fire; node -1 without a label.
    node_names : tuple of str
        Names of the nodes.
    """

    tick_cycles: int
    n_ticks: int
    spikes: int
    worst_cycles: int
    tick: NDArray[np.int64]
    core: NDArray[np.int64]
    neuron: NDArray[np.int64]
    arrival_cycles: NDArray[np.int64]
    delay: NDArray[np.int64]
    node: NDArray[np.int64]
    node_index: NDArray[np.int64]
    node_names: tuple[str, ...]

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def __len__(self) -> int:
        return len(self.tick)

    @property
    def is_overdue(self) -> NDArray[np.bool_]:
        """Whether each of them arrives after the start of the tick in which it is due, shape (n,)."""
        overdue: NDArray[np.bool_] = self.arrival_cycles > self.delay * self.tick_cycles
        return overdue

    @property
    def n_overdue(self) -> int:
        """Late spikes that arrive after the start of the tick in which they are due."""
        return int(np.count_nonzero(self.is_overdue))

    def named(self, most: int = 10) -> tuple[LateSpike, ...]:
        """Name the first late spikes.

        Parameters
        ----------
        most : int
            How many at most.

        Returns
        -------
        tuple of LateSpike
        """
        overdue = self.is_overdue
        return tuple(
            LateSpike(
                tick=int(self.tick[k]),
                core=int(self.core[k]),
                neuron=int(self.neuron[k]),
                node=self.node_names[self.node[k]] if self.node[k] >= 0 else None,
                node_index=int(self.node_index[k]),
                arrival_cycles=int(self.arrival_cycles[k]),
                delay=int(self.delay[k]),
                is_overdue=bool(overdue[k]),
            )
            for k in range(min(most, len(self)))
        )
