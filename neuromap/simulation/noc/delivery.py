"""Arrivals of spikes on the mesh: the event simulation, and late spikes, which stay in the mesh."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from neuromap.arrays.array_types import Bools, Ints
from neuromap.arrays.frozen import ReadOnly
from neuromap.errors import InputError, NotSupportedError
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.render.value import Card
from neuromap.simulation.noc.traffic import Mesh, RouterClock, Ways, ways_of
from neuromap.simulation.run.tick_run import TickSpikes


def find_late_spikes(
    program: ChipProgram, ticks: Iterable[TickSpikes], tick_cycles: int, clock: RouterClock | None = None
) -> LateSpikes:
    """Simulate the mesh over a run with a given tick length, and find late spikes.

    Spikes that have not arrived when their tick ends stay in the mesh and meet those of the next ticks. Neurons are
    not affected: late spikes are found, their effect on the network is not followed.

    Parameters
    ----------
    program : ChipProgram
        Mapped, or written by hand.
    ticks : iterable of TickSpikes
        Ticks of the run in order, as from :func:`neuromap.simulation.run.tick_run.run_ticks`.
    tick_cycles : int
        Length of a tick in router cycles, 1 or more.
    clock : RouterClock, optional
        Router clock; by default that of the program's chip.

    Returns
    -------
    LateSpikes

    Raises
    ------
    InputError
        If the length is not positive, or ticks are not in increasing order.
    """
    if tick_cycles < 1:
        raise InputError(f"tick_cycles = {tick_cycles}; must be 1 or more router cycles")
    events = MeshEvents(Mesh.of(program.chip), RouterClock.of(program.chip) if clock is None else clock)
    sent_from = np.zeros((0, 4), np.int64)  # tick, core, neuron and delay of the spikes from number ``first`` on
    first = n_ticks = n_spikes = worst = 0
    last: int | None = None
    found: list[Ints] = []

    def take(arrivals: Arrivals) -> int:
        """Keep the late spikes among those that have arrived; return the latest arrival."""
        rows = sent_from[arrivals.spikes - first]
        cycles = arrivals.cycles - rows[:, 0] * tick_cycles
        found.append(np.column_stack([arrivals.spikes, rows, cycles])[cycles > tick_cycles])
        return int(cycles.max(initial=0))

    for spikes in ticks:
        tick = spikes.tick
        if last is not None and tick <= last:
            raise InputError(f"ticks: tick {tick} comes after tick {last}; give the ticks of a run in order")
        last = tick
        worst = max(worst, take(events.run(tick * tick_cycles)))
        sent = program.sent_by(spikes.cores, spikes.neurons)
        cores, neurons = spikes.cores[sent.spike], spikes.neurons[sent.spike]
        now = np.column_stack([np.full_like(cores, tick), cores, neurons, sent.delay])
        sent_from, first = np.concatenate([sent_from[events.oldest - first :], now]), events.oldest
        events.send(ways_of(program, cores, sent.core), tick * tick_cycles)
        n_ticks += 1
        n_spikes += len(cores)
    worst = max(worst, take(events.run()))  # let all spikes arrive
    late = np.concatenate(found)
    _, fired, core, neuron, delay, cycles = late[np.argsort(late[:, 0])].T
    return LateSpikes(
        tick_cycles=tick_cycles,
        n_ticks=n_ticks,
        spikes=n_spikes,
        worst_cycles=worst,
        tick=fired,
        core=core,
        neuron=neuron,
        arrival_cycles=cycles,
        delay=delay,
        node=program.neuron_node[core, neuron].astype(np.int64),
        node_index=program.neuron_index[core, neuron].astype(np.int64),
        node_names=tuple(port.name for port in program.nodes),
    )


# Late spikes have not arrived at the end of the tick in which they are fired; overdue ones come after their due tick
# has begun.
class LateSpike(NamedTuple):
    """A late spike."""

    tick: int  # the tick in which it is fired
    # core, neuron: the neuron that fires, by row of the program and place in its core
    core: int
    neuron: int
    node: str | None  # its node by the program's labels; ``None`` without a label
    node_index: int  # its index in the node
    arrival_cycles: int  # router cycles from the start of the tick to the arrival
    delay: int  # ticks from firing until it is due
    is_overdue: bool  # whether it arrives after the start of its due tick

    def __str__(self) -> str:
        label = "no label" if self.node is None else f"{self.node}[{self.node_index}]"
        due = f"overdue: it was due in tick {self.tick + self.delay}" if self.is_overdue else "in time for its due tick"
        return (
            f"tick {self.tick}: spike of neuron {self.neuron} of core {self.core} ({label}) arrives "
            f"{self.arrival_cycles} router cycles after the start of the tick, {due}"
        )


@dataclass(frozen=True, eq=False)
class LateSpikes(ReadOnly, Card):
    """Spikes that have not arrived at the end of the tick in which they are fired, in firing order.

    Attributes
    ----------
    tick_cycles : int
        Length of a tick in router cycles.
    n_ticks : int
        Ticks of the run.
    spikes : int
        Number of spikes sent, late or not.
    worst_cycles : int
        Latest arrival, in cycles after the start of the spike's own tick; 0 without a spike.
    tick, core, neuron : ndarray of int64, shape (n,)
        Tick and neuron of each late spike.
    arrival_cycles : ndarray of int64, shape (n,)
        Cycles from the start of that tick to the arrival.
    delay : ndarray of int64, shape (n,)
        Ticks from that tick to the due tick.
    node, node_index : ndarray of int64, shape (n,)
        Labels of the neurons that fire; node -1 without a label.
    node_names : tuple of str
        Names of the nodes.
    """

    tick_cycles: int
    n_ticks: int
    spikes: int
    worst_cycles: int
    tick: Ints
    core: Ints
    neuron: Ints
    arrival_cycles: Ints
    delay: Ints
    node: Ints
    node_index: Ints
    node_names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.tick)

    @property
    def is_overdue(self) -> Bools:
        """Whether each late spike arrives after the start of its due tick, shape (n,)."""
        return self.arrival_cycles > self.delay * self.tick_cycles

    @property
    def n_overdue(self) -> int:
        """Number of late spikes that arrive after the start of their due tick."""
        return int(np.count_nonzero(self.is_overdue))

    def named(self, most: int = 10) -> tuple[LateSpike, ...]:
        """List the first late spikes by name.

        Parameters
        ----------
        most : int
            Maximum number.

        Returns
        -------
        tuple of LateSpike
        """
        names = dict(enumerate(self.node_names))
        rows = zip(*(getattr(self, name)[:most].tolist() for name in LateSpike._fields), strict=True)
        return tuple(LateSpike(*row)._replace(node=names.get(row[3])) for row in rows)


# Deliveries of the mesh: the axons that the spikes of a tick reach, and when they are due there.


def delivered(program: ChipProgram, spikes: TickSpikes) -> Ints:
    """Send the spikes of a tick through the mesh, and list what the cores receive."""
    # The core is the one at the router where the event simulation outputs a spike; so the list equals the pending
    # spikes of an engine of crossbar cores (:attr:`neuromap.simulation.engine.engine.Engine.pending`) if both agree.
    # returns sorted rows (due tick, core, axon), each once: two spikes on one axon in one tick count as one. Core -1 if
    # a spike ends at a router without a core of the program
    # shapes: returns (n, 3)
    mesh = Mesh.of(program.chip)
    sent = program.sent_by(spikes.cores, spikes.neurons)
    events = MeshEvents(mesh, RouterClock.of(program.chip))
    events.send(ways_of(program, spikes.cores[sent.spike], sent.core), 0)
    arrivals = events.run()
    core_at = np.full((mesh.rows, mesh.columns), -1, np.int64)
    core_at[program.coordinates[:, 1], program.coordinates[:, 0]] = np.arange(program.n_cores)
    due = spikes.tick + sent.delay[arrivals.spikes]
    axon = sent.axon[arrivals.spikes]
    return np.unique(np.column_stack([due, core_at[arrivals.y, arrivals.x], axon]), axis=0)


_NEVER = 2**62


class Arrivals(NamedTuple):
    """Spikes that have arrived, in sending order; ndarrays of int64, shape (n,)."""

    spikes: Ints  # their numbers, from 0 in sending order
    cycles: Ints  # cycle at whose end each has reached its core, counted from cycle 0 of the simulation
    # x, y: router of arrival
    x: Ints
    y: Ints


class MeshEvents:
    """The mesh with its spikes in transit; each link serves spikes in order of readiness."""

    # Spikes that are ready in the same cycle are served in sending order, so the result is a function of the spikes
    # sent alone.

    def __init__(self, mesh: Mesh, clock: RouterClock) -> None:
        from neuromap.simulation.noc.arrival_kernel import compiled

        self._advance = compiled()
        self._sizes = mesh.columns, mesh.rows, mesh.chip_columns, mesh.chip_rows
        self._times = clock.hop_cycles, clock.crossing_cycles, clock.port_cycles or 0
        chip_rows, chip_columns = mesh.chips
        self._free = np.zeros(6 * mesh.rows * mesh.columns + chip_rows * chip_columns, np.int64)
        self._sent = 0
        self._number = np.zeros(0, np.int64)
        self._ready = np.zeros(0, np.int64)
        self._state = np.zeros((0, 8), np.int32)  # for the kernel; 32 bytes, so that a row is in one cache line

    @property
    def oldest(self) -> int:
        """Number of the first spike that has not arrived; if there is none, of the next to be sent."""
        return int(self._number[0]) if len(self._number) else self._sent

    def send(self, ways: Ways, cycle: int) -> Ints:
        """Release spikes at the start of a cycle; return their numbers, shape (n,)."""
        n = len(ways.x)
        numbers = np.arange(self._sent, self._sent + n)
        self._sent += n
        self._number = np.concatenate([self._number, numbers])
        self._ready = np.concatenate([self._ready, np.full(n, cycle, np.int64)])
        state = np.zeros((n, 8), np.int32)
        for column, values in enumerate(ways):
            state[:, column] = values
        self._state = np.concatenate([self._state, state])
        return numbers

    def run(self, until: int | None = None) -> Arrivals:
        """Run the mesh until a cycle, or until all spikes have arrived."""
        from neuromap.compiling import announced

        n = len(self._number)
        bits = max(1, n.bit_length())
        self._require_room(n, bits)
        heap = np.sort((self._ready << bits) | np.arange(n))  # a sorted array is a heap
        arrival = np.full(n, -1, np.int64)
        end = _NEVER if until is None else until
        with announced("the network-on-chip for this processor"):
            left = self._advance(heap, n, bits, end, self._state, arrival, self._free, self._sizes, self._times)
        waiting = heap[:left]
        self._ready[waiting & ((1 << bits) - 1)] = waiting >> bits
        there = arrival >= 0
        x, y = self._state[there, :2].astype(np.int64).T
        result = Arrivals(self._number[there], arrival[there], x, y)
        kept = ~there
        self._number, self._ready, self._state = self._number[kept], self._ready[kept], self._state[kept]
        return result

    def _require_room(self, n: int, bits: int) -> None:
        """Refuse runs that could overflow: in the worst case, a spike waits for all others at each of its links."""
        columns, rows, chip_columns, chip_rows = self._sizes
        hop, crossing, port = self._times
        links, ports = columns + rows + 2, 2 * (columns // chip_columns + rows // chip_rows + 2)
        latest = int(self._ready.max(initial=0)) + links * (max(hop, crossing) + n) + ports * port * (n + 1)
        if latest.bit_length() + bits > 62:
            raise NotSupportedError(
                f"network-on-chip: {n} spikes under way may take until router cycle {latest}; "
                f"with so many, the event simulation goes to cycle {2 ** (62 - bits) - 1}"
            )


def simulate_arrivals(mesh: Mesh, clock: RouterClock, ways: Ways) -> Ints:
    """Arrival cycles of spikes that are released together into an empty mesh."""
    # shapes: returns (n,)
    events = MeshEvents(mesh, clock)
    events.send(ways, 0)
    return events.run().cycles
