"""Work, traffic and node times of a program, per frame and in its busiest tick.

Each core processes the events of a tick one after the other; all cores work in parallel. A node therefore takes as
long as its busiest core; then its spikes travel, and wait as the load of the links requires.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuromap.arrays.array_types import Ints
from neuromap.arrays.frozen import ReadOnly
from neuromap.arrays.packed_rows import ragged_ranges, rank_in_run
from neuromap.errors import InputError
from neuromap.files.argument_checks import needs
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.render.value import Card
from neuromap.simulation.cost.energy import Counts, updates_all
from neuromap.simulation.cost.tick_times import TickTimes, tick_clock
from neuromap.simulation.engine.engine_choice import EngineChoice
from neuromap.simulation.noc.measure_traffic import TrafficCounter
from neuromap.simulation.noc.traffic import Traffic, WireCounts, WireSums
from neuromap.simulation.run.tick_run import TickSpikes, run_ticks, together


class NodeTime(NamedTuple):
    """Work and time of a node in its busiest tick.

    Attributes
    ----------
    events : int
        Synaptic events that the busiest core processes for the node.
    seconds : float or None
        Their time on the slowest core, updates of the node's neurons there and the arrival of its spikes included;
        ``None`` if the chip file lacks ``synaptic_event_seconds`` or ``neuron_update_seconds``, or traffic is given and
        the router's figures are missing.
    arrival_cycles : int or None
        Bound on the router cycles until the node's spikes arrive in any tick of the run; ``None`` without traffic.
    """

    events: int
    seconds: float | None
    arrival_cycles: int | None = None


def node_times(work: Work, chip: ChipSpec, traffic: Traffic | None = None) -> dict[str, NodeTime]:
    """Time of every node, measured in a run.

    Parameters
    ----------
    work : Work
        Work of a run that drives the network as hard as it will be driven: times hold for that run's load.
    chip : ChipSpec
        Chip whose timing figures are used, if it has any.
    traffic : Traffic, optional
        Traffic of the same run; if given, a node's time includes the travel of its spikes.

    Returns
    -------
    dict of str to NodeTime
        For every node but the inputs. Relays and splitters are left out: they take ticks of their own. Nodes that
        share a core are each counted alone.
    """
    arrivals = {name: None if traffic is None else traffic.node_arrivals[name] for name in work.node_peak}
    event, update = (chip.timing.get(key) for key in ("synaptic_event_seconds", "neuron_update_seconds"))
    # timed ticks know links only by the time of a hop, which is short compared with the work of cores
    cycle = 0.0 if traffic is None or chip.is_timed else traffic.clock.cycle_seconds
    if event is None or update is None or cycle is None:
        return {name: NodeTime(events, None, arrivals[name]) for name, events in work.node_peak.items()}
    update += chip.timing.get("neuron_access_seconds", 0.0)
    shares = work.shares
    seconds = shares.peak_events * event + shares.neurons * update
    slowest = np.zeros(len(work.nodes))
    labelled = ~shares.is_relay & (shares.node >= 0)
    np.maximum.at(slowest, shares.node[labelled], seconds[labelled])
    by_name = dict(zip(work.nodes, slowest.tolist(), strict=True))
    return {
        name: NodeTime(events, by_name[name] + (arrivals[name] or 0) * cycle, arrivals[name])
        for name, events in work.node_peak.items()
    }


# Activity of a running program: its traffic and its work.


# Work of a program's cores in a run: synaptic events, by core and by node.
@dataclass(frozen=True, eq=False)
class NodeShares(ReadOnly, Card):
    """Neurons of every core grouped by node, relays apart (S shares)."""

    # A core with neurons of several nodes has several shares; neurons without a label form one too.

    core: NDArray[np.int64]  # (S,): the core; ascending
    node: NDArray[np.int64]  # (S,): position in ``Program.nodes``; -1 for neurons without a label
    is_relay: NDArray[np.bool_]  # (S,): whether these are relays or splitters, which carry the label of their source
    neurons: NDArray[np.int64]  # (S,): number of neurons in the share
    peak_events: NDArray[np.int64]  # (S,): most synaptic events of these neurons in one tick

    def __len__(self) -> int:
        return len(self.core)


@dataclass(frozen=True, eq=False)
class Work(ReadOnly, Card):
    """Work of a program's C cores over a run.

    Attributes
    ----------
    n_ticks : int
        Number of ticks counted.
    spikes : int
        Neurons that fired, counted once per tick, including those read out.
    axon_events : int
        Axons that were due, counted once per tick.
    synaptic_events : int
        Synapses on those axons.
    neuron_updates : int
        Neurons times ticks. A crossbar core updates all of its neurons in every tick, idle ones too; a synapse-list
        core only those in use, as does any core of a chip with ``neuron_access_joules``.
    core_events : ndarray of int64, shape (C,)
        Synaptic events of every core, summed over the ticks.
    peak_core_events : ndarray of int64, shape (C,)
        Most synaptic events of every core in one tick.
    nodes : tuple of str
        Names of all nodes of the program, indexed by ``shares.node``.
    shares : NodeShares
        Peak synaptic events per node on every core.
    node_peak : mapping of str to int
        Most synaptic events that one core processes for the node in one tick, for all nodes but the inputs; relays are
        left out. 0 for a node without events.
    """

    n_ticks: int
    spikes: int
    axon_events: int
    synaptic_events: int
    neuron_updates: int
    core_events: NDArray[np.int64]
    peak_core_events: NDArray[np.int64]
    nodes: tuple[str, ...]
    shares: NodeShares
    node_peak: Mapping[str, int]


@dataclass(frozen=True, eq=False)
class Activity(Card):
    """Traffic and work of one run.

    Attributes
    ----------
    traffic : Traffic
        Spikes on the network-on-chip.
    work : Work
        What the cores did.
    chips : int
        Chips of the board.
    times : TickTimes or None
        Time of every tick, if ticks are timed.
    """

    traffic: Traffic
    work: Work
    chips: int
    times: TickTimes | None = None

    def _facts(self) -> dict[str, object]:
        return {
            "ticks": self.work.n_ticks,
            "synaptic events": self.work.synaptic_events,
            "spikes sent": self.traffic.spikes,
            "links crossed": self.traffic.hops,
            "shortest tick": f"{self.traffic.shortest_tick_cycles} router cycles",
        }

    @property
    def counts(self) -> Counts:
        """Counts for :func:`neuromap.simulation.cost.energy.energy_of`."""
        return energy_counts(self.traffic.wires, self.work, self.chips, self.times)


def energy_counts(wires: WireCounts, work: Work, chips: int, times: TickTimes | None = None) -> Counts:
    """Count what costs energy in a run."""
    # spikes that are read out leave a core and go to the host, so they count in both places
    return Counts(
        ticks=work.n_ticks,
        chips=chips,
        neuron_updates=work.neuron_updates,
        synaptic_events=work.synaptic_events,
        spikes=wires.spikes + wires.readout_spikes,
        hops=wires.hops,
        crossings=wires.crossings,
        host_spikes=wires.host_spikes + wires.readout_spikes,
        hops_x=wires.hops_x,
        active=times.active if times else 0,
        fired=times.fired if times else 0,
        arrivals=times.arrivals if times else 0,
        seconds=float(times.seconds.sum()) if times else 0.0,
    )


def measure_activity(
    program: ChipProgram,
    frames: Mapping[str, ArrayLike] | None = None,
    *,
    n_ticks: int | None = None,
    engine: str = "fast",
    threads: int | None = None,
    noise_seed: int = 0,
    progress: Callable[[int, int], object] | None = None,
) -> Activity:
    """Run a program once and count its traffic and work, start-up and end of the run included.

    For figures per frame see :func:`neuromap.simulation.cost.steady_figures.measure_steady_activity`.

    Parameters
    ----------
    program : ChipProgram
        Mapped, or written by hand.
    frames : mapping of str to array_like, shape (n_frames, size), optional
        Input frames for every input node; if omitted, the host feeds nothing.
    n_ticks : int, optional
        Number of ticks; by default until the slowest output has shown the last frame.
    engine, threads, noise_seed
        As in :func:`neuromap.simulation.run.simulate.simulate`.
    progress : callable, optional
        Called as ``progress(ticks_done, total_ticks)``.

    Returns
    -------
    Activity

    Raises
    ------
    StimulusError
        If the frames do not match the program's input nodes.
    InputError
        If there is no such engine, a number is out of range, or neither frames nor ticks are given.
    ProgramError
        If the program has no output node and ``n_ticks`` is not given, or its tables point outside it.
    """
    needs("measure_activity", program, ChipProgram)
    choice = EngineChoice(engine, threads, noise_seed)
    holding = program.chip.is_timed
    ticks = run_ticks(program, frames, n_ticks=n_ticks, choice=choice, progress=progress, holding=holding)
    return count_activity(program, ticks)


def count_activity(program: ChipProgram, ticks: Iterable[TickSpikes]) -> Activity:
    """Count traffic and work of a run from tick 0 on; time its ticks if they last as long as their work."""
    traffic = TrafficCounter(program)
    counter = RunCounter(program, traffic)
    for spikes in ticks:
        counter.add(spikes)
    return counter.activity(traffic)


class RunCounter:
    """Counts a run tick by tick: traffic, work and, if ticks are timed, their lengths."""

    def __init__(self, program: ChipProgram, wires: TrafficCounter | WireSums) -> None:
        self.wires: TrafficCounter | WireSums = wires  # full traffic, or only its sums
        self.work, self._clock = WorkCounter(program), tick_clock(program)
        self._chips = math.prod(program.chip.chips)

    def add(self, spikes: TickSpikes) -> None:
        """Count one tick."""
        self.wires.add(spikes)
        self.work.add(spikes)
        if self._clock is not None:
            self._clock.add(spikes)

    def follow(self, before: Sequence[TickSpikes]) -> None:
        """Begin another stretch of ticks; spikes of the ticks ``before`` it are still pending."""
        self.work.follow(before)
        if self._clock is not None:
            self._clock.follow(before)

    @property
    def times(self) -> TickTimes | None:
        """Time of every tick so far, if ticks are timed."""
        return None if self._clock is None else self._clock.result()

    def activity(self, traffic: TrafficCounter) -> Activity:
        """Traffic, as counted by ``traffic``, and work so far."""
        return Activity(traffic.result(), self.work.result(), self._chips, self.times)

    @property
    def counts(self) -> Counts:
        """Energy counts so far."""
        return energy_counts(self.wires.counts, self.work.result(), self._chips, self.times)


# Work of a program's cores in each tick: synaptic events, counted by core and by node.
#
# Engines keep totals only. Here every tick's spikes are followed to their axons, which also tells where the work is
# done and how much of it falls into one tick: a core processes its synaptic events one after the other, so its
# busiest tick determines how long a tick it needs.


# Ticks times shares counted at once; bounds the memory beyond the program.
_CELLS = 1 << 18


class WorkCounter:
    """Counts the work of a run, tick by tick."""

    def __init__(self, program: ChipProgram) -> None:
        self._program = program
        self._first_axon = np.zeros(program.n_cores + 1, np.int64)
        np.cumsum(program.axon_counts, out=self._first_axon[1:])
        own = program.chip.kind.wave
        self._shares = SynapseShares(program) if own is None else own.shares(program)
        self._peak = np.zeros(len(self._shares), np.int64)
        self._core_events = np.zeros(program.n_cores, np.int64)
        self._peak_core_events = np.zeros(program.n_cores, np.int64)
        self._kept: list[TickSpikes] = []
        self._at_once = max(1, min(32, _CELLS // max(1, len(self._shares))))
        self._under_way = np.empty(0, np.int64)
        self._tick = self._spikes = self._axon_events = 0

    def add(self, spikes: TickSpikes) -> None:
        """Count one tick."""
        if spikes.tick != self._tick:
            raise InputError(f"work: found tick {spikes.tick}; tick {self._tick} is next, add them one by one")
        self._kept.append(spikes)
        self._tick += 1
        if len(self._kept) >= self._at_once:
            self._count()

    def follow(self, before: Sequence[TickSpikes]) -> None:
        """Begin another stretch of ticks; spikes of the ticks ``before`` it are still pending."""
        self._count()
        arrivals = self._sent(before, self._tick - len(before)) if before else np.empty(0, np.int64)
        self._under_way = arrivals[arrivals >= self._tick * self._n_axons]

    @property
    def _n_axons(self) -> int:
        return int(self._first_axon[-1])

    def _count(self) -> None:
        """Count all kept ticks at once."""
        if not self._kept:
            return
        first = self._tick - len(self._kept)
        fed = together(self._kept)
        self._spikes += len(fed.cores)
        of_host = self._first_axon[fed.host_cores] + fed.host_axons
        of_host += self._n_axons * (first + _positions([len(spikes.host_cores) for spikes in self._kept]))
        found = np.concatenate([self._under_way, self._sent(self._kept, first), of_host])
        found.sort()
        arrivals = found[np.diff(found, prepend=-1) > 0]  # two spikes on one axon in one tick are one
        done = np.searchsorted(arrivals, self._tick * self._n_axons)
        self._under_way = arrivals[done:]
        arrivals = arrivals[:done] - first * self._n_axons
        self._axon_events += len(arrivals)
        ticks, axons = np.divmod(arrivals, max(1, self._n_axons))
        events = self._shares.events(ticks, axons, len(self._kept))
        first_share = np.searchsorted(self._shares.core, np.arange(self._program.n_cores))
        of_core = np.add.reduceat(events, first_share, axis=1)  # every core has a share
        np.maximum(self._peak, events.max(axis=0), out=self._peak)
        np.maximum(self._peak_core_events, of_core.max(axis=0), out=self._peak_core_events)
        self._core_events += of_core.sum(axis=0)
        self._kept.clear()

    def _sent(self, ticks: Sequence[TickSpikes], first: int) -> NDArray[np.int64]:
        """Arrivals of the spikes of ticks from ``first`` on, encoded as tick times number of axons plus axon."""
        spikes = together(ticks)
        sent = self._program.sent_by(spikes.cores, spikes.neurons)
        when = first + _positions([len(tick.cores) for tick in ticks])[sent.spike] + sent.delay
        return when * self._n_axons + self._first_axon[sent.core] + sent.axon

    def result(self) -> Work:
        """Return the work counted so far."""
        self._count()
        shares = self._shares
        is_relay, node = shares.label % 2 == 1, shares.label // 2 - 1
        names = {k: port.name for k, port in enumerate(self._program.nodes) if port.kind != "input"}
        peak = dict.fromkeys(names.values(), 0)
        for k, relay, events in zip(node.tolist(), is_relay.tolist(), self._peak.tolist(), strict=True):
            if k in names and not relay:
                peak[names[k]] = max(peak[names[k]], events)
        return Work(
            n_ticks=self._tick,
            spikes=self._spikes,
            axon_events=self._axon_events,
            synaptic_events=int(self._core_events.sum()),
            neuron_updates=self._shares.updates * self._tick,
            core_events=self._core_events,
            peak_core_events=self._peak_core_events,
            nodes=tuple(port.name for port in self._program.nodes),
            shares=NodeShares(shares.core, node, is_relay, shares.neurons, self._peak),
            node_peak=peak,
        )


def _positions(counts: Sequence[int]) -> NDArray[np.int64]:
    """Position of every spike's tick, given the number of spikes per tick."""
    return np.repeat(np.arange(len(counts)), counts)


