"""The stage "emit": write the program of a placed partition."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.hardware.program.program import BIAS, HostTable, NeuronTable, OutputTable, Program
from neuromap.mapping.emit.route import READ_OUT, Routes, fed_axons
from neuromap.mapping.pack.signals import BIAS_SIGNAL, FROM_CHIP
from neuromap.mapping.partition.partition import Partition

__all__ = ["emit"]

Ints = NDArray[np.int64]


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
    core, axon, signal = fed_axons(partition)
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
