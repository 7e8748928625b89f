"""Tile one population over cores: which neurons share a core, so that axons and copies fit and little is read twice.

A tile is a run of neurons along an order, and orders are cut at least cost: cores, copies that the tile's axons ask of
the nodes before it, and deliveries. Every tile is planned, so that it is legal by construction.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from neuromap.mapping.asked.budget import NO_LIMIT, Budget
from neuromap.mapping.asked.options import Partitioner
from neuromap.mapping.core.axon_plan import AxonPlan
from neuromap.mapping.core.core_model import CoreModel
from neuromap.mapping.legalise.legalised import Matrix, Population
from neuromap.mapping.tile.apart import rows_apart
from neuromap.mapping.tile.cut.alike_neurons import cut_alike
from neuromap.mapping.tile.cut.axon_demand import axon_demand
from neuromap.mapping.tile.cut.cut_order import longest_run
from neuromap.mapping.tile.cut.partitioners import NeuronsToCut, cuts_by
from neuromap.mapping.tile.cut.tile_shapes import CutOrder
from neuromap.mapping.tile.pinned_tiles import pinned_shape, spread_evenly
from neuromap.mapping.tile.tile import Planner, Stuck, Tile

__all__ = ["tile_population"]

Ints = NDArray[np.int64]


def _tile_along(planner: Planner, cut: CutOrder, copies: Ints, *, exact: bool) -> list[Tile] | Stuck:
    """Fill cores along an order."""
    # shapes: copies (n,)
    order, room = cut.neurons, planner.core.neurons
    tiles: list[Tile] = []
    start = 0
    while start < len(order):
        asked = int(cut.ends[np.searchsorted(cut.ends, start, side="right")]) - start
        most = longest_run(copies[order[start : start + room]], room)
        run = order[start : start + (asked if exact else most)]
        tile = _longest_tile(planner, run, copies, min(asked, len(run)))
        if tile is None:
            return Stuck(int(order[start]))
        exact = exact and len(tile.neurons) == asked
        tiles.append(tile)
        start += len(tile.neurons)
    return tiles


def _longest_tile(planner: Planner, run: Ints, copies: Ints, first: int) -> Tile | None:
    """Plan the longest tile that begins a run of neurons: ``first`` of them are tried, then all, then halves."""
    found: Tile | None = None
    low, high, trial, failed = 0, len(run), first, False
    while low < high:
        tile = planner.tile(run[:trial], copies[run[:trial]])
        if tile is None:
            high, failed = trial - 1, True
        else:
            low, found = trial, tile
        trial = (low + high + 1) // 2 if failed else high
    return found


def tile_population(
    index: int,
    population: Population,
    matrix: Matrix,
    fed_by_chip: NDArray[np.bool_],
    copies: Ints,
    core: CoreModel,
    *,
    partitioner: Partitioner = "auto",
    pin_tile: tuple[int, int, int] | None = None,
    pin_cores: int | None = None,
    seed: int = 0,
    budget: Budget = NO_LIMIT,
    alone: dict[bytes, AxonPlan | None] | None = None,
) -> list[Tile] | Stuck:
    """Tile a population along the order that costs least."""
    # pin_tile: rows, columns and features that a core holds at most; cores start at multiples of them
    # pin_cores: cores over which the neurons are spread evenly, at least
    # shapes: matrix (n, s); fed_by_chip (s,); copies (n,)
    planner = Planner(index, population, matrix, core, alone)
    replicas, rest = _full_replicas(planner, copies)
    if isinstance(replicas, Stuck):
        return replicas
    alive = np.flatnonzero(rest > 0)
    if not len(alive):
        return replicas
    busiest = alive[[np.argmax(np.diff(matrix.indptr)[alive])]]
    if planner.tile(busiest, rest[busiest]) is None:  # before any search
        return Stuck(int(busiest[0]))
    if pin_tile is not None:
        return _joined(replicas, pinned_shape(planner, rest, pin_tile, pin_cores))
    if pin_cores is None and int(rest.sum()) <= core.neurons:
        whole = planner.tile(alive, rest[alive])
        if whole is not None:
            return [*replicas, whole]
    if pin_cores is None and _all_apart(matrix, alive, core):  # no search could do with fewer
        singly = CutOrder(alive, np.arange(1, len(alive) + 1), 0)
        return _joined(replicas, _tile_along(planner, singly, rest, exact=True))
    demand = axon_demand(
        matrix, population.threshold, rest, fed_by_chip, core, population.leak_neuron(np.arange(len(rest)))
    )
    to_cut = NeuronsToCut(population.shape, demand, rest, core, seed)
    cuts = cuts_by(partitioner, to_cut, budget, exchanged=pin_cores is None)
    if pin_cores is not None:
        return _joined(replicas, spread_evenly(planner, cuts[0].neurons, rest, pin_cores))
    tiles = _cheapest(planner, cuts, rest, budget, exact=demand.exact)
    alike = cut_alike(matrix, rest, core)
    if alike is not None and not isinstance(tiles, Stuck) and not budget.is_over("tiling"):
        others = _tile_along(planner, alike, rest, exact=False)
        if not isinstance(others, Stuck) and _cost(others, core) < _cost(tiles, core):
            tiles = others
    return _joined(replicas, tiles)


def _all_apart(matrix: Matrix, alive: Ints, core: CoreModel) -> bool:
    """Whether no two neurons fit one core, as every column takes an axon or more."""
    width = np.diff(matrix.indptr)[alive]
    if len(alive) > 1 and int(np.partition(width, 1)[:2].sum()) <= core.axons:
        return False
    rows = matrix[alive]
    return len(rows_apart(rows.indptr, rows.indices, rows.shape[1], core.axons)) == len(alive)


def _joined(replicas: list[Tile], tiles: list[Tile] | Stuck) -> list[Tile] | Stuck:
    return tiles if isinstance(tiles, Stuck) else [*replicas, *tiles]


def _cheapest(
    planner: Planner, cuts: list[CutOrder], copies: Ints, budget: Budget, *, exact: bool
) -> list[Tile] | Stuck:
    """Plan the tiles of the cheapest cut; of all, where costs are guesses."""
    best: list[Tile] | None = None
    for cut in cuts[:1] if exact else cuts:
        if best is not None and budget.is_over("tiling"):
            break
        tiles = _tile_along(planner, cut, copies, exact=exact)
        if isinstance(tiles, Stuck):
            return tiles
        if best is None or _cost(tiles, planner.core) < _cost(best, planner.core):
            best = tiles
    return best or []


def _cost(tiles: list[Tile], core: CoreModel) -> float:
    return len(tiles) + sum(tile.plan.n_axons for tile in tiles) / core.axons


def _full_replicas(planner: Planner, copies: Ints) -> tuple[list[Tile] | Stuck, Ints]:
    """Give a core to every full load of copies of one neuron, so that no two replicas meet; return what is left."""
    tiles: list[Tile] = []
    full = planner.core.neurons
    for neuron in np.flatnonzero(copies > full).tolist():
        tile = planner.tile(np.array([neuron], np.int64), np.array([full], np.int64))
        if tile is None:
            return Stuck(neuron), copies
        tiles += [replace(tile) for _ in range((int(copies[neuron]) - 1) // full)]
    in_replicas = np.maximum(0, (copies - 1) // full) * full
    return tiles, copies - in_replicas
