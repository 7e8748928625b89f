"""The stage "emit": write the program of a placed partition."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.hardware.program.ports import BIAS, HostTable, OutputTable
from neuromap.hardware.program.program import NeuronTable, Program
from neuromap.mapping.partition.partition import Partition
from neuromap.mapping.partition.signals import BIAS_SIGNAL, FROM_CHIP
from neuromap.mapping.place.arrivals_in_ticks import arrivals_in_ticks
from neuromap.mapping.place.route import fed_axons
from neuromap.mapping.place.routes import NO_TARGET, Routes
from neuromap.network.neurons.leak_neuron import LeakNeuron

__all__ = ["emit"]

Ints = NDArray[np.int64]


def emit(
    name: str, pattern: str, execution: str, partition: Partition, routes: Routes, where: Ints, chip: ChipSpec
) -> Program:
    """Write the program of a placed partition."""
    # Neurons that nobody uses get the leak of a silent frame neuron, so that they rest.
    # shapes: where (n_cores, 2)
    network, shape = partition.network, (len(partition.cores), chip.neurons)
    cores = _CoreTables(len(partition.cores), chip)
    bounds = np.searchsorted(routes.core, np.arange(len(partition.cores) + 1))
    for core in range(len(partition.cores)):
        cores.fill(core, partition, routes, slice(bounds[core], bounds[core + 1]))
    target_core, target_axon = np.full(shape, -1, np.int32), np.zeros(shape, np.int32)
    delay = np.zeros(shape, np.uint8)
    slots = (routes.core, routes.slot)
    target_core[slots], target_axon[slots], delay[slots] = routes.target_core, routes.target_axon, routes.delay
    is_output = np.array([port.kind == "output" for port in network.ports])
    read = (routes.target_core == NO_TARGET) & is_output[cores.node[slots]]  # others are only recorded
    out = (routes.core[read], routes.slot[read])
    return Program(
        name=name,
        chip=chip,
        coordinates=where.astype(np.int32),
        axon_types=cores.axon_types,
        crossbar=cores.crossbar,
        neurons=NeuronTable(
            weights=cores.weights,
            leak=cores.leak,
            leak_reversal=np.zeros(shape, bool),
            threshold=cores.threshold,
            negative_threshold=cores.negative_threshold,
            reset=np.zeros(shape, np.int32),
            reset_mode=cores.reset_mode,
            saturate_negative=cores.saturate_negative,
            potential=cores.potential,
        ),
        target_core=target_core,
        target_axon=target_axon,
        delay=delay,
        neuron_node=cores.node,
        neuron_index=cores.index,
        is_relay=cores.is_relay,
        is_splitter=cores.is_splitter if cores.is_splitter.any() else None,
        is_part=cores.is_part if cores.is_part.any() else None,
        nodes=network.ports,
        period=network.period,
        ticks_per_step=network.ticks_per_step,
        host=_host_table(partition),
        outputs=OutputTable(
            node=cores.node[out], index=cores.index[out], core=out[0].astype(np.int32), neuron=out[1].astype(np.int32)
        ),
        pattern=pattern,
        execution=execution,
    )


class _CoreTables:
    """Crossbars, neurons and labels of all cores, as a program holds them; at first every neuron is silent."""

    def __init__(self, n_cores: int, chip: ChipSpec) -> None:
        self._n_neurons = chip.neurons
        neurons = (n_cores, chip.neurons)
        self.axon_types = np.zeros((n_cores, chip.axons), np.uint8)
        self.crossbar = np.zeros((n_cores, chip.axons, -(-chip.neurons // 8)), np.uint8)
        self.weights = np.zeros((*neurons, chip.axon_types), np.int16)
        self.leak = np.full(neurons, -1, np.int16)
        self.threshold, self.negative_threshold = np.zeros(neurons, np.int32), np.zeros(neurons, np.int32)
        self.reset_mode, self.saturate_negative = np.zeros(neurons, np.uint8), np.zeros(neurons, bool)
        self.potential = np.zeros(neurons, np.int32)
        self.node, self.index = np.full(neurons, -1, np.int32), np.zeros(neurons, np.int32)
        self.is_relay, self.is_splitter = np.zeros(neurons, bool), np.zeros(neurons, bool)
        self.is_part = np.zeros(neurons, bool)

    def fill(self, core: int, partition: Partition, routes: Routes, rows: slice) -> None:
        """Write the tiles of one core, whose copies are these rows of the routes."""
        layout = partition.cores[core]
        bits = np.zeros((layout.n_axons, self._n_neurons), bool)
        for number, axon_of, type_of in zip(layout.tiles, layout.axon_of, layout.type_of, strict=True):
            tile = partition.tiles[number]
            plan, population = tile.plan, partition.network.populations[tile.population]
            here = routes.tile[rows] == number
            slots, row = routes.slot[rows][here], routes.tile_row[rows][here]
            self.axon_types[core, axon_of] = type_of[plan.axon_type]
            bits[np.ix_(axon_of, slots)] = plan.synapses[:, row]
            self.weights[core, slots[:, None], type_of] = plan.weights[row]
            self.leak[core, slots], self.threshold[core, slots] = plan.leak[row], plan.alpha[row]
            if isinstance(population.neuron, LeakNeuron):
                self._remember(core, slots, population.neuron.take(tile.neurons[row]))
            self.node[core, slots] = population.node
            self.index[core, slots] = population.neurons[tile.neurons[row]]
            self.is_relay[core, slots] = population.is_relay
            self.is_splitter[core, slots] = population.is_splitter
            self.is_part[core, slots] = population.is_part
        self.crossbar[core, : layout.n_axons] = np.packbits(bits, axis=1, bitorder="little")

    def _remember(self, core: int, slots: Ints, neuron: LeakNeuron) -> None:
        """Write neurons that keep their potential from tick to tick, in place of frame neurons."""
        self.leak[core, slots] = neuron.leak
        self.threshold[core, slots] = neuron.threshold
        self.negative_threshold[core, slots] = neuron.floor
        self.reset_mode[core, slots] = neuron.subtract  # gamma: 0 sets the potential to 0, 1 takes the threshold off
        self.saturate_negative[core, slots] = True
        self.potential[core, slots] = neuron.potential


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
