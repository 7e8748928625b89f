"""Tile all populations of a network: from the outputs backwards, on cycles until the copies hold.

A source pays one copy per axon that it feeds, so how a population is tiled depends on the tiles of those that read
it. On cycles the copies are iterated: tiled anew a few times, then only split where a core is too full, then refused.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TypeAlias

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from neuromap.errors import DoesNotFitError
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.hardware.program.program import BIAS
from neuromap.mapping.asked.options import MappingOptions, Pins
from neuromap.mapping.core.refusals import refuse_circle, refuse_cores, refuse_neuron
from neuromap.mapping.legalise.legalised import Legalised, Link, Population
from neuromap.mapping.legalise.sources import Sources
from neuromap.mapping.tile.split_tiles import split_overfull
from neuromap.mapping.tile.tiling import Planner, Stuck, Tile, tile_population

__all__ = ["Tilings", "axons_fed", "pinned_populations", "tile_again", "tile_all"]

Ints = NDArray[np.int64]
ROUNDS = 40
"""Rounds in which the copies of a cycle may settle."""
ANEW = 4
"""Rounds in which the nodes of a cycle are tiled anew; later ones only split the tiles that are too full."""
MARGIN = 16
"""One neuron of a core in so many is left free when a cycle is tiled anew for the last time."""
HOPELESS = 2
"""Times the chip's cores at which tiling stops; below that it goes on, so that a refusal can say how many would do."""
MANY = 4096
"""Cores below which tiling is quick enough to go on: packing may still bring their number down a lot."""
Tilings: TypeAlias = dict[bytes, tuple[Tile, ...]]


