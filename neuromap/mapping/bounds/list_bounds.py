"""Lower bounds on synapse-list cores: every neuron that an output depends on has one place and all its synapses.

A neuron takes a place; a source that it reads takes an axon of its core, and every weight a synapse in its memory. So
neurons, different sources and synapses are counted, over all cores and for every population, and held against what one
core has. Relays are left out and sources told by node and neuron, so the counts are those of every schedule.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.mapping.bounds.bound import CoreBound, PopulationBound
from neuromap.mapping.legalise.legalised import Legalised

__all__ = ["list_core_bound"]

Ints = NDArray[np.int64]


class _Reads(NamedTuple):
    """Synapses of neurons that are no relays; all of shape (s,)."""

    population: Ints
    target: Ints
    """Number of the neuron, by node and index."""
    source: Ints
    """Number of what it reads, by node and index."""


def list_core_bound(network: Legalised, chip: ChipSpec) -> CoreBound:
    """Bound the cores of every mapping onto synapse-list cores from below."""
    # gives with at least one core where any neuron is needed
    span = max((port.size for port in network.ports), default=0)
    reads = _reads_of(network, span)
    needed = _needed(network, reads, span)
    used = needed[reads.target]
    populations, totals = [], _cores_for(int(needed.sum()), reads.source[used], chip)
    for index, population in enumerate(network.populations):
        mine = int(needed[_numbers(network, index, span)].sum())
        if population.is_relay or not mine:
            continue
        best = _cores_for(mine, reads.source[used & (reads.population == index)], chip)
        populations.append(PopulationBound(population.name, *best))
    total, by = max([totals, *((p.cores, p.by) for p in populations)], key=lambda found: found[0])
    axons = len(np.unique(reads.source[used]))
    return CoreBound(total, by, int(needed.sum()), axons, tuple(populations))


def _cores_for(neurons: int, sources: Ints, chip: ChipSpec) -> tuple[int, str]:
    """Say how many cores hold so many neurons with these synapses at least, and which resource asks for them."""
    axons = len(np.unique(sources))
    bits, memory = chip.lists.list_memory(axons, len(sources)), chip.lists.synapse_memory_bits
    asked = [(neurons, chip.neurons, "neurons"), (axons, chip.axons, "axons"), (bits, memory, "synapses")]
    return max(((-(-demand // room), by) for demand, room, by in asked), key=lambda found: found[0])


def _numbers(network: Legalised, population: int, span: int) -> Ints:
    """Give numbers, by node and index, to the neurons of a population; relays bear the numbers of what they hand on."""
    found = network.populations[population]
    numbers: Ints = found.node * span + found.neurons.astype(np.int64)
    return numbers


def _reads_of(network: Legalised, span: int) -> _Reads:
    links = [(link.target, link.matrix, _numbers(network, link.source, span)) for link in network.links]
    links += [(h.target, h.matrix, h.node * span + np.arange(h.matrix.shape[1])) for h in network.host_links]
    parts = [np.zeros((3, 0), np.int64)]
    for target, matrix, sources in links:
        if not network.populations[target].is_relay:
            row, column = matrix.nonzero()
            own = _numbers(network, target, span)
            parts.append(np.stack([np.full(len(row), target), own[row], sources[column]]))
    return _Reads(*np.concatenate(parts, axis=1))


def _needed(network: Legalised, reads: _Reads, span: int) -> NDArray[np.bool_]:
    """Mark the neurons that are read out or kept, and those that they depend on; by number."""
    from scipy.sparse.csgraph import breadth_first_order  # slow to import

    needed = np.zeros(len(network.ports) * span, np.bool_)
    asked = [_numbers(network, k, span)[p.own_copies > 0] for k, p in enumerate(network.populations)]
    asked_for = np.concatenate([np.zeros(0, np.int64), *asked])
    everything = len(needed)  # a node from which all that is asked for is one step away
    start = np.concatenate([reads.target, np.full(len(asked_for), everything)])
    end = np.concatenate([reads.source, asked_for])
    ways = csr_array((np.ones(len(start), np.int8), (start, end)), shape=(everything + 1, everything + 1))
    found = breadth_first_order(ways, everything, return_predecessors=False)
    needed[found[found < everything]] = True
    for index, port in enumerate(network.ports):
        if port.kind == "input":
            needed[index * span : (index + 1) * span] = False
    return needed
