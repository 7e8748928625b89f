"""Partition a legalised network into cores: tile all populations, then pack the tiles.

Tiles that share a core share axons, so that they ask for fewer copies, which leaves room for more tiles.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from neuromap.forms.card import Card
from neuromap.mapping.core.core_model import CoreModel, Cores
from neuromap.mapping.legalise.legalised import Legalised
from neuromap.mapping.legalise.sources import Sources, join_sources
from neuromap.mapping.options.budget import NO_LIMIT, Budget
from neuromap.mapping.options.options import MappingOptions, Pins
from neuromap.mapping.options.progress import Progress
from neuromap.mapping.partition.core_layout import CoreLayout, alone
from neuromap.mapping.partition.digest import digest_of
from neuromap.mapping.partition.pack_tiles import pack
from neuromap.mapping.partition.share_cores import share_cores
from neuromap.mapping.partition.signals import FROM_CHIP, Signals, signals_of
from neuromap.mapping.tile.copies import take_copies
from neuromap.mapping.tile.pinned_tiles import pinned_populations
from neuromap.mapping.tile.tile import Tile
from neuromap.mapping.tile.tile_all import tile_all
from neuromap.mapping.tile.tilings import Tilings

__all__ = ["Partition", "partition", "with_shared_cores"]

Ints = NDArray[np.int64]
PACKINGS = 3
"""Times that tiles are packed: shared axons ask for fewer copies, which leaves room for more tiles."""


@dataclass(frozen=True, eq=False)
class Partition(Card):
    """Tiles of all populations, and the cores that hold them."""

    network: Legalised  # what was partitioned
    sources: tuple[Sources, ...]  # one per population
    tiles: tuple[Tile, ...]  # populations in order
    signals: Signals  # what the axons of the tiles carry
    cores: tuple[CoreLayout, ...]  # every tile is in one of them
    # the tiles as they were before packing, with the copies that they need in cores of their own
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
    cores: Cores,
    tilings: Tilings,
    progress: Progress | None = None,
    budget: Budget = NO_LIMIT,
) -> Partition:
    """Tile every population so that all tiles are legal, then pack whole tiles into cores."""
    # Cores may be more than the chip has; ``share_cores`` may still save some.
    sources = join_sources(network)
    name = None if budget.is_limited else digest_of(network)
    if name is not None and (found := tilings.later.get(b"partition" + name)) is not None:
        tiles, layouts, apart = found
        return Partition(network, sources, tiles, signals_of(network, sources, tiles), layouts, apart)
    by_population = tile_all(network, sources, cores, tilings, progress, budget)
    tiles = [tile for i in range(len(sources)) for tile in by_population[i]]
    signals = signals_of(network, sources, tiles)
    layouts = alone(tiles, cores.model)
    apart = _with_copies(tiles, _copies_in_cores(network, signals, layouts))
    assert apart is not None, "tiles were made for these copies"
    tiles = apart
    if tilings.options.packing:
        tiles, layouts = _pack(network, tiles, signals, cores.model, tilings.options.pins, budget)
    if name is not None:
        tilings.later[b"partition" + name] = (tuple(tiles), layouts, tuple(apart))
    return Partition(network, sources, tuple(tiles), signals, layouts, tuple(apart))


def _pack(
    network: Legalised, tiles: list[Tile], signals: Signals, core: CoreModel, pins: Pins, budget: Budget
) -> tuple[list[Tile], tuple[CoreLayout, ...]]:
    """Pack tiles whole, again and again as long as that asks for fewer copies; pinned nodes share no core."""
    cores = alone(tiles, core)
    pinned = pinned_populations(network, pins)
    for _ in range(PACKINGS):
        packed = pack(tiles, signals, core, pinned)
        fewer = _with_copies(tiles, _copies_in_cores(network, signals, packed))
        if fewer is None or len(packed) > len(cores):
            break  # it shares fewer axons than the packing before, whose copies these tiles hold
        before = sum(int(tile.copies.sum()) for tile in tiles)
        tiles, cores = fewer, packed
        if sum(int(tile.copies.sum()) for tile in tiles) == before:
            break  # no axon more was shared, so there is no more room than before
        if budget.is_over("packing"):
            break
    return tiles, cores


def with_shared_cores(
    parts: Partition, core: CoreModel, options: MappingOptions, tilings: Tilings, budget: Budget = NO_LIMIT
) -> Partition:
    """Take tiles apart and fill cores neuron by neuron, where that takes fewer cores."""
    if not options.packing:
        return parts
    name = None if budget.is_limited else digest_of(parts.network)
    known = None if name is None else tilings.later.get(b"shared" + name)
    if known is not None and known[0] is parts.tiles:
        tiles, cores = known[1:]
        return replace(parts, tiles=tiles, signals=signals_of(parts.network, parts.sources, tiles), cores=cores)
    pinned = pinned_populations(parts.network, options.pins)
    shared = share_cores(parts.network, parts.apart, parts.signals, core, pinned, len(parts.cores), budget)
    tiles, cores = (parts.tiles, parts.cores) if shared is None else (tuple(shared[0]), shared[1])
    if name is not None:
        tilings.later[b"shared" + name] = (parts.tiles, tiles, cores)
    if shared is None:
        return parts
    return replace(parts, tiles=tiles, signals=signals_of(parts.network, parts.sources, tiles), cores=cores)


def _copies_in_cores(network: Legalised, signals: Signals, cores: tuple[CoreLayout, ...]) -> list[Ints]:
    """Count the copies that every neuron needs once tiles share axons."""
    copies = [p.own_copies for p in network.populations]
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
    lowered = [take_copies(tile, missing[tile.population], tile.copies) for tile in tiles]
    reached = [np.zeros(len(needed), bool) for needed in copies]
    for tile in tiles:
        reached[tile.population][tile.neurons] = True
    held = all(not left[here].any() for left, here in zip(missing, reached, strict=True))
    return lowered if held else None
