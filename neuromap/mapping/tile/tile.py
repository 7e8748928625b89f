"""``Tile``: neurons of one population that fit one core, and the planner that asks a core for its axons."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.array_types import Ints
from neuromap.arrays.frozen import ReadOnly
from neuromap.arrays.packed_rows import entries_of_rows
from neuromap.mapping.core.core_model import AxonPlan
from neuromap.mapping.core.core_of import CrossbarCore
from neuromap.mapping.legalise.legalised import Matrix, Population
from neuromap.network.spiking_neuron import LeakNeuron
from neuromap.render.value import Card


@dataclass(frozen=True, eq=False)
class Tile(ReadOnly, Card):
    """Neurons of one population in one core."""

    population: int  # position in ``Legalised.populations``
    neurons: Ints  # (n,): positions within the population, ascending
    # (n,): neurons of the core that each takes; one with more copies than a core has neurons is in several tiles
    copies: Ints
    columns: Ints  # (s,): columns of the population's joined matrix that the core reads; ``plan.source`` points into it
    plan: AxonPlan  # axons, types and synapses


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


# Neurons that pairwise exceed a core's axons get one core each.
MOST = 4096
"""Rows of which pairs are looked at; of more none is."""
WORD = 64
"""Items that are compared at once."""


def rows_apart(indptr: NDArray[np.integer], items: NDArray[np.integer], n_items: int, room: int) -> Ints:
    """Find rows any two of which have more items than there is room for, greedily, the widest first."""
    # shapes: indptr, items (n + 1,)
    width = np.diff(indptr)
    if not 0 < len(width) <= MOST:
        return np.zeros(0, np.int64)
    order = np.argsort(-width, kind="stable")
    order = order[width[order] + width[order[0]] > room]  # others fit beside the widest
    bits = np.zeros((len(order), -(-n_items // WORD) * WORD), bool)
    for place, row in enumerate(order.tolist()):
        bits[place, items[indptr[row] : indptr[row + 1]]] = True
    words = np.packbits(bits, axis=1).view(np.uint64)
    apart = np.zeros(len(order), bool)
    for place, own in enumerate(words):
        apart[place] = (np.bitwise_count(words[apart] | own).sum(axis=1, dtype=np.int64) > room).all()
    found: Ints = order[apart].astype(np.int64)
    return found


# Weights of some neurons as a dense array: what one core is planned from.


def dense_rows(matrix: Matrix, neurons: Ints) -> tuple[Ints, Ints]:
    """Lay out the weights of some neurons."""
    # gives columns: columns that they read, ascending
    # shapes: matrix (n, s); neurons (k,); columns (c,); weights (k, c)
    lengths = matrix.indptr[neurons + 1] - matrix.indptr[neurons]
    place = entries_of_rows(matrix.indptr, neurons)
    indices = matrix.indices[place]
    columns, inverse = np.unique(indices, return_inverse=True)
    weights = np.zeros((len(neurons), len(columns)), np.int64)
    weights[np.repeat(np.arange(len(neurons)), lengths), inverse] = matrix.data[place]
    return columns.astype(np.int64), weights


def count_columns(matrix: Matrix, neurons: Ints) -> int:
    """Count the columns that some neurons read, without laying out their weights."""
    read = np.zeros(matrix.shape[1], np.bool_)
    read[matrix.indices[entries_of_rows(matrix.indptr, neurons)]] = True
    return int(np.count_nonzero(read))