# Synapses of a program by axon and node: events of every share when axons are reached.


class CoreShares(ABC):
    """Neurons of every core grouped by node, relays apart (S shares, ordered by core), and the synapses onto them."""

    # core, label, neurons: (S,): core of every share; 2 (node + 1), plus 1 for relays; number of neurons
    # shapes: labels (C, N)

    def __init__(self, program: ChipProgram, labels: Ints) -> None:
        self._labels = labels
        n_labels = int(self._labels.max(initial=0)) + 1
        self._numbers = np.arange(program.n_cores)[:, None] * n_labels + self._labels
        self._keys, counts = np.unique(self._numbers, return_counts=True)
        self.core, self.label, self.neurons = self._keys // n_labels, self._keys % n_labels, counts.astype(np.int64)
        # neurons updated in every tick: all neurons of the cores in use, idle ones too, or only the neurons in use
        self.updates = self._numbers.size if updates_all(program.chip) else int(program.neurons_in_use.sum())

    def __len__(self) -> int:
        return len(self.core)

    @abstractmethod
    def events(self, ticks: Ints, axons: Ints, n_ticks: int) -> Ints:
        """Count synaptic events by tick and share for the reached axons."""
        # shapes: ticks, axons (n,); returns (T, S)

    def _added(self, ticks: Ints, shares: Ints, events: NDArray[np.integer], n_ticks: int) -> Ints:
        cells = np.bincount(ticks * len(self) + shares, events, n_ticks * len(self))  # exact: far below 2^53
        return cells.astype(np.int64).reshape(n_ticks, len(self))


