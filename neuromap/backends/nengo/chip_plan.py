"""What goes onto the chip, in units of Nengo: ensembles, what the host feeds them, and links between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from neuromap.arrays.array_types import Bools, Floats, Ints
from neuromap.arrays.frozen import ReadOnly
from neuromap.render.value import Card

_LOW_BITS = 11
GREATEST_POWER = _LOW_BITS - 1
"""Power of 2 of the greatest weight, in units."""
LOWEST, HIGHEST = -(2 << _LOW_BITS), (2 << _LOW_BITS) - 1
"""Bounds of the integers."""
_UP, _DOWN = 2, 4
"""Spikes of the high part, upwards and downwards."""
CODE_SIZE = _LOW_BITS + _UP + _DOWN
"""Spikes that one value can take."""


class _Binary:
    """The code as a :class:`~neuromap.backends.nengo.crossbar_network.ValueCode`."""

    lowest, highest = np.asarray(LOWEST), np.asarray(HIGHEST)

    def extra(self, tick: int) -> Floats:
        return np.zeros(())

    def size(self, n_values: int) -> int:
        return n_values * CODE_SIZE

    def spikes(self, numbers: Ints) -> Bools:
        return as_spikes(numbers).reshape(-1)


BINARY = _Binary()
"""The code of chips with synapse lists."""


def unit_of(limit: Floats) -> Floats:
    """Give the unit in which values up to ``limit`` are sent."""
    return limit / -LOWEST


def code_weights() -> Ints:
    """Say what every spike of a value is worth in units, shape (CODE_SIZE,)."""
    half = 1 << (_LOW_BITS - 1)
    return np.concatenate([1 << np.arange(_LOW_BITS), np.full(_UP, half), np.full(_DOWN, -half)])


def as_spikes(values: Ints) -> Bools:
    """Say which spikes stand for integers between ``LOWEST`` and ``HIGHEST``."""
    # shapes: values (m,); returns (m, CODE_SIZE)
    bits = (values[:, None] >> np.arange(_LOW_BITS) & 1).astype(np.bool_)
    high = 2 * (values >> _LOW_BITS)[:, None]
    return np.concatenate([bits, np.arange(_UP) < high, np.arange(_DOWN) < -high], axis=1)


# Nengo's spiking neurons as the chip computes them, in units of Nengo: their decays, their rest, their rate curve.
#
# A tick is a step of ``dt``. With leak k and threshold 1, a neuron at rest that is driven by J has in tick n the
# voltage J (1 - (1 - k)^n), or J k n without a leak, and spikes in the first tick in which that is above 1:
#
# .. math:: n(J) = \lfloor \log(1 - 1/J) / \log(1 - k) \rfloor + 1
#
# After it the neuron rests for R ticks, so that it spikes every R + n(J) ticks.


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


@dataclass(frozen=True, eq=False)
class PlannedFeed(ReadOnly, Card):
    """Values that the host sends an ensemble in every tick, m of them."""

    weights: Floats  # (n, m): what a value of 1 adds to J
    limit: Floats  # (m,): values lie between minus and plus this; what is beyond is clipped
    is_vector: bool  # whether the values are a vector whose length is at most ``limit[0]``; a longer one is shortened

    @property
    def greatest(self) -> Floats:
        """The greatest magnitude of what it adds to J, shape (n,)."""
        if self.is_vector:
            return np.asarray(np.linalg.norm(self.weights, axis=1) * self.limit[0])
        return np.asarray(np.abs(self.weights) @ self.limit)


class EnsembleOnChip(Protocol):
    """What an ensemble is on any kind of chip."""

    @property
    def name(self) -> str:
        """Of its node."""

    @property
    def size(self) -> int:
        """Neurons."""

    @property
    def spike(self) -> float:
        """What a spike is in Nengo's signals, in Hz."""

    @property
    def feed(self) -> PlannedFeed | None:
        """What the host sends."""


@dataclass(frozen=True, eq=False)
class PlannedEnsemble(ReadOnly, Card):
    """An ensemble of n neurons."""

    name: str  # of its node
    neuron: ChipNeuron  # kind of its neurons
    bias: Floats  # (n,): constant part of J
    voltage: Floats  # (n,): before the first tick, in parts of the threshold
    feed: PlannedFeed | None  # what the host sends

    @property
    def size(self) -> int:
        """Neurons."""
        return len(self.bias)

    @property
    def spike(self) -> float:
        """What a spike is in Nengo's signals, in Hz."""
        return self.neuron.spike


@dataclass(frozen=True, eq=False)
class PlannedLink(ReadOnly, Card):
    """A connection from ensemble to ensemble on the chip."""

    # source, target: positions of the ensembles
    source: int
    target: int
    weights: Floats  # (n_target, n_source): what a filtered spike train of 1 adds to J
    greatest: Floats  # (n_target,): the greatest magnitude of what it adds to J
    tau: float  # time constant of its filter in seconds; 0 where there is none


@dataclass(frozen=True, eq=False)
class ChipPlan(Card):
    """All that goes onto the chip."""

    name: str  # of the network
    dt: float  # seconds of a tick
    ticks_per_step: int  # ticks in a step of Nengo, which is what a spike takes over a link
    ensembles: tuple[PlannedEnsemble, ...]
    links: tuple[PlannedLink, ...]
