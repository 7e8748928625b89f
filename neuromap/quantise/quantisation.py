"""Errors of a quantisation, and their reading from the plain values of its document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from neuromap.render.value import Card, Documented


def read_quantisation(document: Mapping[str, Any]) -> Quantisation:
    """Rebuild a quantisation from the result of :meth:`~neuromap.quantise.quantisation.Quantisation.to_dict`."""
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


# Quantisation: the cost of putting a float network into integers, stated and never hidden.


@dataclass(frozen=True)
class NodeErrors(Card):
    """Quantisation errors of a node: relative to the float value, the greatest over its neurons."""

    node: str  # its name
    neurons: int  # how many
    scale: float  # units of the chip's voltage per unit of v
    threshold: int  # greatest threshold in units of the chip's voltage
    tau_error: float  # of the membrane time constant; 0 without one
    synapse_tau_errors: tuple[float, ...]  # of the time constants of the currents
    threshold_error: float  # of threshold minus reset
    bias_error: float  # of the increase per tick by rest and drive
    # bound on the accumulated rounding toward zero in every tick, as a fraction of the threshold; None where there is
    # none, in voltages without leak that currents feed
    truncation: float | None
    # range of the current divided by its value if all sources of one sign fire as often as they can: below 1 it may
    # wrap; None without synapses
    current_headroom: float | None
    lowest_voltage: float  # lower rail of the voltage in the unit of v


@dataclass(frozen=True)
class EdgeErrors(Card):
    """Quantisation errors of the synapses between two nodes."""

    edge: str  # source and target
    synapses: int  # how many, after merging those that share neurons, delay and current
    weight_error: float  # sum of errors divided by sum of weights
    greatest_weight_error: float  # greatest error of a weight, relative to it
    lost: int  # synapses whose weight became 0
    delay_error: float  # greatest error of a delay in seconds: delays are whole ticks


@dataclass(frozen=True)
class TrainDistance(Card):
    """Distance of a node's spike trains from the float original's."""

    node: str  # its name
    original: str  # who computed the original
    neurons: int  # neurons compared, evenly spaced over the node
    # spikes, original_spikes: their spikes on the chip and in the original
    spikes: int
    original_spikes: int
    time_constant: float  # of the van Rossum distance, in seconds
    distance: float  # mean over neurons; a spike without a partner is 1 (van Rossum 2001, as Elephant computes it)
    of_silence: float  # mean distance of the original from an empty train


@dataclass(frozen=True)
class Quantisation(Documented):
    """Cost of putting a float network into integers.

    Attributes
    ----------
    network, chip : str
        Names.
    dt : float
        Model seconds per tick.
    tick_seconds : float
        Chip seconds per tick.
    search : str
        How scales were found.
    nodes : tuple of NodeErrors
    edges : tuple of EdgeErrors
    notes : tuple of str
        Other differences of the integer neuron.
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
