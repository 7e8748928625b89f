"""Cached tilings of single populations."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from neuromap.arrays.array_types import Bools, Ints
from neuromap.mapping.bounds.lower_bounds import CoreBound
from neuromap.mapping.core.core_model import AxonPlan, CrossbarCore
from neuromap.mapping.core.core_of import refuse_neuron
from neuromap.mapping.legalise.legalised import Legalised, Matrix, Sources
from neuromap.mapping.options.budget import NO_LIMIT, Budget, Progress
from neuromap.mapping.options.options import MappingOptions, Partitioner
from neuromap.mapping.tile.overlap_order import axon_demand, longest_run
from neuromap.mapping.tile.partitioners import CutOrder, NeuronsToCut, cuts_by
from neuromap.mapping.tile.tile import (
    Planner,
    Stuck,
    Tile,
    dense_rows,
    key_of,
    pinned_shape,
    rows_apart,
    spread_evenly,
)


class Tilings:
    """Tiles populations according to the user's options, and caches the results."""

    # Most populations are tiled the same in every trial of splitters, and often in several rounds on a cycle.
    # options: as given
    # n_tiles: number of cached tiles
    # alone: plans of single neurons
    # packed, shared: tiles and core layouts of whole networks; places, bounds: those of their cores; all by digest

    def __init__(self, options: MappingOptions) -> None:
        self.options = options
        self._known: dict[bytes, tuple[Tile, ...]] = {}
        self.n_tiles = 0
        self.alone: dict[bytes, AxonPlan | None] = {}
        self.packed: dict[bytes, tuple[tuple[Tile, ...], tuple[Any, ...], tuple[Tile, ...]]] = {}
        self.shared: dict[bytes, tuple[tuple[Tile, ...], tuple[Tile, ...], tuple[Any, ...]]] = {}
        self.places: dict[bytes, Ints] = {}
        self.bounds: dict[bytes, CoreBound] = {}

    def tile(
        self,
        network: Legalised,
        index: int,
        sources: Sources,
        copies: Ints,
        core: CrossbarCore,
        budget: Budget = NO_LIMIT,
    ) -> list[Tile]:
        """Tile one population."""
        # core: what a tile must fit
        # shapes: copies (n,)
        population, matrix, fed_by_chip = network.populations[index], sources.matrix, sources.fed_by_chip
        # as far as it differs between rollouts of one network on one chip
        kept = None if population.neuron is None else population.neuron.as_bytes()
        arrays = (matrix.indptr, matrix.indices, matrix.data, population.threshold, copies, fed_by_chip)
        question = key_of((population.name, population.shape, matrix.shape, core.neurons, kept), *arrays)
        if question not in self._known:
            own = "" if population.shape is None else network.ports[population.node].name  # relays are not pinned
            try:
                tiles = tile_population(
                    Planner(index, population, matrix, core, self.alone),
                    fed_by_chip,
                    copies,
                    self.options.partitioner,
                    pin_tile=self.options.pins.tiles.get(own),
                    pin_cores=self.options.pins.cores.get(own),
                    seed=self.options.seed,
                    budget=budget,
                )
            except Stuck as stuck:
                raise refuse_neuron(network, population, sources, stuck.args[0], core) from None
            self._known[question] = tuple(tiles)
            self.n_tiles += len(tiles)
        return [replace(tile, population=index) for tile in self._known[question]]


@dataclass(frozen=True, eq=False)
class MappingContext:
    """Context of every stage of a mapping: options, cached tilings, time budget and progress callback."""

    options: MappingOptions
    tilings: Tilings
    budget: Budget = NO_LIMIT
    progress: Progress | None = None

    def tell(self, done: int, total: int, name: str) -> None:
        """Report progress."""
        if self.progress is not None:
            self.progress(done, total, name)

    @classmethod
    def of(
        cls, options: MappingOptions, progress: Progress | None = None, tilings: Tilings | None = None
    ) -> MappingContext:
        """Begin a mapping; its time limit runs from now on."""
        known = Tilings(options) if tilings is None else tilings
        return cls(options, known, Budget(options.seconds, progress), progress)


# Tile one population: choose which neurons share a core, so that axons and copies fit and little is read twice.
#
# A tile is a run of neurons along an order, and orders are cut at least cost: cores, copies of source neurons that feed
# the tile's axons, and deliveries. Every tile is planned, so that it is legal by construction.
def _tile_along(planner: Planner, cut: CutOrder, copies: Ints, *, exact: bool) -> list[Tile]:
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
            raise Stuck(int(order[start]))
        exact = exact and len(tile.neurons) == asked
        tiles.append(tile)
        start += len(tile.neurons)
    return tiles


