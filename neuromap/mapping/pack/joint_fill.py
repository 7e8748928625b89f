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

from neuromap.mapping.legalise.legalised import Matrix
from neuromap.mapping.pack.loose_neurons import Units

__all__ = ["RECIPES", "Recipe", "fill"]

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Recipe:
    """How cores are seeded.

    Attributes
    ----------
    slim_first : bool
        Seed first with tiles that take many axons and few neurons; else with those that take most axons.
    seed : float
        Share of a core that the seed may take.
    copies_worth : float
        Worth of a copy, where that of an axon is 1.
    least : float
        Least worth for its price: a neuron that would cost more new axons waits for a core that has them.
    """

    slim_first: bool
    seed: float
    copies_worth: float
    least: float


RECIPES: tuple[Recipe | None, ...] = (
    Recipe(False, 1.0, 1.0, 0.3),
    None,
    Recipe(False, 1.0, 1.0, 0.0),
    Recipe(True, 0.75, 1.0, 0.0),
    Recipe(True, 0.0, 0.3, 0.0),
)
"""What is tried; ``None`` begins with the tiles as they are."""


def fill(units: Units, chosen: Ints, copies: Ints, axons: int, neurons: int, recipe: Recipe) -> tuple[Ints, int]:
    """Distribute neurons over new cores.

    Parameters
    ----------
    units : Units
        Neurons and their keys.
    chosen : ndarray of int64, shape (n,)
        Which of them, ascending.
    copies : ndarray of int64, shape (U,)
        Neurons of a core that each is expected to take, at most ``neurons``.
    axons, neurons : int
        Room of a core.
    recipe : Recipe
        How to choose.

    Returns
    -------
    ndarray of int64, shape (n,)
        Core of each.
    int
        Number of cores.
    """
    everything = sparse.csr_array(
        (np.ones(len(units.keys), np.int8), units.keys, units.first_key), shape=(len(units), len(units.key_type))
    )
    rows = everything[chosen]
    used, local = np.unique(rows.indices, return_inverse=True)
    matrix = sparse.csr_array((rows.data, local, rows.indptr), shape=(len(chosen), len(used)))
    readers = matrix.T.tocsr()
    first, keys = matrix.indptr, matrix.indices
    load = copies[chosen]
    own = np.diff(first).astype(np.int64)
    tiles, tile = np.unique(units.tile[chosen], return_inverse=True)
    size = np.bincount(tile)
    pairs = np.unique(np.repeat(tile, np.diff(first)).astype(np.int64) * max(1, len(used)) + keys)
    of_axons = np.bincount(pairs // max(1, len(used)), minlength=len(tiles)) / axons
    of_copies = np.bincount(tile, load) / neurons
    worth = (of_axons / size)[tile] + recipe.copies_worth * load / neurons
    urgency = of_axons - of_copies if recipe.slim_first else of_axons
    members = np.split(np.argsort(tile, kind="stable"), np.cumsum(size)[:-1])

    core_of = np.full(len(chosen), -1, np.int64)
    core = 0
    for seed in np.argsort(-urgency, kind="stable").tolist():
        while True:
            left = members[seed][core_of[members[seed]] < 0]
            if not len(left):
                break
            bin_ = _Core(matrix, readers, own, axons, neurons)
            for rank, unit in enumerate(left.tolist()):  # the first always fits: it was legal alone
                after = (bin_.axons - bin_.missing[unit]) / axons, (bin_.copies - load[unit]) / neurons
                if rank and min(after) < 1 - recipe.seed:
                    break
                bin_.take(unit, load[unit])
                core_of[unit] = core
            waiting = np.flatnonzero(core_of < 0)
            while True:
                waiting = waiting[(core_of[waiting] < 0) & (load[waiting] <= bin_.copies)]
                able = waiting[bin_.missing[waiting] <= bin_.axons]
                if not len(able):
                    break
                if recipe.least:
                    fair = bin_.missing[able] * (2 / axons) + load[able] * (recipe.copies_worth / neurons)
                    able = able[worth[able] >= recipe.least * fair]
                    if not len(able):
                        break
                price = bin_.missing[able] / max(bin_.axons, 1) + load[able] / max(bin_.copies, 1)
                unit = int(able[np.argmax(worth[able] / np.maximum(price, 1e-9))])
                bin_.take(unit, load[unit])
                core_of[unit] = core
            core += 1
    return core_of, core


class _Core:
    """The core that is being filled: room, and the axons that every neuron would add."""

    def __init__(self, matrix: Matrix, readers: Matrix, own: Ints, axons: int, neurons: int) -> None:
        self.matrix, self.readers = matrix, readers
        self.missing = own.copy()
        self.held = np.zeros(matrix.shape[1], bool)
        self.axons, self.copies = axons, neurons

    def take(self, unit: int, copies: int) -> None:
        gained = self.matrix.indices[self.matrix.indptr[unit] : self.matrix.indptr[unit + 1]]
        gained = gained[~self.held[gained]]
        self.held[gained] = True
        reader, first = self.readers.indices, self.readers.indptr
        for key in gained.tolist():  # a neuron reads a key once
            self.missing[reader[first[key] : first[key + 1]]] -= 1
        self.axons -= len(gained)
        self.copies -= copies
