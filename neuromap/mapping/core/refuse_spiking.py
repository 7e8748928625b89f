"""Spiking nodes on crossbar cores: refused, with the equation that keeps them out."""

from __future__ import annotations

from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.mapping.options.infeasible import Remedy, refuse
from neuromap.network.network import Network
from neuromap.network.neurons.spiking_neuron import CurrentNeuron

__all__ = ["require_no_currents"]


def require_no_currents(network: Network, chip: ChipSpec) -> None:
    """Refuse nodes whose neurons have a current and a voltage."""
    for node in network.nodes.values():
        if isinstance(node.neuron, CurrentNeuron):
            one = f"2^{node.neuron.decay_bits}"
            text = (
                f"its neurons decay, u := u ({one} - current_decay) / {one} + input; "
                f"a neuron of {chip.name} adds a constant leak, V := V + leak"
            )
            advice = Remedy("chip", "loihi1", "a chip with synapse-list cores, such as loihi1, computes it")
            raise refuse("neuron", node.name, 1, 0, text, [advice])
