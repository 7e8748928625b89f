r"""The plan in integers: scales, thresholds, biases and weights that the chip's cores hold.

Every neuron has a scale of its own, S, at which its threshold 1 is held, and what a tick adds to its voltage is J S k
(``ChipNeuron.share``). S is as large as the range of its currents allows, for two reasons: rounding toward zero is then
far below anything that counts, and the lower rail of the voltage lies as near to 0 as it can. Nengo's neurons stop at
0, so that they answer at once when their input turns; the chip's fall to the rail, -2^23 / S thresholds.

Weights of one source lie in one list: mantissas times one power of 2, in even steps where signs are mixed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuromap.backends.nengo.plan.chip_plan import ChipPlan, PlannedEnsemble, PlannedFeed, PlannedLink
from neuromap.backends.nengo.value_code import GREATEST_POWER, code_weights, unit_of
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.network.neurons.current_neuron import CurrentNeuron
from neuromap.quantise.list_integers import greatest_weight, round_weights

__all__ = ["Filter", "as_current_neuron", "feed_integers", "filters_of", "held_weights", "link_factor", "neuron_scales"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_ROOM = 0.95
"""Share of the range of currents that is used: they wrap beyond it."""
_DECAY_ERROR = 0.002
"""Relative error of a decay that is let pass."""


class Filter(NamedTuple):
    """A current that filters a share of what comes."""

    decay: int  # in parts of 2**decay_bits
    share: float  # of the weights


def filters_of(tau: float, dt: float, chip: ChipSpec) -> tuple[Filter, ...]:
    """Give the currents that filter as an exponential of time constant ``tau`` does; one that forgets where it is 0."""
    # Where the decay that is nearest would be too far from the right one, two currents share the weights, so that the
    # time by which the filter delays a slow signal is right.
    whole = 1 << chip.lists.decay_bits
    if tau <= 0:
        return (Filter(whole, 1.0),)
    exact = -np.expm1(-dt / tau) * whole
    near = max(1, int(np.rint(exact)))
    low = int(exact)
    if abs(near - exact) <= _DECAY_ERROR * exact or low < 1:
        return (Filter(near, 1.0),)
    share = float((1 / exact - 1 / (low + 1)) / (1 / low - 1 / (low + 1)))
    return Filter(low, share), Filter(low + 1, 1 - share)


def link_factor(plan: ChipPlan, link: PlannedLink, part: Filter, chip: ChipSpec) -> float:
    """Give what a spike over a weight of 1 adds to a current, in thresholds."""
    kept = part.share * part.decay / 2**chip.lists.decay_bits
    return float(plan.ensembles[link.target].neuron.share * kept * plan.ensembles[link.source].neuron.spike)


def neuron_scales(plan: ChipPlan, number: int, chip: ChipSpec) -> Ints:
    """Choose the thresholds S of an ensemble's neurons."""
    # shapes: returns (n,)
    ensemble = plan.ensembles[number]
    step, most = 1 << chip.lists.threshold_shift, (1 << chip.threshold_bits) - 1
    scale = np.full(len(ensemble.bias), min(most * step, chip.potential_range[1] / ensemble.neuron.depth))
    with np.errstate(divide="ignore"):
        for drive in _drives(plan, number, chip):
            scale = np.minimum(scale, _ROOM * chip.lists.current_range[1] / (drive * ensemble.neuron.share))
        for link in plan.links:
            if link.target == number:
                factor = max(link_factor(plan, link, part, chip) for part in filters_of(link.tau, plan.dt, chip))
                scale = np.minimum(scale, greatest_weight(chip) / (np.abs(link.weights).max(axis=1) * factor))
    scales: Ints = (np.clip(scale // step, 1, most) * step).astype(np.int64)
    return scales


def _drives(plan: ChipPlan, number: int, chip: ChipSpec) -> list[Floats]:
    """List the greatest J of every current of an ensemble; that of the bias is the first."""
    ensemble = plan.ensembles[number]
    drives: dict[int, Floats] = {}
    if ensemble.feed is not None:
        drives[filters_of(0, plan.dt, chip)[0].decay] = ensemble.feed.greatest
    for link in plan.links:
        if link.target == number:
            for part in filters_of(link.tau, plan.dt, chip):
                drives[part.decay] = drives.get(part.decay, 0) + part.share * link.greatest
    return [np.abs(ensemble.bias), *drives.values()]


def as_current_neuron(ensemble: PlannedEnsemble, scales: Ints, decays: Sequence[int], chip: ChipSpec) -> CurrentNeuron:
    """Write an ensemble's neurons in integers."""
    # The bias is a current that nothing decays, which is wider than the chip's biases, and exact. Neurons whose bias is
    # beyond all bounds, as their intercept is at the edge of what can come, stay silent as they should.
    # shapes: scales (n,)
    most = chip.lists.current_range[1]
    return CurrentNeuron(
        threshold=scales,
        current=np.clip(np.rint(ensemble.bias * scales * ensemble.neuron.share), -most, most).astype(np.int64),
        current_decay=0,  # type: ignore[arg-type] # single numbers become arrays
        voltage=np.rint(ensemble.voltage * scales).astype(np.int64),
        voltage_decay=ensemble.neuron.voltage_decay,  # type: ignore[arg-type]
        refractory=ensemble.neuron.refractory,  # type: ignore[arg-type]
        more_current_decays=tuple(np.array(decay) for decay in decays),
        decay_bits=chip.lists.decay_bits,
        current_bits=chip.lists.current_bits,
        voltage_bits=chip.potential_bits,
    )


def held_weights(weights: Floats, chip: ChipSpec) -> Ints:
    """Round weights, all that a source has, to mantissas times one power of 2 per source; clip what is too great."""
    # shapes: weights (n_target, n_source); returns (n_target, n_source)
    most, n_sources = greatest_weight(chip), weights.shape[1]
    source = np.tile(np.arange(n_sources), len(weights))
    return round_weights(weights.clip(-most, most).reshape(-1), source, n_sources, chip).reshape(weights.shape)


def feed_integers(ensemble: PlannedEnsemble, feed: PlannedFeed, scales: Ints, chip: ChipSpec) -> tuple[Ints, Floats]:
    """Write a feed's weights in integers."""
    # shapes: weights (n, m * CODE_SIZE); unit (m,)
    unit = unit_of(feed.limit)
    most = greatest_weight(chip) >> GREATEST_POWER
    weights = feed.weights * unit * (scales * ensemble.neuron.share)[:, None]
    lowest = held_weights(weights.clip(-most, most), chip)
    return (lowest[:, :, None] * code_weights()).reshape(len(lowest), -1), unit
