"""Tile one population over cores: which neurons share a core, so that axons and copies fit and little is read twice.

A tile is a run of neurons along an order, and orders are cut at least cost: cores, copies that the tile's axons ask of
the nodes before it, and deliveries. Every tile is planned, so that it is legal by construction.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import freeze_arrays
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.mapping.asked.options import Partitioner
from neuromap.mapping.core.axon_types import AxonPlan, plan_axons
from neuromap.mapping.legalise.legalised import Matrix, Population
from neuromap.mapping.tile.cut.axon_demand import AxonDemand, axon_demand, dense_rows
from neuromap.mapping.tile.cut.exchange_neurons import exchange_neurons
from neuromap.mapping.tile.cut.metis_order import metis_order
from neuromap.mapping.tile.cut.overlap_order import overlap_order
from neuromap.mapping.tile.cut.tile_shapes import CutOrder, cheapest_blocks, cut_single
from neuromap.mapping.tile.pinned_tiles import Pin, pinned_shape, spread_evenly

__all__ = ["Planner", "Stuck", "Tile", "tile_population"]

Ints = NDArray[np.int64]
FEW, MANY = 2**18, 2**25
"""Items up to which neurons of a node with rows and columns, and of any other, are also ordered by overlap."""


@dataclass(frozen=True, eq=False)
class Tile:
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
    """Plans tiles of one population; tiles that look alike share one plan."""

    def __init__(self, index: int, matrix: Matrix, threshold: Ints, chip: ChipSpec) -> None:
        self._index, self._matrix, self._threshold, self._chip = index, matrix, threshold, chip
        self._known: dict[bytes, AxonPlan | None] = {}

    def tile(self, neurons: Ints, copies: Ints) -> Tile | None:
        """Plan a tile of some neurons, in any order; ``None`` where they do not fit a core."""
        if int(copies.sum()) > self._chip.neurons:
            return None
        order = np.argsort(neurons)
        neurons, copies = neurons[order], copies[order]
        columns, weights = dense_rows(self._matrix, neurons)
        threshold = self._threshold[neurons]
        look = hashlib.blake2b(weights.tobytes(), digest_size=16, key=str(weights.shape).encode())
        look.update(threshold.tobytes())
        key = look.digest()
        if key not in self._known:
            self._known[key] = plan_axons(weights, threshold, self._chip)
        plan = self._known[key]
        return None if plan is None else Tile(self._index, neurons, copies, columns, plan)


def _tile_along(planner: Planner, cut: CutOrder, copies: Ints, chip: ChipSpec, *, exact: bool) -> list[Tile] | Stuck:
    """Fill cores along an order.

    Parameters
    ----------
    planner : Planner
        Of the population.
    cut : CutOrder
        Order of the neurons and where tiles should end.
    copies : ndarray of int64, shape (n,)
        Neurons of a core that each neuron takes.
    chip : ChipSpec
        Limits.
    exact : bool
        Whether tiles end where they should; else they are as long as the plan allows, and the ends are first guesses.

    Returns
    -------
    list of Tile or Stuck
        The neuron, where a single one does not fit.
    """
    order, tiles, start = cut.neurons, [], 0
    while start < len(order):
        end = int(cut.ends[np.searchsorted(cut.ends, start, side="right")])
        trial = end - start
        most = int(np.searchsorted(np.cumsum(copies[order[start : start + chip.neurons]]), chip.neurons, side="right"))
        low, high, failed, found = 0, trial if exact else most, False, None
        trial = min(trial, high)
        while low < high:  # the end that was asked for; then all that may fit; then halves
            run = order[start : start + trial]
            tile = planner.tile(run, copies[run])
            if tile is None:
                high, failed, exact = trial - 1, True, False
            else:
                low, found = trial, tile
            trial = (low + high + 1) // 2 if failed else high
        if found is None:
            return Stuck(int(order[start]))
        tiles.append(found)
        start += low
    return tiles


def tile_population(
    index: int,
    population: Population,
    matrix: Matrix,
    fed_by_chip: NDArray[np.bool_],
    copies: Ints,
    chip: ChipSpec,
    *,
    partitioner: Partitioner = "auto",
    pin_tile: tuple[int, int, int] | None = None,
    pin_cores: int | None = None,
    seed: int = 0,
) -> list[Tile] | Stuck:
    """Tile a population along the order that costs least.

    Parameters
    ----------
    index : int
        Position of the population.
    population : Population
        Gives shape and thresholds.
    matrix : csr_array of int64, shape (n, s)
        Joined weights of all links into it.
    fed_by_chip : ndarray of bool, shape (s,)
        Which columns are neurons of the chip (they pay a copy per axon) rather than inputs.
    copies : ndarray of int64, shape (n,)
        Neurons of a core that each takes; those with 0 are left out, those with more than a core has are in several
        tiles.
    chip : ChipSpec
        Limits.
    partitioner : {"auto", "blocks", "overlap", "metis"}
        Which orders are tried.
    pin_tile : (int, int, int), optional
        Rows, columns and features that a core holds at most; cores start at multiples of them.
    pin_cores : int, optional
        Cores over which the neurons are spread evenly, at least.
    seed : int
        Of METIS.

    Returns
    -------
    list of Tile or Stuck
        The neuron, where a single one does not fit.

    Raises
    ------
    DoesNotFitError
        If what is pinned cannot be.
    NotSupportedError
        If METIS is asked for and not installed.
    """
    planner = Planner(index, matrix, population.threshold, chip)
    replicas, rest = _full_replicas(planner, copies, chip)
    if isinstance(replicas, Stuck):
        return replicas
    alive = np.flatnonzero(rest > 0)
    if not len(alive):
        return replicas
    tiles: list[Tile] | int
    if pin_tile is not None:
        tiles = pinned_shape(planner, population, matrix, rest, Pin(pin_tile, pin_cores), chip)
        return Stuck(tiles) if isinstance(tiles, int) else [*replicas, *tiles]
    if pin_cores is None and int(rest.sum()) <= chip.neurons:
        whole = planner.tile(alive, rest[alive])
        if whole is not None:
            return [*replicas, whole]
    demand = axon_demand(matrix, population.threshold, rest, fed_by_chip, chip)
    cuts = _cuts(population.shape, demand, rest, chip, partitioner, seed)
    if pin_cores is not None:
        tiles = spread_evenly(planner, population, cuts[0].neurons, rest, pin_cores)
        return Stuck(tiles) if isinstance(tiles, int) else [*replicas, *tiles]
    found = _cheapest(planner, cuts, demand, rest, chip)
    return found if isinstance(found, Stuck) else [*replicas, *found]


def _cuts(
    shape: tuple[int, int, int] | None,
    demand: AxonDemand,
    copies: Ints,
    chip: ChipSpec,
    partitioner: Partitioner,
    seed: int,
) -> list[CutOrder]:
    """Cut the orders of a partitioner, the cheapest first; there is one at least."""
    alive = np.flatnonzero(copies > 0)
    image = shape is not None and shape[0] * shape[1] > 1
    found = []
    if shape is not None and image and partitioner in ("auto", "blocks"):
        found.append(cheapest_blocks(shape, demand, copies, chip))
    if partitioner == "metis" or (not image and partitioner != "overlap"):
        found.append(cut_single(alive, demand, copies, chip))
    if partitioner == "overlap" or (partitioner == "auto" and len(demand.items) <= (FEW if image else MANY)):
        found.append(cut_single(overlap_order(demand, copies, chip), demand, copies, chip))
    if partitioner == "metis":
        tiles = max([1, *(len(cut.ends) for cut in found if cut is not None)])
        # the order as it is only told how many tiles to expect
        found = [cut_single(metis_order(demand, copies, tiles, seed), demand, copies, chip)]
    cuts = [exchange_neurons(cut, demand, copies, chip) for cut in found if cut is not None]
    if not cuts:  # the demand is a guess: only a plan can tell
        cuts = [CutOrder(alive, np.arange(1, len(alive) + 1), 0)]
    return sorted(cuts, key=lambda cut: cut.cost)


def _cheapest(
    planner: Planner, cuts: list[CutOrder], demand: AxonDemand, copies: Ints, chip: ChipSpec
) -> list[Tile] | Stuck:
    """Plan the tiles of the cheapest cut; of all, where costs are guesses."""
    best: list[Tile] | None = None
    for cut in cuts[:1] if demand.exact else cuts:
        tiles = _tile_along(planner, cut, copies, chip, exact=demand.exact)
        if isinstance(tiles, Stuck):
            return tiles
        if best is None or _cost(tiles, chip) < _cost(best, chip):
            best = tiles
    return best or []


def _cost(tiles: list[Tile], chip: ChipSpec) -> float:
    return len(tiles) + sum(tile.plan.n_axons for tile in tiles) / chip.axons


def _full_replicas(planner: Planner, copies: Ints, chip: ChipSpec) -> tuple[list[Tile] | Stuck, Ints]:
    """Give a core to every full load of copies of one neuron, so that no two replicas meet; return what is left."""
    tiles: list[Tile] = []
    for neuron in np.flatnonzero(copies > chip.neurons).tolist():
        one = np.array([neuron], np.int64)
        tile = planner.tile(one, np.array([chip.neurons], np.int64))
        if tile is None:
            return Stuck(neuron), copies
        tiles += [replace(tile) for _ in range((int(copies[neuron]) - 1) // chip.neurons)]
    full = np.maximum(0, (copies - 1) // chip.neurons) * chip.neurons
    return tiles, copies - full
