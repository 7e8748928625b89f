"""The stage "emit": write the program of a placed partition."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from neuromap.arrays.array_types import Ints
from neuromap.arrays.frozen import ReadOnly
from neuromap.arrays.packed_rows import ragged_ranges, rank_in_run
from neuromap.arrays.times import Time
from neuromap.cores.crossbar.program import NeuronTable, Program
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.hardware.program.ports import BIAS, HostTable, OutputTable
from neuromap.mapping.partition.partition import Partition
from neuromap.mapping.partition.unpack_tiles import BIAS_SIGNAL, FROM_CHIP
from neuromap.render.value import Card


def emit(labels: dict[str, Any], partition: Partition, routes: Routes, chip: ChipSpec) -> Program:
    """Write the program of a placed partition."""
    # labels: fields common to programs of all core kinds
    network, tiles, shape = partition.network, partition.tiles, (len(partition.cores), chip.neurons)
    slots = (routes.core, routes.slot)
    row = np.cumsum([0, *(len(tile.neurons) for tile in tiles)])[routes.tile] + routes.tile_row  # over all tiles
    populations = [network.populations[tile.population] for tile in tiles]
    # leak neurons, which keep their potential from tick to tick; ``None`` for frame neurons
    kept = [p.leak_neuron(tile.neurons) for p, tile in zip(populations, tiles, strict=True)]

    def table(dtype: DTypeLike, unused: int, of_tiles: Iterable[ArrayLike]) -> NDArray[Any]:
        """Lay out a value per tile or per neuron by core and slot; unused neurons get ``unused``."""
        found = np.full(shape, unused, dtype)
        values = [np.broadcast_to(value, len(tile.neurons)) for value, tile in zip(of_tiles, tiles, strict=True)]
        found[slots] = np.concatenate([np.zeros(0, dtype), *values])[row]
        return found

    axon_types, crossbar, weights = _crossbars(partition, routes, chip)
    target_core, target_axon = np.full(shape, -1, np.int32), np.zeros(shape, np.int32)
    delay = np.zeros(shape, np.uint8)
    target_core[slots], target_axon[slots], delay[slots] = routes.target_core, routes.target_axon, routes.delay
    node = table(np.int32, -1, [p.node for p in populations])
    index = table(np.int32, 0, [p.neurons[tile.neurons] for p, tile in zip(populations, tiles, strict=True)])
    is_splitter = table(bool, 0, [p.is_splitter for p in populations])
    is_part = table(bool, 0, [p.is_part for p in populations])
    is_output = np.array([port.kind == "output" for port in network.ports])
    read = (routes.target_core == NO_TARGET) & is_output[node[slots]]  # others are only recorded
    out = (routes.core[read], routes.slot[read])
    plans = [tile.plan for tile in tiles]
    return Program(
        **labels,
        axon_types=axon_types,
        crossbar=crossbar,
        neurons=NeuronTable(
            weights=weights,
            # unused neurons have the leak of a silent frame neuron, so that they rest
            leak=table(np.int16, -1, [p.leak if n is None else n.leak for p, n in zip(plans, kept, strict=True)]),
            leak_reversal=np.zeros(shape, bool),
            threshold=table(
                np.int32, 0, [p.alpha if n is None else n.threshold for p, n in zip(plans, kept, strict=True)]
            ),
            negative_threshold=table(np.int32, 0, [0 if n is None else n.floor for n in kept]),
            reset=np.zeros(shape, np.int32),
            # gamma: 0 sets the potential to 0, 1 subtracts the threshold
            reset_mode=table(np.uint8, 0, [0 if n is None else n.subtract for n in kept]),
            saturate_negative=table(bool, 0, [n is not None for n in kept]),
            potential=table(np.int32, 0, [0 if n is None else n.potential for n in kept]),
        ),
        target_core=target_core,
        target_axon=target_axon,
        delay=delay,
        neuron_node=node,
        neuron_index=index,
        is_relay=table(bool, 0, [p.is_relay for p in populations]),
        is_splitter=is_splitter if is_splitter.any() else None,
        is_part=is_part if is_part.any() else None,
        host=_host_table(partition),
        outputs=OutputTable(
            node=node[out], index=index[out], core=out[0].astype(np.int32), neuron=out[1].astype(np.int32)
        ),
    )


def _crossbars(
    partition: Partition, routes: Routes, chip: ChipSpec
) -> tuple[NDArray[np.uint8], NDArray[np.uint8], NDArray[np.int16]]:
    """Lay out axon types, crossbars and weights of all cores; rows of the routes are in the order of the cores."""
    n_cores = len(partition.cores)
    axon_types = np.zeros((n_cores, chip.axons), np.uint8)
    crossbar = np.zeros((n_cores, chip.axons, -(-chip.neurons // 8)), np.uint8)
    weights = np.zeros((n_cores, chip.neurons, chip.axon_types), np.int16)
    bounds = np.searchsorted(routes.core, np.arange(n_cores + 1))
    for core, layout in enumerate(partition.cores):
        bits = np.zeros((layout.n_axons, chip.neurons), bool)
        copies = slice(bounds[core], bounds[core + 1])
        for number, axon_of, type_of in zip(layout.tiles, layout.axon_of, layout.type_of, strict=True):
            plan, here = partition.tiles[number].plan, routes.tile[copies] == number
            slots, row = routes.slot[copies][here], routes.tile_row[copies][here]
            axon_types[core, axon_of] = type_of[plan.axon_type]
            bits[np.ix_(axon_of, slots)] = plan.synapses[:, row]
            weights[core, slots[:, None], type_of] = plan.weights[row]
        crossbar[core, : layout.n_axons] = np.packbits(bits, axis=1, bitorder="little")
    return axon_types, crossbar, weights


def _host_table(partition: Partition) -> HostTable:
    core, axon, signal = fed_axons(partition)
    signals = partition.signals
    from_host = signals.kind[signal] != FROM_CHIP
    core, axon, signal = core[from_host], axon[from_host], signal[from_host]
    return HostTable(
        node=np.where(signals.kind[signal] == BIAS_SIGNAL, BIAS, signals.source[signal]).astype(np.int32),
        index=signals.neuron[signal].astype(np.int32),
        core=core.astype(np.int32),
        axon=axon.astype(np.int32),
        **arrivals_in_ticks(signals.tick[signal], partition.network.period),
        first_frame=signals.first_frame[signal].astype(np.int8),
    )


# The stage "route": pair every axon that a neuron feeds with a copy of that neuron.
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
    core_of, rank_of = (np.empty(len(partition.tiles), np.int64) for _ in range(2))
    for number, layout in enumerate(partition.cores):
        core_of[list(layout.tiles)] = number
        rank_of[list(layout.tiles)] = np.arange(len(layout.tiles))
    core = core_of[tile]
    order = np.lexsort((target_axon, target_core, row, rank_of[tile], core))
    core = core[order]
    slot = rank_in_run(core)
    return Routes(core, slot, tile[order], row[order], target_core[order], target_axon[order], delay[order])


def _first_neurons(partition: Partition) -> Ints:
    """Offset of every population when the neurons of all are numbered consecutively."""
    return np.cumsum([0, *(len(p.neurons) for p in partition.network.populations)])


def _neurons_of_tiles(partition: Partition) -> list[Ints]:
    """Neurons of every tile, numbered consecutively over all populations."""
    first = _first_neurons(partition)
    return [first[tile.population] + tile.neurons for tile in partition.tiles]


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
    """Return core, axon and signal of every axon in use, sorted by core and axon."""
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


# Routes: which copy of a neuron feeds which axon.
# Target core of a copy that is read out, or only recorded.
NO_TARGET = -1


@dataclass(frozen=True, eq=False)
class Routes(ReadOnly, Card):
    """One row per copy of a neuron: where it sits and which axon it feeds."""

    # core, slot: (r,): the copy: core and neuron of the core
    core: Ints
    slot: Ints
    # tile, tile_row: (r,): the tile that the copied neuron belongs to, and its position within it
    tile: Ints
    tile_row: Ints
    # target_core, target_axon, delay: (r,): its target; target_core is -1 where the copy is read out, or only recorded
    target_core: Ints
    target_axon: Ints
    delay: Ints

    @property
    def wires(self) -> tuple[Ints, Ints]:
        """Source and target core of every copy that has a target."""
        on_chip = self.target_core != NO_TARGET
        return self.core[on_chip], self.target_core[on_chip]


# Arrivals of host rows as a program holds them: ticks, and parts of a tick where frames come at unequal intervals.


def arrivals_in_ticks(exact: Ints, period: Time) -> dict[str, Ints]:
    """Return the column ``arrival`` of a host table, and ``part`` if intervals are unequal."""
    # period: frame period in ticks
    # shapes: exact (K,)
    if period.denominator == 1:
        return {"arrival": exact.astype(np.int64)}
    tick, part = np.divmod(exact.astype(np.int64), period.denominator)
    return {"arrival": tick, "part": part}
