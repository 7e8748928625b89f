"""Neurons in units of the chip: everything a node adds up and compares, times one power of two.

A chip holds thresholds in steps (of 2^6, say). A neuron that computes with integers of its own is multiplied by the
power of two that makes its values such steps: threshold, bias, initial state, and the weights of what feeds it. It then
spikes in the same ticks where its arithmetic commutes with that:

- both decays keep a value or forget it whole (0 or 2^decay_bits), as any other rounds differently;
- rails and wrapping scale too. They do where current and voltage are declared as many bits narrower than the chip's as
  the power has: the chip wraps at 2^k times the network's bound, and stops within 2^k of 2^k times the network's rail,
  which no comparison tells apart, since a spike sets the voltage anew. Else no value may ever meet them; nor may
  voltages from which spikes take the threshold off, which keep what the upper rail has cut, nor those of neurons whose
  threshold is the rail, which none of the network's passes and the chip's would.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from neuromap.errors import DoesNotFitError
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.mapping.legalise.legalised import Matrix, Population
from neuromap.mapping.options.infeasibility import Remedy, refuse
from neuromap.network.spiking_neuron import NO_FLOOR, NO_WRAP, CurrentNeuron

_IN_VOLTS = ("threshold", "bias", "current", "voltage", "reset")
"""Parameters that are multiplied; the others count ticks or parts, or are floors."""


def scaled(population: Population, chip: ChipSpec, into: Iterable[Matrix]) -> tuple[CurrentNeuron, int]:
    """Give a population's neuron in units of the chip, and the power k of the factor 2^k."""
    # into: the weights of all links that feed it, in the network's units
    neuron = population.neuron
    assert isinstance(neuron, CurrentNeuron), "others are refused before"
    narrower = {chip.lists.current_bits - neuron.current_bits, chip.potential_bits - neuron.voltage_bits}
    power = narrower.pop() if len(narrower) == 1 else -1
    if power < 0 or neuron.decay_bits != chip.lists.decay_bits or (power and not _commutes(neuron)):
        return neuron, 0  # which is refused for its widths
    step = 1 << chip.lists.threshold_shift
    if power:
        rail = (1 << neuron.voltage_bits - 1) - 1
        at_rail = bool((neuron.threshold >= rail).any())
        if (neuron.subtract or at_rail) and not _stays_inside(neuron, chip, power, into, below=False):
            raise _refuse_at_rail(population.name, chip, rail if at_rail else None)
        if (neuron.threshold << power & step - 1).any():
            raise _refuse_widths(population.name, neuron, chip, power)
        return _times(neuron, chip, power), power
    unit = int(np.gcd.reduce(neuron.threshold, initial=step))
    power = chip.lists.threshold_shift - (unit.bit_length() - 1)
    if power and not (_commutes(neuron) and _stays_inside(neuron, chip, power, into)):
        raise _refuse_threshold(population.name, neuron, chip, power)
    return (_times(neuron, chip, power), power) if power else (neuron, 0)


def _times(neuron: CurrentNeuron, chip: ChipSpec, power: int) -> CurrentNeuron:
    # values beyond 32 bits are refused afterwards, by what the chip holds
    most = 2**31 - 1
    values = {name: np.clip(getattr(neuron, name) << power, -most - 1, most) for name in _IN_VOLTS}
    # as with the rail below: whatever lies between two multiples of 2^power is the same to every comparison
    values["floor"] = np.minimum(((neuron.floor + 1) << power) - 1, NO_FLOOR)
    widths = {
        "accumulator_bits": min(neuron.accumulator_bits + power, NO_WRAP),
        "current_bits": chip.lists.current_bits,
        "voltage_bits": chip.potential_bits,
    }
    return replace(neuron, **values, **widths)


def _commutes(neuron: CurrentNeuron) -> bool:
    """Whether every decay keeps values as they are or forgets them whole."""
    whole = 1 << neuron.decay_bits
    decays = (neuron.current_decay, neuron.voltage_decay, *neuron.more_current_decays)
    return all(bool(((decay == 0) | (decay == whole)).all()) for decay in decays)


