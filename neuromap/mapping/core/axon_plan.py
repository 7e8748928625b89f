"""How the weights of some neurons lie on the axons of one core."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import freeze_arrays
from neuromap.arrays.value import Value
from neuromap.network.neurons.leak_neuron import LeakNeuron

__all__ = ["AxonPlan"]

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class AxonPlan(Value):
    """Axons, types and synapses of one core."""

    source: Ints  # (a,): column of the weights that feeds the axon, or ``BIAS``
    axon_type: Ints  # (a,): type of the axon
    weights: Ints  # (n, axon_types): weight of every neuron for every type
    synapses: Bools  # (a, n): crossbar
    leak: Ints  # (n,): negative leak of every neuron
    alpha: Ints  # (n,): threshold of every neuron on the chip, 0 or 1 (docs/mapping.md says why no other)

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @property
    def n_axons(self) -> int:
        """Axons in use, bias axons included."""
        return len(self.source)

    def swing(self, neuron: LeakNeuron | None = None) -> Ints:
        """Highest potential that each neuron's range must hold, shape (n,); ``neuron`` where it keeps its potential."""
        # Events come first, in any order, then the leak: a potential rises by the sum of positive weights and falls by
        # the sum of negative weights and leak; two's complement reaches one farther down than up. It is summed over
        # axons, not over weights: a weight that several axons make up may swing farther than itself. A potential that
        # is kept begins anywhere from the floor to below the threshold, or to what a subtraction may leave.
        drive = self.weights.T[self.axon_type] * self.synapses
        leak = self.leak if neuron is None else neuron.leak
        rise = np.maximum(drive, 0).sum(axis=0) + np.maximum(leak, 0)
        fall = np.minimum(drive, 0).sum(axis=0) + np.minimum(leak, 0)
        if neuron is not None:
            highest = neuron.threshold - 1
            rise, fall = rise + (np.maximum(highest, rise - 1) if neuron.subtract else highest), fall - neuron.floor
        swing: Ints = np.maximum(rise, -fall - 1)
        return swing
