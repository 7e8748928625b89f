"""Spikes of a row on the network-on-chip in steady operation, as the report shows them."""

from __future__ import annotations

from dataclasses import dataclass

from neuromap.forms.card import Card

__all__ = ["LateFigures", "LinkFigure", "MeshFigures"]


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
