"""Tilings of single populations, each made once however often it is asked for."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.mapping.asked.budget import NO_LIMIT, Budget
from neuromap.mapping.asked.options import MappingOptions
from neuromap.mapping.core.axon_plan import AxonPlan
from neuromap.mapping.core.core_model import CoreModel
from neuromap.mapping.legalise.legalised import Legalised, Population
from neuromap.mapping.legalise.sources import Sources
from neuromap.mapping.tile.tile import Stuck, Tile
from neuromap.mapping.tile.tile_population import tile_population

__all__ = ["Tilings"]

Ints = NDArray[np.int64]


class Tilings:
    """Tiles populations as a user's options say, and remembers what it found."""

    # Most populations are tiled alike in every trial of splitters, and often in several rounds on a cycle.
    # options: as given
    # n_tiles: tiles that are remembered
    # alone: plans of single neurons
    # later: what later stages remember of whole networks, by digests of what it depends on

    def __init__(self, options: MappingOptions) -> None:
        self.options = options
        self._known: dict[bytes, tuple[Tile, ...]] = {}
        self.n_tiles = 0
        self.alone: dict[bytes, AxonPlan | None] = {}
        self.later: dict[bytes, Any] = {}

    def tile(
        self,
        network: Legalised,
        index: int,
        sources: Sources,
        copies: Ints,
        core: CoreModel,
        budget: Budget = NO_LIMIT,
    ) -> list[Tile]:
        """Tile one population."""
        # core: what a tile must fit
        # shapes: copies (n,)
        question = _digest(network.populations[index], sources, copies, core)
        if question not in self._known:
            self._known[question] = tuple(self._tile(network, index, sources, copies, core, budget))
            self.n_tiles += len(self._known[question])
        return [replace(tile, population=index) for tile in self._known[question]]

    def _tile(
        self, network: Legalised, index: int, sources: Sources, copies: Ints, core: CoreModel, budget: Budget
    ) -> list[Tile]:
        population, options = network.populations[index], self.options
        pins = options.pins
        own = network.ports[population.node].name if population.shape is not None else None  # relays are not pinned
        tiles = tile_population(
            index,
            population,
            sources.matrix,
            sources.fed_by_chip,
            copies,
            core,
            partitioner=options.partitioner,
            pin_tile=pins.tiles.get(own) if own is not None else None,
            pin_cores=pins.cores.get(own) if own is not None else None,
            seed=options.seed,
            budget=budget,
            alone=self.alone,
        )
        if isinstance(tiles, Stuck):
            raise core.refuse_neuron(network, population, sources, tiles.neuron)
        return tiles


def _digest(population: Population, sources: Sources, copies: Ints, core: CoreModel) -> bytes:
    """Name what a tiling depends on, as far as it differs between rollouts of one network on one chip."""
    matrix = sources.matrix
    digest = hashlib.blake2b(
        repr((population.name, population.shape, matrix.shape, core.neurons)).encode(), digest_size=16
    )
    for array in (matrix.indptr, matrix.indices, matrix.data, population.threshold, copies, sources.fed_by_chip):
        digest.update(np.ascontiguousarray(array).tobytes())
    if population.neuron is not None:
        digest.update(population.neuron.as_bytes())
    return digest.digest()
