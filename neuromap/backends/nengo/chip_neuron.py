r"""Nengo's spiking neurons as the chip computes them, in units of Nengo: their decays, their rest, their rate curve.

A tick is a step of ``dt``. With leak k and threshold 1, a neuron at rest that is driven by J has in tick n the voltage
J (1 - (1 - k)^n), or J k n without a leak, and spikes in the first tick in which that is above 1:

.. math:: n(J) = \lfloor \log(1 - 1/J) / \log(1 - k) \rfloor + 1

After it the neuron rests for R ticks, so that it spikes every R + n(J) ticks.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["ChipNeuron"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ChipNeuron:
    """What one kind of Nengo's neurons becomes on a chip."""

    dt: float  # seconds of a tick
    voltage_decay: int  # in parts of 2**decay_bits; 0 where nothing leaks
    decay_bits: int  # width of decays
    refractory: int  # ticks of rest
    amplitude: float  # of a spike
    depth: float  # how far below 0 the voltage must be able to fall, in thresholds

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
        """Rates at constant J, in Hz times the amplitude."""
        return self.spike / (self.refractory + self.ticks_to_spike(drive))