def _stays_inside(
    neuron: CurrentNeuron, chip: ChipSpec, power: int, into: Iterable[Matrix], *, below: bool = True
) -> bool:
    """Whether no current wraps and no voltage meets its rails, times 2^power, whatever is fed."""
    # below: whether the lower rail counts, too
    plus, minus = (np.zeros(len(neuron.threshold), np.int64) for _ in range(2))
    for matrix in into:
        plus += np.asarray(matrix.maximum(0).sum(axis=1), np.int64).ravel()
        minus += np.asarray((-matrix).maximum(0).sum(axis=1), np.int64).ravel()
    whole = 1 << neuron.decay_bits
    keeps = [decay == 0 for decay in (neuron.current_decay, *neuron.more_current_decays)]
    if any(bool((kept & ((plus > 0) | (minus > 0) | (neuron.current != 0))).any()) for kept in keeps):
        return False
    low = minus + np.maximum(-neuron.bias, 0) + np.maximum(-neuron.current, 0)
    high = plus + np.maximum(neuron.bias, 0) + np.maximum(neuron.current, 0)
    adds_up = neuron.voltage_decay != whole
    if below and bool((adds_up & (low > 0) & (neuron.floor == NO_FLOOR)).any()):
        return False  # drives that add up without end
    if neuron.subtract and bool((adds_up & (high > neuron.threshold)).any()):
        return False  # spikes take less than comes in
    # what adds up goes down to the floor, tick by tick
    deepest = np.where(adds_up & (low > 0), neuron.floor, low + np.maximum(-neuron.voltage, 0))
    low = np.minimum(deepest, neuron.floor) if below else np.zeros_like(high)
    high = high + np.maximum(np.maximum(neuron.threshold, neuron.voltage), neuron.reset)
    bound: int = min(chip.lists.current_range[1], chip.potential_range[1])
    return int(np.maximum(low, high).max(initial=0)) << power <= bound


def _refuse_at_rail(name: str, chip: ChipSpec, rail: int | None) -> DoesNotFitError:
    what, advice = "from which spikes take the threshold off", "drives up to the threshold in a tick, or subtract = 0,"
    if rail is not None:
        what, advice = f"with a threshold of {rail}, its rail, which it never passes,", f"a threshold below {rail}"
    text = f"scaled to {chip.name}, a voltage {what} might meet its rail"
    return refuse("neuron", name, 1, 0, text, [Remedy("neuron", None, f"{advice} would do")])


def _refuse_widths(name: str, neuron: CurrentNeuron, chip: ChipSpec, power: int) -> DoesNotFitError:
    step = 1 << chip.lists.threshold_shift
    odd = int(neuron.threshold[(neuron.threshold << power) % step != 0][0])
    text = (
        f"threshold {odd}, times {1 << power} as its widths say, is not a multiple of {step}, as {chip.name} holds them"
    )
    near = odd // (step >> power) * (step >> power)
    return refuse("potential", name, (odd << power) % step, 0, text, [Remedy("neuron", near, f"{near} would do")])


def _refuse_threshold(name: str, neuron: CurrentNeuron, chip: ChipSpec, power: int) -> DoesNotFitError:
    step = 1 << chip.lists.threshold_shift
    odd = int(neuron.threshold[neuron.threshold % step != 0][0])
    text = f"threshold {odd} is not a multiple of {step}, as {chip.name} holds them"
    if not _commutes(neuron):
        near = odd // step * step
        text += f", and times {1 << power} its decays would round differently"
        return refuse("potential", name, odd % step, 0, text, [Remedy("neuron", near, f"{near} would do")])
    widths = f"current_bits = {chip.lists.current_bits - power}, voltage_bits = {chip.potential_bits - power}"
    text += f", and times {1 << power} its voltage might meet the chip's rails"
    return refuse("potential", name, odd % step, 0, text, [Remedy("neuron", None, f"{widths} would do")])
