"""Partition a legalised network into cores.

A source pays one copy per axon that it feeds, so how a population is tiled depends on the tiles of those that read
it. Populations are tiled from the outputs backwards; on cycles the copies are iterated until they hold, then refused.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from neuromap.errors import DoesNotFitError
from neuromap.hardware.chip import ChipSpec
from neuromap.hardware.program import BIAS
from neuromap.mapping.legalise import Legalised, Link, Population
from neuromap.mapping.options import MappingOptions, Pins
from neuromap.mapping.packing import CoreLayout, alone, pack
from neuromap.mapping.refusals import refuse_circle, refuse_cores, refuse_neuron
from neuromap.mapping.share_cores import share_cores
from neuromap.mapping.signals import FROM_CHIP, Signals, signals_of
from neuromap.mapping.sources import Sources, join_sources
from neuromap.mapping.split_tiles import split_overfull
from neuromap.mapping.tiling import Planner, Stuck, Tile, tile_population

__all__ = ["Partition", "Tilings", "partition", "pinned_populations", "tile_again", "with_shared_cores"]

Ints = NDArray[np.int64]
ROUNDS = 40
"""Rounds in which the copies of a cycle may settle."""
ANEW = 4
"""Rounds in which the nodes of a cycle are tiled anew; later ones only split the tiles that are too full."""
MARGIN = 16
"""One neuron of a core in so many is left free when a cycle is tiled anew for the last time."""
PACKINGS = 3
"""Times that tiles are packed: shared axons ask for fewer copies, which leaves room for more tiles."""
HOPELESS = 2
"""Times the chip's cores at which tiling stops; below that it goes on, so that a refusal can say how many would do."""
MANY = 4096
"""Cores below which tiling is quick enough to go on: packing may still bring their number down a lot."""
Tilings: TypeAlias = dict[bytes, tuple[Tile, ...]]


@dataclass(frozen=True, eq=False)
class Partition:
    """Tiles of all populations, and the cores that hold them.

    Attributes
    ----------
    network : Legalised
        What was partitioned.
    sources : tuple of Sources
        One per population.
    tiles : tuple of Tile
        Populations in order.
    signals : Signals
        What the axons of the tiles carry.
    cores : tuple of CoreLayout
        Every tile is in one of them.
    apart : tuple of Tile
        The tiles as they were before packing, with the copies that they need in cores of their own.
    """

    network: Legalised
    sources: tuple[Sources, ...]
    tiles: tuple[Tile, ...]
    signals: Signals
    cores: tuple[CoreLayout, ...]
    apart: tuple[Tile, ...]

    def regions(self, pins: Pins) -> list[tuple[int, int, int, int] | None]:
        """Rectangle of the board within which every core must lie, by the pins of the nodes that it holds."""
        regions = []
        for core in self.cores:
            population = self.network.populations[self.tiles[core.tiles[0]].population]
            name = None if population.is_relay else self.network.ports[population.node].name
            regions.append(None if name is None else pins.regions.get(name))
        return regions


def partition(
    network: Legalised,
    chip: ChipSpec,
    options: MappingOptions,
    progress: Callable[[int, int, str], None] | None = None,
    known: Tilings | None = None,
) -> Partition:
    """Tile every population so that all tiles are legal, then pack whole tiles into cores.

    Cores may be more than the chip has; :func:`neuromap.mapping.share_cores.share_cores` may still save some.

    Parameters
    ----------
    network : Legalised
        From :func:`neuromap.mapping.legalise.legalise`.
    chip : ChipSpec
        Limits.
    options : MappingOptions
        Packing, partitioner and pins.
    progress : callable, optional
        Called with populations tiled, populations in all, and the name of the last.
    known : dict, optional
        Tilings that were found before, to which new ones are added; for those who partition similar networks.

    Raises
    ------
    DoesNotFitError
        With the infeasibility as data: axons (fan-in), axon types, potential, copies on cycles, or far too many cores.
    """
    sources = join_sources(network)
    known = {} if known is None else known
    by_population = _tile_all(network, sources, chip, options, progress, known)
    tiles = [tile for i in range(len(sources)) for tile in by_population[i]]
    signals = signals_of(network, sources, tiles)
    cores = alone(tiles, chip)
    apart = _with_copies(tiles, _copies_in_cores(network, signals, cores))
    assert apart is not None, "tiles were made for these copies"
    tiles = apart
    if options.packing:
        tiles, cores = _pack(network, tiles, signals, chip, options)
    return Partition(network, sources, tuple(tiles), signals, cores, tuple(apart))


