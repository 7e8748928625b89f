"""Tiles, and the planner that makes them: neurons of one population in one core, with their axons."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import freeze_arrays
from neuromap.mapping.core.core_model import AxonPlan
from neuromap.mapping.core.core_of import CrossbarCore
from neuromap.mapping.legalise.legalised import Matrix, Population
from neuromap.mapping.tile.dense_rows import count_columns, dense_rows
from neuromap.network.neurons.spiking_neuron import LeakNeuron
from neuromap.render.value import Card

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Tile(Card):
    """Neurons of one population in one core."""

    population: int  # position in ``Legalised.populations``
    neurons: Ints  # (n,): positions within the population, ascending
    # (n,): neurons of the core that each takes; one with more copies than a core has neurons is in several tiles
    copies: Ints
    columns: Ints  # (s,): columns of the population's joined matrix that the core reads; ``plan.source`` points into it
    plan: AxonPlan  # axons, types and synapses

    def __post_init__(self) -> None:
        freeze_arrays(self)


@dataclass(frozen=True)
class Stuck:
    """A neuron that does not fit a core even alone."""

    neuron: int  # position within its population


class Planner:
    """Plans tiles of one population; tiles that look alike share one plan."""

    # core: what a tile must fit
    # shapes: matrix (n, s)

    def __init__(
        self,
        index: int,
        population: Population,
        matrix: Matrix,
        core: CrossbarCore,
        alone: dict[bytes, AxonPlan | None] | None = None,
    ) -> None:
        self.population, self.matrix, self.core = population, matrix, core
        self._index = index
        self._known: dict[bytes, AxonPlan | None] = {}
        self._alone = {} if alone is None else alone

    def tile(self, neurons: Ints, copies: Ints) -> Tile | None:
        """Plan a tile of some neurons, in any order; ``None`` where they do not fit a core."""
        if int(copies.sum()) > self.core.neurons:
            return None
        order = np.argsort(neurons)
        neurons, copies = neurons[order], copies[order]
        if count_columns(self.matrix, neurons) > self.core.axons:
            return None  # every column takes an axon or more
        columns, weights, threshold, neuron = self.asked_of_core(neurons)
        digest = hashlib.blake2b(weights.tobytes(), digest_size=16, key=str(weights.shape).encode())
        digest.update(threshold.tobytes())
        if neuron is not None:
            digest.update(neuron.as_bytes())
        look = digest.digest()
        known = self._alone if len(neurons) == 1 else self._known
        if look not in known:
            known[look] = self.core.plan(weights, threshold, neuron)
        plan = known[look]
        return None if plan is None else Tile(self._index, neurons, copies, columns, plan)

    def asked_of_core(self, neurons: Ints) -> tuple[Ints, Ints, Ints, LeakNeuron | None]:
        """Return the columns that neurons read, their dense weights there, their thresholds, and what they keep."""
        columns, weights = dense_rows(self.matrix, neurons)
        return columns, weights, self.population.threshold[neurons], self.population.leak_neuron(neurons)
