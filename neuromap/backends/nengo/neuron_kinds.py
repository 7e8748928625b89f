"""Which of Nengo's neurons a chip with synapse lists computes, and as what."""

from __future__ import annotations

from typing import Any

import numpy as np
from nengo.neurons import LIF, SpikingRectifiedLinear

from neuromap.backends.nengo.chip_neuron import ChipNeuron

__all__ = ["as_chip_neuron", "why_not"]

_DEEPEST = 64.0
"""Thresholds below 0 that are as good as no bound."""


def why_not(neuron: Any, dt: float, greatest_refractory: int) -> str:
    """Say why the chip cannot compute a type of neurons; empty where it can."""
    if type(neuron) not in (LIF, SpikingRectifiedLinear):
        return f"its neurons are {type(neuron).__name__}; the chip computes LIF and SpikingRectifiedLinear"
    if type(neuron) is LIF and (rest := _rest(neuron, dt)) > greatest_refractory:
        return f"tau_ref = {neuron.tau_ref:g} s takes {rest} ticks; the chip's neurons rest for {greatest_refractory}"
    if type(neuron) is LIF and 2**12 * -np.expm1(-dt / neuron.tau_rc) < 0.5:
        return f"tau_rc = {neuron.tau_rc:g} s is too long for decays of 12 bits at dt = {dt:g} s"
    state = neuron.initial_state or {}
    if "refractory_time" in state:
        return "initial_state sets refractory_time; neurons of the chip do not rest at the beginning"
    return ""


def as_chip_neuron(neuron: Any, dt: float, decay_bits: int, ticks_per_step: int) -> ChipNeuron:
    """Give what a type of neurons, LIF or SpikingRectifiedLinear, is on the chip."""
    # ticks_per_step: ticks of a step, in which Nengo's LIF spikes once at most
    amplitude = float(neuron.amplitude)
    if not isinstance(neuron, LIF):
        return ChipNeuron(float(dt), 0, decay_bits, 0, amplitude, 1.0)
    decay = int(np.rint(-np.expm1(-dt / neuron.tau_rc) * 2**decay_bits))
    rest = max(_rest(neuron, dt), ticks_per_step - 1)
    return ChipNeuron(float(dt), decay, decay_bits, rest, amplitude, float(np.clip(-neuron.min_voltage, 1, _DEEPEST)))


def _rest(neuron: Any, dt: float) -> int:
    """Ticks of rest: half a tick less than tau_ref, as a spike waits so long for the end of its tick; rounded down."""
    return max(0, int(np.ceil(neuron.tau_ref / dt - 1 - 1e-9)))