def tile_all(
    network: Legalised,
    sources: tuple[Sources, ...],
    chip: ChipSpec,
    options: MappingOptions,
    progress: Callable[[int, int, str], None] | None,
    known: Tilings,
) -> dict[int, list[Tile]]:
    """Tile every population so that all tiles are legal and hold the copies that their readers ask for.

    Parameters
    ----------
    network : Legalised
        Populations and links.
    sources : tuple of Sources
        What each population reads.
    chip : ChipSpec
        Limits.
    options : MappingOptions
        Partitioner and pins; with packing, more tiles than cores are no reason to stop.
    progress : callable or None
        Called with populations tiled, populations in all, and the name of the last.
    known : dict
        Tilings that were found before, to which new ones are added.

    Returns
    -------
    dict of int to list of Tile
        Tiles of every population.

    Raises
    ------
    DoesNotFitError
        With the infeasibility as data: axons (fan-in), axon types, potential, copies on cycles, or far too many cores.
    """
    count = len(network.populations)
    graph = nx.DiGraph([(link.source, link.target) for link in network.links])
    graph.add_nodes_from(range(count))
    condensed = nx.condensation(graph)
    links_from: dict[int, list[Link]] = {}
    for link in network.links:
        links_from.setdefault(link.source, []).append(link)
    tiles: dict[int, list[Tile]] = {}
    size: dict[int, float] = {}
    hopeless = HOPELESS * (max(chip.n_cores, MANY) if options.packing else chip.n_cores)
    floor: dict[int, Ints] = {}  # copies seen so far: they only grow, so that the iteration ends
    done = 0
    for group in reversed(list(nx.topological_sort(condensed))):
        members = sorted(condensed.nodes[group]["members"], reverse=True)
        for round_ in range(ROUNDS):
            settled = True
            for index in members:
                demand = _copies(network.populations[index], links_from.get(index, []), sources, tiles)
                floor[index] = np.maximum(demand, floor[index]) if index in floor else demand
                kept = _keep(tiles[index], floor[index], chip) if index in tiles else None
                if kept is None and round_ >= ANEW:
                    kept = _split(network, sources[index], index, tiles[index], floor[index], chip, options)
                    settled = False
                if kept is None:
                    room = chip if round_ < ANEW - 1 else replace(chip, neurons=chip.neurons - chip.neurons // MARGIN)
                    kept = _tile(network, sources[index], index, floor[index], room, options, known)
                    settled = False
                tiles[index] = kept
                size[index] = sum(_fill(tile, chip) for tile in kept) if options.packing else len(kept)
                if sum(size.values()) > hopeless:
                    so_far = {i: math.ceil(cores) for i, cores in size.items()}
                    raise refuse_cores(network, so_far, chip, given_up=True)
                if progress is not None:
                    progress(done, count, network.populations[index].name)
            if settled or not graph.subgraph(members).edges:
                break
        else:
            asked = {i: _copies(network.populations[i], links_from.get(i, []), sources, tiles).sum() for i in members}
            held = {i: sum(int(tile.copies.sum()) for tile in tiles[i]) for i in members}
            worst = max(members, key=lambda i: asked[i] - held[i])
            raise refuse_circle(network, worst, int(asked[worst]), ROUNDS, chip, held=held[worst])
        done += len(members)
        if progress is not None:
            progress(done, count, network.populations[members[-1]].name)
    return tiles


def pinned_populations(network: Legalised, pins: Pins) -> frozenset[int]:
    """Find the populations whose tiles share their cores with nothing, since a user has a say in them."""
    names = {*pins.tiles, *pins.cores, *pins.regions}
    nodes = network.populations
    return frozenset(i for i, p in enumerate(nodes) if not p.is_relay and network.ports[p.node].name in names)


def tile_again(
    network: Legalised,
    sources: Sources,
    index: int,
    copies: Ints,
    chip: ChipSpec,
    options: MappingOptions,
    known: Tilings,
) -> list[Tile] | None:
    """Tile one population with copies of one's own; ``None`` where a neuron does not fit.

    Parameters
    ----------
    network : Legalised
        Populations and links.
    sources : Sources
        What the population reads.
    index : int
        The population.
    copies : ndarray of int64, shape (n,)
        Neurons of a core that each neuron takes.
    chip : ChipSpec
        Limits.
    options : MappingOptions
        Partitioner and pins.
    known : dict
        As in :func:`partition`.
    """
    try:
        return _tile(network, sources, index, copies, chip, options, known)
    except DoesNotFitError:
        return None


def _copies(
    population: Population, links: list[Link], sources: tuple[Sources, ...], tiles: dict[int, list[Tile]]
) -> Ints:
    """Count the copies that each neuron needs: one per axon that it feeds, one if it is read out.

    Readers that are not tiled yet count one axon per source that they read.
    """
    copies = np.full(len(population.neurons), int(population.is_output), np.int64)
    for link in links:
        if link.target in tiles:
            copies += axons_fed(link, sources[link.target], tiles[link.target])
        else:
            copies[np.unique(link.matrix.indices)] += 1
    return copies


def axons_fed(link: Link, reader: Sources, tiles: Iterable[Tile]) -> Ints:
    """Count the axons that every neuron of a link's source feeds.

    Parameters
    ----------
    link : Link
        One of ``reader.links``.
    reader : Sources
        What the link's target reads.
    tiles : iterable of Tile
        Of the target.

    Returns
    -------
    ndarray of int64, shape (n_source,)
        Axons, bias not counted.
    """
    axons = np.zeros(link.matrix.shape[1], np.int64)
    place = reader.links.index(link)
    for tile in tiles:
        columns = tile.columns[tile.plan.source[tile.plan.source != BIAS]]
        np.add.at(axons, reader.neuron_of[columns[reader.link_of[columns] == place]], 1)
    return axons


def _keep(tiles: list[Tile], copies: Ints, chip: ChipSpec) -> list[Tile] | None:
    """Give tiles new copies where they hold them; ``None`` where some core is too small or a neuron is missing."""
    missing = copies.copy()
    kept = []
    for tile in tiles:
        share = np.minimum(missing[tile.neurons], chip.neurons)
        if share.sum() > chip.neurons:
            return None
        missing[tile.neurons] -= share
        kept.append(replace(tile, copies=share))
    return kept if not missing.any() else None


def _fill(tile: Tile, chip: ChipSpec) -> float:
    """Return the part of a core that a tile takes, of the resource that it takes most of."""
    return max(tile.plan.n_axons / chip.axons, float(tile.copies.sum()) / chip.neurons)


def _tile(
    network: Legalised,
    sources: Sources,
    index: int,
    copies: Ints,
    chip: ChipSpec,
    options: MappingOptions,
    known: Tilings,
) -> list[Tile]:
    population = network.populations[index]
    key = _digest(population, sources, copies, chip)
    if key not in known:
        known[key] = tuple(_tile_anew(network, sources, index, copies, chip, options))
    return [replace(tile, population=index) for tile in known[key]]


def _split(
    network: Legalised,
    sources: Sources,
    index: int,
    tiles: list[Tile],
    copies: Ints,
    chip: ChipSpec,
    options: MappingOptions,
) -> list[Tile] | None:
    """Split the tiles that are too full; ``None`` where they have to be made anew, as those of pinned nodes have."""
    if index in pinned_populations(network, options.pins):
        return None
    planner = Planner(index, sources.matrix, network.populations[index].threshold, chip)
    return split_overfull(tiles, copies, planner, chip)


def _digest(population: Population, sources: Sources, copies: Ints, chip: ChipSpec) -> bytes:
    """Name what a tiling depends on, as far as it differs between fan-outs of one network."""
    matrix = sources.matrix
    digest = hashlib.blake2b(
        repr((population.name, population.shape, matrix.shape, chip.neurons)).encode(), digest_size=16
    )
    for array in (matrix.indptr, matrix.indices, matrix.data, population.threshold, copies, sources.fed_by_chip):
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.digest()


def _tile_anew(
    network: Legalised, sources: Sources, index: int, copies: Ints, chip: ChipSpec, options: MappingOptions
) -> list[Tile]:
    population = network.populations[index]
    own = network.ports[population.node].name if population.shape is not None else None  # relays are not pinned
    tiles = tile_population(
        index,
        population,
        sources.matrix,
        sources.fed_by_chip,
        copies,
        chip,
        partitioner=options.partitioner,
        pin_tile=options.pins.tiles.get(own) if own is not None else None,
        pin_cores=options.pins.cores.get(own) if own is not None else None,
        seed=options.seed,
    )
    if isinstance(tiles, Stuck):
        raise refuse_neuron(network, population, sources.links, sources.matrix, tiles.neuron, chip)
    return tiles
