"""What of a Nengo network a chip with crossbar cores can take, and why not."""

from __future__ import annotations

from typing import Any

import nengo
from nengo.ensemble import Neurons
from nengo.neurons import LIF, SpikingRectifiedLinear

from neuromap.hardware.chip.chip_spec import ChipSpec

__all__ = ["against_ensemble", "against_link", "demanded_cores"]

LONGEST_TICKS = 1000
"""Ticks of the longest time constant: the latest line takes a few times as long, in relays of at most 15."""
_LINES = 40
"""Lines of a link and dimension, about."""


def against_ensemble(network: nengo.Network, ensemble: Any, chip: ChipSpec) -> str:
    """Say what keeps an ensemble from the chip; empty where nothing does."""
    if type(ensemble.neuron_type) is LIF:
        return (
            f"its neurons leak, tau_rc dv/dt = J - v; a neuron of {chip.name} adds a constant leak, V := V + leak; "
            "loihi1 computes it, or take nengo.SpikingRectifiedLinear()"
        )
    if type(ensemble.neuron_type) is not SpikingRectifiedLinear:
        return f"its neurons are {type(ensemble.neuron_type).__name__}; {chip.name} computes SpikingRectifiedLinear"
    if ensemble.dimensions > chip.axon_types:
        return (
            f"it has {ensemble.dimensions} dimensions; a dimension takes an axon type, of which {chip.name} has "
            f"{chip.axon_types}"
        )
    if ensemble.noise is not None or any(_feeds_neurons(c, ensemble) for c in network.all_connections):
        return f"its neurons are fed one by one; axons of {chip.name} carry values, from which all its neurons are fed"
    return ""


def _feeds_neurons(connection: Any, ensemble: Any) -> bool:
    post = connection.post_obj
    if isinstance(post, Neurons):
        return bool(post.ensemble is ensemble)
    return post is ensemble and isinstance(connection.pre_obj, nengo.Ensemble) and bool(connection.solver.weights)


def against_link(connection: Any, dt: float, chip: ChipSpec) -> str:
    """Say what keeps a connection of two ensembles on the chip from it; empty where nothing does."""
    if isinstance(connection.pre_obj, Neurons):
        return f"it comes from neurons, not decoded; lines of {chip.name} carry values"
    synapse = connection.synapse
    if synapse is not None and synapse.tau > LONGEST_TICKS * dt:
        return f"its synapse of {synapse.tau:g} s takes more than {LONGEST_TICKS} ticks of delays"
    return ""


def demanded_cores(ensembles: list[Any], links: list[Any], dt: float, chip: ChipSpec) -> float:
    """Estimate the cores that ensembles and the links among them take."""
    neurons = float(sum(e.n_neurons for e in ensembles))
    for link in links:
        tau = getattr(link.synapse, "tau", 0.0)
        size = getattr(link.pre_obj, "n_neurons", link.pre_obj.size_out)
        lines = _LINES * (1 + size / 200)
        neurons += link.size_out * (4 * size + lines * (2 + tau / dt / chip.delay[1]))
    return neurons / chip.neurons
