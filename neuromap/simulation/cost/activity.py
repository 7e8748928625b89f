"""Work, traffic and node times of a program, per frame and in its busiest tick.

A core works through the events of a tick one after the other, all cores at the same time. So a node takes as long
as that core which has most to do for it; then its spikes are on their way, for as long as the load of the links makes
them wait.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import freeze_arrays
from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.render.value import Card
from neuromap.simulation.cost.energy import Counts
from neuromap.simulation.cost.tick_times import TickTimes
from neuromap.simulation.noc.traffic import Traffic, WireCounts


class NodeTime(NamedTuple):
    """What a node takes in the tick that is its busiest.

    Attributes
    ----------
    events : int
        Synaptic events that the busiest core does for the node.
    seconds : float or None
        The same in time, with the updates of the node's neurons on that core and the arrival of its spikes; ``None``
        where the chip file lacks one of the figures ``synaptic_event_seconds`` and ``neuron_update_seconds``, or
        traffic is given and the router's figures are absent.
    arrival_cycles : int or None
        Router cycles within which the node's spikes arrive in any tick of the run, a bound; ``None`` where no traffic
        is given.
    """

    events: int
    seconds: float | None
    arrival_cycles: int | None = None


def node_times(work: Work, chip: ChipSpec, traffic: Traffic | None = None) -> dict[str, NodeTime]:
    """Say how long every node takes, as a run has shown.

    Parameters
    ----------
    work : Work
        Of a run that drives the network as hard as it will be driven: nodes take what that run made them take.
    chip : ChipSpec
        Its figures of time, if it has any.
    traffic : Traffic, optional
        Of the same run: then the way of a node's spikes is part of its time.

    Returns
    -------
    dict of str to NodeTime
        For every node but the inputs. Relays and splitters are left out: they take ticks of their own. Where nodes
        share a core each is counted alone.
    """
    arrivals = {name: None if traffic is None else traffic.node_arrivals[name] for name in work.node_peak}
    event, update = (chip.timing.get(key) for key in ("synaptic_event_seconds", "neuron_update_seconds"))
    # timed ticks know links by the time of a hop alone, which is short beside what cores do
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


# What a program does while it runs: its traffic and its work.


# What the cores of a program did in a run: synaptic events, by core and by node.
@dataclass(frozen=True, eq=False)
class NodeShares(Card):
    """Which neurons of a core belong together: those of one node, relays apart (S shares)."""

    # A core that holds neurons of several nodes has several shares; neurons without a label make one too.

    core: NDArray[np.int64]  # (S,): the core; ascending
    node: NDArray[np.int64]  # (S,): position in ``Program.nodes``; -1 for neurons without a label
    is_relay: NDArray[np.bool_]  # (S,): whether these are relays or splitters, which bear the label of their source
    neurons: NDArray[np.int64]  # (S,): neurons of the share
    peak_events: NDArray[np.int64]  # (S,): most synaptic events of these neurons in one tick

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def __len__(self) -> int:
        return len(self.core)


@dataclass(frozen=True, eq=False)
class Work(Card):
    """What the cores of a program did in a run of ticks; C cores.

    Attributes
    ----------
    n_ticks : int
        Ticks that were counted.
    spikes : int
        Neurons that fired, counted once per tick; those that are read out too.
    axon_events : int
        Axons that were due, counted once per tick.
    synaptic_events : int
        Synapses on those axons.
    neuron_updates : int
        Neurons times ticks. A crossbar core goes through all of its neurons in every tick, idle ones too; a core with
        synapse lists through those that are in use.
    core_events : ndarray of int64, shape (C,)
        Synaptic events of every core, summed over the ticks.
    peak_core_events : ndarray of int64, shape (C,)
        Most synaptic events of every core in one tick.
    nodes : tuple of str
        Names of all nodes of the program, which the shares count through.
    shares : NodeShares
        The same per node on every core.
    node_peak : mapping of str to int
        Most synaptic events that one core does for one node in one tick, for all nodes but the inputs; relays are
        left out. 0 for a node that never has any.
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

    def __post_init__(self) -> None:
        freeze_arrays(self)
        object.__setattr__(self, "node_peak", ReadOnlyMapping(self.node_peak))


@dataclass(frozen=True, eq=False)
class Activity(Card):
    """Traffic and work of the same run.

    Attributes
    ----------
    traffic : Traffic
        Spikes on the network-on-chip.
    work : Work
        What the cores did.
    chips : int
        Chips of the board.
    times : TickTimes or None
        Time of every tick, where ticks are timed.
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
        """What costs energy, for :func:`neuromap.simulation.cost.energy.energy_of`."""
        return energy_counts(self.traffic.wires, self.work, self.chips, self.times)


def energy_counts(wires: WireCounts, work: Work, chips: int, times: TickTimes | None = None) -> Counts:
    """Say of a run what costs energy."""
    # Spikes that are read out leave a core and go to the host, so they count in both places.
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
