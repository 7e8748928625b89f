"""What a row takes in steady operation: the network-on-chip, work, energy and node times, as the report shows them.

All of them are of whole frame periods, as many as there are frames. Sums and means, per tick and per frame, are over
all stimuli; what is the most in one tick, arrivals and node times are of the first.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from neuromap.arrays.frozen import ReadOnly
from neuromap.render.value import Card
from neuromap.simulation.cost.activity import NodeTime
from neuromap.simulation.cost.steady_figures import Spread

# Spikes of a row on the network-on-chip in steady operation, as the report shows them.


@dataclass(frozen=True)
class LinkFigure:
    """A link and the most spikes that it carries in a tick."""

    # x, y: the router that it leaves, on the board
    x: int
    y: int
    direction: str  # east, west, north or south; in: from the core to its router, out: from the router to its core
    spikes_per_tick: int  # most in one tick
    tick: int  # the first tick of the run in which they were so many

    def __str__(self) -> str:
        return f"({self.x}, {self.y}) {self.direction}"


@dataclass(frozen=True)
class LateFigures:
    """Spikes that have not arrived when the tick in which they are fired ends, at the chip's length of a tick."""

    late_spikes: int  # all of them in the run
    overdue_spikes: int  # those that arrive after the start of the tick in which they are due
    first_late_spike: str | None  # the first one by name


@dataclass(frozen=True)
class MeshFigures(Card):
    """Spikes on the network-on-chip; docs/network-on-chip.md has the definitions."""

    # n_ticks, n_frames, spikes, hops: ticks and frames that were counted, over all stimuli; spikes of neurons with a
    # target, links between routers that they cross
    n_ticks: int
    n_frames: int
    spikes: int
    hops: int
    # spikes_per_tick, spikes_per_frame, hops_per_frame: means over these ticks and frames
    spikes_per_tick: float
    spikes_per_frame: float
    hops_per_frame: float
    hops_per_spike: float | None  # mean over the spikes that were really sent; ``None`` without a spike
    # busiest_link, busiest_core_link: between two routers, and between a router and its core; ``None`` where no spike
    # takes such a link
    busiest_link: LinkFigure | None
    busiest_core_link: LinkFigure | None
    hop_cycles: int  # router cycles of a hop
    # length of a router cycle; ``None`` where the chip file has none, as are then all figures in seconds
    cycle_seconds: float | None
    # worst arrival in the event simulation, in router cycles: with a tick of this length no spike is late
    shortest_tick_cycles: int
    shortest_tick_at: int | None  # the tick of the run with this arrival
    shortest_tick_seconds: float | None  # the same in seconds
    # safe_tick_cycles, safe_tick_seconds: bound on it, in whatever order links serve their spikes
    safe_tick_cycles: int
    safe_tick_seconds: float | None
    # safe_tick_any_stimulus_cycles, safe_tick_any_stimulus_seconds: bound if every neuron with a target fires in one
    # tick
    safe_tick_any_stimulus_cycles: int
    safe_tick_any_stimulus_seconds: float | None
    # longest router cycle with which the chip's tick is a safe one for any stimulus on the mesh
    longest_cycle_seconds: float | None
    # late spikes on the mesh at the chip's tick; ``None`` where the length of a router cycle is not known
    late: LateFigures | None
    crossings_per_frame: float  # chip boundaries that spikes cross
    host_spikes_per_frame: float  # spikes from the host to axons, input and bias
    host_spikes_per_second: float  # the same over time
    readout_spikes_per_frame: float  # spikes that are read out
    port_spikes_per_tick: int  # most spikes through the ports of one chip in one tick: host, readout and other chips
    port_spikes_per_second_limit: float | None  # what the ports of one chip carry together
    port_seconds: float | None  # time that the ports need for their busiest tick
    port_share_of_tick: float | None  # the same as a share of the tick
    # whether that is more than the tick, so that spikes come too late there whatever the mesh does; ``None`` where the
    # rate of the ports is not known
    ports_exceed_tick: bool | None


@dataclass(frozen=True)
class WorkFigures(Card):
    """What the cores do."""

    # synaptic_events_per_tick, synaptic_events_per_frame: synapses on axons that are due, over all cores
    synaptic_events_per_tick: float
    synaptic_events_per_frame: float
    largest_core_events_per_tick: int  # most synaptic events of one core in one tick
    firing_neurons_per_tick: float  # neurons that fire, copies, relays, splitters and those that are read out included


