"""Tiles that a user has pinned: their shape, or the number of cores that a node is spread over."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from neuromap.errors import DoesNotFitError
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.mapping.core.axon_types import plan_axons
from neuromap.mapping.legalise.legalised import Matrix, Population
from neuromap.mapping.refused.infeasible import Limit, Remedy, refuse
from neuromap.mapping.tile.cut.axon_demand import dense_rows

if TYPE_CHECKING:
    from neuromap.mapping.tile.tiling import Planner, Tile

__all__ = ["Pin", "pinned_shape", "spread_evenly"]

Ints = NDArray[np.int64]
AMPLE = 2**20
"""Axons of the imagined core on which a pinned tile's demand is counted."""


@dataclass(frozen=True)
class Pin:
    """What a user has fixed about one node.

    Attributes
    ----------
    tile : (int, int, int) or None
        Rows, columns and features that a core holds at most; cores start at multiples of them.
    cores : int or None
        Cores over which the neurons are spread evenly, at least.
    """

    tile: tuple[int, int, int] | None = None
    cores: int | None = None


def pinned_shape(
    planner: Planner, population: Population, matrix: Matrix, copies: Ints, pin: Pin, chip: ChipSpec
) -> list[Tile] | int:
    """Tile a node in the shape that is pinned.

    Parameters
    ----------
    planner : Planner
        Of the population.
    population : Population
        Gives name, shape and thresholds.
    matrix : csr_array of int64, shape (n, s)
        Joined weights of all links into it.
    copies : ndarray of int64, shape (n,)
        Neurons of a core that each takes, at most as many as a core has.
    pin : Pin
        With a tile.
    chip : ChipSpec
        Limits.

    Returns
    -------
    list of Tile or int
        A neuron that does not fit a core even alone.

    Raises
    ------
    DoesNotFitError
        If a tile of that shape does not fit a core, or there are fewer of them than pinned cores.
    """
    shape, tile = population.shape, pin.tile
    if shape is None or tile is None:
        raise ValueError("a pinned tile needs a node with a shape")
    tiles: list[Tile] = []
    for cell in _cells(shape, tile, copies):
        found = planner.tile(cell, copies[cell])
        if found is None:
            stuck = next((n for n in cell.tolist() if planner.tile(*_alone(n, copies)) is None), None)
            if stuck is not None:
                return int(stuck)
            raise _refuse_shape(planner, population, matrix, copies, cell, tile, chip)
        tiles.append(found)
    if pin.cores is not None and len(tiles) < pin.cores:
        text = f"pinned tiles of {_product(tile)} make {len(tiles)} cores, pinned are at least {pin.cores}"
        remedy = Remedy("pins.cores", len(tiles), f"cores = {len(tiles)} goes with these tiles")
        raise refuse("cores", population.name, pin.cores, len(tiles), text, [remedy])
    return tiles


def spread_evenly(planner: Planner, population: Population, order: Ints, copies: Ints, cores: int) -> list[Tile] | int:
    """Spread neurons evenly over at least so many cores, along an order.

    Parameters
    ----------
    planner : Planner
        Of the population.
    population : Population
        Gives the name.
    order : ndarray of int64
        Positions of neurons.
    copies : ndarray of int64, shape (n,)
        Neurons of a core that each takes.
    cores : int
        As pinned.

    Returns
    -------
    list of Tile or int
        As few as are legal, and a neuron more or less in each; or a neuron that does not fit a core even alone.

    Raises
    ------
    DoesNotFitError
        If there are fewer neurons than cores.
    """
    n = len(order)
    if n < cores:
        text = f"{cores} cores are pinned, but only {n} of its neurons take part"
        raise refuse("cores", population.name, cores, n, text, [Remedy("pins.cores", n, f"cores = {n} would do")])
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
            return int(part[0])
        cores = min(n, max(cores + 1, cores + cores // 16))


def _cells(shape: tuple[int, int, int], tile: tuple[int, int, int], copies: Ints) -> list[Ints]:
    """Neurons of every cell of a grid of tiles, those without copies left out."""
    alive = np.flatnonzero(copies > 0)
    r, c, f = np.unravel_index(alive, shape)
    across = -(-shape[1] // tile[1]), -(-shape[2] // tile[2])
    cell = (r // tile[0] * across[0] + c // tile[1]) * across[1] + f // tile[2]
    order = np.argsort(cell, kind="stable")
    return np.split(alive[order], np.flatnonzero(np.diff(cell[order])) + 1) if len(alive) else []


def _refuse_shape(
    planner: Planner,
    population: Population,
    matrix: Matrix,
    copies: Ints,
    cell: Ints,
    tile: tuple[int, int, int],
    chip: ChipSpec,
) -> DoesNotFitError:
    """Refuse a pinned tile that does not fit, and name the largest smaller one that does everywhere."""
    limit: Limit = "copies"
    demand, bound, what = int(copies[cell].sum()), chip.neurons, "copies of its neurons"
    if demand <= bound:
        limit, bound, what = "axons", chip.axons, "axons"
        plan = plan_axons(dense_rows(matrix, cell)[1], population.threshold[cell], replace(chip, axons=AMPLE))
        if plan is None:  # the neurons fit alone, not together: types
            limit, demand, bound, what = "axon_types", chip.axon_types + 1, chip.axon_types, "axon types or more"
        else:
            demand = plan.n_axons
    text = f"a pinned tile of {_product(tile)} needs {demand} {what}, a {chip.name} core has {bound}"
    smaller = _smaller(planner, population, copies, tile)
    remedies = [Remedy("pins.tiles", smaller, f"a tile of {_product(smaller)} would fit")]
    return refuse(limit, population.name, demand, bound, text, remedies)


def _smaller(
    planner: Planner, population: Population, copies: Ints, tile: tuple[int, int, int]
) -> tuple[int, int, int]:
    """Find the largest tile, of sides halved again and again, that fits a core wherever it lies."""
    shape = population.shape
    if shape is None:
        return 1, 1, 1
    sides = [_halves(min(side, whole)) for side, whole in zip(tile, shape, strict=True)]
    candidates = [(rows, columns, features) for rows, columns, features in itertools.product(*sides)]
    for smaller in sorted(candidates, key=lambda s: (-s[0] * s[1] * s[2], abs(s[0] - s[1]), s)):
        if all(planner.tile(cell, copies[cell]) is not None for cell in _cells(shape, smaller, copies)):
            return smaller
    return 1, 1, 1


def _halves(side: int) -> list[int]:
    sides = [side]
    while sides[-1] > 1:
        sides.append(-(-sides[-1] // 2))
    return sides


def _alone(neuron: int, copies: Ints) -> tuple[Ints, Ints]:
    one = np.array([neuron], np.int64)
    return one, copies[one]


def _product(tile: tuple[int, int, int]) -> str:
    return "x".join(map(str, tile))
