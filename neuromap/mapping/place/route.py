"""The stage "route": pair every axon that a neuron feeds with a copy of that neuron."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.ragged import ragged_ranges, rank_in_run
from neuromap.mapping.partition.partition import Partition
from neuromap.mapping.partition.signals import FROM_CHIP
from neuromap.mapping.place.routes import NO_TARGET, Routes

__all__ = ["fed_axons", "route"]

Ints = NDArray[np.int64]


def route(partition: Partition) -> Routes:
    """Pair every axon that a neuron feeds with a copy of that neuron."""
    # Copies of one neuron sit side by side, a read-out copy comes first. The axons of a neuron with replicas are shared
    # out among them in the order of the target cores.
    wanted, target_core, target_axon, delay = _copies_wanted(partition)
    order = np.lexsort((target_axon, target_core, wanted))
    in_tiles = np.concatenate([np.zeros(0, np.int64), *_neurons_of_tiles(partition)])
    order = order[np.isin(wanted[order], in_tiles)]  # a read-out neuron that no source reaches is in no tile
    wanted, target_core, target_axon, delay = (column[order] for column in (wanted, target_core, target_axon, delay))
    offered, tile, row = _copies_offered(partition)
    given = np.searchsorted(offered, wanted, side="left") + rank_in_run(wanted)
    assert (offered[given] == wanted).all(), "tiles hold a copy for every axon"
    tile, row = tile[given], row[given]
    core_of, rank_of = _places_of_tiles(partition)
    core = core_of[tile]
    order = np.lexsort((target_axon, target_core, row, rank_of[tile], core))
    core = core[order]
    slot = rank_in_run(core)
    return Routes(core, slot, tile[order], row[order], target_core[order], target_axon[order], delay[order])


def _first_neurons(partition: Partition) -> Ints:
    """Where the neurons of every population begin, when all stand in one row."""
    return np.cumsum([0, *(len(p.neurons) for p in partition.network.populations)])


def _neurons_of_tiles(partition: Partition) -> list[Ints]:
    """Neurons of every tile, numbered through all populations."""
    first = _first_neurons(partition)
    return [first[tile.population] + tile.neurons for tile in partition.tiles]


def _places_of_tiles(partition: Partition) -> tuple[Ints, Ints]:
    """Core of every tile, and its rank in it."""
    core_of, rank_of = (np.empty(len(partition.tiles), np.int64) for _ in range(2))
    for core, layout in enumerate(partition.cores):
        core_of[list(layout.tiles)] = core
        rank_of[list(layout.tiles)] = np.arange(len(layout.tiles))
    return core_of, rank_of


def _copies_wanted(partition: Partition) -> tuple[Ints, Ints, Ints, Ints]:
    """Neuron, target core, target axon and delay of every copy: one per neuron read out or kept, one per axon fed."""
    first, signals = _first_neurons(partition), partition.signals
    populations = partition.network.populations
    own = [first[i] + np.flatnonzero(p.own_copies) for i, p in enumerate(populations)]
    reads = np.concatenate([np.zeros(0, np.int64), *own])
    none = np.zeros(len(reads), np.int64)
    core, axon, signal = fed_axons(partition)
    from_chip = signals.kind[signal] == FROM_CHIP
    core, axon, signal = core[from_chip], axon[from_chip], signal[from_chip]
    return (
        np.concatenate([reads, first[signals.source[signal]] + signals.neuron[signal]]),
        np.concatenate([np.full(len(reads), NO_TARGET), core]),
        np.concatenate([none, axon]),
        np.concatenate([none, signals.tick[signal]]),
    )


def _copies_offered(partition: Partition) -> tuple[Ints, Ints, Ints]:
    """Neuron, tile and position in the tile of every copy that the tiles hold, by neuron, then tile."""
    tiles, empty = partition.tiles, np.zeros(0, np.int64)
    neuron = np.concatenate([empty, *_neurons_of_tiles(partition)])
    sizes = np.array([len(tile.neurons) for tile in tiles], np.int64)
    tile, row = np.repeat(np.arange(len(tiles)), sizes), ragged_ranges(0, sizes)
    copies = np.concatenate([empty, *(t.copies for t in tiles)])
    order = np.argsort(neuron, kind="stable")
    order = np.repeat(order, copies[order])
    return neuron[order], tile[order], row[order]


def fed_axons(partition: Partition) -> tuple[Ints, Ints, Ints]:
    """Return core, axon and signal of every axon in use, by core and axon."""
    # shapes: core, axon, signal (axons in use,)
    cores, axons, signals = [], [], []
    for core, layout in enumerate(partition.cores):
        of_core = np.empty(layout.n_axons, np.int64)
        for tile, axon_of in zip(layout.tiles, layout.axon_of, strict=True):
            of_core[axon_of] = partition.signals.of_axon[tile]
        cores.append(np.full(layout.n_axons, core))
        axons.append(np.arange(layout.n_axons))
        signals.append(of_core)
    empty = [np.zeros(0, np.int64)]
    return tuple(np.concatenate(empty + part) for part in (cores, axons, signals))  # type: ignore[return-value]
