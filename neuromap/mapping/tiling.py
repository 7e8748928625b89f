"""Tile one population over cores: in which order neurons fill cores, and how many fit into each.

A core takes a run of neurons along an order; runs are as long as axons and copies allow, so every tile is legal
by construction. Orders walk blocks of rows and columns and chunks of features; which one needs the fewest cores and
axons is tried, not guessed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from neuromap.frozen import freeze_arrays
from neuromap.hardware.chip import ChipSpec
from neuromap.mapping.axon_types import AxonPlan, plan_axons
from neuromap.mapping.legalise import Matrix, Population

__all__ = ["Stuck", "Tile", "orders", "tile_along", "tile_population"]

Ints = NDArray[np.int64]
SAMPLE = 4
"""Tiles from which an order is judged."""
PLANNED = 8
"""Orders that are judged with axons planned, after a cheap guess has ranked all."""
FINALISTS = 2
"""Orders that are tiled to the end."""


@dataclass(frozen=True, eq=False)
class Tile:
    """Neurons of one population in one core.

    Attributes
    ----------
    population : int
        Position in ``Legalised.populations``.
    neurons : ndarray of int64, shape (n,)
        Positions within the population, ascending.
    columns : ndarray of int64, shape (s,)
        Columns of the population's joined matrix that the core reads; ``plan.source`` points into it.
    plan : AxonPlan
        Axons, types and synapses.
    """

    population: int
    neurons: Ints
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


def _sizes(n: int) -> list[int]:
    return sorted({n, *(2**k for k in range(n.bit_length()) if 2**k < n)})


def _divisors(n: int) -> list[int]:
    return [d for d in range(1, n + 1) if n % d == 0]


def orders(population: Population) -> Iterator[Ints]:
    """Yield orders in which the neurons of a population may fill cores.

    A node's orders walk chunks of features, then blocks of rows and columns, then the neurons of a block; relays
    have their one order.
    """
    if population.shape is None:
        yield np.arange(len(population.neurons))
        return
    rows, columns, features = population.shape
    r, c, f = np.unravel_index(np.arange(rows * columns * features), population.shape)
    seen = set()
    for chunk in reversed(_divisors(features)):
        for height in _sizes(rows):
            for width in _sizes(columns):
                spans = height == rows or width == columns
                if not (spans or height / 2 <= width <= 2 * height):
                    continue  # long thin blocks read more sources than square ones, unless they span the node
                order = np.lexsort((f, c, r, c // width, r // height, f // chunk))
                key = order.tobytes()
                if key not in seen:
                    seen.add(key)
                    yield order


def _longest_prefix(matrix: Matrix, copies: Ints, run: Ints, chip: ChipSpec) -> int:
    """Bound the neurons of ``run`` that one core can take, by copies and by distinct sources."""
    by_copies = int(np.searchsorted(np.cumsum(copies[run]), chip.neurons, side="right"))
    run = run[: max(1, by_copies)]
    rows = matrix[run]
    _, first = np.unique(rows.indices, return_index=True)
    row_of = np.searchsorted(rows.indptr, first, side="right") - 1
    sources = np.cumsum(np.bincount(row_of, minlength=len(run)))
    return min(by_copies, int(np.searchsorted(sources, chip.axons, side="right")))


def tile_along(
    index: int,
    matrix: Matrix,
    threshold: Ints,
    copies: Ints,
    order: Ints,
    chip: ChipSpec,
    *,
    most: int | None = None,
) -> list[Tile] | Stuck:
    """Fill cores along an order.

    Parameters
    ----------
    index : int
        Position of the population.
    matrix : csr_array of int64, shape (n, s)
        Joined weights of all links into the population.
    threshold, copies : ndarray of int64, shape (n,)
        theta and neurons of a core that each neuron takes; neurons with 0 copies are left out.
    order : ndarray of int64
        Positions of neurons.
    chip : ChipSpec
        Limits.
    most : int, optional
        Stop after so many tiles (to compare orders on a sample).

    Returns
    -------
    list of Tile or Stuck
        The neuron, where a single one does not fit.
    """
    order = order[copies[order] > 0]
    tiles: list[Tile] = []
    start = 0
    guess = chip.neurons
    while start < len(order) and (most is None or len(tiles) < most):
        run = order[start : start + chip.neurons]
        high = _longest_prefix(matrix, copies, run, chip)
        low, found = 0, None
        trial, failed = min(high, guess), False
        while low < high:  # the tile before is a good guess; then all that may fit; then halves
            tile = _plan(index, matrix, threshold, run[:trial], chip)
            if tile is None:
                high, failed = trial - 1, True
            else:
                low, found = trial, tile
            trial = (low + high + 1) // 2 if failed else high
        if found is None:
            return Stuck(int(run[0]))
        tiles.append(found)
        start += low
        guess = low
    return tiles


def _plan(index: int, matrix: Matrix, threshold: Ints, neurons: Ints, chip: ChipSpec) -> Tile | None:
    neurons = np.sort(neurons)
    rows = matrix[neurons]
    columns = np.unique(rows.indices).astype(np.int64)
    weights = np.zeros((len(neurons), len(columns)), np.int64)
    row_of = np.repeat(np.arange(len(neurons)), np.diff(rows.indptr))
    weights[row_of, np.searchsorted(columns, rows.indices)] = rows.data
    plan = plan_axons(weights, threshold[neurons], chip)
    return None if plan is None else Tile(index, neurons, columns, plan)


def _cost(tiles: list[Tile], fed_by_chip: NDArray[np.bool_], chip: ChipSpec) -> float:
    """Cores per neuron of the population, counting the copies of sources that the axons ask for."""
    axons = 0
    for tile in tiles:
        source = tile.plan.source
        axons += int(fed_by_chip[tile.columns[source[source >= 0]]].sum())
    done = sum(len(tile.neurons) for tile in tiles)
    return (len(tiles) + axons / chip.neurons) / done


def tile_population(
    index: int,
    population: Population,
    matrix: Matrix,
    fed_by_chip: NDArray[np.bool_],
    copies: Ints,
    chip: ChipSpec,
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
        Neurons of a core that each neuron takes.
    chip : ChipSpec
        Limits.

    Returns
    -------
    list of Tile or Stuck
        The neuron, where a single one does not fit.
    """

    def along(order: Ints, most: int | None = None) -> list[Tile] | Stuck:
        return tile_along(index, matrix, population.threshold, copies, order, chip, most=most)

    candidates = list(orders(population))
    first = along(candidates[0], most=SAMPLE)
    if isinstance(first, Stuck) or len(first) < 2:
        return first
    columns = sum(len(tile.columns) for tile in first)
    axons_per_source = max(1.0, sum(tile.plan.n_axons for tile in first) / max(1, columns))
    guesses = [_guess(matrix, copies, order, axons_per_source, fed_by_chip, chip) for order in candidates]
    ranked = []
    for number in np.argsort(guesses, kind="stable")[:PLANNED]:
        tiles = along(candidates[number], most=SAMPLE)
        if isinstance(tiles, Stuck):
            return tiles
        ranked.append((_cost(tiles, fed_by_chip, chip), int(number), tiles))
    ranked.sort(key=lambda entry: entry[:2])
    finished = []
    for _, number, tiles in ranked[:FINALISTS]:
        whole = along(candidates[number]) if len(tiles) == SAMPLE else tiles
        if isinstance(whole, Stuck):
            return whole
        finished.append((_cost(whole, fed_by_chip, chip), number, whole))
    return min(finished, key=lambda entry: entry[:2])[2]


def _guess(
    matrix: Matrix, copies: Ints, order: Ints, axons_per_source: float, fed_by_chip: NDArray[np.bool_], chip: ChipSpec
) -> float:
    """Guess the cost of an order without planning axons, from runs at a few places."""
    order = order[copies[order] > 0]
    narrow = replace(chip, axons=max(1, int(chip.axons / axons_per_source)))
    cores, done, axons = 0, 0, 0.0
    for start in np.linspace(0, max(0, len(order) - chip.neurons), SAMPLE, dtype=int):
        run = order[start : start + chip.neurons]
        taken = max(1, _longest_prefix(matrix, copies, run, narrow))
        read = np.unique(matrix[run[:taken]].indices)
        axons += axons_per_source * float(fed_by_chip[read].sum())
        cores += 1
        done += taken
    return (cores + axons / chip.neurons) / done
