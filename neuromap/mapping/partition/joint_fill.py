"""Fill cores neuron by neuron from several populations at once.

Some populations exhaust a core's axons, others its neurons; a core that holds both wastes neither. A core is seeded
with a tile, or the part of it that is left, and then takes the neuron that is worth most for the room that it takes:
the *worth* of a neuron is what it takes of its own tile, its price the axons that the core lacks and its copies, each
as a share of what is left (bin-centric vector packing, Panigrahy et al. 2011, with items that overlap).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from neuromap.arrays.ragged import ragged_ranges
from neuromap.mapping.legalise.legalised import Matrix
from neuromap.mapping.partition.books import NOWHERE
from neuromap.mapping.partition.loose_neurons import LooseNeurons

__all__ = ["RECIPES", "AsTiled", "Recipe", "fill"]

Ints = NDArray[np.int64]
NEW_AXON = 2
"""What an axon that a core lacks costs, where one of its own tile is worth 1, when a neuron may be too dear."""
FREE = 1e-9
"""Least price, so that what costs nothing can be compared."""
EACH_LOOK = 100
"""Neurons of an array that are gone through in the time that one axon takes to be looked at apart."""


@dataclass(frozen=True)
class Recipe:
    """How cores are seeded."""

    slim_first: bool  # seed first with tiles that take many axons and few neurons; else with those that take most axons
    seed_share: float  # share of a core that the seed may take
    copies_worth: float  # worth of a copy, where that of an axon is 1
    least: float  # least worth for its cost: a neuron that would take more new axons waits for a core that has them
    # neurons of a core that are held back for copies that a filling turns out to need, round by round
    margins: tuple[int, ...] = (0, 8)


@dataclass(frozen=True)
class AsTiled:
    """In place of a recipe: every tile begins in a core of its own, as it is."""

    margins: tuple[int, ...] = (0,)  # one round, in which nothing is held back: tiles hold the copies that they need


RECIPES: tuple[Recipe | AsTiled, ...] = (
    Recipe(False, 1.0, 1.0, 0.3),
    AsTiled(),
    Recipe(False, 1.0, 1.0, 0.0),
    Recipe(True, 0.75, 1.0, 0.0),
    Recipe(True, 0.0, 0.3, 0.0),
)
"""What is tried, in this order."""


def fill(loose: LooseNeurons, chosen: Ints, copies: Ints, axons: int, neurons: int, recipe: Recipe) -> tuple[Ints, int]:
    """Distribute neurons over new cores."""
    # chosen: which of them, ascending
    # copies: neurons of a core that each is expected to take, at most ``neurons``
    # shapes: chosen (n,); copies (U,); returns (n,)
    pool = _Pool(loose, chosen, copies[chosen], axons, neurons, recipe)
    n_cores = 0
    for tile in pool.tiles_by_urgency:
        while len(left := pool.waiting_of(tile)):
            core = _Core(pool, n_cores)
            core.seed(left)
            core.take_the_best()
            n_cores += 1
    return pool.core_of, n_cores


class _Pool:
    """The neurons that are to be distributed, numbered from 0, and what each is worth."""

    # core_of: (n,): core of every neuron, ``NOWHERE`` while it waits
    # needs, readers: (n, K): which axons each neuron needs, and the other way round
    # n_needed, load: (n,): axons that a neuron needs, and neurons of a core that it takes
    # worth: (n,): what a core gains by each: its part of the axons that its tile would take alone, and its copies
    # tiles_by_urgency: tiles, those first that should seed cores first

    def __init__(self, loose: LooseNeurons, chosen: Ints, load: Ints, axons: int, neurons: int, recipe: Recipe) -> None:
        self.axons, self.neurons, self.recipe, self.load = axons, neurons, recipe, load
        self.core_of = np.full(len(chosen), NOWHERE, np.int64)
        self.needs = _needed_axons(loose, chosen)
        self.readers: Matrix = self.needs.T.tocsr()
        self.n_needed = np.diff(self.needs.indptr).astype(np.int64)
        tiles, tile = np.unique(loose.tile[chosen], return_inverse=True)
        size = np.bincount(tile)
        of_axons = _axons_of_groups(self.needs, tile, len(tiles)) / axons
        of_copies = np.bincount(tile, load) / neurons
        self.worth = (of_axons / size)[tile] + recipe.copies_worth * load / neurons
        urgency = of_axons - of_copies if recipe.slim_first else of_axons
        self.tiles_by_urgency: list[int] = np.argsort(-urgency, kind="stable").tolist()
        self._members = np.split(np.argsort(tile, kind="stable"), np.cumsum(size)[:-1])

    def waiting_of(self, tile: int) -> Ints:
        """Neurons of a tile that are in no core yet."""
        members = self._members[tile]
        waiting: Ints = members[self.core_of[members] == NOWHERE]
        return waiting


def _needed_axons(loose: LooseNeurons, chosen: Ints) -> Matrix:
    """Rows of the chosen neurons, columns of those axons only that any of them needs."""
    shape = (len(loose), len(loose.axon_type))
    ones = np.ones(len(loose.needed), np.int8)
    rows = sparse.csr_array((ones, loose.needed, loose.first_needed), shape=shape)[chosen]
    used, column = np.unique(rows.indices, return_inverse=True)
    return sparse.csr_array((rows.data, column, rows.indptr), shape=(len(chosen), len(used)))


def _axons_of_groups(needs: Matrix, group: NDArray[np.intp], n_groups: int) -> Ints:
    """Count the axons that the neurons of every group need together."""
    width = max(1, needs.shape[1])
    pairs = np.unique(np.repeat(group, np.diff(needs.indptr)).astype(np.int64) * width + needs.indices)
    return np.bincount(pairs // width, minlength=n_groups)


class _Core:
    """The core that is being filled: its room, and the axons that every neuron would add."""

    def __init__(self, pool: _Pool, number: int) -> None:
        self._pool, self._number = pool, number
        self._missing = pool.n_needed.copy()
        self._held = np.zeros(pool.needs.shape[1], bool)
        self._axons, self._copies = pool.axons, pool.neurons

    def seed(self, left: Ints) -> None:
        """Take neurons of one tile in their order, up to the seed's share of the core; the first fits in any case."""
        self._take(int(left[0]))
        for neuron in left[1:].tolist():
            axons_left = (self._axons - self._missing[neuron]) / self._pool.axons
            copies_left = (self._copies - self._pool.load[neuron]) / self._pool.neurons
            if min(axons_left, copies_left) < 1 - self._pool.recipe.seed_share:
                break
            self._take(neuron)

    def take_the_best(self) -> None:
        """Take the neuron that is worth most for its price, again and again until none fits or is worth its price."""
        pool = self._pool
        waiting = np.flatnonzero(pool.core_of == NOWHERE)
        while True:
            waiting = waiting[(pool.core_of[waiting] == NOWHERE) & (pool.load[waiting] <= self._copies)]
            able = self._worth_it(waiting[self._missing[waiting] <= self._axons])
            if not len(able):
                return
            # as shares of what is left
            price = self._missing[able] / max(self._axons, 1) + pool.load[able] / max(self._copies, 1)
            self._take(int(able[np.argmax(pool.worth[able] / np.maximum(price, FREE))]))

    def _worth_it(self, able: Ints) -> Ints:
        """Leave out those that the recipe finds too dear: they would add too many axons."""
        # They are judged by shares of a whole core, as their worth is, and not of what is left of it: whether a neuron
        # is too dear does not depend on how full the core is.
        pool, recipe = self._pool, self._pool.recipe
        if not recipe.least:
            return able
        of_axons = self._missing[able] * (NEW_AXON / pool.axons)
        of_copies = pool.load[able] * (recipe.copies_worth / pool.neurons)
        return able[pool.worth[able] >= recipe.least * (of_axons + of_copies)]

    def _take(self, neuron: int) -> None:
        pool = self._pool
        reader, first = pool.readers.indices, pool.readers.indptr
        needed = pool.needs.indices[pool.needs.indptr[neuron] : pool.needs.indptr[neuron + 1]]
        gained = needed[~self._held[needed]]
        self._held[gained] = True
        if len(gained) * EACH_LOOK > len(self._missing):
            readers = reader[ragged_ranges(first[gained], first[gained + 1] - first[gained])]
            self._missing -= np.bincount(readers, minlength=len(self._missing))
        else:
            for axon in gained.tolist():  # a neuron needs an axon once
                self._missing[reader[first[axon] : first[axon + 1]]] -= 1
        self._axons -= len(gained)
        self._copies -= pool.load[neuron]
        pool.core_of[neuron] = self._number
