"""What every node asks of a chip: sources, axons, copies, relays, splitters, cores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.mapping.core.core_model import CoreModel
from neuromap.mapping.core.core_of import core_of
from neuromap.mapping.diagnosis.outline import Outline
from neuromap.mapping.legalise.legalised import HostLink, Legalised, Link, Population
from neuromap.mapping.legalise.sources import Sources, join_sources
from neuromap.mapping.partition.partition import Partition
from neuromap.mapping.synapse_list.fill_cores import ListPartition

__all__ = ["NodeDemand", "demands_of"]


@dataclass(frozen=True)
class NodeDemand:
    """What a node asks of the chip.

    Attributes
    ----------
    node : str
        Name.
    neurons : int
        Of the network, copies not counted.
    sources : int
        Distinct sources of the neuron that has most.
    axons : int or None
        Axons that one neuron needs at most, bias axons included, among those with most sources; ``None`` where no
        number of axons serves it.
    copies : int or None
        Copies that one neuron needs at most; ``None`` where the network does not fit.
    relays, splitters : int
        Neurons that carry its spikes on.
    cores : int or None
        Cores that hold some of its neurons, relays and splitters left out; ``None`` where the network does not fit.
    parts : int
        Neurons that hold parts of its sums; then sources and axons are those of a neuron that gathers them.
    """

    node: str
    neurons: int
    sources: int
    axons: int | None
    copies: int | None
    relays: int
    splitters: int
    cores: int | None
    parts: int = 0


def demands_of(network: Legalised, chip: ChipSpec, found: Outline | None = None) -> list[NodeDemand]:
    """Collect what every node asks for, whether or not it fits."""
    partition = None if found is None else found.partition
    sources = partition.sources if isinstance(partition, Partition) else join_sources(network)
    demands = []
    for index, population in enumerate(network.populations):
        if population.is_relay:
            continue
        carriers = [p for p in network.populations if p.is_relay and p.node == population.node]
        splitters = sum(len(p.neurons) for p in carriers if p.is_splitter)
        parts = sum(len(p.neurons) for p in carriers if p.is_part)
        relays = sum(len(p.neurons) for p in carriers) - splitters - parts
        matrix = sources[index].matrix
        copies, cores = (None, None) if partition is None else _held(partition, index)
        demands.append(
            NodeDemand(
                node=population.name,
                neurons=len(population.neurons),
                sources=int(np.diff(matrix.indptr).max(initial=0)),
                axons=_most_axons(sources[index], population, chip, gathers=parts > 0),
                copies=copies,
                relays=relays,
                splitters=splitters,
                cores=cores,
                parts=parts,
            )
        )
    return demands


def _most_axons(sources: Sources, population: Population, chip: ChipSpec, *, gathers: bool) -> int | None:
    """Count the axons that the neediest neuron takes alone, on a core with as many as one could wish for."""
    if chip.core_model == "synapse-list":
        return _most_lists(sources, population)
    if population.neuron is not None and not gathers:
        return None
    core: CoreModel = core_of(chip)
    most = 0
    for n in sources.busiest:
        axons = core.axons_alone(sources.weights_of(n), population.threshold[[n]])
        if axons is None:
            return None
        most = max(most, axons)
    return most


def _most_lists(sources: Sources, population: Population) -> int:
    """Count the signals of the neediest neuron: its sources, each once, and the constant of a frame neuron."""
    span = int(sources.neuron_of.max(initial=0)) + 1
    key_of_link = np.unique([_signal(link) for link in sources.links], axis=0, return_inverse=True)[1].ravel()
    key = key_of_link[sources.link_of] * span + sources.neuron_of if len(sources.links) else sources.neuron_of
    columns, start = sources.matrix.indices, sources.matrix.indptr
    needs_bias = (population.threshold < 1) & (population.neuron is None)
    distinct = [len(np.unique(key[columns[start[n] : start[n + 1]]])) + int(needs_bias[n]) for n in sources.busiest]
    return max(distinct, default=0)


def _signal(link: Link | HostLink) -> tuple[int, int]:
    """Tell apart what one axon cannot carry, whatever the delays of its synapses: population, or input and frame 0."""
    return (link.source, -1) if isinstance(link, Link) else (link.node, link.first_frame)


def _held(parts: Partition | ListPartition, index: int) -> tuple[int, int]:
    """Count the copies of the neuron that has most, and cores that hold some of the population."""
    if isinstance(parts, ListPartition):
        start, stop = parts.lists.offset[index : index + 2]
        cores_of = parts.core[start:stop]
        cores_of = np.unique(cores_of[cores_of >= 0])
        return int(len(cores_of) > 0), len(cores_of)
    copies = np.zeros(len(parts.network.populations[index].neurons), np.int64)
    for tile in parts.tiles:
        if tile.population == index:
            np.add.at(copies, tile.neurons, tile.copies)
    cores = sum(any(parts.tiles[t].population == index for t in core.tiles) for core in parts.cores)
    return int(copies.max(initial=0)), cores
