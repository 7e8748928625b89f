"""Lower bounds on crossbar cores: by crowding, by reads, and by shares.

There are three arguments, each a theorem in docs/lower-bounds.md. *Crowding*: n neurons of a population read a least
number of distinct sources, so the axons of a core limit how many it holds. *Reads*: hence a source is read in a least
number of cores, and every read takes an axon and a neuron that feeds it. *Shares*: prices per neuron such that no core,
however mixed, holds neurons worth more than one core.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from neuromap.arrays.array_types import Bools, Floats, Ints
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.mapping.bounds.lp_bounds import cores_by_prices, fed_axons, mixture_of
from neuromap.mapping.bounds.neuron_capacity import Crowd, crowds_of
from neuromap.mapping.bounds.readers import Key, Reader, read_out_neurons, readers_of
from neuromap.mapping.legalise.legalised import Legalised
from neuromap.mapping.options.budget import NO_LIMIT, Budget
from neuromap.render.document import each, enum, record_of
from neuromap.render.value import Card


def crossbar_core_bound(network: Legalised, chip: ChipSpec, proven: bool, priced: bool, budget: Budget) -> CoreBound:
    """Bound the cores of every mapping onto crossbars from below."""
    readers = readers_of(network)
    options: list[list[Crowd]] = []
    for reader in readers:
        if budget.is_over("bounds"):
            break
        options.append(crowds_of(reader, chip, proven))
    best = [max(crowds, key=lambda crowd: (crowd.rows / crowd.room, crowd.rows)) for crowds in options]
    fed = fed_axons(options, chip, cores_by_two_hops(readers, chip.axons))
    read_out = read_out_neurons(network, readers)
    axons, neurons = fed.total, max(fed.by_neurons + read_out, sum(len(reader.neurons) for reader in readers))
    populations = tuple(PopulationBound(c.reader.name, c.cores, c.limit(chip)) for c in best)
    candidates: list[tuple[int, str]] = [
        *((p.cores, p.by) for p in populations),
        (-(-neurons // chip.neurons), "neurons"),
        (-(-axons // chip.axons), "axons"),
        (cores_by_shares(best, chip), "axons"),
    ]
    if priced and options and not budget.is_over("bounds"):
        known = max(cores for cores, _ in candidates)
        candidates.append((cores_by_prices(mixture_of(options, fed, read_out, chip), chip, known), "axons"))
    total, by = max(candidates, key=lambda found: found[0])
    return CoreBound(total, by, neurons, axons, populations)


# Two hops: a source is read in as many cores as it takes to hold all that its readers read.
# Maximum number of pairs of entries with a common reader that are counted.
LARGEST = 40_000_000


def cores_by_two_hops(readers: tuple[Reader, ...], axons: int) -> dict[Key, Ints]:
    """Bound the cores that read a source: each has an axon for it and at most all others for what its readers read."""
    # returns the fewest cores that read each column of a feed; empty if it would take too long
    widths = {feed.key: feed.matrix.shape[1] for reader in readers for feed in reader.feeds}
    if axons < 2 or not widths:
        return {}
    reads: Any = sparse.csr_array(sparse.block_array([_row_of_blocks(reader, widths) for reader in readers]))
    fan_in = np.diff(reads.indptr).astype(np.int64)
    if (fan_in * fan_in).sum() > LARGEST:
        return {}
    pattern: Any = sparse.csr_array((np.ones(reads.nnz, np.int32), reads.indices, reads.indptr), shape=reads.shape)
    near = np.diff(sparse.csr_array(pattern.T @ pattern).indptr).astype(np.int64)  # a source itself is among them
    cores = np.where(near > 0, np.maximum(1, -(-(near - 1) // (axons - 1))), 0)
    ends = np.cumsum(list(widths.values()))
    return dict(zip(widths, np.split(cores, ends[:-1]), strict=True))


def _row_of_blocks(reader: Reader, widths: dict[Key, int]) -> list[Any]:
    own = {feed.key: feed.matrix for feed in reader.feeds}
    return [own.get(key, sparse.csr_array((len(reader.neurons), n), dtype=np.int64)) for key, n in widths.items()]


# Shares: cores from prices per neuron such that no core, however mixed, holds neurons worth more than one core.
# Maximum number of steps for computing the worth of a mixed core.
EFFORT = 200_000_000
# Margins for numbers that floating point may give slightly too low, and slightly too high.
TINY, ROUNDING = 1e-9, 1e-6


def cores_by_shares(crowds: list[Crowd], chip: ChipSpec) -> int:
    """Bound the cores by prices: a neuron costs one over the neurons of its population that a core can hold."""
    # No core holds more than the *worth* of the best mixture, so cores times worth is at least the price of all. The
    # axons of a feed that several populations read are charged to the one that needs most cores, or shared out equally.
    # returns 0 if it would take too long
    readers: dict[Key, list[Crowd]] = {}
    for crowd in crowds:
        for key in crowd.need:
            readers.setdefault(key, []).append(crowd)
    best = 0
    for charge in (_charged_to_the_greediest, _shared_out):
        curves, price = [], 0.0
        for crowd in crowds:
            axons = charge(crowd, readers)
            if axons[-1] >= 1:  # a population whose axons are all charged to others pays nothing
                curves.append(np.floor(axons + TINY).astype(np.int64))
                price += crowd.rows / crowd.room
        if not curves or len(curves) * chip.axons * min(chip.axons, chip.neurons) > EFFORT:
            continue
        worth = _greatest_worth(curves, chip.axons)
        if worth == 0:  # no neuron has the axons that it needs; the mapper refuses the network
            continue
        best = max(best, int(np.ceil(price / worth - ROUNDING)))
        if all(len(found) == 1 for found in readers.values()):
            break  # nothing is shared, so both ways are the same
    return best


def _charged_to_the_greediest(crowd: Crowd, readers: dict[Key, list[Crowd]]) -> Floats:
    """Axons charged to 0, 1, ... ``room`` neurons, if the reader of a feed that needs most cores pays for all."""
    axons = np.zeros(crowd.room + 1)
    for key, least in crowd.need.items():
        if max(readers[key], key=lambda c: c.cores) is crowd:
            axons += least[: crowd.room + 1]
    return axons


def _shared_out(crowd: Crowd, readers: dict[Key, list[Crowd]]) -> Floats:
    """Axons charged to 0, 1, ... ``room`` neurons, if all readers of a feed pay equal parts."""
    axons = np.zeros(crowd.room + 1)
    for key, least in crowd.need.items():
        axons += least[: crowd.room + 1] / len(readers[key])
    return axons


def _greatest_worth(curves: list[Ints], axons: int) -> float:
    """Find the greatest worth of neurons of different populations in one core (a knapsack of its axons)."""
    best = np.zeros(axons + 1)
    for cost in curves:
        room = max(1, len(cost) - 1)
        last = np.flatnonzero(np.diff(np.append(cost, axons + 1)) > 0)  # the most neurons for so many axons
        taken = best.copy()
        for n in last[last > 0].tolist():
            axons_of, worth = min(int(cost[n]), axons), n / room
            taken[axons_of:] = np.maximum(taken[axons_of:], best[: axons + 1 - axons_of] + worth)
        best = taken
    return float(best[-1])


# Lower bounds on the cores of any mapping of a rollout: what no tiling, packing, copying or splitting can beat.


# Maps sources and synapses to the least memory that they take, and that of one core.
Memory: TypeAlias = Callable[[int, int], tuple[int, int]]


@dataclass(frozen=True)
class PopulationBound:
    """What the neurons of one population need, whatever they share their cores with."""

    name: str  # of the population
    cores: int  # least number of cores over which its neurons spread
    by: str  # resource that keeps more of its neurons from a core; "synapses" is the memory of synapse-list cores


@dataclass(frozen=True)
class CoreBound(Card):
    """Lower bound on the cores of every mapping of a rollout onto a chip."""

    total: int  # cores
    by: str  # the resource that gives ``total``; "synapses" is the memory of synapse-list cores
    # least number of core neurons taken. On crossbar cores: one for every axon that a neuron feeds, one for each neuron
    # read out
    neurons: int
    axons: int  # least number of axons fed, bias axons not counted
    # population by population; those that no output depends on, relays and splitters need none
    populations: tuple[PopulationBound, ...]

    @property
    def per_population(self) -> tuple[tuple[str, int, str], ...]:
        """Name, cores and limiting resource of every population."""
        return tuple((p.name, p.cores, p.by) for p in self.populations)


_RESOURCE = enum("axons", "neurons", "synapses")
# Record of JSON documents.
BOUND = record_of(CoreBound, by=_RESOURCE, populations=each(record_of(PopulationBound, by=_RESOURCE)))


def core_bound(
    network: Legalised, chip: ChipSpec, *, proven: bool = False, priced: bool = False, budget: Budget = NO_LIMIT
) -> CoreBound:
    """Bound the cores of every mapping of a rollout from below.

    It holds for all tilings, packings, placements, copies, replicas, relays and splitters with the schedule's delays,
    as long as every neuron from which weights lead to an output is computed from all its sources.

    Parameters
    ----------
    network : Legalised
        Rollout in ticks; its relays and splitters do not matter.
    chip : ChipSpec
        Axons, neurons and axon types of a crossbar core, or axons, neurons and memory of one with synapse lists, and
        the range of delays. Its number of cores and defects do not matter.
    proven : bool
        Leave out bounds that rest on floating point: by singular values, and by prices. Refusals do.
    priced : bool
        Also search prices of mixed cores, with the uncertified bound of a solver (HiGHS); takes some seconds, and the
        solver may write a line of its own to the output.
    budget : Budget, optional
        For crossbar cores: populations that its stage ``bounds`` does not reach count only by their neurons, and prices
        are not searched.

    Returns
    -------
    CoreBound
        At least one core if any neuron is needed. Valid whatever the budget; more time makes it sharper.
    """
    return chip.kind.mapper.core_bound(network, chip, proven, priced and not proven, budget)


# Bounds by counting, for any kind of core.
#
# A neuron takes a place; a source that it reads takes an axon of its core, and every weight a synapse, for which a core
# may have limited memory. So neurons, different sources and synapses are counted, over all cores and for every
# population, and compared with what one core has. Relays are left out and sources identified by node and neuron, so the
# counts hold for every schedule.
@dataclass(frozen=True, eq=False)
class _Reads:
    """What a population reads through one link; sources and neurons are numbered by node and index."""

    population: int
    targets: Ints  # (rows,)
    sources: Ints  # (columns,)
    matrix: Any

    def of(self, rows: Bools) -> Ints:
        """List the sources that some of the neurons read, synapse by synapse."""
        read = np.repeat(rows, np.diff(self.matrix.indptr)) & (self.matrix.data != 0)
        found: Ints = self.sources[self.matrix.indices[read]]
        return found


def counted_cores(network: Legalised, chip: ChipSpec, memory: Memory | None = None) -> CoreBound:
    """Bound the cores of every mapping from below."""
    # returns at least one core if any neuron is needed
    span = max((port.size for port in network.ports), default=0)
    reads = _reads_of(network, span)
    needed = _needed(network, reads, span)
    populations, any_read, n_synapses = [], np.zeros(len(needed), np.bool_), 0
    for index, population in enumerate(network.populations):
        mine = int(needed[_numbers(network, index, span)].sum())
        if population.is_relay or not mine:
            continue
        is_read, synapses = np.zeros(len(needed), np.bool_), 0
        for link in reads:
            if link.population == index:
                sources = link.of(needed[link.targets])
                is_read[sources] = True
                synapses += len(sources)
        best = _cores_for(mine, int(is_read.sum()), synapses, chip, memory)
        populations.append(PopulationBound(population.name, *best))
        any_read |= is_read
        n_synapses += synapses
    n_neurons, axons = int(needed.sum()), int(any_read.sum())
    totals = _cores_for(n_neurons, axons, n_synapses, chip, memory)
    total, by = max([totals, *((p.cores, p.by) for p in populations)], key=lambda found: found[0])
    return CoreBound(total, by, n_neurons, axons, tuple(populations))


def _cores_for(neurons: int, axons: int, synapses: int, chip: ChipSpec, memory: Memory | None) -> tuple[int, str]:
    """Return the least number of cores for these neurons, axons and synapses, and the resource that requires it."""
    asked = [(neurons, chip.neurons, "neurons"), (axons, chip.axons, "axons")]
    if memory is not None:
        asked.append((*memory(axons, synapses), "synapses"))
    return max(((-(-demand // room), by) for demand, room, by in asked), key=lambda found: found[0])


def _numbers(network: Legalised, population: int, span: int) -> Ints:
    """Assign numbers to a population's neurons, by node and index; relays share those of the neurons they carry."""
    found = network.populations[population]
    return found.node * span + found.neurons.astype(np.int64)


def _reads_of(network: Legalised, span: int) -> list[_Reads]:
    links = [(link.target, link.matrix, _numbers(network, link.source, span)) for link in network.links]
    links += [(h.target, h.matrix, h.node * span + np.arange(h.matrix.shape[1])) for h in network.host_links]
    return [
        _Reads(target, _numbers(network, target, span), sources, matrix)
        for target, matrix, sources in links
        if not network.populations[target].is_relay
    ]


def _needed(network: Legalised, reads: list[_Reads], span: int) -> Bools:
    """Mark the neurons that are read out or kept, and those that they depend on; by number."""
    needed = np.zeros(len(network.ports) * span, np.bool_)
    for index, population in enumerate(network.populations):
        needed[_numbers(network, index, span)[population.own_copies > 0]] = True
    followed = [np.zeros(len(link.targets), np.bool_) for link in reads]
    is_new = True
    while is_new:
        is_new = False
        for link, known in zip(reads, followed, strict=True):
            rows = needed[link.targets] & ~known
            if rows.any():
                needed[link.of(rows)] = True
                known |= rows
                is_new = True
    for index, port in enumerate(network.ports):
        if port.kind == "input":
            needed[index * span : (index + 1) * span] = False
    return needed
