"""Copies that readers ask for: one for every axon that a neuron feeds, and one where it is read out or kept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from neuromap.hardware.program.ports import BIAS
from neuromap.mapping.legalise.legalised import Link, Population
from neuromap.mapping.legalise.sources import Sources
from neuromap.mapping.tile.tile import Tile

__all__ = ["axons_fed", "copies_asked", "take_copies"]

Ints = NDArray[np.int64]


def copies_asked(
    population: Population, links: Iterable[Link], sources: Sequence[Sources], tiles: Mapping[int, Sequence[Tile]]
) -> Ints:
    """Count the copies that the readers of every neuron of a population ask for."""
    # shapes: returns (n,)
    copies = population.own_copies
    for link in links:
        if link.target in tiles:
            copies += axons_fed(link, sources[link.target], tiles[link.target])
        else:
            copies[np.unique(link.matrix.indices)] += 1
    return copies


def axons_fed(link: Link, reader: Sources, tiles: Iterable[Tile]) -> Ints:
    """Count the axons that every neuron of a link's source feeds."""
    # shapes: returns (n_source,)
    axons = np.zeros(link.matrix.shape[1], np.int64)
    place = reader.links.index(link)
    for tile in tiles:
        columns = tile.columns[tile.plan.source[tile.plan.source != BIAS]]
        np.add.at(axons, reader.neuron_of[columns[reader.link_of[columns] == place]], 1)
    return axons


def take_copies(tile: Tile, missing: Ints, most: Ints | int) -> Tile:
    """Give a tile those of the missing copies of its neurons that it may hold, and no others."""
    # shapes: missing (n,); most (neurons of the tile,)
    taken = np.minimum(most, missing[tile.neurons])
    missing[tile.neurons] -= taken
    return replace(tile, copies=taken)