def _longest_tile(planner: Planner, run: Ints, copies: Ints, first: int) -> Tile | None:
    """Plan the longest tile at the start of a run of neurons: try ``first`` of them, then all, then bisect."""
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
    planner: Planner,
    fed_by_chip: Bools,
    copies: Ints,
    partitioner: Partitioner = "auto",
    *,
    pin_tile: tuple[int, int, int] | None = None,
    pin_cores: int | None = None,
    seed: int = 0,
    budget: Budget = NO_LIMIT,
) -> list[Tile]:
    """Tile the population of a planner along the cheapest order; raise :class:`Stuck` if a neuron fits no core."""
    # pin_tile: most rows, columns and features per core; tiles start at multiples of these
    # pin_cores: least number of cores over which the neurons are spread evenly
    # shapes: fed_by_chip (s,); copies (n,)
    population, matrix, core = planner.population, planner.matrix, planner.core
    replicas, rest = _full_replicas(planner, copies)
    alive = np.flatnonzero(rest > 0)
    if not len(alive):
        return replicas
    busiest = alive[[np.argmax(np.diff(matrix.indptr)[alive])]]
    if planner.tile(busiest, rest[busiest]) is None:  # before any search
        raise Stuck(int(busiest[0]))
    if pin_tile is not None:
        return replicas + pinned_shape(planner, rest, pin_tile, pin_cores)
    if pin_cores is None and int(rest.sum()) <= core.neurons:
        whole = planner.tile(alive, rest[alive])
        if whole is not None:
            return [*replicas, whole]
    if pin_cores is None and _all_apart(matrix, alive, core):  # no search could do with fewer
        singly = CutOrder(alive, np.arange(1, len(alive) + 1), 0)
        return replicas + _tile_along(planner, singly, rest, exact=True)
    demand = axon_demand(
        matrix, population.threshold, rest, fed_by_chip, core, population.leak_neuron(np.arange(len(rest)))
    )
    to_cut = NeuronsToCut(population.shape, demand, rest, core, seed)
    cuts = cuts_by(partitioner, to_cut, budget, exchanged=pin_cores is None)
    if pin_cores is not None:
        return replicas + spread_evenly(planner, cuts[0].neurons, rest, pin_cores)
    tiles = _cheapest(planner, cuts, rest, budget, exact=demand.exact)
    alike = cut_alike(matrix, rest, core)
    if alike is not None and not budget.is_over("tiling"):
        with suppress(Stuck):
            tiles = min(tiles, _tile_along(planner, alike, rest, exact=False), key=lambda some: _cost(some, core))
    return replicas + tiles


def _all_apart(matrix: Matrix, alive: Ints, core: CrossbarCore) -> bool:
    """Whether no two neurons fit one core, as every column takes an axon or more."""
    width = np.diff(matrix.indptr)[alive]
    if len(alive) > 1 and int(np.partition(width, 1)[:2].sum()) <= core.axons:
        return False
    rows = matrix[alive]
    return len(rows_apart(rows.indptr, rows.indices, rows.shape[1], core.axons)) == len(alive)


def _cheapest(planner: Planner, cuts: list[CutOrder], copies: Ints, budget: Budget, *, exact: bool) -> list[Tile]:
    """Plan the tiles of the cheapest cut, or of all cuts if costs are guesses."""
    best: list[Tile] | None = None
    for cut in cuts[:1] if exact else cuts:
        if best is not None and budget.is_over("tiling"):
            break
        tiles = _tile_along(planner, cut, copies, exact=exact)
        if best is None or _cost(tiles, planner.core) < _cost(best, planner.core):
            best = tiles
    return best or []


def _cost(tiles: list[Tile], core: CrossbarCore) -> float:
    return len(tiles) + sum(tile.plan.n_axons for tile in tiles) / core.axons


