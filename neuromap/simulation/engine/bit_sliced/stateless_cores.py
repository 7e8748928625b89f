"""Which cores remember nothing: every neuron's potential is back at one value after every tick, whatever arrives."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neuromap.cores.crossbar.program import Program
from neuromap.simulation.engine.neuron import Width, fire


def returning_cores(program: Program, least: NDArray[np.int64], most: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Prove of cores that every potential is, after every tick, what it was before the first one."""
    # Let V be the potential before a tick. If no sum of events leaves the rails, their order does not matter and the
    # leak leaves a value of ``V + least + leak`` to ``V + most + leak``. Both thresholds cut this range into at most
    # three pieces. On each of them the reset gives one value for all, or adds one to all; so it is enough that the two
    # ends of every piece become V. Noise in any neuron of a core, and leak reversal, are not looked into: such a core
    # is not among those that return.
    # shapes: least, most (C, N); returns (C,)
    n = program.neurons
    width, comparison = Width.of(program.chip), program.chip.rules.negative_comparison
    start = n.potential.astype(np.int64)
    alpha, beta = n.threshold.astype(np.int64), n.negative_threshold.astype(np.int64)
    bottom, top = start + least + n.leak, start + most + n.leak
    inside = (np.minimum(start + least, bottom) >= width.low) & (np.maximum(start + most, top) <= width.high)
    returns = inside & ~(n.leak_reversal & (n.leak != 0))
    for table in (n.stochastic_leak, n.noise_bits):
        if table is not None:
            returns &= table == 0
    if n.stochastic_weight is not None:
        returns &= ~n.stochastic_weight.any(axis=2)
    for end in (bottom, top, alpha - 1, alpha, -beta - 1, -beta, -beta + 1):
        after, _ = fire(np.clip(end, bottom, top), n, width, comparison)
        returns &= after == start
    every: NDArray[np.bool_] = returns.all(axis=1)
    return every
