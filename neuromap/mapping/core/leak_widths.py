"""Whether a crossbar core holds integrate-and-fire neurons: their thresholds, leaks, and potentials of any tick."""

from __future__ import annotations

import numpy as np

from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.mapping.refused.infeasible import Remedy, refuse
from neuromap.network.network import Network
from neuromap.network.neurons.leak_neuron import LeakNeuron
from neuromap.network.node import Node

__all__ = ["require_leak_widths"]

_SCALE = Remedy("neuron", None, "scale or round weights, thresholds and leaks of the node alike")


def require_leak_widths(network: Network, chip: ChipSpec) -> None:
    """Refuse neurons that the chip's widths cannot hold exactly, whatever arrives."""
    # Between ticks a potential lies from -floor to below the threshold, so in a tick it can go so far beyond as all its
    # positive, or negative, weights and the leak take it. Inside the rails the order of events does not matter.
    for node in network.nodes.values():
        if isinstance(node.neuron, LeakNeuron):
            _require(network, node, node.neuron, chip)


def _require(network: Network, node: Node, neuron: LeakNeuron, chip: ChipSpec) -> None:
    rise, fall = np.maximum(neuron.leak, 0), np.minimum(neuron.leak, 0)
    for (_, v), edge in network.edges.items():
        if v == node.name:
            for term in edge.terms:
                rise = rise + np.asarray(term.matrix.maximum(0).sum(axis=1))
                fall = fall + np.asarray(term.matrix.minimum(0).sum(axis=1))
    low, high = chip.potential_range
    limits = [
        (int(neuron.threshold.max()), chip.threshold_range[1], "its threshold"),
        (int(neuron.floor.max()), chip.threshold_range[1], "its floor"),
        (int(neuron.leak.max()), chip.leak_range[1], "its leak"),
        (int(-neuron.leak.min()), -chip.leak_range[0], "its negative leak"),
        (int((neuron.threshold - 1 + rise).max()), high, "the potential that a tick may reach"),
        (int((neuron.floor - fall).max()), -low, "the negative potential that a tick may reach"),
    ]
    for demand, bound, what in limits:
        if demand > bound:
            text = f"{what} is {demand}, {chip.name} holds {bound}"
            raise refuse("potential", node.name, demand, bound, text, [_SCALE])
    over = np.flatnonzero(rise > neuron.threshold) if neuron.subtract else np.zeros(0, np.int64)
    if len(over):
        demand, bound = int(rise[over[0]]), int(neuron.threshold[over[0]])
        text = f"a tick may add {demand} to it, more than its threshold of {bound}, which a spike takes off"
        raise refuse(
            "potential", node.name, demand, bound, text, [_SCALE, Remedy("neuron", 0, "subtract = 0 would do")]
        )
