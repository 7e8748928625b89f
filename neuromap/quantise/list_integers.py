"""Integers that a chip with synapse lists can hold: weights of one source, thresholds, biases."""

from __future__ import annotations

import numpy as np

from neuromap.arrays.array_types import Floats, Ints
from neuromap.hardware.chip.chip_spec import ChipSpec


def greatest_weight(chip: ChipSpec) -> int:
    """Greatest weight of a list with any mix of signs: mantissa times the greatest power of 2."""
    return int(_most(chip, is_mixed=True) << chip.lists.weight_shifts[1])


def greatest_bias(chip: ChipSpec) -> int:
    """Greatest bias: mantissa times the greatest power of 2."""
    return int(((1 << (chip.lists.bias_bits - 1)) - 1) << chip.lists.bias_shifts[1])


def round_weights(weights: Floats, source: Ints, n_sources: int, chip: ChipSpec) -> Ints:
    """Round weights to mantissas times a power of 2 that all weights of a source share."""
    # weights: in units of the chip's currents, at most :func:`greatest_weight`
    # shapes: weights (s,); source (s,); returns (s,)
    greatest = np.zeros(n_sources)
    np.maximum.at(greatest, source, np.abs(weights))
    has_plus, has_minus = np.zeros(n_sources, np.bool_), np.zeros(n_sources, np.bool_)
    has_plus[source[weights > 0]] = True
    has_minus[source[weights < 0]] = True
    is_mixed = has_plus & has_minus
    most = np.where(is_mixed, _most(chip, is_mixed=True), _most(chip, is_mixed=False))
    step = np.where(is_mixed, chip.lists.mixed_sign_step, 1)
    least, highest = chip.lists.weight_shifts
    shift = np.ceil(np.log2(np.maximum(greatest / (most + 0.5 * step), 2.0**least)) - 1e-12).clip(least, highest)
    unit = (step * 2.0**shift)[source]
    mantissa = np.rint(weights / unit)
    bound = (most // step)[source]
    rounded: Ints = (mantissa.clip(-bound, bound) * unit).astype(np.int64)
    return rounded


def round_thresholds(thresholds: Floats, chip: ChipSpec) -> Ints:
    """Round thresholds to multiples of the chip's step, at least one step."""
    step = 1 << chip.lists.threshold_shift
    rounded: Ints = np.maximum(np.rint(thresholds / step), 1).astype(np.int64) * step
    return rounded


def round_biases(biases: Floats, chip: ChipSpec) -> Ints:
    """Round each bias to a mantissa times the least power of 2 that holds it."""
    least, highest = chip.lists.bias_shifts
    most = (1 << (chip.lists.bias_bits - 1)) - 1
    shift = np.ceil(np.log2(np.maximum(np.abs(biases) / (most + 0.5), 2.0**least)) - 1e-12).clip(least, highest)
    unit = 2.0**shift
    rounded: Ints = (np.rint(biases / unit).clip(-most, most) * unit).astype(np.int64)
    return rounded


def _most(chip: ChipSpec, *, is_mixed: bool) -> int:
    most = chip.weight_range[1]
    return most - most % chip.lists.mixed_sign_step if is_mixed else most