def _pack(
    network: Legalised, tiles: list[Tile], signals: Signals, chip: ChipSpec, options: MappingOptions
) -> tuple[list[Tile], tuple[CoreLayout, ...]]:
    """Pack tiles whole, again and again as long as that asks for fewer copies; pinned nodes share no core."""
    cores = alone(tiles, chip)
    pinned = pinned_populations(network, options.pins)
    for _ in range(PACKINGS):
        packed = pack(tiles, signals, chip, pinned)
        fewer = _with_copies(tiles, _copies_in_cores(network, signals, packed))
        if fewer is None or len(packed) > len(cores):
            break  # it shares fewer axons than the packing before, whose copies these tiles hold
        before = sum(int(tile.copies.sum()) for tile in tiles)
        tiles, cores = fewer, packed
        if sum(int(tile.copies.sum()) for tile in tiles) == before:
            break  # no axon more was shared, so there is no more room than before
    return tiles, cores


def pinned_populations(network: Legalised, pins: Pins) -> frozenset[int]:
    """Find the populations whose tiles share their cores with nothing, since a user has a say in them."""
    names = {*pins.tiles, *pins.cores, *pins.regions}
    nodes = network.populations
    return frozenset(i for i, p in enumerate(nodes) if not p.is_relay and network.ports[p.node].name in names)


def with_shared_cores(parts: Partition, chip: ChipSpec, options: MappingOptions) -> Partition:
    """Take tiles apart and fill cores neuron by neuron, where that takes fewer cores.

    Parameters
    ----------
    parts : Partition
        Packed by whole tiles.
    chip : ChipSpec
        Limits.
    options : MappingOptions
        Whether cores are shared at all, and pins.
    """
    if not options.packing:
        return parts
    pinned = pinned_populations(parts.network, options.pins)
    shared = share_cores(parts.network, parts.apart, parts.signals, chip, pinned, len(parts.cores))
    if shared is None:
        return parts
    tiles, cores = shared
    return replace(parts, tiles=tuple(tiles), signals=signals_of(parts.network, parts.sources, tiles), cores=cores)


def _tile_all(
    network: Legalised,
    sources: tuple[Sources, ...],
    chip: ChipSpec,
    options: MappingOptions,
    progress: Callable[[int, int, str], None] | None,
    known: Tilings,
) -> dict[int, list[Tile]]:
    """Tile from the outputs backwards; on cycles iterate until the copies hold."""
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


def _copies_in_cores(network: Legalised, signals: Signals, cores: tuple[CoreLayout, ...]) -> list[Ints]:
    """Count the copies that every neuron needs once tiles share axons."""
    copies = [np.full(len(p.neurons), int(p.is_output), np.int64) for p in network.populations]
    for core in cores:
        axons = np.concatenate(core.axon_of)
        carried = np.concatenate([signals.of_axon[tile] for tile in core.tiles])
        carried = carried[np.unique(axons, return_index=True)[1]]
        carried = carried[signals.kind[carried] == FROM_CHIP]
        for source in np.unique(signals.source[carried]).tolist():
            np.add.at(copies[source], signals.neuron[carried[signals.source[carried] == source]], 1)
    return copies


def _with_copies(tiles: list[Tile], copies: list[Ints]) -> list[Tile] | None:
    """Lower the copies in tiles to those that are needed; ``None`` where the tiles hold fewer than that."""
    missing = [needed.copy() for needed in copies]
    lowered = []
    for tile in tiles:
        share = np.minimum(tile.copies, missing[tile.population][tile.neurons])
        missing[tile.population][tile.neurons] -= share
        lowered.append(replace(tile, copies=share))
    reached = [np.zeros(len(needed), bool) for needed in copies]
    for tile in tiles:
        reached[tile.population][tile.neurons] = True
    held = all(not left[here].any() for left, here in zip(missing, reached, strict=True))
    return lowered if held else None