@dataclass(frozen=True)
class EnergyTermFigures:
    """One term of the energy."""

    counted: str  # what is counted
    count_per_frame: float  # how many per frame
    # joules_each, joules_per_frame, watts: energy of one, of all per frame, and power; ``None`` where the chip file has
    # no figure
    joules_each: float | None
    joules_per_frame: float | None
    watts: float | None
    included_in: str | None  # "fit" where other terms hold this one already: it is shown and not added


@dataclass(frozen=True)
class EnergyFigures(ReadOnly, Card):
    """Energy and power of the whole board, idle chips included; docs/energy.md has the formulas."""

    # joules_per_tick, joules_per_frame, watts: sum of the terms that are known and in no other; ``None`` where the chip
    # file has no figure at all
    joules_per_tick: float | None
    joules_per_frame: float | None
    # mean, deviation and confidence interval of the energy per frame over the stimuli
    joules_per_frame_spread: Spread | None
    watts: float | None
    terms: Mapping[str, EnergyTermFigures]  # by the keys of the chip file
    absent: tuple[str, ...]  # figures that the chip file lacks: missing in the sums
    # published average, everything included: a reference at its own operating point, part of no sum
    average_joules_per_synaptic_event: float | None

    @property
    def static_share(self) -> float | None:
        """The part of the sum that is static power; ``None`` where there is no sum, or static power is not known."""
        static = self.terms.get("static_watts")
        if static is None or static.joules_per_frame is None or static.included_in or not self.joules_per_frame:
            return None
        return static.joules_per_frame / self.joules_per_frame

    @property
    def active_joules_per_frame(self) -> float | None:
        """The sum without static power; ``None`` where no other term is known."""
        parts = [
            term.joules_per_frame
            for key, term in self.terms.items()
            if key != "static_watts" and term.included_in is None and term.joules_per_frame is not None
        ]
        return math.fsum(parts) if parts else None

    def average_joules_per_frame(self, work: WorkFigures) -> float | None:
        """Give what the published average per synaptic event would make; for comparison only."""
        each, events = self.average_joules_per_synaptic_event, work.synaptic_events_per_frame
        return None if each is None else each * events


@dataclass(frozen=True)
class NodeTimeFigures(ReadOnly):
    """Times of nodes: cores work through their synaptic events one after the other, then spikes are on their way."""

    # most synaptic events that one core does for the node in one tick, router cycles within which its spikes arrive in
    # any tick, and both in seconds where the chip file has the figures
    nodes: Mapping[str, NodeTime]
    # slowest_node_events, slowest_node_seconds: the maximum over the nodes: what a frame takes if all edges stream
    slowest_node_events: int
    slowest_node_seconds: float | None
    # frame_events, frame_seconds: the sum along the longest chain of sequential edges: what a frame takes under this
    # pattern
    frame_events: int
    frame_seconds: float | None


@dataclass(frozen=True)
class TickTimeFigures:
    """Ticks that last as long as their work, over all stimuli; docs/timed-ticks.md has the definitions."""

    # mean_seconds, longest_seconds, bound_seconds: of a tick in the event simulation, barrier_seconds included, and the
    # mean of what counts bound it by
    mean_seconds: float
    longest_seconds: float
    bound_seconds: float
    barrier_seconds: float
    # frame_period_seconds, frame_period_bound_seconds: from sample to sample, mean over the stimuli, and its bound
    frame_period_seconds: Spread
    frame_period_bound_seconds: float
    # slowest_core, slowest_core_share, slowest_node: the core that ends most ticks of the first stimulus, the share
    # that it ends, and the node of most of its neurons
    slowest_core: tuple[int, int]
    slowest_core_share: float
    slowest_node: str | None


@dataclass(frozen=True)
class RunFigures(Card):
    """All figures of a row in steady operation.

    Attributes
    ----------
    network_on_chip : MeshFigures
        Spikes under way.
    work : WorkFigures
        What the cores do.
    energy : EnergyFigures
        What that costs.
    node_times : NodeTimeFigures
        How long the nodes take.
    tick_times : TickTimeFigures or None
        How long the ticks take, where they last as long as their work.
    """

    network_on_chip: MeshFigures
    work: WorkFigures
    energy: EnergyFigures
    node_times: NodeTimeFigures
    tick_times: TickTimeFigures | None = None
