"""Choose nodes to join: pairs whose joint tiles cost less than their tiles apart, as long as the whole gets smaller.

A pair is judged by a corner of its image, with the copies that its neurons need now. Pairs that promise most are joined
first; what is joined may be joined again.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from neuromap.hardware.chip import ChipSpec
from neuromap.mapping.join_nodes import can_join, join_nodes
from neuromap.mapping.legalise import Legalised, Population
from neuromap.mapping.options import MappingOptions
from neuromap.mapping.partition import Partition, Tilings, tile_again
from neuromap.mapping.sources import Sources, join_sources
from neuromap.mapping.tiling import Tile

__all__ = ["propose_joins"]

Ints = NDArray[np.int64]
WORTHWHILE = 0.02
"""Part of a pair's cost that joining must promise to save."""
MARGIN = 12
"""Rows and columns of the corner, at least."""


def propose_joins(parts: Partition, chip: ChipSpec, options: MappingOptions, known: Tilings) -> Legalised | None:
    """Join the disjoint pairs that promise most; ``None`` where none does.

    Parameters
    ----------
    parts : Partition
        Gives the nodes, and the copies that their neurons need.
    chip : ChipSpec
        Limits.
    options : MappingOptions
        Nodes with pins are left alone.
    known : dict
        As in :func:`neuromap.mapping.partition.partition`.
    """
    network = parts.network
    pinned = {*options.pins.tiles, *options.pins.cores, *options.pins.regions}
    free = [i for i, p in enumerate(network.populations) if not p.is_relay and p.name not in pinned]
    gains = {}
    for n, a in enumerate(free):
        for b in free[n + 1 :]:
            if can_join(network, a, b):
                gain = _gain(parts, (a, b), chip, options, known)
                if gain > 0:
                    gains[a, b] = gain
    pairs: list[tuple[int, int]] = []
    for pair in sorted(gains, key=lambda pair: (-gains[pair], pair)):
        if not {*pair} & {member for chosen in pairs for member in chosen}:
            pairs.append(pair)
    return join_nodes(network, pairs) if pairs else None


def _gain(parts: Partition, pair: tuple[int, int], chip: ChipSpec, options: MappingOptions, known: Tilings) -> float:
    """Return the part of a pair's cost that joining saves, in a corner of the image; 0 where it is not worthwhile."""
    network = parts.network
    members = [network.populations[m] for m in pair]
    copies = []
    for m, population in zip(pair, members, strict=True):
        demand = np.zeros(len(population.neurons), np.int64)
        for tile in parts.tiles:
            if tile.population == m:
                demand[tile.neurons] += tile.copies
        copies.append(np.where(_in_corner(population), demand, 0))
    apart = 0.0
    for m, demand in zip(pair, copies, strict=True):
        tiles = tile_again(network, parts.sources[m], m, demand, chip, options, known)
        if tiles is None:
            return 0.0
        apart += _cost(tiles, parts.sources[m], chip)

    readers = replace(
        network,
        links=tuple(link for link in network.links if link.target in pair),
        host_links=tuple(feed for feed in network.host_links if feed.target in pair),
    )
    joined = join_nodes(readers, [pair])
    both = joined.populations[pair[0]]
    order = np.argsort(np.concatenate(list(map(_ids, members))))
    ids = np.concatenate(list(map(_ids, members)))[order]
    demand = np.concatenate(copies)[order][np.searchsorted(ids, _ids(both))]
    sources = join_sources(joined)[pair[0]]
    tiles = tile_again(joined, sources, pair[0], demand, chip, options, known)
    if tiles is None or not apart:
        return 0.0
    saved = 1 - _cost(tiles, sources, chip) / apart
    return saved if saved > WORTHWHILE else 0.0


def _ids(population: Population) -> Ints:
    """Name neurons by node and index."""
    return population.label * 2**32 + population.neurons


def _in_corner(population: Population) -> NDArray[np.bool_]:
    """Return the neurons in the first half of the rows and columns, with a margin for small images; shape (n,)."""
    assert population.shape is not None, "only nodes with an image are joined"
    rows, columns, features = population.shape
    pixel = np.arange(len(population.neurons)) // features
    most = max(MARGIN, rows // 2), max(MARGIN, columns // 2)
    return np.asarray((pixel // columns < most[0]) & (pixel % columns < most[1]))


def _cost(tiles: list[Tile], sources: Sources, chip: ChipSpec) -> float:
    """Cores, and cores that the copies of what the tiles read take."""
    read = sum(int(sources.fed_by_chip[t.columns[t.plan.source[t.plan.source >= 0]]].sum()) for t in tiles)
    return len(tiles) + read / chip.neurons
