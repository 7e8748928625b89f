"""The last resort on cycles: every neuron alone in cores of its own, in as many as its copies take.

Tiles that shrink from round to round ask for more axons together, hence for more copies, and may seem to grow without
end. They do not shrink further than to single neurons, and what those ask for is soon known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from neuromap.mapping.legalise.legalised import Legalised, Link
from neuromap.mapping.legalise.sources import Sources
from neuromap.mapping.tile.copies import axons_fed, take_copies
from neuromap.mapping.tile.tile import Planner, Tile

__all__ = ["tile_alone"]

Ints = NDArray[np.int64]


def tile_alone(
    network: Legalised,
    sources: Sequence[Sources],
    planners: Mapping[int, Planner],
    own: Mapping[int, Ints],
    most: float,
) -> dict[int, list[Tile]] | None:
    """Tile the populations of a cycle neuron by neuron."""
    # gives ``None`` where some neuron fits no core, or no such number of cores holds the copies
    # shapes: own (n,)
    alone = {i: _each_alone(planner) for i, planner in planners.items()}
    if any(len(alone[i]) < len(planner.population.neurons) for i, planner in planners.items()):
        return None
    links = [link for link in network.links if link.source in planners and link.target in planners]
    fed = [_fed_by_each(link, sources[link.target], alone[link.target]) for link in links]
    room = {i: planner.core.neurons for i, planner in planners.items()}
    cores = {i: np.zeros(len(tiles), np.int64) for i, tiles in alone.items()}  # of every neuron
    while True:
        copies = {i: own[i].copy() for i in planners}
        for link, axons in zip(links, fed, strict=True):
            copies[link.source] += axons.T @ cores[link.target]
        more = {i: -(-copies[i] // room[i]) for i in planners}
        if sum(int(number.sum()) for number in more.values()) > most:
            return None
        if all((more[i] == cores[i]).all() for i in planners):
            return {i: _replicated(alone[i], copies[i], room[i]) for i in planners}
        cores = more


def _each_alone(planner: Planner) -> list[Tile]:
    """Plan every neuron alone; those that fit no core are left out."""
    one = np.ones(1, np.int64)
    tiles = (planner.tile(np.array([n]), one) for n in range(len(planner.population.neurons)))
    return [tile for tile in tiles if tile is not None]


def _fed_by_each(link: Link, reader: Sources, tiles: Sequence[Tile]) -> sparse.csr_array:
    """Count the axons that every neuron of a link's source feeds in every tile; shape (tiles, n_source)."""
    return sparse.csr_array(
        sparse.vstack([sparse.csr_array(axons_fed(link, reader, [tile])[None, :]) for tile in tiles])
    )


def _replicated(alone: Sequence[Tile], copies: Ints, room: int) -> list[Tile]:
    """Give every neuron its copies, in as many tiles as that takes; none where nothing asks for it."""
    missing = copies.copy()
    return [
        take_copies(tile, missing, room) for tile, n in zip(alone, copies, strict=True) for _ in range(-(-n // room))
    ]
