"""Populations as neurons with current and voltage: spiking ones as they are, frame neurons as ones that forget.

A frame neuron forgets current and voltage in every tick (both decays are 2**b), so its voltage is its drive, scaled by
2**s to the step of the chip's thresholds; it spikes iff drive >= theta, that is, iff the scaled drive is above
(theta - 1) 2**s. Where theta < 1 it would spike unasked: the host then adds 1 - theta in its frames (the bias), and the
threshold is that of theta = 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import freeze_arrays
from neuromap.arrays.value import Value
from neuromap.errors import DoesNotFitError
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.mapping.legalise.legalised import Population
from neuromap.mapping.refused.infeasible import Remedy, refuse
from neuromap.network.neurons.current_neuron import CurrentNeuron

__all__ = ["ListNeurons", "as_list_neurons"]

Ints = NDArray[np.int64]
_SCALE = Remedy("neuron", None, "scale or round weights, thresholds and biases of the node alike")


@dataclass(frozen=True, eq=False)
class ListNeurons(Value):
    """A population as the chip computes it."""

    neuron: CurrentNeuron  # values of all neurons
    scale: int  # what weights are multiplied with: 1 for spiking neurons, 2**s for frame neurons
    # (n,): what the host adds to the drive in every frame from 1 on, in units of the network's weights; 0 for spiking
    # neurons
    bias: Ints

    def __post_init__(self) -> None:
        freeze_arrays(self)


def as_list_neurons(population: Population, chip: ChipSpec) -> ListNeurons:
    """Find the parameters of a population on a chip with synapse-list cores."""
    if population.neuron is None:
        found = _frame_neurons(population, chip)
    else:
        neuron = population.neuron
        if not isinstance(neuron, CurrentNeuron):
            text = f"its neurons have a constant leak, V := V + leak, and a floor; those of {chip.name} decay"
            raise refuse("neuron", population.name, 1, 0, text, [Remedy("chip", "truenorth", "truenorth computes it")])
        _require_widths(population.name, neuron, chip)
        found = ListNeurons(neuron, 1, np.zeros(len(population.neurons), np.int64))
    _require_values(population.name, found.neuron, chip)
    return found


def _frame_neurons(population: Population, chip: ChipSpec) -> ListNeurons:
    lists, theta = chip.lists, np.maximum(population.threshold, 1)
    forget, shift = 1 << lists.decay_bits, lists.threshold_shift
    neuron = CurrentNeuron(
        threshold=np.minimum((theta - 1) << shift, 2**31 - 1),
        current_decay=np.array(forget),
        voltage_decay=np.array(forget),
        decay_bits=lists.decay_bits,
        current_bits=lists.current_bits,
        voltage_bits=chip.potential_bits,
    )
    return ListNeurons(neuron.spread(len(theta)), 1 << shift, theta - population.threshold)


def _require_widths(name: str, neuron: CurrentNeuron, chip: ChipSpec) -> None:
    has = {"decay_bits": chip.lists.decay_bits, "current_bits": chip.lists.current_bits}
    for field, bound in (has | {"voltage_bits": chip.potential_bits}).items():
        if (wanted := getattr(neuron, field)) != bound:
            text = f"its neuron is defined with {field} = {wanted}, those of {chip.name} have {bound}"
            raise refuse("neuron", name, 1, 0, text, [Remedy("neuron", bound, f"{field} = {bound} would do")])


def _require_values(name: str, neuron: CurrentNeuron, chip: ChipSpec) -> None:
    lists = chip.lists
    step, most = 1 << lists.threshold_shift, (1 << chip.threshold_bits) - 1
    if (odd := neuron.threshold[neuron.threshold % step != 0]).size:
        near = int(odd[0]) // step * step
        text = f"threshold {odd[0]} is no multiple of {step}, as {chip.name} holds them"
        raise refuse("potential", name, int(odd[0]) % step, 0, text, [Remedy("neuron", near, f"{near} would do")])
    bounds = (
        ("a threshold", neuron.threshold >> lists.threshold_shift, most, f"in steps of {step}"),
        ("a refractory time", neuron.refractory, lists.greatest_refractory, "ticks"),
    )
    for what, values, bound, unit in bounds:
        if (greatest := int(values.max(initial=0))) > bound:
            raise _too_great(name, f"{what} of {greatest} {unit}", greatest, bound, chip)
    least, greatest = lists.bias_shifts
    zeros = np.bitwise_count((neuron.bias & -neuron.bias) - 1)  # of the bits below the last 1; 64 for a bias of 0
    mantissa = neuron.bias >> np.minimum(zeros, greatest)
    bits = np.frexp(np.abs(mantissa + (mantissa < 0)).astype(float))[1] + 1  # two's complement reaches one farther down
    bits += np.where((zeros < least) & (neuron.bias != 0), lists.bias_bits, 0)  # too fine a step: no mantissa does
    if (demand := int(bits.max(initial=0))) > lists.bias_bits:
        wrong = int(neuron.bias[np.argmax(bits)])
        power = f"times one power of 2, 2^{least} to 2^{greatest}"
        text = f"a bias of {wrong} takes {demand} bits {power}; a neuron of {chip.name} has {lists.bias_bits}"
        raise refuse("potential", name, demand, lists.bias_bits, text, [_SCALE])


def _too_great(name: str, what: str, demand: int, bound: int, chip: ChipSpec) -> DoesNotFitError:
    return refuse("potential", name, demand, bound, f"it has {what}; a neuron of {chip.name} holds {bound}", [_SCALE])
