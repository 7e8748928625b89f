r"""Nengo's integrate-and-fire neurons without a leak, as a crossbar core computes them.

A value comes as spikes on *lines*: every spike on a line of dimension d is worth the same part of the radius, ``unit``,
and adds the weight w_d to all neurons, so that a dimension takes one axon type. Lines rest at a rate of their own, which
the constant leak takes off, since weights of a type have one sign. After a spike the potential is 0: what exceeds the
threshold is lost. With the mean m and the variance s^2 of what a tick adds, in thresholds, that is (m^2 + s^2) / 2 m
(renewal theory), so that a neuron spikes m / (1 + (m^2 + s^2) / 2 m) times a tick.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import freeze_arrays
from neuromap.forms.card import Card
from neuromap.hardware.chip.chip_spec import ChipSpec

__all__ = ["LINK_RADII", "SPIKES_PER_RADIUS", "LeakIntegers", "as_leak_integers", "host_offset"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

SPIKES_PER_RADIUS = 4
"""Spikes on lines that a value as long as the radius is in a tick."""
LINK_RADII = 1.4
"""How far below 0 a link takes values, in radii of its target."""
HOST_RADII = 1.6
"""The same of what the host sends, and how far above 0."""
_COARSEST = 0.25
"""Greatest part of a threshold that one spike on a line adds."""
_VARIANCE = 0.25
"""Variance of the spikes on the lines of a dimension in a tick: they are as even as whole numbers can be."""


@dataclass(frozen=True, eq=False)
class LeakIntegers(Card):
    """The n neurons of an ensemble of D dimensions in integers.

    Attributes
    ----------
    weights : ndarray of int64, shape (n, D)
        What a spike on a line adds.
    bias : ndarray of float, shape (n,)
        What a tick adds at the value 0; rounded with the rest of the lines.
    threshold : ndarray of int64, shape (n,)
        At which they spike.
    unit : float
        Value of a spike on a line.
    spike : float
        What a spike is in Nengo's signals, in Hz.
    """

    weights: Ints
    bias: Floats
    threshold: Ints
    unit: float
    spike: float

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def activities(self, points: Floats) -> Floats:
        """Give the spikes of a tick at constant values.

        Parameters
        ----------
        points : ndarray of float, shape (m, D)

        Returns
        -------
        ndarray of float, shape (m, n)
        """
        threshold = self.threshold.astype(np.float64)
        mean = ((points / self.unit) @ self.weights.T + self.bias) / threshold
        variance = _VARIANCE * ((self.weights / threshold[:, None]) ** 2).sum(axis=1)
        up = np.maximum(mean, 1e-9)
        return np.where(mean > 0, 1 / np.maximum(1, (1 + (up**2 + variance) / (2 * up)) / up), 0.0)


def host_offset(is_fed: bool) -> int:
    """Give the spikes a tick at which the host's lines of a dimension rest."""
    return int(np.ceil(HOST_RADII * SPIKES_PER_RADIUS)) if is_fed else 0


def as_leak_integers(
    drive: tuple[Floats, Floats, Floats], radius: float, spike: float, dt: float, n_links: int, chip: ChipSpec
) -> LeakIntegers:
    """Put neurons into the greatest integers that the chip's weights and leaks hold.

    Parameters
    ----------
    drive : tuple of ndarray of float, shapes (n,), (n, D) and (n,)
        Gains, encoders and biases: J = gain (encoder x) / radius + bias, in Hz.
    radius : float
        Of the ensemble.
    spike : float
        What a spike is in Nengo's signals, in Hz.
    dt : float
        Seconds of a tick.
    n_links : int
        Links from ensembles on the chip that reach it, each with lines that rest at a rate.
    chip : ChipSpec
        With crossbar cores.
    """
    gain, encoders, bias = drive
    per_spike = gain[:, None] * encoders * (dt / SPIKES_PER_RADIUS)
    offset = host_offset(True) + n_links * LINK_RADII * SPIKES_PER_RADIUS
    leak = np.abs(bias) * dt + np.abs(per_spike).sum(axis=1) * offset
    greatest = np.abs(per_spike).max(axis=1, initial=0)
    # one less than the leak holds, for the rounding of weights
    scale = 0.97 * chip.leak_range[1] / np.maximum(leak, 1e-6)
    scale = np.minimum(scale, chip.weight_range[1] / np.maximum(greatest, 1e-6))
    scale = np.clip(scale, 1, 1 << (chip.threshold_bits - 3))
    threshold = np.rint(np.maximum(1, scale * np.maximum(1, greatest / _COARSEST)))
    return LeakIntegers(
        np.rint(scale[:, None] * per_spike).astype(np.int64),
        scale * bias * dt,
        np.minimum(threshold, chip.threshold_range[1]).astype(np.int64),
        radius / SPIKES_PER_RADIUS,
        spike,
    )
