r"""Nengo's spiking neurons as the chip computes them, in units of Nengo: their decays, their rest, their rate curve.

A tick is a step of ``dt``. With leak k and threshold 1, a neuron at rest that is driven by J has in tick n the voltage
J (1 - (1 - k)^n), or J k n without a leak, and spikes in the first tick in which that is above 1:

.. math:: n(J) = \lfloor \log(1 - 1/J) / \log(1 - k) \rfloor + 1

After it the neuron rests for R ticks, so that it spikes every R + n(J) ticks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from nengo.neurons import LIF, SpikingRectifiedLinear
from numpy.typing import NDArray

__all__ = ["ChipNeuron", "as_chip_neuron", "why_not"]

Floats = NDArray[np.float64]
_DEEPEST = 64.0
"""Thresholds below 0 that are as good as no bound."""


@dataclass(frozen=True)
class ChipNeuron:
    """What one kind of Nengo's neurons becomes on a chip.

    Attributes
    ----------
    dt : float
        Seconds of a tick.
    voltage_decay : int
        In parts of 2**decay_bits; 0 where nothing leaks.
    decay_bits : int
        Width of decays.
    refractory : int
        Ticks of rest.
    amplitude : float
        Of a spike.
    depth : float
        How far below 0 the voltage must be able to fall, in thresholds.
    """

    dt: float
    voltage_decay: int
    decay_bits: int
    refractory: int
    amplitude: float
    depth: float

    @property
    def share(self) -> float:
        """What of J a tick adds to the voltage: k, or dt where nothing leaks."""
        return self.voltage_decay / 2**self.decay_bits if self.voltage_decay else self.dt

    @property
    def spike(self) -> float:
        """What a spike is in Nengo's signals, in Hz."""
        return self.amplitude / self.dt

    @property
    def greatest_rate(self) -> float:
        """Of a neuron that spikes whenever it may, in Hz times the amplitude."""
        return self.spike / (1 + self.refractory)

    def ticks_to_spike(self, drive: Floats) -> Floats:
        """Ticks from rest to the spike at a constant J; infinite where there is none."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            if self.voltage_decay == 0:
                ticks = 1 / (drive * self.dt)
                return np.where(drive > 0, np.floor(ticks) + 1, np.inf)
            if self.share == 1:
                return np.where(drive > 1, 1.0, np.inf)
            ticks = np.log1p(-1 / drive) / np.log1p(-self.share)
            return np.where(drive > 1, np.floor(ticks) + 1, np.inf)

    def rates(self, drive: Floats) -> Floats:
        """Rates at constant J, in Hz times the amplitude.

        Parameters
        ----------
        drive : ndarray of float
            J, in units of the threshold.

        Returns
        -------
        ndarray of float, same shape
        """
        return self.spike / (self.refractory + self.ticks_to_spike(drive))


def why_not(neuron: Any, dt: float, greatest_refractory: int) -> str:
    """Say why the chip cannot compute a type of neurons; empty where it can.

    Parameters
    ----------
    neuron : nengo.neurons.NeuronType
        Of an ensemble.
    dt : float
        Seconds of a tick.
    greatest_refractory : int
        Ticks that the chip's neurons can rest.
    """
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
    """Give what a type of neurons, LIF or SpikingRectifiedLinear, is on the chip.

    Parameters
    ----------
    neuron : nengo.neurons.NeuronType
        Of an ensemble.
    dt : float
        Seconds of a tick.
    decay_bits : int
        Width of decays.
    ticks_per_step : int
        Ticks of a step, in which Nengo's LIF spikes once at most.
    """
    amplitude = float(neuron.amplitude)
    if not isinstance(neuron, LIF):
        return ChipNeuron(float(dt), 0, decay_bits, 0, amplitude, 1.0)
    decay = int(np.rint(-np.expm1(-dt / neuron.tau_rc) * 2**decay_bits))
    rest = max(_rest(neuron, dt), ticks_per_step - 1)
    return ChipNeuron(float(dt), decay, decay_bits, rest, amplitude, float(np.clip(-neuron.min_voltage, 1, _DEEPEST)))


def _rest(neuron: Any, dt: float) -> int:
    """Ticks of rest: half a tick less than tau_ref, as a spike waits so long for the end of its tick; rounded down."""
    return max(0, int(np.ceil(neuron.tau_ref / dt - 1 - 1e-9)))
