"""``Tile``: neurons of one population that fit one core, and the planner that finds its axons."""

from __future__ import annotations

import hashlib
import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.array_types import Ints
from neuromap.arrays.frozen import ReadOnly
from neuromap.arrays.packed_rows import entries_of_rows
from neuromap.errors import DoesNotFitError
from neuromap.files.messages import counted
from neuromap.mapping.core.core_model import AxonPlan, CrossbarCore
from neuromap.mapping.legalise.legalised import Legalised, Matrix, Population
from neuromap.mapping.options.infeasibility import Limit, Remedy, refuse
from neuromap.mapping.options.options import Pins
from neuromap.network.spiking_neuron import LeakNeuron
from neuromap.render.value import Card


@dataclass(frozen=True, eq=False)
class Tile(ReadOnly, Card):
    """Neurons of one population in one core."""

    population: int  # position in ``Legalised.populations``
    neurons: Ints  # (n,): positions within the population, ascending
    # (n,): copies of each in the core; a neuron with more copies than a core has neurons is in several tiles
    copies: Ints
    columns: Ints  # (s,): columns of the population's joined matrix that the core reads; ``plan.source`` points into it
    plan: AxonPlan  # axons, types and synapses


class Stuck(Exception):
    """A neuron does not fit a core even alone; its argument is the position within the population."""


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
        read = np.zeros(self.matrix.shape[1], np.bool_)
        read[self.matrix.indices[entries_of_rows(self.matrix.indptr, neurons)]] = True
        if np.count_nonzero(read) > self.core.axons:
            return None  # every column takes an axon or more
        columns, weights, threshold, neuron = self.asked_of_core(neurons)
        look = key_of((weights.shape, neuron and neuron.as_bytes()), weights, threshold)
        known = self._alone if len(neurons) == 1 else self._known
        if look not in known:
            known[look] = self.core.plan(weights, threshold, neuron)
        plan = known[look]
        return None if plan is None else Tile(self._index, neurons, copies, columns, plan)

    def asked_of_core(self, neurons: Ints) -> tuple[Ints, Ints, Ints, LeakNeuron | None]:
        """Return the columns that neurons read, their dense weights there, thresholds, and leak neurons."""
        columns, weights = dense_rows(self.matrix, neurons)
        return columns, weights, self.population.threshold[neurons], self.population.leak_neuron(neurons)


# Neurons that pairwise exceed a core's axons get one core each.
# Maximum number of rows whose pairs are compared; of more, none is.
MOST = 4096
# Items compared at once.
WORD = 64


def rows_apart(indptr: NDArray[np.integer], items: NDArray[np.integer], n_items: int, room: int) -> Ints:
    """Find rows any two of which together have more than ``room`` items, greedily, the widest first."""
    # shapes: indptr (n + 1,); items (nnz,)
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
    """Lay out the weights of some neurons as a dense array."""
    # returns the columns that they read, ascending, and the weights there
    # shapes: matrix (n, s); neurons (k,); columns (c,); weights (k, c)
    lengths = matrix.indptr[neurons + 1] - matrix.indptr[neurons]
    place = entries_of_rows(matrix.indptr, neurons)
    indices = matrix.indices[place]
    columns, inverse = np.unique(indices, return_inverse=True)
    weights = np.zeros((len(neurons), len(columns)), np.int64)
    weights[np.repeat(np.arange(len(neurons)), lengths), inverse] = matrix.data[place]
    return columns.astype(np.int64), weights


def key_of(facts: object, *arrays: NDArray[np.generic]) -> bytes:
    """Digest what a result depends on, as the key under which it is cached."""
    # facts: has a ``repr`` that tells all, shapes of arrays that may have others included
    digest = hashlib.blake2b(repr(facts).encode(), digest_size=16)
    for array in arrays:
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.digest()


Shape = tuple[int, int, int]


def pinned_populations(network: Legalised, pins: Pins) -> frozenset[int]:
    """Find the populations whose tiles share no core, because the user pinned them."""
    names = {*pins.tiles, *pins.cores, *pins.regions}
    nodes = network.populations
    return frozenset(i for i, p in enumerate(nodes) if not p.is_relay and network.ports[p.node].name in names)


