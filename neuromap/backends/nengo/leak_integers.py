r"""Nengo's integrate-and-fire neurons without a leak, as a crossbar core computes them.

A value comes as spikes on *lines*: every spike on a line of dimension d is worth the same part of the radius,
``unit``, and adds the weight w_d to all neurons, so that a dimension takes one axon type. Lines rest at a rate of their
own, which the constant leak takes off, since weights of a type have one sign; where a type is left, the host helps the
leak with bias axons. After a spike the potential is 0: what exceeds the threshold is lost. With the mean m and the
variance s^2 of what a tick adds, in thresholds, that is (m^2 + s^2) / 2 m (renewal theory), so that a neuron spikes
m / (1 + (m^2 + s^2) / 2 m) times a tick.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import freeze_arrays
from neuromap.forms.card import Card
from neuromap.hardware.chip.chip_spec import ChipSpec

__all__ = [
    "HOST_RADII",
    "LINK_REST",
    "SPIKES_PER_RADIUS",
    "LeakIntegers",
    "as_leak_integers",
    "host_rest",
    "n_bias_axons",
]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

SPIKES_PER_RADIUS = 4
"""Spikes on lines that a value as long as the radius is in a tick."""
LINK_REST = 6
"""Spikes a tick at which the lines of a link and a dimension rest at most: values of -1.5 radii stop them."""
HOST_RADII = 1.6
"""How far from 0 the host sends values, in radii."""
_BIAS_AXONS = 7
"""Axons of a type of its own on which the host spikes in every tick, where the dimensions leave a type."""
_COARSEST = 0.25
"""Greatest part of a threshold that one spike on a line adds."""
_VARIANCE = 0.25
"""Variance of the spikes on the lines of a dimension in a tick: they are as even as whole numbers can be."""


@dataclass(frozen=True, eq=False)
class LeakIntegers(Card):
    """The n neurons of an ensemble of D dimensions in integers."""

    weights: Ints  # (n, D): what a spike on a line adds
    bias: Ints  # (n,): what a tick adds at the value 0
    threshold: Ints  # (n,): at which they spike
    unit: float  # value of a spike on a line
    spike: float  # what a spike is in Nengo's signals, in Hz

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def activities(self, points: Floats) -> Floats:
        """Give the spikes of a tick at constant values."""
        # shapes: points (m, D); returns (m, n)
        threshold = self.threshold.astype(np.float64)
        mean = ((points / self.unit) @ self.weights.T + self.bias) / threshold
        variance = _VARIANCE * ((self.weights / threshold[:, None]) ** 2).sum(axis=1)
        up = np.maximum(mean, 1e-9)
        return np.where(mean > 0, 1 / np.maximum(1, (1 + (up**2 + variance) / (2 * up)) / up), 0.0)


def host_rest(is_fed: bool) -> int:
    """Give the spikes a tick at which the host's lines of a dimension rest."""
    return int(np.ceil(HOST_RADII * SPIKES_PER_RADIUS)) if is_fed else 0


def n_bias_axons(dimensions: int, chip: ChipSpec) -> int:
    """Give the axons on which the host spikes in every tick, by the dimensions of an ensemble."""
    return _BIAS_AXONS if dimensions < chip.axon_types else 0


def as_leak_integers(
    drive: tuple[Floats, Floats, Floats], radius: float, spike: float, dt: float, rest: int, chip: ChipSpec
) -> LeakIntegers:
    """Put neurons into the greatest integers that the chip's weights and leaks hold."""
    # rest: spikes a tick at which all lines of a dimension rest at most
    gain, encoders, bias = drive
    per_spike = gain[:, None] * encoders * (dt / SPIKES_PER_RADIUS)
    leak = np.abs(bias) * dt + np.abs(per_spike).sum(axis=1) * rest
    greatest = np.abs(per_spike).max(axis=1, initial=0)
    most = chip.leak_range[1] * (1 + n_bias_axons(encoders.shape[1], chip))
    scale = most / np.maximum(leak, 1e-6)
    scale = np.minimum(scale, chip.weight_range[1] / np.maximum(greatest, 1e-6))
    scale = np.clip(scale, 1, 1 << (chip.threshold_bits - 3))
    threshold = np.rint(np.maximum(1, scale * np.maximum(1, greatest / _COARSEST)))
    weights = np.rint(scale[:, None] * per_spike).astype(np.int64)
    room = most - np.abs(weights).sum(axis=1) * rest
    return LeakIntegers(
        weights,
        np.rint(scale * bias * dt).clip(-room, room).astype(np.int64),
        np.minimum(threshold, chip.threshold_range[1]).astype(np.int64),
        radius / SPIKES_PER_RADIUS,
        spike,
    )
