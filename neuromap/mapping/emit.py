"""Emit the program: give every neuron its copies, every copy its target, and write the tables."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuromap.frozen import freeze_arrays
from neuromap.hardware.chip import ChipSpec
from neuromap.hardware.program import BIAS, HostTable, NeuronTable, OutputTable, Program
from neuromap.mapping.legalise import HostLink, Link
from neuromap.mapping.partition import Partition

__all__ = ["Routes", "emit", "route"]

Ints = NDArray[np.int64]
READ_OUT = -1


@dataclass(frozen=True, eq=False)
class Routes:
    """One row per copy of a neuron: where it sits and which axon it feeds.

    Attributes
    ----------
    core, slot : ndarray of int64, shape (r,)
        The copy: core (tile) and neuron of the core.
    tile_row : ndarray of int64, shape (r,)
        Position of the copied neuron within its tile.
    target_core, target_axon, delay : ndarray of int64, shape (r,)
        Its target; target_core is -1 where the copy is read out.
    """

    core: Ints
    slot: Ints
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

    Copies of one neuron sit side by side; a read-out copy comes first.
    """
    network = partition.network
    home_core = [np.full(len(p.neurons), -1, np.int64) for p in network.populations]
    home_row = [np.full(len(p.neurons), -1, np.int64) for p in network.populations]
    for core, tile in enumerate(partition.tiles):
        home_core[tile.population][tile.neurons] = core
        home_row[tile.population][tile.neurons] = np.arange(len(tile.neurons))

    empty = np.zeros(0, np.int64)
    rows: list[tuple[Ints, Ints, Ints, Ints, Ints]] = [(empty,) * 5]
    for core, tile in enumerate(partition.tiles):
        population = network.populations[tile.population]
        if population.is_output:
            n = len(tile.neurons)
            none = np.full(n, READ_OUT)
            rows.append((np.full(n, core), np.arange(n), none, np.zeros(n, np.int64), np.zeros(n, np.int64)))
        axons, link_of, neuron_of = partition.axons_fed(tile)
        for number, link in enumerate(partition.sources[tile.population].links):
            if isinstance(link, Link):
                here = link_of == number
                source = neuron_of[here]
                n = len(source)
                rows.append(
                    (
                        home_core[link.source][source],
                        home_row[link.source][source],
                        np.full(n, core),
                        axons[here].astype(np.int64),
                        np.full(n, link.delay),
                    )
                )
    core_, row, target_core, target_axon, delay = (np.concatenate(c).astype(np.int64) for c in zip(*rows, strict=True))
    order = np.lexsort((target_axon, target_core, row, core_))
    core_, row, target_core, target_axon, delay = (
        column[order] for column in (core_, row, target_core, target_axon, delay)
    )
    slot = np.arange(len(core_)) - np.searchsorted(core_, core_, side="left")
    return Routes(core_, slot, row, target_core, target_axon, delay)


def emit(
    name: str, pattern: str, execution: str, partition: Partition, routes: Routes, where: Ints, chip: ChipSpec
) -> Program:
    """Write the program of a placed partition.

    Neurons that nobody uses get the leak of a silent frame neuron, so that they rest.
    """
    network = partition.network
    n_cores, n, a, types = len(partition.tiles), chip.neurons, chip.axons, chip.axon_types
    axon_types = np.zeros((n_cores, a), np.uint8)
    crossbar = np.zeros((n_cores, a, -(-n // 8)), np.uint8)
    weights = np.zeros((n_cores, n, types), np.int16)
    leak = np.full((n_cores, n), -1, np.int16)
    node, index = np.full((n_cores, n), -1, np.int32), np.zeros((n_cores, n), np.int32)
    relay = np.zeros((n_cores, n), bool)
    bounds = np.searchsorted(routes.core, np.arange(n_cores + 1))
    for core, tile in enumerate(partition.tiles):
        plan, population = tile.plan, network.populations[tile.population]
        rows = routes.tile_row[bounds[core] : bounds[core + 1]]
        used = len(rows)
        axon_types[core, : plan.n_axons] = plan.axon_type
        bits = np.zeros((plan.n_axons, n), bool)
        bits[:, :used] = plan.synapses[:, rows]
        crossbar[core, : plan.n_axons] = np.packbits(bits, axis=1, bitorder="little")
        weights[core, :used] = plan.weights[rows]
        leak[core, :used] = plan.leak[rows]
        node[core, :used] = population.node
        index[core, :used] = population.neurons[tile.neurons[rows]]
        relay[core, :used] = population.is_relay

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
    network = partition.network
    empty = np.zeros(0, np.int64)
    rows: list[tuple[Ints, ...]] = [(empty,) * 6]
    for core, tile in enumerate(partition.tiles):
        axons, link_of, neuron_of = partition.axons_fed(tile)
        for number, link in enumerate(partition.sources[tile.population].links):
            if isinstance(link, HostLink):
                here = link_of == number
                rows.append(_host_rows(link.node, neuron_of[here], core, axons[here], link.arrival, link.first_frame))
        bias = np.flatnonzero(tile.plan.source == BIAS)
        tick = network.populations[tile.population].sample_tick
        rows.append(_host_rows(BIAS, np.zeros(len(bias), np.int64), core, bias, tick, 1))
    node, index, core_, axon, arrival, first = (np.concatenate(c) for c in zip(*rows, strict=True))
    return HostTable(
        node=node.astype(np.int32),
        index=index.astype(np.int32),
        core=core_.astype(np.int32),
        axon=axon.astype(np.int32),
        arrival=arrival.astype(np.int64),
        first_frame=first.astype(np.int8),
    )


def _host_rows(
    node: int, index: Ints, core: int, axons: NDArray[np.intp], arrival: int, first: int
) -> tuple[Ints, ...]:
    n = len(axons)
    return (
        np.full(n, node),
        index,
        np.full(n, core),
        axons.astype(np.int64),
        np.full(n, arrival),
        np.full(n, first),
    )
