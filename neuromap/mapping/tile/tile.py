"""Tiles, and the planner that makes them: neurons of one population in one core, with their axons."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import freeze_arrays
from neuromap.forms.card import Card
from neuromap.mapping.core.axon_plan import AxonPlan
from neuromap.mapping.core.core_model import CoreModel
from neuromap.mapping.legalise.legalised import Matrix, Population
from neuromap.mapping.tile.cut.dense_rows import count_columns, dense_rows
from neuromap.network.neurons.leak_neuron import LeakNeuron

__all__ = ["Planner", "Stuck", "Tile"]

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Tile(Card):
    """Neurons of one population in one core.

    Attributes
    ----------
    population : int
        Position in ``Legalised.populations``.
    neurons : ndarray of int64, shape (n,)
        Positions within the population, ascending.
    copies : ndarray of int64, shape (n,)
        Neurons of the core that each takes; one with more copies than a core has neurons is in several tiles.
    columns : ndarray of int64, shape (s,)
        Columns of the population's joined matrix that the core reads; ``plan.source`` points into it.
    plan : AxonPlan
        Axons, types and synapses.
    """

    population: int
    neurons: Ints
    copies: Ints
    columns: Ints
    plan: AxonPlan

    def __post_init__(self) -> None:
        freeze_arrays(self)


@dataclass(frozen=True)
class Stuck:
    """A neuron that does not fit a core even alone.

    Attributes
    ----------
    neuron : int
        Position within its population.
    """

    neuron: int


class Planner:
    """Plans tiles of one population; tiles that look alike share one plan.

    Parameters
    ----------
    index : int
        Position of the population in ``Legalised.populations``.
    population : Population
        Gives name, shape and thresholds.
    matrix : csr_array of int64, shape (n, s)
        Joined weights of all links into it.
    core : CoreModel
        What a tile must fit.
    alone : dict of bytes to AxonPlan or None, optional
        Plans of single neurons on such cores, shared by several planners; on cycles they are asked for in every round.
    """

    def __init__(
        self,
        index: int,
        population: Population,
        matrix: Matrix,
        core: CoreModel,
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
