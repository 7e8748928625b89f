"""The search for the scale of a node: how many units of the chip's voltage are one unit of the float model's."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import freeze_arrays
from neuromap.arrays.value import Value
from neuromap.errors import NetworkError
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.quantise.list_integers import (
    greatest_bias,
    greatest_weight,
    round_biases,
    round_thresholds,
    round_weights,
)

__all__ = ["CANDIDATES", "LEAST_THRESHOLD", "ROOM", "SEARCH", "ScaleDemand", "find_scale", "relative_error"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

CANDIDATES = 64
"""Scales that are tried, evenly over the octave below the greatest."""
ROOM = 4
"""Times that the greatest threshold fits between the reset and either rail of the voltage."""
LEAST_THRESHOLD = 2**16
"""Threshold down to which the scale goes so that no current can overflow, whatever spikes arrive."""
MAX_SAMPLE = 20_000
"""Synapses that the error is measured on."""

SEARCH = (
    f"{CANDIDATES} scales in the octave below the greatest that keeps thresholds (a quarter of the voltage's range), "
    "initial values, resting values, biases and weights in range, and the sum of all weights at the greatest rate in "
    f"the current's range as long as thresholds stay above {LEAST_THRESHOLD}; the one with the least sum of relative "
    "errors of weights (sum of errors by sum of weights), thresholds and biases, the greatest of equals"
)
"""The search in one sentence, for reports."""


@dataclass(frozen=True, eq=False)
class ScaleDemand(Value):
    """What a node asks of its scale, in units of v."""

    node: str  # its name
    thresholds: Floats  # (n,): above the reset
    biases: Floats  # (n,): added in every tick
    weights: Floats  # (s,): added to currents
    source: Ints  # (s,): who sends them
    # greatest_voltage, greatest_current: of initial and resting values, against the reset
    greatest_voltage: float
    greatest_current: float
    # what the current of a neuron reaches if all its sources of one sign fire as often as they can
    worst_current: float

    def __post_init__(self) -> None:
        freeze_arrays(self)


def find_scale(demand: ScaleDemand, chip: ChipSpec) -> float:
    """Find the scale of a node."""
    greatest = _greatest(demand, chip)
    step = 1 << chip.lists.threshold_shift
    if greatest * demand.thresholds.min(initial=np.inf) < step:
        raise NetworkError(
            f"node {demand.node}: its least threshold is {greatest * demand.thresholds.min():.3g} units of {chip.name} "
            f"at the scale that its other values allow; it must be at least {step}, bring the values closer together"
        )
    sample = _sample(demand)
    scales = [greatest * 2 ** (-k / CANDIDATES) for k in range(CANDIDATES)]
    return min(scales, key=lambda scale: round(_error(sample, scale, chip), 9))


def _greatest(demand: ScaleDemand, chip: ChipSpec) -> float:
    rail, current = chip.potential_range[1], chip.lists.current_range[1]
    top = float(demand.thresholds.max(initial=1e-300))
    most = min(((1 << chip.threshold_bits) - 1) << chip.lists.threshold_shift, rail // ROOM)
    bounds = (
        (most, top),
        (rail, demand.greatest_voltage),
        (current, demand.greatest_current),
        (greatest_bias(chip), float(np.abs(demand.biases).max(initial=0))),
        (greatest_weight(chip), float(np.abs(demand.weights).max(initial=0))),
    )
    hard = min(bound / value for bound, value in bounds if value > 0)
    soft = current / demand.worst_current if demand.worst_current > 0 else hard
    return min(hard, max(soft, LEAST_THRESHOLD / top))


def _sample(demand: ScaleDemand) -> ScaleDemand:
    stride = -(-len(demand.weights) // MAX_SAMPLE) or 1
    _, source = np.unique(demand.source[::stride], return_inverse=True)
    return ScaleDemand(
        demand.node, demand.thresholds, demand.biases, demand.weights[::stride], source, *(0.0, 0.0, 0.0)
    )


def _error(demand: ScaleDemand, scale: float, chip: ChipSpec) -> float:
    weights = demand.weights * scale
    rounded = round_weights(weights, demand.source, int(demand.source.max(initial=-1)) + 1, chip)
    parts = (
        (weights, rounded),
        (demand.thresholds * scale, round_thresholds(demand.thresholds * scale, chip)),
        (demand.biases * scale, round_biases(demand.biases * scale, chip)),
    )
    return sum(relative_error(wanted, found) for wanted, found in parts)


def relative_error(wanted: Floats, found: Ints) -> float:
    """Sum of errors by sum of magnitudes; 0 where nothing is wanted."""
    total = float(np.abs(wanted).sum())
    return float(np.abs(found - wanted).sum()) / total if total else 0.0