def pinned_shape(planner: Planner, copies: Ints, tile: Shape, cores: int | None) -> list[Tile]:
    """Tile a node in its pinned shape."""
    # copies: of each neuron, at most as many as a core has neurons
    # tile: most rows, columns and features per core; tiles start at multiples of these
    # cores: least number of cores over which the neurons are spread
    # shapes: copies (n,)
    shape = planner.population.shape
    assert shape is not None, "only nodes are pinned"
    tiles: list[Tile] = []
    for cell in _cells(shape, tile, copies):
        found = planner.tile(cell, copies[cell])
        if found is None:
            for n in _suspects(planner, cell):
                if planner.tile(np.array([n]), copies[[n]]) is None:
                    raise Stuck(n)
            raise _refuse_shape(planner, copies, cell, tile, shape)
        tiles.append(found)
    if cores is not None and len(tiles) < cores:
        text = f"pinned tiles of {_product(tile)} make {counted(len(tiles), 'core')}, pinned are at least {cores}"
        remedy = Remedy("pins.cores", len(tiles), f"cores = {len(tiles)} goes with these tiles")
        raise refuse("cores", planner.population.name, cores, len(tiles), text, [remedy])
    return tiles


def spread_evenly(planner: Planner, order: Ints, copies: Ints, cores: int) -> list[Tile]:
    """Spread neurons evenly over at least ``cores`` cores, along an order."""
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
            raise Stuck(int(part[0]))
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
    """Refuse a pinned tile that does not fit, and name the largest smaller one that fits everywhere."""
    core, asked = planner.core, int(copies[cell].sum())
    short: tuple[Limit, int, int, str] = ("copies", asked, core.neurons, "copies of its neurons")
    if asked <= core.neurons:  # they fit one by one but not together: for lack of axons, else of axon types
        _, weights, threshold, neuron = planner.asked_of_core(cell)
        plan = core.ample_plan(weights, threshold, neuron)
        short = ("axon_types", core.axon_types + 1, core.axon_types, "axon types or more")
        if plan is not None:
            short = ("axons", plan.n_axons, core.axons, "axons")
    limit, demand, bound, what = short
    text = f"a pinned tile of {_product(tile)} needs {demand} {what}, a {core.name} core has {bound}"
    smaller = _smaller(planner, copies, tile, shape)
    remedies = [Remedy("pins.tiles", smaller, f"a tile of {_product(smaller)} would fit")]
    return refuse(limit, planner.population.name, demand, bound, text, remedies)


def _smaller(planner: Planner, copies: Ints, tile: Shape, shape: Shape) -> Shape:
    """Find the largest tile, of repeatedly halved sides, that fits a core wherever it lies."""
    sides = [_halves(min(side, whole)) for side, whole in zip(tile, shape, strict=True)]
    for rows, columns, features in sorted(
        itertools.product(*sides), key=lambda s: (-s[0] * s[1] * s[2], abs(s[0] - s[1]), s)
    ):
        smaller = rows, columns, features
        if all(_fits(planner, cell, copies) for cell in _cells(shape, smaller, copies)):
            return smaller
    return 1, 1, 1


def _suspects(planner: Planner, cell: Ints) -> list[int]:
    """List candidates for a neuron that does not fit a core alone: all, or those with most synapses and drive."""
    # If weights take an axon each, and thresholds none, only sources and the potential's width can be too much.
    rows, core = planner.matrix[cell], planner.core
    if not core.has_axon_per_weight(np.unique(rows.data)) or core.needs_bias(planner.population.threshold[cell]):
        return [int(n) for n in cell]
    fall = rows.minimum(0).sum(axis=1) - planner.population.threshold[cell]
    extremes = np.argmax(np.diff(rows.indptr)), np.argmax(rows.maximum(0).sum(axis=1)), np.argmin(fall)
    return [int(cell[n]) for n in extremes]


def _fits(planner: Planner, cell: Ints, copies: Ints) -> bool:
    """Whether a tile of neurons that fit one by one fits; it is planned only if counts do not tell."""
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


def _product(tile: Shape) -> str:
    return "x".join(map(str, tile))
