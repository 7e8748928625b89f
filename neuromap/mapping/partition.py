"""Partition a legalised network into cores.

A source pays one copy per axon that it feeds, so how a population is tiled depends on the tiles of those that read
it. Populations are tiled from the outputs backwards; on cycles the copies are iterated until they hold, then refused.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import networkx as nx
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from neuromap.frozen import freeze_arrays
from neuromap.hardware.chip import ChipSpec
from neuromap.hardware.program import BIAS
from neuromap.mapping.legalise import HostLink, Legalised, Link, Matrix
from neuromap.mapping.refusals import refuse_circle, refuse_copies, refuse_cores, refuse_neuron
from neuromap.mapping.tiling import Stuck, Tile, tile_population

__all__ = ["Partition", "Sources", "partition"]

Ints = NDArray[np.int64]
ROUNDS = 40
"""Rounds in which the copies of a cycle may settle."""
HOPELESS = 2
"""Times the chip's cores at which tiling stops; below that it goes on, so that a refusal can say how many would do."""


@dataclass(frozen=True, eq=False)
class Sources:
    """The joined matrix of all links into a population.

    Attributes
    ----------
    links : tuple of Link or HostLink
        In the order of the columns.
    matrix : csr_array of int64, shape (n, s)
        Their matrices side by side.
    link_of, neuron_of : ndarray of int64, shape (s,)
        Link of each column, and the neuron of the link's source.
    """

    links: tuple[Link | HostLink, ...]
    matrix: Matrix
    link_of: Ints
    neuron_of: Ints

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @property
    def fed_by_chip(self) -> NDArray[np.bool_]:
        """Which columns are neurons of the chip; shape (s,)."""
        return np.array([isinstance(link, Link) for link in self.links], bool)[self.link_of]


@dataclass(frozen=True, eq=False)
class Partition:
    """Tiles of all populations; a tile is a core.

    Attributes
    ----------
    network : Legalised
        What was partitioned.
    sources : tuple of Sources
        One per population.
    tiles : tuple of Tile
        One per core, populations in order.
    """

    network: Legalised
    sources: tuple[Sources, ...]
    tiles: tuple[Tile, ...]

    def axons_fed(self, tile: Tile) -> tuple[NDArray[np.intp], Ints, Ints]:
        """Return for the non-bias axons of a tile: axon, link within ``sources.links``, neuron of its source."""
        axons = np.flatnonzero(tile.plan.source != BIAS)
        columns = tile.columns[tile.plan.source[axons]]
        sources = self.sources[tile.population]
        return axons, sources.link_of[columns], sources.neuron_of[columns]


def _join(network: Legalised, index: int) -> Sources:
    links: list[Link | HostLink] = [
        *(link for link in network.links if link.target == index),
        *(link for link in network.host_links if link.target == index),
    ]
    widths = [link.matrix.shape[1] for link in links]
    n = len(network.populations[index].neurons)
    empty: Matrix = sparse.csr_array((n, 0), dtype=np.int64)
    matrix: Matrix = sparse.hstack([empty, *(link.matrix for link in links)], format="csr")
    matrix.sort_indices()
    return Sources(
        tuple(links),
        matrix,
        np.repeat(np.arange(len(links)), widths),
        np.concatenate([np.arange(w) for w in widths]) if widths else np.zeros(0, np.int64),
    )


def partition(network: Legalised, chip: ChipSpec, progress: Callable[[int, int, str], None] | None = None) -> Partition:
    """Tile every population so that all cores are legal.

    Parameters
    ----------
    network : Legalised
        From :func:`neuromap.mapping.legalise.legalise`.
    chip : ChipSpec
        Limits.
    progress : callable, optional
        Called with populations tiled, populations in all, and the name of the last.

    Raises
    ------
    DoesNotFitError
        With the infeasibility as data: axons (fan-in), axon types, potential, copies (fan-out), or cores.
    """
    count = len(network.populations)
    sources = tuple(_join(network, i) for i in range(count))
    graph = nx.DiGraph([(link.source, link.target) for link in network.links])
    graph.add_nodes_from(range(count))
    condensed = nx.condensation(graph)
    tiles: dict[int, list[Tile]] = {}
    floor: dict[int, Ints] = {}  # copies seen so far: they only grow, so that the iteration ends
    done = 0
    for group in reversed(list(nx.topological_sort(condensed))):
        members = sorted(condensed.nodes[group]["members"], reverse=True)
        for _ in range(ROUNDS):
            for index in members:
                demand = _copies(network, sources, tiles, index)
                floor[index] = np.maximum(demand, floor[index]) if index in floor else demand
                if index not in tiles or not _holds(tiles[index], floor[index], chip):
                    tiles[index] = _tile(network, sources[index], index, floor[index], chip)
                if sum(map(len, tiles.values())) > HOPELESS * chip.n_cores:
                    raise refuse_cores(network, {i: len(t) for i, t in tiles.items()}, chip)
            if all(_holds(tiles[i], _copies(network, sources, tiles, i), chip) for i in members):
                break
        else:
            worst = max(members, key=lambda i: _fullest(tiles[i], _copies(network, sources, tiles, i)))
            fullest = _fullest(tiles[worst], _copies(network, sources, tiles, worst))
            raise refuse_circle(network, worst, fullest, ROUNDS, chip)
        done += len(members)
        if progress is not None:
            progress(done, count, network.populations[members[-1]].name)
    if sum(map(len, tiles.values())) > chip.n_cores:
        raise refuse_cores(network, {i: len(t) for i, t in tiles.items()}, chip)
    return Partition(network, sources, tuple(tile for i in range(count) for tile in tiles[i]))


def _copies(network: Legalised, sources: tuple[Sources, ...], tiles: dict[int, list[Tile]], index: int) -> Ints:
    """Count the copies that each neuron needs: one per axon that it feeds, one if it is read out.

    Readers that are not tiled yet count one axon per source that they read.
    """
    population = network.populations[index]
    copies = np.full(len(population.neurons), int(population.is_output), np.int64)
    for link in network.links:
        if link.source != index:
            continue
        reader = sources[link.target]
        place = reader.links.index(link)
        if link.target not in tiles:
            copies[np.unique(link.matrix.indices)] += 1
            continue
        for tile in tiles[link.target]:
            columns = tile.columns[tile.plan.source[tile.plan.source != BIAS]]
            columns = columns[reader.link_of[columns] == place]
            np.add.at(copies, reader.neuron_of[columns], 1)
    return copies


def _holds(tiles: list[Tile], copies: Ints, chip: ChipSpec) -> bool:
    placed = np.zeros(len(copies), bool)
    for tile in tiles:
        placed[tile.neurons] = True
    return bool(placed[copies > 0].all()) and _fullest(tiles, copies) <= chip.neurons


def _fullest(tiles: list[Tile], copies: Ints) -> int:
    """Count the neurons of the fullest core."""
    return max((int(copies[tile.neurons].sum()) for tile in tiles), default=0)


def _tile(network: Legalised, sources: Sources, index: int, copies: Ints, chip: ChipSpec) -> list[Tile]:
    population = network.populations[index]
    if copies.max(initial=0) > chip.neurons:
        raise refuse_copies(population, copies, chip)
    tiles = tile_population(index, population, sources.matrix, sources.fed_by_chip, copies, chip)
    if isinstance(tiles, Stuck):
        raise refuse_neuron(network, population, sources.links, sources.matrix, tiles.neuron, chip)
    return tiles
