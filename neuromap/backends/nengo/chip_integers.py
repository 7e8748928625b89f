r"""The plan in integers: scales, thresholds, biases and weights that the chip's cores hold.

Every neuron has a scale of its own, S, at which its threshold 1 is held: as large as its threshold, its bias and the
greatest current that can come allow, so that currents never wrap and rounding toward zero is far below them. What a
tick adds to the voltage is then J S k (``ChipNeuron.share``). Weights of one source lie in one list: mantissas times one
power of 2, in even steps where signs are mixed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from neuromap.backends.nengo.chip_plan import ChipPlan, PlannedEnsemble, PlannedFeed
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.network.neurons.current_neuron import CurrentNeuron

__all__ = ["FEED_BITS", "as_current_neuron", "feed_integers", "held_weights", "link_decay", "neuron_scales"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
FEED_BITS = 13
"""Bits of a value that the host sends, with the sign: one axon each."""
_ROOM = 0.7
"""Share of the range of currents that is used."""


def link_decay(tau: float, dt: float, chip: ChipSpec) -> int:
    """Give the decay of a current that filters with ``tau``; all of it where that is 0."""
    whole = 1 << chip.lists.decay_bits
    return whole if tau <= 0 else max(1, int(np.rint(-np.expm1(-dt / tau) * whole)))


def neuron_scales(plan: ChipPlan, number: int, chip: ChipSpec) -> Ints:
    """Choose the thresholds S of an ensemble's neurons.

    Parameters
    ----------
    plan : ChipPlan
        With all links.
    number : int
        Position of the ensemble.
    chip : ChipSpec
        Widths.

    Returns
    -------
    ndarray of int64, shape (n,)
    """
    ensemble = plan.ensembles[number]
    share = ensemble.neuron.share
    drive = _greatest_drive(plan, number) * share
    fraction = _ROOM * min(chip.lists.current_range[1], chip.potential_range[1])
    greatest_bias = ((1 << (chip.lists.bias_bits - 1)) - 1) << chip.lists.bias_shifts[1]
    step = 1 << chip.lists.threshold_shift
    with np.errstate(divide="ignore"):
        scale = np.minimum(fraction / drive, 0.99 * greatest_bias / (np.abs(ensemble.bias) * share))
    if ensemble.feed is not None:
        scale = np.minimum(scale, _greatest_for_feed(ensemble, chip))
    scale = np.minimum(scale, 0.4 * chip.potential_range[1])
    most = ((1 << chip.threshold_bits) - 1) * step
    scales: Ints = (np.clip(scale // step, 1, most // step) * step).astype(np.int64)
    return scales


def _greatest_drive(plan: ChipPlan, number: int) -> Floats:
    """Sum the greatest magnitudes that J's parts from outside can have."""
    ensemble = plan.ensembles[number]
    drive = np.zeros(len(ensemble.bias))
    if ensemble.feed is not None:
        drive += np.abs(ensemble.feed.weights) @ ensemble.feed.limit
    for link in plan.links:
        if link.target == number:
            drive += np.abs(link.weights).sum(axis=1) * plan.ensembles[link.source].neuron.greatest_rate
    return drive


def _greatest_for_feed(ensemble: PlannedEnsemble, chip: ChipSpec) -> Floats:
    """Give the scales at which the greatest bit of a feed is held in a list."""
    feed = ensemble.feed
    assert feed is not None
    spare = chip.lists.weight_shifts[1] - (FEED_BITS - 1)
    unit = np.abs(feed.weights) * (feed.limit / 2 ** (FEED_BITS - 1)) * ensemble.neuron.share
    with np.errstate(divide="ignore"):
        greatest: Floats = (_greatest_mantissa(chip) * 2.0**spare / unit).min(axis=1)
    return greatest


def _greatest_mantissa(chip: ChipSpec) -> int:
    """Give the greatest mantissa that lists of both signs hold."""
    step = chip.lists.mixed_sign_step
    return int(chip.weight_range[1]) // step * step


def as_current_neuron(
    ensemble: PlannedEnsemble, scales: Ints, decays: Sequence[int], chip: ChipSpec
) -> CurrentNeuron:
    """Write an ensemble's neurons in integers.

    Parameters
    ----------
    ensemble : PlannedEnsemble
    scales : ndarray of int64, shape (n,)
        Thresholds.
    decays : sequence of int
        Of all currents.
    chip : ChipSpec
        Widths.
    """
    return CurrentNeuron(
        threshold=scales,
        current_decay=decays[0],  # type: ignore[arg-type] # single numbers become arrays
        voltage_decay=ensemble.neuron.voltage_decay,  # type: ignore[arg-type]
        bias=_held_bias(ensemble.bias * scales * ensemble.neuron.share, chip),
        refractory=ensemble.neuron.refractory,  # type: ignore[arg-type]
        voltage=np.rint(ensemble.voltage * scales).astype(np.int64),
        more_current_decays=tuple(np.array(d) for d in decays[1:]),
        decay_bits=chip.lists.decay_bits,
        current_bits=chip.lists.current_bits,
        voltage_bits=chip.potential_bits,
    )


def _held_bias(bias: Floats, chip: ChipSpec) -> Ints:
    """Round biases to a mantissa times a power of 2."""
    most = (1 << (chip.lists.bias_bits - 1)) - 1
    least, greatest = chip.lists.bias_shifts
    with np.errstate(divide="ignore"):
        shift = np.clip(np.ceil(np.log2(np.abs(bias) / most)), least, greatest).astype(np.int64)
    mantissa = np.clip(np.rint(bias / 2.0**shift), -most, most).astype(np.int64)
    return mantissa << shift


def held_weights(weights: Floats, chip: ChipSpec) -> Ints:
    """Round weights, all that a source has, to even mantissas times one power of 2 per source.

    Parameters
    ----------
    weights : ndarray of float, shape (n_target, n_source)
        In units of the chip.
    chip : ChipSpec
        Widths.

    Returns
    -------
    ndarray of int64, shape (n_target, n_source)
    """
    most, step = _greatest_mantissa(chip), chip.lists.mixed_sign_step
    least, greatest = chip.lists.weight_shifts
    with np.errstate(divide="ignore"):
        shift = np.ceil(np.log2(np.abs(weights).max(axis=0, initial=0) / most))
    shift = np.clip(shift, least, greatest).astype(np.int64)
    mantissa = np.clip(np.rint(weights / 2.0**shift / step) * step, -most, most).astype(np.int64)
    return mantissa << shift


def feed_integers(ensemble: PlannedEnsemble, feed: PlannedFeed, scales: Ints, chip: ChipSpec) -> tuple[Ints, Floats]:
    """Write a feed's weights in integers.

    Returns
    -------
    weights : ndarray of int64, shape (n, m * FEED_BITS)
        Of the bits of value 0, the least first, the last of which counts negative; then those of value 1, and so on.
    unit : ndarray of float, shape (m,)
        What the least bit is worth.
    """
    unit = feed.limit / 2 ** (FEED_BITS - 1)
    lowest = held_weights(feed.weights * unit * (scales * ensemble.neuron.share)[:, None], chip)
    bits = 2 ** np.arange(FEED_BITS, dtype=np.int64)
    bits[-1] *= -1
    return (lowest[:, :, None] * bits).reshape(len(lowest), -1), unit
