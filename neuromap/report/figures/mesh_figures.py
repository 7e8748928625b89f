"""Spikes of a row on the network-on-chip in steady operation, as the report shows them."""

from __future__ import annotations

from dataclasses import dataclass

from neuromap.forms.card import Card

__all__ = ["LateFigures", "LinkFigure", "MeshFigures"]


@dataclass(frozen=True)
class LinkFigure:
    """A link and the most spikes that it carries in a tick.

    Attributes
    ----------
    x, y : int
        The router that it leaves, on the board.
    direction : str
        east, west, north or south; in: from the core to its router, out: from the router to its core.
    spikes_per_tick : int
        Most in one tick.
    tick : int
        The first tick of the run in which they were so many.
    """

    x: int
    y: int
    direction: str
    spikes_per_tick: int
    tick: int

    def __str__(self) -> str:
        return f"({self.x}, {self.y}) {self.direction}"


@dataclass(frozen=True)
class LateFigures:
    """Spikes that have not arrived when the tick in which they are fired ends, at the chip's length of a tick.

    Attributes
    ----------
    late_spikes : int
        All of them in the run.
    overdue_spikes : int
        Those that arrive after the start of the tick in which they are due.
    first_late_spike : str or None
        The first one by name.
    """

    late_spikes: int
    overdue_spikes: int
    first_late_spike: str | None


@dataclass(frozen=True)
class MeshFigures(Card):
    """Spikes on the network-on-chip; docs/network-on-chip.md has the definitions.

    Attributes
    ----------
    n_ticks, n_frames, spikes, hops : int
        Ticks and frames that were counted, over all stimuli; spikes of neurons with a target, links between routers
        that they cross.
    spikes_per_tick, spikes_per_frame, hops_per_frame : float
        Means over these ticks and frames.
    hops_per_spike : float or None
        Mean over the spikes that were really sent; ``None`` without a spike.
    busiest_link, busiest_core_link : LinkFigure or None
        Between two routers, and between a router and its core; ``None`` where no spike takes such a link.
    hop_cycles : int
        Router cycles of a hop.
    cycle_seconds : float or None
        Length of a router cycle; ``None`` where the chip file has none, as are then all figures in seconds.
    shortest_tick_cycles : int
        Worst arrival in the event simulation, in router cycles: with a tick of this length no spike is late.
    shortest_tick_at : int or None
        The tick of the run with this arrival.
    shortest_tick_seconds : float or None
        The same in seconds.
    safe_tick_cycles, safe_tick_seconds : int, float or None
        Bound on it, in whatever order links serve their spikes.
    safe_tick_any_stimulus_cycles, safe_tick_any_stimulus_seconds : int, float or None
        Bound if every neuron with a target fires in one tick.
    longest_cycle_seconds : float or None
        Longest router cycle with which the chip's tick is a safe one for any stimulus on the mesh.
    late : LateFigures or None
        Late spikes on the mesh at the chip's tick; ``None`` where the length of a router cycle is not known.
    crossings_per_frame : float
        Chip boundaries that spikes cross.
    host_spikes_per_frame : float
        Spikes from the host to axons, input and bias.
    host_spikes_per_second : float
        The same over time.
    readout_spikes_per_frame : float
        Spikes that are read out.
    port_spikes_per_tick : int
        Most spikes through the ports of one chip in one tick: host, readout and other chips.
    port_spikes_per_second_limit : float or None
        What the ports of one chip carry together.
    port_seconds : float or None
        Time that the ports need for their busiest tick.
    port_share_of_tick : float or None
        The same as a share of the tick.
    ports_exceed_tick : bool or None
        Whether that is more than the tick, so that spikes come too late there whatever the mesh does; ``None`` where
        the rate of the ports is not known.
    """

    n_ticks: int
    n_frames: int
    spikes: int
    hops: int
    spikes_per_tick: float
    spikes_per_frame: float
    hops_per_frame: float
    hops_per_spike: float | None
    busiest_link: LinkFigure | None
    busiest_core_link: LinkFigure | None
    hop_cycles: int
    cycle_seconds: float | None
    shortest_tick_cycles: int
    shortest_tick_at: int | None
    shortest_tick_seconds: float | None
    safe_tick_cycles: int
    safe_tick_seconds: float | None
    safe_tick_any_stimulus_cycles: int
    safe_tick_any_stimulus_seconds: float | None
    longest_cycle_seconds: float | None
    late: LateFigures | None
    crossings_per_frame: float
    host_spikes_per_frame: float
    host_spikes_per_second: float
    readout_spikes_per_frame: float
    port_spikes_per_tick: int
    port_spikes_per_second_limit: float | None
    port_seconds: float | None
    port_share_of_tick: float | None
    ports_exceed_tick: bool | None
