"""What a row takes in steady operation: the network-on-chip, work, energy and node times, as the report shows them.

All of them are of whole frame periods, as many as there are frames. Sums and means, per tick and per frame, are over
all stimuli; what is the most in one tick, arrivals and node times are of the first.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.forms.card import Card
from neuromap.report.figures.mesh_figures import MeshFigures
from neuromap.simulation.cost.node_work import NodeTime
from neuromap.simulation.cost.spread import Spread

__all__ = [
    "EnergyFigures",
    "EnergyTermFigures",
    "NodeTimeFigures",
    "RunFigures",
    "WorkFigures",
]


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
class EnergyFigures(Card):
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

    def __post_init__(self) -> None:
        object.__setattr__(self, "terms", ReadOnlyMapping(self.terms))

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
class NodeTimeFigures:
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

    def __post_init__(self) -> None:
        object.__setattr__(self, "nodes", ReadOnlyMapping(self.nodes))


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
    """

    network_on_chip: MeshFigures
    work: WorkFigures
    energy: EnergyFigures
    node_times: NodeTimeFigures
