"""Lower bounds on crossbar cores: by crowding, by reads, and by shares.

There are three arguments, each a theorem in docs/lower-bounds.md. *Crowding*: n neurons of a population read a least
number of distinct sources, so the axons of a core limit how many it holds. *Reads*: hence a source is read in a least
number of cores, and every read takes an axon and a neuron that feeds it. *Shares*: prices per neuron such that no core,
however mixed, holds neurons worth more than one core.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy import sparse

from neuromap.arrays.array_types import Bools, Floats, Ints
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.hardware.program.ports import BIAS
from neuromap.mapping.bounds.neuron_capacity import ChipKey, Crowd, Key, Reader, crowds_of, readers_of
from neuromap.mapping.bounds.window_axons import areas
from neuromap.mapping.legalise.legalised import HostLink, Legalised, Matrix, needed_for
from neuromap.mapping.options.budget import NO_LIMIT, Budget
from neuromap.render.document import each, enum, record_of
from neuromap.render.value import Card
from neuromap.rollout.cycles.sequential_values import quiet_solver


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
    # each needed neuron that is read out or kept unread takes a neuron of a core for that
    read_out = sum(int(network.populations[r.population].own_copies[r.neurons].sum()) for r in readers)
    by_neurons = sum(count for key, count in fed.of_feeds.items() if isinstance(key, ChipKey))  # others take none
    axons = sum(fed.of_feeds.values()) + fed.relayed
    neurons = max(by_neurons + fed.relayed + read_out, sum(len(reader.neurons) for reader in readers))
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
    rows = []
    for reader in readers:
        own, n = {feed.key: feed.matrix for feed in reader.feeds}, len(reader.neurons)
        rows.append([own.get(key, sparse.csr_array((n, width), dtype=np.int64)) for key, width in widths.items()])
    reads: Any = sparse.csr_array(sparse.block_array(rows))
    fan_in = np.diff(reads.indptr).astype(np.int64)
    if (fan_in * fan_in).sum() > LARGEST:
        return {}
    pattern: Any = sparse.csr_array((np.ones(reads.nnz, np.int32), reads.indices, reads.indptr), shape=reads.shape)
    near = np.diff(sparse.csr_array(pattern.T @ pattern).indptr).astype(np.int64)  # a source itself is among them
    cores = np.where(near > 0, np.maximum(1, -(-(near - 1) // (axons - 1))), 0)
    ends = np.cumsum(list(widths.values()))
    return dict(zip(widths, np.split(cores, ends[:-1]), strict=True))


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
    for shared_out in (False, True):
        curves, price = [], 0.0
        for crowd in crowds:
            axons = _charged(crowd, readers, shared_out=shared_out)
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


def _charged(crowd: Crowd, readers: dict[Key, list[Crowd]], *, shared_out: bool) -> Floats:
    """Charge axons to 0, 1, ... ``room`` neurons."""
    # shared_out: all readers of a feed pay equal parts; else the one that needs most cores pays for all
    axons = np.zeros(crowd.room + 1)
    for key, least in crowd.need.items():
        if shared_out or max(readers[key], key=lambda c: c.cores) is crowd:
            axons += least[: crowd.room + 1] / (len(readers[key]) if shared_out else 1)
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
def counted_cores(network: Legalised, chip: ChipSpec, memory: Memory | None = None) -> CoreBound:
    """Bound the cores of every mapping from below."""
    # returns at least one core if any neuron is needed
    wanted = {node: np.zeros(port.size, np.bool_) for node, port in enumerate(network.ports)}
    for p in network.populations:
        wanted[p.node][p.neurons] |= p.own_copies > 0
    reads = _reads_of(network)
    needed = needed_for(wanted, reads)
    populations, any_read, n_synapses = [], {node: np.zeros_like(rows) for node, rows in needed.items()}, 0
    for population in network.populations:
        mine = np.flatnonzero(needed[population.node])
        if population.is_relay or not len(mine):
            continue
        is_read, synapses = {node: np.zeros_like(rows) for node, rows in needed.items()}, 0
        for source, target, matrix in reads:
            if target == population.node:
                sources = matrix[mine].indices
                is_read[source][sources] = any_read[source][sources] = True
                synapses += len(sources)
        axons = sum(int(some.sum()) for some in is_read.values())
        best = _cores_for(len(mine), axons, synapses, chip, memory)
        populations.append(PopulationBound(population.name, *best))
        n_synapses += synapses
    n_neurons = sum(int(needed[node].sum()) for node, port in enumerate(network.ports) if port.kind != "input")
    axons = sum(int(some.sum()) for some in any_read.values())
    totals = _cores_for(n_neurons, axons, n_synapses, chip, memory)
    total, by = max([totals, *((p.cores, p.by) for p in populations)], key=lambda found: found[0])
    return CoreBound(total, by, n_neurons, axons, tuple(populations))


def _cores_for(neurons: int, axons: int, synapses: int, chip: ChipSpec, memory: Memory | None) -> tuple[int, str]:
    """Return the least number of cores for these neurons, axons and synapses, and the resource that requires it."""
    asked = [(neurons, chip.neurons, "neurons"), (axons, chip.axons, "axons")]
    if memory is not None:
        asked.append((*memory(axons, synapses), "synapses"))
    return max(((-(-demand // room), by) for demand, room, by in asked), key=lambda found: found[0])


def _reads_of(network: Legalised) -> list[tuple[int, int, Matrix]]:
    """List source node, target node and weights of every link, by neurons of the nodes; relays are those they carry."""
    found: list[tuple[int, int, Matrix]] = []
    for link in network.all_links:
        target, matrix = network.populations[link.target], link.matrix
        if target.is_relay or (isinstance(link, HostLink) and link.node == BIAS):
            continue
        if isinstance(link, HostLink):
            node, column = link.node, matrix.indices.astype(np.int64)
        else:
            source = network.populations[link.source]
            node, column = source.node, source.neurons[matrix.indices]
        shape = (matrix.shape[0], network.ports[node].size)
        found.append(
            (node, target.node, sparse.csr_array((matrix.data, column, matrix.indptr), shape=shape, copy=True))
        )
        found[-1][2].eliminate_zeros()
    return found


# Bounds on mixed cores (crowds, their feeds, and copies), by linear programs with levels.


# Approximate number of levels of all groups together.
LEVELS = 300


class Part(NamedTuple):
    """Neurons of a population that are bounded together in a core: all, or some of which more is known."""

    population: int  # index among the mixture's populations
    rows: int  # number of these neurons
    copies: int  # fewest core neurons that one of them takes
    neurons: Ints  # (levels,): most neurons of each level
    axons: Ints  # (levels, feeds): fewest axons of every feed in a core of this level
    feeds: tuple[int, ...]  # feeds that the neurons read
    together: Ints  # (levels,): fewest axons of all of these in a core of this level


class Mixture(NamedTuple):
    """All known constraints on a core's contents, and what all cores together need."""

    parts: tuple[Part, ...]  # population by population
    from_chip: Bools  # (feeds,): whether neurons feed the axons
    # (populations,): most copies of one neuron that count towards the demand; those of the population's first part
    # count
    most_copies: Ints
    # neurons of every part, copies of every population as far as they are spread evenly, axons of every feed, and the
    # neurons of cores beyond those that feed axons; columns and prices have the same order
    demand: Floats


