"""Lower bounds on the cores of any mapping of a rollout: what no tiling, packing, copying or splitting can beat."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.mapping.legalise.legalised import Legalised
from neuromap.mapping.options.budget import NO_LIMIT, Budget
from neuromap.render.document import each, enum, record_of
from neuromap.render.value import Card

Ints = NDArray[np.int64]
Memory: TypeAlias = Callable[[int, int], tuple[int, int]]
"""From sources and synapses to the memory that they take at least, and that of one core."""


@dataclass(frozen=True)
class PopulationBound:
    """What the neurons of one population need, whatever they share their cores with."""

    name: str  # of the population
    cores: int  # cores among which its neurons spread at least
    by: str  # what keeps more of its neurons from a core; "synapses" is the memory of synapse-list cores


@dataclass(frozen=True)
class CoreBound(Card):
    """Lower bound on the cores of every mapping of a rollout onto a chip."""

    total: int  # cores
    by: str  # the resource that gives ``total``; "synapses" is the memory of synapse-list cores
    # neurons of cores that are taken at least. On crossbar cores: one for every axon that a neuron feeds, one for each
    # that is read out
    neurons: int
    axons: int  # axons that are fed at least, bias axons not counted
    # population by population; those that no output depends on, relays and splitters need none
    populations: tuple[PopulationBound, ...]

    @property
    def per_population(self) -> tuple[tuple[str, int, str], ...]:
        """Name, cores and limiting resource of every population."""
        return tuple((p.name, p.cores, p.by) for p in self.populations)


_RESOURCE = enum("axons", "neurons", "synapses")
BOUND = record_of(CoreBound, by=_RESOURCE, populations=each(record_of(PopulationBound, by=_RESOURCE)))
"""Of documents."""


def core_bound(
    network: Legalised, chip: ChipSpec, *, proven: bool = False, priced: bool = False, budget: Budget = NO_LIMIT
) -> CoreBound:
    """Bound the cores of every mapping of a rollout from below.

    It holds for all tilings, packings, placements, copies, replicas, relays and splitters with the schedule's delays,
    as long as every neuron from which weights lead to an output is computed from all its sources.

    Parameters
    ----------
    network : Legalised
        In ticks; relays and splitters that it has already do not matter.
    chip : ChipSpec
        Axons, neurons and axon types of a crossbar core, or axons, neurons and memory of one with synapse lists, and
        the range of delays. Its number of cores and defects do not matter.
    proven : bool
        Leave out what rests on floating point: the bound by singular values, and prices. Refusals do.
    priced : bool
        Seek prices of mixed cores too, with the bound of a solver (HiGHS) that nothing certifies: some seconds, and it
        may write a line of its own to the output.
    budget : Budget, optional
        Of crossbar cores: populations to which its stage ``bounds`` does not come count with their neurons only, and
        prices are not sought.

    Returns
    -------
    CoreBound
        With at least one core where any neuron is needed. It holds whatever the budget is; more time makes it sharper.
    """
    return chip.kind.mapper.core_bound(network, chip, proven, priced and not proven, budget)


# Bounds by counting, for any kind of core.
#
# A neuron takes a place; a source that it reads takes an axon of its core, and every weight a synapse, for which a core
# may have so much memory. So neurons, different sources and synapses are counted, over all cores and for every
# population, and held against what one core has. Relays are left out and sources told by node and neuron, so the counts
# are those of every schedule.


class _Reads(NamedTuple):
    """Synapses of neurons that are no relays; all of shape (s,)."""

    population: Ints
    target: Ints
    """Number of the neuron, by node and index."""
    source: Ints
    """Number of what it reads, by node and index."""


def counted_cores(network: Legalised, chip: ChipSpec, memory: Memory | None = None) -> CoreBound:
    """Bound the cores of every mapping from below."""
    # gives with at least one core where any neuron is needed
    span = max((port.size for port in network.ports), default=0)
    reads = _reads_of(network, span)
    needed = _needed(network, reads, span)
    used = needed[reads.target]
    populations, totals = [], _cores_for(int(needed.sum()), reads.source[used], chip, memory)
    for index, population in enumerate(network.populations):
        mine = int(needed[_numbers(network, index, span)].sum())
        if population.is_relay or not mine:
            continue
        best = _cores_for(mine, reads.source[used & (reads.population == index)], chip, memory)
        populations.append(PopulationBound(population.name, *best))
    total, by = max([totals, *((p.cores, p.by) for p in populations)], key=lambda found: found[0])
    axons = len(np.unique(reads.source[used]))
    return CoreBound(total, by, int(needed.sum()), axons, tuple(populations))


def _cores_for(neurons: int, sources: Ints, chip: ChipSpec, memory: Memory | None) -> tuple[int, str]:
    """Say how many cores hold so many neurons with these synapses at least, and which resource asks for them."""
    axons = len(np.unique(sources))
    asked = [(neurons, chip.neurons, "neurons"), (axons, chip.axons, "axons")]
    if memory is not None:
        asked.append((*memory(axons, len(sources)), "synapses"))
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
