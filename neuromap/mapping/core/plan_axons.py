"""Encode the weights of one core on axons of few types, with as few axons per source as possible.

Strategies propose palettes, bias axons are added, and the cheapest legal plan wins.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neuromap.hardware.program.ports import BIAS
from neuromap.mapping.core.axon_plan import AxonPlan
from neuromap.mapping.core.bias_axons import with_bias
from neuromap.mapping.core.crossbar import Crossbar
from neuromap.mapping.core.opposites import by_opposites
from neuromap.mapping.core.palettes import by_digits, by_signed_digits, by_value, coloured
from neuromap.network.neurons.leak_neuron import LeakNeuron

__all__ = ["plan_axons"]

Ints = NDArray[np.int64]


def plan_axons(weights: Ints, threshold: Ints, core: Crossbar, neuron: LeakNeuron | None = None) -> AxonPlan | None:
    """Find the plan with the fewest axons."""
    # gives ``None`` where no strategy stays within the core's axons and the potential's width
    # shapes: weights (n, s); threshold (n,)
    n_sources = weights.shape[1]
    threshold = _lowered(weights, threshold, core)
    best: AxonPlan | None = None
    # with all types first; holding one back pays only where bias axons crowd the others
    for types in (core.axon_types, core.axon_types - 1):
        proposals = 0
        for propose in (coloured, by_value, by_opposites, by_digits):
            room = core.axons if best is None else best.n_axons - 1
            if room < n_sources or types < 1:
                return best
            if propose is by_opposites and best is not None:
                continue  # tiles whose axons have one weight each share them with others
            proposal = propose(weights, types, room, core)
            proposals += proposal is not None
            plan = None if proposal is None else with_bias(proposal, threshold, room, core, neuron)
            if plan is None and proposal is not None and propose is by_digits:
                # digits of the other sign swing farther than the weight that they make up; more axons may not
                proposal = by_signed_digits(weights, types, room, core)
                plan = None if proposal is None else with_bias(proposal, threshold, room, core, neuron)
            if plan is not None:  # then it has fewer axons than the best so far
                best = plan
        if proposals == 0 or (best is not None and not (best.source == BIAS).any()):
            return best  # weights that all types do not hold are too much for fewer
    return best


def _lowered(weights: Ints, threshold: Ints, core: Crossbar) -> Ints:
    """Lower thresholds that need bias axons to the least that does the same."""
    # Sums are multiples of the greatest common divisor of the weights: a threshold between two of them does what one
    # just above the lower does.
    beyond = np.flatnonzero(threshold > core.free_threshold)
    if not len(beyond):
        return threshold
    lowered = threshold.copy()
    step = np.maximum(1, np.gcd.reduce(weights[beyond], axis=1, initial=0))
    lowered[beyond] = (-(-threshold[beyond] // step) - 1) * step + 1
    return lowered
