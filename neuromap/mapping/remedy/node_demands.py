"""What every node asks of a chip: sources, axons, copies, relays, splitters, cores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuromap.mapping.core.core_model import CoreModel
from neuromap.mapping.legalise.legalised import Legalised
from neuromap.mapping.legalise.sources import Sources, join_sources
from neuromap.mapping.partition.split_trials import PartitionedRollout

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
    """

    node: str
    neurons: int
    sources: int
    axons: int | None
    copies: int | None
    relays: int
    splitters: int
    cores: int | None


def demands_of(network: Legalised, core: CoreModel, found: PartitionedRollout | None = None) -> list[NodeDemand]:
    """Collect what every node asks for, whether or not it fits.

    Parameters
    ----------
    network : Legalised
        In ticks.
    core : CoreModel
        What one core of the chip is like.
    found : PartitionedRollout, optional
        The partition of this network, where there is one.

    Returns
    -------
    list of NodeDemand
        Nodes that are not inputs, in the network's order.
    """
    sources = join_sources(network) if found is None else found.partition.sources
    demands = []
    for index, population in enumerate(network.populations):
        if population.is_relay:
            continue
        carriers = [p for p in network.populations if p.is_relay and p.node == population.node]
        relays = sum(len(p.neurons) for p in carriers if not p.is_splitter)
        splitters = sum(len(p.neurons) for p in carriers if p.is_splitter)
        matrix = sources[index].matrix
        copies, cores = (None, None) if found is None else _held(found, index)
        demands.append(
            NodeDemand(
                node=population.name,
                neurons=len(population.neurons),
                sources=int(np.diff(matrix.indptr).max(initial=0)),
                axons=_most_axons(sources[index], population.threshold, core),
                copies=copies,
                relays=relays,
                splitters=splitters,
                cores=cores,
            )
        )
    return demands


def _most_axons(sources: Sources, threshold: NDArray[np.int64], core: CoreModel) -> int | None:
    """Count the axons that the neediest neuron takes alone, on a core with as many as one could wish for."""
    most = 0
    for n in sources.busiest:
        axons = core.axons_alone(sources.weights_of(n), threshold[[n]])
        if axons is None:
            return None
        most = max(most, axons)
    return most


def _held(found: PartitionedRollout, index: int) -> tuple[int, int]:
    """Count the copies of the neuron that has most, and cores that hold some of the population."""
    parts = found.partition
    copies = np.zeros(len(parts.network.populations[index].neurons), np.int64)
    for tile in parts.tiles:
        if tile.population == index:
            np.add.at(copies, tile.neurons, tile.copies)
    cores = sum(any(parts.tiles[t].population == index for t in core.tiles) for core in parts.cores)
    return int(copies.max(initial=0)), cores