class SynapseShares(CoreShares):
    """Shares of any program, with the number of synapses from every axon onto every share."""

    def __init__(self, program: ChipProgram) -> None:
        # the cost of a joined current counts for the neuron it is joined to
        super().__init__(program, share_labels(program).ravel()[program.soma].reshape(program.shape))
        cores = np.repeat(np.arange(program.n_cores), program.axon_counts)
        found = program.synapses_of(cores, rank_in_run(cores))
        share = np.searchsorted(self._keys, self._numbers[cores[found.row], found.neuron])
        pairs, self._each = np.unique(found.row * max(1, len(self)) + share, return_counts=True)
        axon, self._share = np.divmod(pairs, max(1, len(self)))
        self._first = np.searchsorted(axon, np.arange(len(cores) + 1))
        del self._labels, self._numbers, self._keys

    def events(self, ticks: Ints, axons: Ints, n_ticks: int) -> Ints:
        """Count synaptic events by tick and share: a reached axon activates all its synapses."""
        first = self._first[axons]
        each = self._first[axons + 1] - first
        rows = ragged_ranges(first, each)
        return self._added(np.repeat(ticks, each), self._share[rows], self._each[rows], n_ticks)


def share_labels(program: ChipProgram) -> Ints:
    """Label of every neuron's share, shape (C, N)."""
    return 2 * (program.neuron_node.astype(np.int64) + 1) + program.is_relay
