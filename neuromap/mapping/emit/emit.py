"""Emit the program: give every neuron its copies, every copy its target, and write the tables."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import freeze_arrays
from neuromap.arrays.ragged import rank_in_run
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.hardware.program.program import BIAS, HostTable, NeuronTable, OutputTable, Program
from neuromap.mapping.pack.signals import BIAS_SIGNAL, FROM_CHIP
from neuromap.mapping.partition.partition import Partition

__all__ = ["Routes", "emit", "route"]

Ints = NDArray[np.int64]
READ_OUT = -1


@dataclass(frozen=True, eq=False)
class Routes:
    """One row per copy of a neuron: where it sits and which axon it feeds.

    Attributes
    ----------
    core, slot : ndarray of int64, shape (r,)
        The copy: core and neuron of the core.
    tile, tile_row : ndarray of int64, shape (r,)
        The tile that the copied neuron belongs to, and its position within it.
    target_core, target_axon, delay : ndarray of int64, shape (r,)
        Its target; target_core is -1 where the copy is read out.
    """

    core: Ints
    slot: Ints
    tile: Ints
    tile_row: Ints
    target_core: Ints
    target_axon: Ints
    delay: Ints

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @property
    def wires(self) -> tuple[Ints, Ints]:
        """Source and target core of every copy that has a target."""
        on_chip = self.target_core != READ_OUT
        return self.core[on_chip], self.target_core[on_chip]


def route(partition: Partition) -> Routes:
    """Pair every axon that a neuron feeds with a copy of that neuron.

    Copies of one neuron sit side by side, a read-out copy comes first. The axons of a neuron with replicas are
    shared out among them in the order of the target cores.

    Parameters
    ----------
    partition : Partition
        Its tiles hold the copies that its cores ask for.

    Returns
    -------
    Routes
        By core and slot.
    """
    network, tiles = partition.network, partition.tiles
    core_of = np.empty(len(tiles), np.int64)
    rank_of = np.empty(len(tiles), np.int64)
    for core, layout in enumerate(partition.cores):
        core_of[list(layout.tiles)] = core
        rank_of[list(layout.tiles)] = np.arange(len(layout.tiles))

    first = np.cumsum([0, *(len(p.neurons) for p in network.populations)])  # neurons of all populations in one row
    target_core, target_axon, signal = _fed_axons(partition)
    from_chip = partition.signals.kind[signal] == FROM_CHIP
    signal = signal[from_chip]
    read_out = [first[i] + np.arange(len(p.neurons)) for i, p in enumerate(network.populations) if p.is_output]
    reads = np.concatenate([np.zeros(0, np.int64), *read_out])
    # a copy is wanted for every axon and every neuron that is read out
    wanted = np.concatenate([reads, first[partition.signals.source[signal]] + partition.signals.neuron[signal]])
    none = np.full(len(reads), READ_OUT)
    target_core = np.concatenate([none, target_core[from_chip]])
    target_axon = np.concatenate([np.zeros(len(reads), np.int64), target_axon[from_chip]])
    delay = np.concatenate([np.zeros(len(reads), np.int64), partition.signals.tick[signal]])

    # and offered by the tiles, as many as each neuron has there
    empty = np.zeros(0, np.int64)
    tile = np.repeat(np.arange(len(tiles)), [len(t.neurons) for t in tiles])
    row = np.concatenate([empty, *(np.arange(len(t.neurons)) for t in tiles)])
    neuron = np.concatenate([empty, *(first[t.population] + t.neurons for t in tiles)])
    copies = np.concatenate([empty, *(t.copies for t in tiles)])
    order = np.argsort(neuron, kind="stable")
    offered, home = np.repeat(neuron[order], copies[order]), np.repeat(order, copies[order])
    order = np.lexsort((target_axon, target_core, wanted))
    kept = np.isin(wanted[order], neuron)  # a read-out neuron that no source reaches is in no tile: it never spikes
    order = order[kept]
    start = np.searchsorted(offered, wanted[order], side="left")
    rank = rank_in_run(wanted[order])
    assert (offered[start + rank] == wanted[order]).all(), "tiles hold a copy for every axon"
    home = home[start + rank]
    target_core, target_axon, delay = target_core[order], target_axon[order], delay[order]
    tile, row = tile[home], row[home]
    core = core_of[tile]
    order = np.lexsort((target_axon, target_core, row, rank_of[tile], core))
    core = core[order]
    slot = rank_in_run(core)
    return Routes(core, slot, tile[order], row[order], target_core[order], target_axon[order], delay[order])


def _fed_axons(partition: Partition) -> tuple[Ints, Ints, Ints]:
    """Return core, axon and signal of every axon in use, by core and axon."""
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


def emit(
    name: str, pattern: str, execution: str, partition: Partition, routes: Routes, where: Ints, chip: ChipSpec
) -> Program:
    """Write the program of a placed partition.

    Neurons that nobody uses get the leak of a silent frame neuron, so that they rest.

    Parameters
    ----------
    name, pattern, execution : str
        What the program is called and was made from.
    partition : Partition
        Tiles and cores.
    routes : Routes
        Of this partition.
    where : ndarray of int64, shape (n_cores, 2)
        x and y of every core.
    chip : ChipSpec
        What it is for.

    Returns
    -------
    Program
        Not checked against the rules (:func:`neuromap.hardware.check.check_program.require_legal`).
    """
    network = partition.network
    n_cores, n, a, types = len(partition.cores), chip.neurons, chip.axons, chip.axon_types
    axon_types = np.zeros((n_cores, a), np.uint8)
    crossbar = np.zeros((n_cores, a, -(-n // 8)), np.uint8)
    weights = np.zeros((n_cores, n, types), np.int16)
    leak = np.full((n_cores, n), -1, np.int16)
    node, index = np.full((n_cores, n), -1, np.int32), np.zeros((n_cores, n), np.int32)
    relay, splitter = np.zeros((n_cores, n), bool), np.zeros((n_cores, n), bool)
    bounds = np.searchsorted(routes.core, np.arange(n_cores + 1))
    for core, layout in enumerate(partition.cores):
        rows = slice(bounds[core], bounds[core + 1])
        bits = np.zeros((layout.n_axons, n), bool)
        for number, axon_of, type_of in zip(layout.tiles, layout.axon_of, layout.type_of, strict=True):
            tile = partition.tiles[number]
            plan, population = tile.plan, network.populations[tile.population]
            here = routes.tile[rows] == number
            slots, row = routes.slot[rows][here], routes.tile_row[rows][here]
            axon_types[core, axon_of] = type_of[plan.axon_type]
            bits[np.ix_(axon_of, slots)] = plan.synapses[:, row]
            weights[core, slots[:, None], type_of] = plan.weights[row]
            leak[core, slots] = plan.leak[row]
            node[core, slots] = population.node
            index[core, slots] = population.neurons[tile.neurons[row]]
            relay[core, slots] = population.is_relay
            splitter[core, slots] = population.is_splitter
        crossbar[core, : layout.n_axons] = np.packbits(bits, axis=1, bitorder="little")

    target_core, target_axon = np.full((n_cores, n), -1, np.int32), np.zeros((n_cores, n), np.int32)
    delay = np.zeros((n_cores, n), np.uint8)
    place = (routes.core, routes.slot)
    target_core[place], target_axon[place], delay[place] = (
        routes.target_core,
        routes.target_axon,
        routes.delay,
    )
    zero = np.zeros((n_cores, n), np.int32)
    read = routes.target_core == READ_OUT
    out = (routes.core[read], routes.slot[read])
    return Program(
        name=name,
        chip=chip,
        coordinates=where.astype(np.int32),
        axon_types=axon_types,
        crossbar=crossbar,
        neurons=NeuronTable(
            weights=weights,
            leak=leak,
            leak_reversal=np.zeros((n_cores, n), bool),
            threshold=zero,
            negative_threshold=zero.copy(),
            reset=zero.copy(),
            reset_mode=np.zeros((n_cores, n), np.uint8),
            saturate_negative=np.zeros((n_cores, n), bool),
            potential=zero.copy(),
        ),
        target_core=target_core,
        target_axon=target_axon,
        delay=delay,
        neuron_node=node,
        neuron_index=index,
        is_relay=relay,
        is_splitter=splitter if splitter.any() else None,
        nodes=network.ports,
        period=network.period,
        ticks_per_step=network.ticks_per_step,
        host=_host_table(partition),
        outputs=OutputTable(
            node=node[out], index=index[out], core=out[0].astype(np.int32), neuron=out[1].astype(np.int32)
        ),
        pattern=pattern,
        execution=execution,
    )


def _host_table(partition: Partition) -> HostTable:
    core, axon, signal = _fed_axons(partition)
    signals = partition.signals
    from_host = signals.kind[signal] != FROM_CHIP
    core, axon, signal = core[from_host], axon[from_host], signal[from_host]
    return HostTable(
        node=np.where(signals.kind[signal] == BIAS_SIGNAL, BIAS, signals.source[signal]).astype(np.int32),
        index=signals.neuron[signal].astype(np.int32),
        core=core.astype(np.int32),
        axon=axon.astype(np.int32),
        arrival=signals.tick[signal].astype(np.int64),
        first_frame=signals.first_frame[signal].astype(np.int8),
    )