def _full_replicas(planner: Planner, copies: Ints) -> tuple[list[Tile], Ints]:
    """Give a core to every full load of copies of one neuron, so that no two replicas meet; also return the rest."""
    tiles: list[Tile] = []
    full = planner.core.neurons
    for neuron in np.flatnonzero(copies > full).tolist():
        tile = planner.tile(np.array([neuron], np.int64), np.array([full], np.int64))
        if tile is None:
            raise Stuck(neuron)
        tiles += [replace(tile) for _ in range((int(copies[neuron]) - 1) // full)]
    in_replicas = np.maximum(0, (copies - 1) // full) * full
    return tiles, copies - in_replicas


# Neurons that read the same sources and are too many for one core: split so that sources of a core have few patterns.
#
# Where sources have two weights and one axon for each is too much, many of a core's sources must have one of few
# patterns (``neuromap.mapping.core.core_model``). Which neurons go together decides how many do.


# Neurons considered for the next place in a core, in their order.
TRIED = 16


def cut_alike(matrix: Matrix, copies: Ints, core: CrossbarCore) -> CutOrder | None:
    """Order neurons by what they read, and cut those that read the same where a core is full."""
    # copies: of each neuron, at most as many as a core has neurons; those with 0 are left out
    # returns ends that are guesses, for a plan to confirm; ``None`` where all that read the same fit a core with an
    # axon for every weight
    # shapes: matrix (n, s); copies (n,)
    alive = np.flatnonzero(copies > 0)
    if not len(alive) or 2 * int(np.diff(matrix.indptr)[alive].max()) <= core.axons:
        return None
    known: dict[bytes, list[Ints]] = {}
    order, ends = [], [0]
    for members in _classes(matrix, alive):
        weights = dense_rows(matrix, members)[1]
        look = key_of(weights.shape, weights, copies[members])
        if look not in known:
            known[look] = _groups(weights, copies[members], core)
        for group in known[look]:
            order.append(members[group])
            ends.append(ends[-1] + len(group))
    return CutOrder(np.concatenate(order), np.array(ends[1:], np.int64), 0)


def _classes(matrix: Matrix, alive: Ints) -> list[Ints]:
    """Neurons that read the same sources, class by class in the order of their first."""
    found: dict[bytes, list[int]] = {}
    for n in alive.tolist():
        found.setdefault(matrix.indices[matrix.indptr[n] : matrix.indptr[n + 1]].tobytes(), []).append(n)
    return [np.array(members, np.int64) for members in found.values()]


def _groups(weights: Ints, copies: Ints, core: CrossbarCore) -> list[Ints]:
    """Split neurons of one class in their order or by best match, whichever takes fewer cores."""
    # neurons that read nothing have no greatest weight: any will do
    is_high = weights == weights.max(axis=1, keepdims=True, initial=np.iinfo(np.int64).min)
    if (~is_high & (weights != weights.min(axis=1, keepdims=True, initial=np.iinfo(np.int64).max))).any():
        return [np.arange(len(weights))]  # more than two weights: the planner sees how many fit
    ways = [_filled(is_high, copies, core, tried) for tried in (1, TRIED)]
    return min(ways, key=len)


def _filled(is_high: Bools, copies: Ints, core: CrossbarCore, tried: int) -> list[Ints]:
    """Fill cores one by one, each time with the best of the next ``tried`` neurons."""
    waiting = list(range(len(is_high)))
    groups = []
    while waiting:
        first = waiting.pop(0)
        group, load = [first], int(copies[first])
        turned = is_high ^ is_high[first]  # alike up to its opposite: 0 in the first neuron
        label = np.zeros(is_high.shape[1], np.int64)
        while waiting:
            some = waiting[:tried]
            labels = [np.unique(2 * label + turned[n], return_inverse=True)[1] for n in some]
            axons = [_axons(found, is_high[first], core.axon_types) for found in labels]
            best = int(np.argmin(axons))
            if axons[best] > core.axons or load + copies[some[best]] > core.neurons:
                break
            label = labels[best]
            load += int(copies[some[best]])
            group.append(some[best])
            waiting.remove(some[best])
        groups.append(np.array(group, np.int64))
    return groups


def _axons(label: Ints, is_high: Bools, types: int) -> int:
    """Count the axons of sources whose patterns are alike, up to their opposites, where labels are equal."""
    count = np.bincount(2 * label + is_high, minlength=2 * int(label.max(initial=0)) + 2).reshape(-1, 2)
    pair = int(np.argmax(count.sum(axis=1)))
    single = int(count[pair].sum())
    count[pair] = 0
    single += int(np.sort(count, axis=None)[::-1][: max(0, types - 2)].sum())
    return 2 * len(label) - single
