"""Share cores between populations neuron by neuron: fill, relieve, empty. Several ways are tried, the best is kept."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.ragged import rank_in_run
from neuromap.mapping.core.core_model import CoreModel
from neuromap.mapping.legalise.legalised import Legalised
from neuromap.mapping.pack.empty_cores import Books, empty_cores, relieve
from neuromap.mapping.pack.joint_fill import RECIPES, Recipe, fill
from neuromap.mapping.pack.loose_neurons import Units, tiles_of_cores, units_of
from neuromap.mapping.pack.pack_tiles import CoreLayout
from neuromap.mapping.pack.signals import Signals
from neuromap.mapping.tile.tile import Tile

__all__ = ["share_cores"]

Ints = NDArray[np.int64]
WINDOW = 160
"""Tiles that are filled into cores together: as many of every population as its share of all."""
LARGE = 500_000
"""Synapses above which only one way is tried."""
HUGE = 30_000_000
"""Synapses above which tiles are not taken apart."""
LARGEST_TABLE = 50_000_000
"""Signals times populations above which tiles are not taken apart: many relays in a row, which pack well whole."""
CROWDED = 8
"""One overfull core in so many is too many to relieve, neuron by neuron, in reasonable time."""
WORTHWHILE = 0.97
"""Fill of the cores, in the resource of which they hold more, up to which it is tried."""
MARGINS = (0, 8)
"""Neurons of a core that are held back for copies that a filling turns out to need, round by round."""


def share_cores(
    network: Legalised,
    tiles: Sequence[Tile],
    signals: Signals,
    model: CoreModel,
    pinned: Collection[int],
    fewer_than: int,
) -> tuple[list[Tile], tuple[CoreLayout, ...]] | None:
    """Take tiles apart and fill cores with neurons of several populations.

    Parameters
    ----------
    network : Legalised
        Gives roles of populations.
    tiles : sequence of Tile
        Each legal alone, with the copies that it needs while every tile has a core of its own.
    signals : Signals
        Of these tiles.
    model : CoreModel
        Limits of a core.
    pinned : collection of int
        Populations whose tiles stay as they are.
    fewer_than : int
        Cores that are to be beaten.

    Returns
    -------
    (list of Tile, tuple of CoreLayout) or None
        New tiles and cores; ``None`` where they would be no fewer than ``fewer_than``.
    """
    if len(network.populations) * len(signals) > LARGEST_TABLE:
        return None
    synapses = sum(int(np.count_nonzero(tile.plan.synapses)) for tile in tiles)
    if synapses > HUGE or len(tiles) < 2 or not _may_pay(tiles, model):
        return None
    units = units_of(network, tiles, signals, model, pinned)
    free = np.flatnonzero(~units.fixed)
    if not len(free):
        return None
    best: Books | None = None
    for recipe in RECIPES if synapses <= LARGE else RECIPES[:1]:
        copies = units.copies(units.tile)
        for margin in MARGINS if recipe is not None else MARGINS[:1]:  # tiles as they are hold nothing back
            core_of, n_cores = _fill(units, len(tiles), free, copies, model, recipe, margin)
            if n_cores >= len(tiles) + len(tiles) // 20:
                break
            copies = units.copies(core_of)
            books = Books(units, core_of, n_cores, model.axons, model.neurons)
            if synapses > LARGE and (books.load > model.neurons).sum() > n_cores // CROWDED:
                continue
            if not relieve(books, units.fixed, len(free) // 4):
                continue
            empty_cores(books, units.fixed)
            if best is None or books.cores < best.cores:
                best = books
            if synapses > LARGE:
                break
    if best is None or best.cores >= fewer_than:
        return None
    _, core_of = np.unique(best.core_of, return_inverse=True)
    return tiles_of_cores(units, core_of.astype(np.int64), model)


def _may_pay(tiles: Sequence[Tile], model: CoreModel) -> bool:
    """Whether cores have room in both axons and neurons, summed over all."""
    axons = sum(tile.plan.n_axons for tile in tiles) / model.axons
    neurons = sum(int(tile.copies.sum()) for tile in tiles) / model.neurons
    return max(axons, neurons) < WORTHWHILE * len(tiles)


def _fill(
    units: Units, n_tiles: int, free: Ints, copies: Ints, model: CoreModel, recipe: Recipe | None, margin: int
) -> tuple[Ints, int]:
    """Fill cores window by window; the tiles that stay keep a core each."""
    stay = np.unique(units.tile[units.fixed])
    core_of = np.full(len(units), -1, np.int64)
    core_of[units.fixed] = np.searchsorted(stay, units.tile[units.fixed])
    n_cores = len(stay)
    if recipe is None:
        return units.tile.copy(), n_tiles
    room = max(1, model.neurons - margin)
    window = _windows(units, n_tiles)[units.tile[free]]
    for number in np.unique(window).tolist():
        chosen = free[window == number]
        where, more = fill(units, chosen, np.minimum(copies, room), model.axons, room, recipe)
        core_of[chosen] = n_cores + where
        n_cores += more
    return core_of, n_cores


def _windows(units: Units, n_tiles: int) -> Ints:
    """Window of every tile: tiles of each population are cut into as many runs as there are windows."""
    population = np.zeros(n_tiles, np.int64)
    population[units.tile] = units.population
    count = -(-n_tiles // WINDOW)
    order = np.argsort(population, kind="stable")
    ranked = population[order]
    window = np.empty(n_tiles, np.int64)
    window[order] = rank_in_run(ranked) * count // np.bincount(population)[ranked]
    return window
