"""Late and overdue spikes: a run at a given length of tick, where what has not arrived stays in the mesh."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import freeze_arrays
from neuromap.errors import InputError
from neuromap.hardware.program.program import Program
from neuromap.simulation.noc.arrival_events import Arrivals, MeshEvents
from neuromap.simulation.noc.clock import RouterClock
from neuromap.simulation.noc.mesh import Mesh, ways_of
from neuromap.simulation.run.tick_run import TickSpikes

__all__ = ["LateSpike", "LateSpikes", "find_late_spikes"]

Ints = NDArray[np.int64]


class LateSpike(NamedTuple):
    """One spike that is late.

    Attributes
    ----------
    tick : int
        The tick in which it is fired.
    core, neuron : int
        The neuron that fires, by row of the program and place in its core.
    node : str or None
        Its node by the program's labels; ``None`` without a label.
    node_index : int
        Its place in the node.
    arrival_cycles : int
        Router cycles from the start of the tick to the arrival.
    delay : int
        Ticks from the tick in which it is fired to the one in which it is due.
    is_overdue : bool
        Whether it arrives after the start of the tick in which it is due.
    """

    tick: int
    core: int
    neuron: int
    node: str | None
    node_index: int
    arrival_cycles: int
    delay: int
    is_overdue: bool

    def __str__(self) -> str:
        label = "no label" if self.node is None else f"{self.node}[{self.node_index}]"
        due = f"overdue: it was due in tick {self.tick + self.delay}" if self.is_overdue else "in time for its due tick"
        return (
            f"tick {self.tick}: spike of neuron {self.neuron} of core {self.core} ({label}) arrives "
            f"{self.arrival_cycles} router cycles after the start of the tick, {due}"
        )


@dataclass(frozen=True, eq=False)
class LateSpikes:
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


def find_late_spikes(
    program: Program, ticks: Iterable[TickSpikes], tick_cycles: int, clock: RouterClock | None = None
) -> LateSpikes:
    """Simulate the mesh over a run at a length of tick, and find the spikes that are late.

    Spikes that have not arrived when their tick ends stay in the mesh and meet those of the next ticks. What neurons
    compute does not change: late spikes are found, their effect on the network is not followed.

    Parameters
    ----------
    program : Program
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
    events = MeshEvents(Mesh.of(program.chip), RouterClock.of(program.chip) if clock is None else clock)
    sent = np.zeros((0, 3), np.int64)
    first = 0  # the number of the spike in row 0 of ``sent``
    found: list[Ints] = []
    n_ticks = n_spikes = worst = 0
    last: int | None = None

    def take(arrivals: Arrivals) -> None:
        nonlocal worst
        rows = sent[arrivals.spikes - first]
        cycles = arrivals.cycles - rows[:, 0] * tick_cycles
        worst = max(worst, int(cycles.max(initial=0)))
        late = cycles > tick_cycles
        found.append(np.column_stack([arrivals.spikes, rows, cycles])[late])

    for spikes in ticks:
        if last is not None and spikes.tick <= last:
            raise InputError(f"ticks: tick {spikes.tick} comes after tick {last}; give the ticks of a run in order")
        last = spikes.tick
        take(events.run(last * tick_cycles))
        has_target = program.target_core[spikes.cores, spikes.neurons] >= 0
        cores, neurons = spikes.cores[has_target], spikes.neurons[has_target]
        gone = events.oldest - first
        sent = np.concatenate([sent[gone:], np.column_stack([np.full_like(cores, last), cores, neurons])])
        first += gone
        events.send(ways_of(program, cores, neurons), last * tick_cycles)
        n_ticks += 1
        n_spikes += len(cores)
    take(events.run())
    late = np.concatenate(found)
    late = late[np.argsort(late[:, 0])]
    _, tick, core, neuron, cycles = late.T
    return LateSpikes(
        tick_cycles=tick_cycles,
        n_ticks=n_ticks,
        spikes=n_spikes,
        worst_cycles=worst,
        tick=tick,
        core=core,
        neuron=neuron,
        arrival_cycles=cycles,
        delay=program.delay[core, neuron].astype(np.int64),
        node=program.neuron_node[core, neuron].astype(np.int64),
        node_index=program.neuron_index[core, neuron].astype(np.int64),
        node_names=tuple(port.name for port in program.nodes),
    )
