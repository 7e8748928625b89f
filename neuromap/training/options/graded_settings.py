"""Constraints of a chip on trained graded nodes: widths of weights and sums."""

from __future__ import annotations

import math
from dataclasses import dataclass

from neuromap.encoding.frames import InputEncoding
from neuromap.encoding.input_tables import input_encodings, training_table
from neuromap.errors import NetworkError, NotSupportedError
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.network.network import Network
from neuromap.network.spiking_neuron import GradedNeuron
from neuromap.network.transforms import Conv, Dense

MOST_BITS = 24
"""Greatest width of trained sums: float32 holds every integer below 2**24."""


@dataclass(frozen=True)
class Widths:
    """Greatest magnitudes of a chip's integers."""

    weight: int
    total: int  # of a sum including its bias

    @property
    def products(self) -> int:
        """Greatest sum of products; the rest is reserved for the bias, which subtracts the mean of the sums."""
        return self.total - self.total // 4


def widths_of(chip: ChipSpec) -> Widths:
    """Return the widths of a chip; the range of weights is symmetric."""
    return Widths(2 ** (chip.weight_bits - 1) - 1, 2 ** (min(chip.potential_bits, MOST_BITS) - 1) - 1)


def fan_in(transform: Conv | Dense) -> int:
    """Count the inputs of a neuron, at most."""
    return math.prod(transform.weight_shape[:3]) if isinstance(transform, Conv) else transform.weight_shape[-1]


def require_graded_chip(network: Network, chip: ChipSpec) -> None:
    """Refuse chips without graded neurons, and training settings that graded nodes do not have."""
    if not chip.kind.computes(GradedNeuron):
        raise NotSupportedError(
            f"network {network.name}: its nodes are graded, while neurons of {chip.name} send spikes without a value; "
            "train for loihi2"
        )
    training = training_table(network)
    for part, named in (("nodes", "low and high say what values are"), ("edges", "weights have the chip's width")):
        for name in training.table(part).values:
            raise NetworkError(f"training.{part}.{name}: is none of a graded network, whose {named}; drop it")


def graded_lines(network: Network, chip: ChipSpec) -> tuple[str, ...]:
    """Describe the choices for a chip, for people."""
    widths = widths_of(chip)
    lines = [_input_line(encoding) for encoding in input_encodings(network).values()]
    for name, node in network.nodes.items():
        into = [edge.transform for edge in network.edges.values() if edge.target == name]
        trained = [transform for transform in into if isinstance(transform, Conv | Dense)]
        if trained and node.graded is not None:
            whose = "neuron" if all(isinstance(transform, Dense) for transform in into) else "feature"
            lines.append(
                f"{name}: {sum(map(fan_in, trained))} inputs of a neuron; weights, bias, multiplier and shift of each "
                f"{whose}; values {node.graded.low} to {node.graded.high}"
            )
        elif into:
            lines.append(f"{name}: no weights to train, it responds as the network says")
    return (
        *lines,
        f"weights are -{widths.weight} to {widths.weight}; sums of products stay within {widths.products}, with the "
        f"bias within {widths.total}, whatever the input",
    )


def _input_line(encoding: InputEncoding) -> str:
    if encoding.code == "layer" or not encoding.is_for_chip:
        found = "gives spikes of a layer" if encoding.code == "layer" else "gives intensities"
        raise NotSupportedError(
            f'inputs.{encoding.node}.code: "{encoding.code}" {found}; graded networks take values, drop the code'
        )
    if encoding.code != "value":
        return f"{encoding.node}: code {encoding.code}, as the network file says"
    if not encoding.mean and not encoding.step:
        return f"{encoding.node}: pixels less the zero point {encoding.zero_point}"
    low, high = encoding.values or (0, 0)
    return f"{encoding.node}: (intensity - mean) / step, rounded, {low} to {high}, as the network file says"
