"""Tiles that a user has pinned: their shape, or the number of cores that a node is spread over."""

from __future__ import annotations

import itertools

import numpy as np

from neuromap.arrays.array_types import Ints
from neuromap.errors import DoesNotFitError
from neuromap.files.messages import counted
from neuromap.mapping.core.core_model import Shortage
from neuromap.mapping.legalise.legalised import Legalised
from neuromap.mapping.options.infeasibility import Remedy, refuse
from neuromap.mapping.options.options import Pins
from neuromap.mapping.tile.tile import Planner, Stuck, Tile

Shape = tuple[int, int, int]


def pinned_populations(network: Legalised, pins: Pins) -> frozenset[int]:
    """Find the populations whose tiles share their cores with nothing, since a user has a say in them."""
    names = {*pins.tiles, *pins.cores, *pins.regions}
    nodes = network.populations
    return frozenset(i for i, p in enumerate(nodes) if not p.is_relay and network.ports[p.node].name in names)


def pinned_shape(planner: Planner, copies: Ints, tile: Shape, cores: int | None) -> list[Tile] | Stuck:
    """Tile a node in the shape that is pinned."""
    # copies: neurons of a core that each takes, at most as many as a core has
    # tile: rows, columns and features that a core holds at most; cores start at multiples of them
    # cores: cores over which the neurons are spread, at least
    # shapes: copies (n,)
    shape = planner.population.shape
    if shape is None:
        raise ValueError("a pinned tile needs a node with a shape")
    tiles: list[Tile] = []
    for cell in _cells(shape, tile, copies):
        found = planner.tile(cell, copies[cell])
        if found is None:
            stuck = next((n for n in _suspects(planner, cell) if planner.tile(*_alone(n, copies)) is None), None)
            if stuck is not None:
                return Stuck(int(stuck))
            raise _refuse_shape(planner, copies, cell, tile, shape)
        tiles.append(found)
    if cores is not None and len(tiles) < cores:
        text = f"pinned tiles of {_product(tile)} make {counted(len(tiles), 'core')}, pinned are at least {cores}"
        remedy = Remedy("pins.cores", len(tiles), f"cores = {len(tiles)} goes with these tiles")
        raise refuse("cores", planner.population.name, cores, len(tiles), text, [remedy])
    return tiles


def spread_evenly(planner: Planner, order: Ints, copies: Ints, cores: int) -> list[Tile] | Stuck:
    """Spread neurons evenly over at least so many cores, along an order."""
    # shapes: copies (n,)
    n, name = len(order), planner.population.name
    if n < cores:
        text = f"{cores} cores are pinned, but only {n} of its neurons take part"
        raise refuse("cores", name, cores, n, text, [Remedy("pins.cores", n, f"cores = {n} would do")])
    while True:
        tiles = []
        for part in np.array_split(order, cores):
            tile = planner.tile(part, copies[part])
            if tile is None:
                break
            tiles.append(tile)
        else:
            return tiles
        if cores == n:
            return Stuck(int(part[0]))
        cores = min(n, max(cores + 1, cores + cores // 16))


def _cells(shape: Shape, tile: Shape, copies: Ints) -> list[Ints]:
    """Neurons of every cell of a grid of tiles, those without copies left out."""
    alive = np.flatnonzero(copies > 0)
    r, c, f = np.unravel_index(alive, shape)
    across = -(-shape[1] // tile[1]), -(-shape[2] // tile[2])
    cell = (r // tile[0] * across[0] + c // tile[1]) * across[1] + f // tile[2]
    order = np.argsort(cell, kind="stable")
    return np.split(alive[order], np.flatnonzero(np.diff(cell[order])) + 1) if len(alive) else []


def _refuse_shape(planner: Planner, copies: Ints, cell: Ints, tile: Shape, shape: Shape) -> DoesNotFitError:
    """Refuse a pinned tile that does not fit, and name the largest smaller one that does everywhere."""
    core, asked = planner.core, int(copies[cell].sum())
    if asked > core.neurons:
        short = Shortage("copies", asked, core.neurons, "copies of its neurons")
    else:
        _, weights, threshold, neuron = planner.asked_of_core(cell)
        short = core.shortage_together(weights, threshold, neuron)
    text = f"a pinned tile of {_product(tile)} needs {short.demand} {short.what}, a {core.name} core has {short.bound}"
    smaller = _smaller(planner, copies, tile, shape)
    remedies = [Remedy("pins.tiles", smaller, f"a tile of {_product(smaller)} would fit")]
    return refuse(short.limit, planner.population.name, short.demand, short.bound, text, remedies)


def _smaller(planner: Planner, copies: Ints, tile: Shape, shape: Shape) -> Shape:
    """Find the largest tile, of sides halved again and again, that fits a core wherever it lies."""
    sides = [_halves(min(side, whole)) for side, whole in zip(tile, shape, strict=True)]
    candidates = [(rows, columns, features) for rows, columns, features in itertools.product(*sides)]
    for smaller in sorted(candidates, key=lambda s: (-s[0] * s[1] * s[2], abs(s[0] - s[1]), s)):
        if all(_fits(planner, cell, copies) for cell in _cells(shape, smaller, copies)):
            return smaller
    return 1, 1, 1


def _suspects(planner: Planner, cell: Ints) -> list[int]:
    """List the neurons of which one does not fit a core alone, if any: all, or those with most synapses and drive."""
    # Where weights take an axon each, and thresholds none, only sources and the potential's width are left.
    rows, core = planner.matrix[cell], planner.core
    if not core.has_axon_per_weight(np.unique(rows.data)) or core.needs_bias(planner.population.threshold[cell]):
        return [int(n) for n in cell]
    fall = rows.minimum(0).sum(axis=1) - planner.population.threshold[cell]
    extremes = np.argmax(np.diff(rows.indptr)), np.argmax(rows.maximum(0).sum(axis=1)), np.argmin(fall)
    return [int(cell[n]) for n in extremes]


def _fits(planner: Planner, cell: Ints, copies: Ints) -> bool:
    """Whether a tile of neurons that fit one by one fits; it is planned only where counts do not tell."""
    rows, core = planner.matrix[cell], planner.core
    if int(copies[cell].sum()) > core.neurons or len(np.unique(rows.indices)) > core.axons:
        return False
    if not core.needs_bias(planner.population.threshold[cell]):
        pairs = np.unique(np.stack([rows.indices.astype(np.int64), rows.data.astype(np.int64)]), axis=1)
        if pairs.shape[1] <= core.axons and core.has_axon_per_weight(np.unique(pairs[1])):
            return True
    return planner.tile(cell, copies[cell]) is not None


def _halves(side: int) -> list[int]:
    sides = [side]
    while sides[-1] > 1:
        sides.append(-(-sides[-1] // 2))
    return sides


def _alone(neuron: int, copies: Ints) -> tuple[Ints, Ints]:
    one = np.array([neuron], np.int64)
    return one, copies[one]


def _product(tile: Shape) -> str:
    return "x".join(map(str, tile))
