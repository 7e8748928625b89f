"""A quantisation from the plain values of its document, as another process of ours left them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from neuromap.render.value import Card, Documented


def read_quantisation(document: Mapping[str, Any]) -> Quantisation:
    """Make a quantisation of what :meth:`~neuromap.quantise.quantisation.Quantisation.to_dict` gave."""
    nodes = [{**node, "synapse_tau_errors": tuple(node["synapse_tau_errors"])} for node in document["nodes"]]
    return Quantisation(
        network=document["network"],
        chip=document["chip"],
        dt=document["model_seconds_per_tick"],
        tick_seconds=document["chip_seconds_per_tick"],
        search=document["search"],
        nodes=tuple(NodeErrors(**node) for node in nodes),
        edges=tuple(EdgeErrors(**edge) for edge in document["edges"]),
        notes=tuple(document["notes"]),
        distances=tuple(TrainDistance(**distance) for distance in document["distances"]),
    )


# Quantisation: what putting a float network into integers cost, stated and never hidden.


@dataclass(frozen=True)
class NodeErrors(Card):
    """What a node's neurons lost; errors are relative to the float value and the greatest of all neurons."""

    node: str  # its name
    neurons: int  # how many
    scale: float  # units of the chip's voltage per unit of v
    threshold: int  # greatest threshold in units of the chip's voltage
    tau_error: float  # of the time constant of the membrane; 0 where there is none
    synapse_tau_errors: tuple[float, ...]  # of those of the currents
    threshold_error: float  # of threshold less reset
    bias_error: float  # of what rest and drive add in a tick
    # what rounding toward zero in every tick can add up to, as a part of the threshold; None where it has no bound, in
    # voltages without leak that currents feed
    truncation: float | None
    # range of the current by what it reaches if all sources of one sign fire as often as they can: below 1 it may wrap;
    # None without synapses
    current_headroom: float | None
    lowest_voltage: float  # the lower rail of the voltage in the unit of v


@dataclass(frozen=True)
class EdgeErrors(Card):
    """What the synapses between two nodes lost."""

    edge: str  # source and target
    synapses: int  # how many, after those that share neurons, delay and current were added up
    weight_error: float  # sum of errors by sum of weights
    greatest_weight_error: float  # greatest error of a weight, relative to it
    lost: int  # synapses whose weight became 0
    delay_error: float  # greatest error of a delay in seconds: delays are whole ticks


@dataclass(frozen=True)
class TrainDistance(Card):
    """How far spike trains of a node are from the float original's."""

    node: str  # its name
    original: str  # who computed the original
    neurons: int  # neurons that were compared, evenly over the node
    # spikes, original_spikes: spikes of these on the chip and in the original
    spikes: int
    original_spikes: int
    time_constant: float  # of the van Rossum distance, in seconds
    distance: float  # mean over neurons; a spike without a partner is 1 (van Rossum 2001, as Elephant computes it)
    of_silence: float  # mean distance of the original from silence: what no spike at all would have


@dataclass(frozen=True)
class Quantisation(Documented):
    """What putting a float network into integers cost.

    Attributes
    ----------
    network, chip : str
        Names.
    dt : float
        Seconds of the model in a tick.
    tick_seconds : float
        Seconds that the chip takes for one.
    search : str
        How scales were found.
    nodes : tuple of NodeErrors
    edges : tuple of EdgeErrors
    notes : tuple of str
        Where the integer neuron differs otherwise.
    distances : tuple of TrainDistance
        From the float original, where a run was compared.
    """

    _called = "a quantisation"
    _forms = ("neuromap.quantise.forms",)

    network: str
    chip: str
    dt: float
    tick_seconds: float
    search: str
    nodes: tuple[NodeErrors, ...]
    edges: tuple[EdgeErrors, ...]
    notes: tuple[str, ...] = ()
    distances: tuple[TrainDistance, ...] = ()

    def _facts(self) -> dict[str, object]:
        return {
            "network": self.network,
            "chip": self.chip,
            "tick": f"{self.dt:g} s",
            "nodes": len(self.nodes),
            "edges": len(self.edges),
        }