def mixture_of(crowds: list[list[Crowd]], fed: FedAxons, read_out: int, chip: ChipSpec) -> Mixture:
    """Combine the bounds on all readers."""
    # fed: axons that are fed at least
    crowds = [some for some in crowds if some[0].need]
    keys = list(fed.of_feeds)
    levels = max(6, LEVELS // max(1, 2 * len(crowds)))
    parts = [
        _part(k, crowd, _least_copies(crowd, fed, chip), keys, levels)
        for k, some in enumerate(crowds)
        for crowd in _parts_of(some)
    ]
    even = [even_copies(_parts_of(some)[0], crowds, chip) for some in crowds]
    demand = [
        *(part.rows for part in parts),
        *(found.copies for found in even),
        *(fed.of_feeds[key] for key in keys),
        read_out + fed.relayed,
    ]
    return Mixture(
        tuple(parts),
        np.array([isinstance(key, ChipKey) for key in keys], bool),
        np.array([found.most for found in even], np.int64),
        np.array(demand, np.float64),
    )


def _parts_of(crowds: list[Crowd]) -> list[Crowd]:
    """Split a population into the neurons of which more is known, and all others."""
    is_apart = len(crowds) > 2 and crowds[-2].rows + crowds[-1].rows == crowds[0].rows
    return crowds[-2:] if is_apart else crowds[:1]


def _part(population: int, crowd: Crowd, copies: int, keys: list[Key], levels: int) -> Part:
    """Cut the curves into levels: each takes the axons of its first neuron and counts the neurons of its last."""
    nothing = np.zeros(crowd.room + 1, np.int64)
    axons = np.stack([crowd.need.get(key, nothing)[: crowd.room + 1] for key in keys], axis=1)
    both = np.column_stack([axons, crowd.together[: crowd.room + 1]])
    last = np.flatnonzero(np.append((np.diff(both[1:], axis=0) != 0).any(axis=1), True)) + 1
    if len(last) > levels:
        last = last[np.unique(np.linspace(0, len(last) - 1, levels).astype(np.int64))]
    first = np.concatenate([[1], last[:-1] + 1])
    feeds = tuple(k for k, key in enumerate(keys) if key in crowd.need)
    return Part(population, crowd.rows, copies, last, axons[first], feeds, crowd.together[first])


def _least_copies(crowd: Crowd, fed: FedAxons, chip: ChipSpec) -> int:
    """Count the axons of other cores that one of the neurons feeds by itself, at least; one or more."""
    population = crowd.reader.population
    copies = np.zeros(crowd.rows, np.int64)
    neurons = crowd.reader.neurons[crowd.which]
    for key, reads in fed.of_columns.items():
        if isinstance(key, ChipKey) and key.population == population and key.delay < 2 * chip.delay[0]:
            copies += reads[neurons]
    return max(1, int(copies.min()))


# Copies that whole windows ask for, counted so that a few neurons with many copies cannot stand for all.
class EvenCopies(NamedTuple):
    """Copies of all neurons of a population, counting at most ``most`` of each."""

    copies: int
    most: int


def even_copies(hosts: Crowd, crowds: list[list[Crowd]], chip: ChipSpec) -> EvenCopies:
    """Bound the copies that some neurons of a population have for axons that relays cannot feed."""
    # For every delay, at most as many copies of a neuron count as windows meet in it. docs/lower-bounds.md has the
    # proof.
    best: dict[Key, EvenCopies] = {}
    population = hosts.reader.population
    for crowd in (crowd for some in crowds for crowd in some):
        for key in crowd.windows:
            if isinstance(key, ChipKey) and key.population == population and key.delay < 2 * chip.delay[0]:
                found = _of_crowd(hosts, crowd, key, chip)
                best[key] = max(best.get(key, found), found)
    return EvenCopies(sum(found.copies for found in best.values()), sum(found.most for found in best.values()))


def _of_crowd(hosts: Crowd, crowd: Crowd, key: Key, chip: ChipSpec) -> EvenCopies:
    """Take the best ratio of sources to positions that a core allows, less what others than the hosts may give."""
    windows = crowd.windows[key]
    most = min(chip.neurons, crowd.rows)
    together = np.sum([found.channels * areas(found, most) for found in crowd.windows.values()], axis=0)
    positions = max(1, int(np.flatnonzero(together <= chip.axons)[-1]))
    p = np.arange(1, positions + 1)
    rate = (windows.channels * areas(windows, most)[1 : positions + 1] / (p * windows.features)).min()
    matrix = next(feed.matrix for feed in crowd.reader.feeds if feed.key == key)[np.flatnonzero(crowd.which)]
    readers = np.bincount(matrix.indices, minlength=matrix.shape[1])
    others = readers.sum() - readers[hosts.reader.neurons[hosts.which]].sum()
    copies = crowd.rows * rate - others / windows.features
    return EvenCopies(max(0, int(np.ceil(copies - ROUNDING))), windows.overlap)


# Reads: how many axons are fed at least, since every source is read in so many cores, and by how many neurons.


class FedAxons(NamedTuple):
    """Least number of axons fed, bias axons not counted."""

    of_feeds: dict[Key, int]
    of_columns: dict[Key, Ints]  # least number of cores that read each column of a feed
    relayed: int  # axons on paths longer than a neuron's delay, beyond those that readers use


def fed_axons(crowds: list[list[Crowd]], chip: ChipSpec, two_hops: Mapping[Key, Ints]) -> FedAxons:
    """Bound the number of axons fed from below."""
    # Readers of one signal may share its axons, so the greatest of their demands counts, not the sum.
    # two_hops: fewest cores that read each column of a feed, by what all of its readers read
    of_columns: dict[Key, Ints] = dict(two_hops)
    of_feed: dict[Key, int] = {}  # axons of all columns together
    for crowd in (crowd for some in crowds for crowd in some):
        for key, least in crowd.need.items():
            # c cores that hold n_1 + ... + n_c = rows read at least the sum of least[n_i]
            rate = float((least[1 : crowd.room + 1] / np.arange(1, crowd.room + 1)).min())
            of_feed[key] = max(of_feed.get(key, 0), int(np.ceil(crowd.rows * rate - ROUNDING)))
            reads = crowd.reads[key]
            of_columns[key] = np.maximum(of_columns[key], reads) if key in of_columns else reads
    axons = {key: max(of_feed.get(key, 0), int(reads.sum())) for key, reads in of_columns.items()}
    return FedAxons(axons, of_columns, _relay_axons(of_columns, chip))


def _relay_axons(reads: dict[Key, Ints], chip: ChipSpec) -> int:
    """Count the axons on paths longer than a neuron's delay, beyond those counted as reads."""
    # A path passes an axon at least once per longest delay; those that other readers use anyway may be among them, so
    # only the gaps between the times at which a neuron is read need more.
    at: dict[int, list[tuple[int, Bools]]] = {}
    for key in sorted(key for key in reads if isinstance(key, ChipKey)):
        at.setdefault(key.population, []).append((key.delay, reads[key] > 0))
    more = 0
    for times in at.values():
        last = np.zeros(len(times[0][1]), np.int64)
        for delay, read in times:
            more += int((-(-(delay - last[read]) // chip.delay[1]) - 1).sum())
            last[read] = delay
    return more


# Maximum number of rounds of improving prices.
ROUNDS = 20
# Maximum number of parts for which prices are searched.
PARTS = 12
# Upper bound on the price, in cores, of a whole core's axons or neurons, so that prices stay finite.
DEAR = 10.0
# Ratio of the best value that the columns so far allow to the bound, at which the search stops.
CLOSE = 1.002
# The search ends after ``IDLE`` rounds in a row without a bound better by the factor ``BETTER``.
BETTER, IDLE = 1.002, 4
# Step from the best prices so far towards those of the columns (Wentges 1997).
STEP = 0.5
# Relative margin for numbers that a solver may give slightly too high.
PRICE_ROUNDING = 1e-5


def cores_by_prices(mixture: Mixture, chip: ChipSpec, known: int = 0) -> int:
    """Bound the cores of every mapping."""
    # Every core's contents obey the mixture. Let prices be such that no core is worth more than one; then there are at
    # least as many cores as all demands are worth. Better prices are found by column generation (Gilmore and Gomory
    # 1961); whatever prices it ends with, the bound holds.
    # returns 0 if it would take too long, or if it cannot exceed ``known``
    if not 0 < len(mixture.parts) <= PARTS:
        return 0
    if any(part.together[0] > chip.axons for part in mixture.parts):
        return 0  # a neuron that fits no core: the mapper refuses the network
    cores, demand = MixedCores(mixture, chip), mixture.demand
    columns = _pure_cores(mixture, chip)
    best, best_prices = 0.0, np.zeros(len(demand))
    for k, part in enumerate(mixture.parts):  # one over the neurons that a core of one part holds, 0 for all else
        best_prices[k] = 1 / part.neurons[-1]
    idle = 0
    for _ in range(ROUNDS):
        wished, value = _best_prices(columns, demand, chip)
        if wished is None or value <= max(known, best * CLOSE) or idle == IDLE:
            break
        prices = STEP * wished + (1 - STEP) * best_prices if best else best_prices
        found = cores.most_worth(prices)
        if found is None:
            break
        bound = float(prices @ demand) / max(found.worth, PRICE_ROUNDING)
        idle = 0 if bound > best * BETTER else idle + 1
        if bound > best:
            best, best_prices = bound, prices / max(found.worth, PRICE_ROUNDING)
        columns.append(_column(found, mixture))
    return int(np.ceil(best * (1 - PRICE_ROUNDING) - PRICE_ROUNDING))


def _pure_cores(mixture: Mixture, chip: ChipSpec) -> list[Floats]:
    """List cores of one part, at every level, to start with; they guide the search, and no bound rests on them."""
    found = []
    for k, part in enumerate(mixture.parts):
        for n, axons, together in zip(part.neurons, part.axons, part.together, strict=True):
            neurons, places = np.zeros(len(mixture.parts)), np.zeros(len(mixture.most_copies) + 1)
            neurons[k] = min(n, chip.neurons / part.copies)
            places[part.population] = chip.neurons
            copies = np.minimum(places[:-1], n * mixture.most_copies)
            taken = axons.astype(np.float64)
            taken[part.feeds[0]] += together - axons.sum()
            found.append(_column(Core(1.0, neurons, taken, copies, places), mixture))
    return found


def _column(core: Core, mixture: Mixture) -> Floats:
    """Return the contribution of a core to every demand."""
    spare = core.places.sum() - core.axons[mixture.from_chip].sum()
    return np.concatenate([core.neurons, core.copies, core.axons, [spare]])


def _best_prices(columns: list[Floats], demand: Floats, chip: ChipSpec) -> tuple[Floats | None, float]:
    """Find the prices at which all demands are worth most and no column is worth more than one."""
    from scipy.optimize import linprog  # slow to import

    most = DEAR / min(chip.axons, chip.neurons)
    found: Any = linprog(-demand, A_ub=np.stack(columns), b_ub=np.ones(len(columns)), bounds=(0, most))
    return (found.x, -float(found.fun)) if found.status == 0 else (None, 0.0)


# The most valuable core at given prices: an integer program of levels.


# Maximum number of nodes in the search for the most valuable core; if it ends early, its bound is looser.
NODES = 50


class Core(NamedTuple):
    """Contents of the most valuable core."""

    worth: float  # no core is worth more
    neurons: Floats
    axons: Floats
    copies: Floats  # neurons of every population that count as copies
    places: Floats  # neurons of every population, then those of relays


class MixedCores:
    """The cores that a mixture allows, as the feasible points of an integer program."""

    # Its variables are the levels of all parts (0 or 1), neurons of parts, axons of feeds, copies that count of every
    # population, and the places that its neurons and those of relays take.

    def __init__(self, mixture: Mixture, chip: ChipSpec) -> None:
        self.mixture = mixture
        self._n_levels = sum(len(part.neurons) for part in mixture.parts)
        self.parts, self.feeds = len(mixture.parts), len(mixture.from_chip)
        self.populations = len(mixture.most_copies)
        self._rows: list[tuple[dict[int, float], float]] = []
        self._add_parts()
        self._add_core(chip)
        self._upper = np.concatenate(
            [np.ones(self._n_levels), np.full(self.parts, chip.neurons), np.full(self.feeds, chip.axons)]
            + [np.full(2 * self.populations + 1, chip.neurons)]
        ).astype(np.float64)

    def most_worth(self, prices: Floats) -> Core | None:
        """Find the most valuable core at given prices of all demands, each 0 or more."""
        # returns a core whose worth is the solver's bound, in floating point and not certified; ``None`` if none was
        # found in time
        from scipy.optimize import Bounds, LinearConstraint, milp  # slow to import

        gain = self._gain(prices)
        integer = np.zeros(len(gain), np.int64)
        integer[: self._n_levels] = 1
        with quiet_solver():
            found: Any = milp(
                -gain,
                integrality=integer,
                bounds=Bounds(0, self._upper),
                constraints=LinearConstraint(self._matrix(), ub=[limit for _, limit in self._rows]),
                options={"node_limit": NODES, "mip_rel_gap": 1e-3, "presolve": False},
            )
        if found.x is None or found.mip_dual_bound is None:
            return None
        ends = np.cumsum([self.parts, self.feeds, self.populations])
        return Core(-float(found.mip_dual_bound), *np.split(found.x[self._n_levels :], ends))

    def _gain(self, prices: Floats) -> Floats:
        ends = np.cumsum([self.parts, self.populations, self.feeds])
        neurons, copies, axons, place = np.split(prices, ends)
        # any neuron of a core is paid for, less one for every axon that a neuron feeds
        of_axons, of_places = axons - place * self.mixture.from_chip, np.repeat(place, self.populations + 1)
        return np.concatenate([np.zeros(self._n_levels), neurons, of_axons, copies, of_places])

    def _matrix(self) -> Any:
        entries = [(k, column, value) for k, (row, _) in enumerate(self._rows) for column, value in row.items()]
        row, column, value = (np.array(part) for part in zip(*entries, strict=True))
        return sparse.csr_array((value, (row, column)), shape=(len(self._rows), len(self._upper)))

    def _add_parts(self) -> None:
        parts, feeds = self._n_levels, self._n_levels + self.parts
        at = 0
        for k, part in enumerate(self.mixture.parts):
            levels = range(at, at + len(part.neurons))
            at += len(part.neurons)
            self._rows.append((dict.fromkeys(levels, 1.0), 1.0))
            held = {level: -float(n) for level, n in zip(levels, part.neurons, strict=True)}
            self._rows.append((held | {parts + k: 1.0}, 0.0))
            for feed in np.flatnonzero(part.axons.any(axis=0)).tolist():
                taken = {level: float(n) for level, n in zip(levels, part.axons[:, feed], strict=True)}
                self._rows.append((taken | {feeds + feed: -1.0}, 0.0))
            if (part.together > part.axons.sum(axis=1)).any():
                taken = {level: float(n) for level, n in zip(levels, part.together, strict=True)}
                self._rows.append((taken | {feeds + feed: -1.0 for feed in part.feeds}, 0.0))

    def _add_core(self, chip: ChipSpec) -> None:
        parts, feeds = self._n_levels, self._n_levels + self.parts
        copies = feeds + self.feeds
        places = copies + self.populations
        self._rows.append(({feeds + feed: 1.0 for feed in range(self.feeds)}, float(chip.axons)))
        self._rows.append(({places + k: 1.0 for k in range(self.populations + 1)}, float(chip.neurons)))
        at = 0
        counted: dict[int, dict[int, float]] = {}
        held: dict[int, dict[int, float]] = {k: {places + k: 1.0} for k in range(self.populations)}
        least: dict[int, dict[int, float]] = {k: {} for k in range(self.populations)}
        for number, part in enumerate(self.mixture.parts):
            k, is_first = part.population, part.population not in counted
            counted.setdefault(k, {copies + k: 1.0})
            least[k][parts + number] = float(part.copies)
            for level, neurons in enumerate(part.neurons.tolist(), at):
                held[k][level] = -float(chip.neurons)
                if is_first:
                    counted[k][level] = -float(neurons * self.mixture.most_copies[k])
            at += len(part.neurons)
        self._rows += [(row, 0.0) for row in (*counted.values(), *held.values())]
        for k in range(self.populations):
            self._rows.append((least[k] | {places + k: -1.0}, 0.0))
            self._rows.append(({copies + k: 1.0, places + k: -1.0}, 0.0))
