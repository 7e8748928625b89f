"""Orders for populations without rows and columns: neurons that read the same sources are adjacent.

Tiles are grown: the next neuron is the one with the smallest share of items that the tile does not read yet, and the
first of a tile is one that was near the tile before.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np

from neuromap.arrays.array_types import Bools, Floats, Ints
from neuromap.arrays.packed_rows import entries_of_rows, grouped_by, ragged_ranges, rows_of_entries
from neuromap.loops import TwoForms, compiled_for, pays
from neuromap.mapping.core.core_model import CrossbarCore, distinct_weights
from neuromap.mapping.legalise.legalised import Matrix
from neuromap.mapping.tile.tile import dense_rows
from neuromap.network.spiking_neuron import LeakNeuron

# Cost where there is no cut.
NO_CUT = 2**62
# Input of cuts and moves of units, as loops take it: where the items of every unit begin, the items, the price of every
# item, the load of every unit in neurons; axons and neurons of a core, and its price.
Units: TypeAlias = tuple[Ints, Ints, Ints, Ints, int, int, int]


class Cutter:
    """Cuts orders of the same units."""

    # shapes: load (units,)

    def __init__(
        self, indptr: Ints, items: Ints, price: Ints, load: Ints, limits: tuple[int, int], core: int, work: int
    ) -> None:
        self._units: Units = (indptr, items, price, load, *limits, core)
        self._stamp = np.zeros(len(price), np.int64)
        self._clock = 0
        self._cost = np.zeros(len(load) + 1, np.int64)
        self._start = np.zeros(len(load) + 1, np.int64)
        self._loop, self._work = TwoForms(_cut, cut_few), work  # items visited for one order

    def cost(self, order: Ints, *, greedy: bool = False) -> int:
        """Least cost of cutting an order, ``NO_CUT`` if a unit does not fit; ``greedy`` makes tiles longest."""
        cut = self._loop.form_for(self._work)
        self._clock = cut(order, self._units, greedy, self._stamp, self._clock, self._cost, self._start)
        return int(self._cost[len(order)])

    def ends(self, order: Ints, *, greedy: bool = False) -> list[int]:
        """List the ends of the tiles of the cheapest cut, ascending; the order must have a cut."""
        self.cost(order, greedy=greedy)
        ends = [len(order)]
        while ends[-1] > 0:
            ends.append(int(self._start[ends[-1]]))
        return ends[-2::-1]


def _cut(order: Any, units: Any, greedy: bool, stamp: Any, clock: int, cost: Any, start: Any) -> int:
    """Fill ``cost[j]``, the least cost of cutting ``order[:j]``, and ``start[j]``, where its last tile begins."""
    indptr, items, price, load, axons, neurons, core = units
    n = len(order)
    cost[0] = 0
    for j in range(1, n + 1):
        cost[j] = 2**62
    for i in range(n):
        if cost[i] == 2**62:
            continue
        clock += 1  # marks the items of this tile
        read, taken = 0, 0
        total = cost[i] + core
        last, best = i, 0
        for j in range(i, n):
            unit = order[j]
            taken += load[unit]
            if taken > neurons:
                break
            for k in range(indptr[unit], indptr[unit + 1]):
                item = items[k]
                if stamp[item] != clock:
                    stamp[item] = clock
                    read += 1
                    total += price[item]
            if read > axons:
                break
            last = j + 1
            best = total
            if not greedy and best < cost[last]:
                cost[last] = best
                start[last] = i
        if greedy and last > i:
            cost[last] = best
            start[last] = i
    return clock


def longest_run(load: Ints, neurons: int) -> int:
    """Length of the longest start of an order that fits ``neurons`` neurons, given the load of each unit."""
    return int(np.searchsorted(np.cumsum(load), neurons, side="right"))


# Cut an order of few units into tiles at least cost: a step for every place where a tile may begin.
#
# Gives the same tiles as the plain loop, which goes item by item.
def cut_few(order: Ints, units: Units, greedy: bool, stamp: Ints, clock: int, cost: Ints, start: Ints) -> int:
    """Fill ``cost[j]``, the least cost of cutting ``order[:j]``, and ``start[j]``, where its last tile begins."""
    # shapes: order (n,)
    indptr, items, price, load, axons, neurons, core = units
    n = len(order)
    length = indptr[order + 1] - indptr[order]
    own = items[ragged_ranges(indptr[order], length)]
    begin = np.concatenate([np.zeros(1, np.int64), np.cumsum(length)])
    before = _place_before(own, np.repeat(np.arange(n), length))
    prices, taken = price[own], np.concatenate([np.zeros(1, np.int64), np.cumsum(load[order])])
    cost[0], cost[1 : n + 1] = 0, NO_CUT
    longest = 1
    for i in range(n):
        if cost[i] == NO_CUT:
            continue
        most = int(np.searchsorted(taken, taken[i] + neurons, side="right")) - 1
        end = min(most, i + 2 * longest)
        while True:
            where = slice(begin[i], begin[end])
            new = before[where] < i  # no unit of the tile has read the item yet
            ends = begin[i + 1 : end + 1] - begin[i]
            fits = int(np.searchsorted(np.concatenate([[0], np.cumsum(new)])[ends], axons, side="right"))
            if i + fits < end or end == most:
                break
            end = min(most, 2 * end - i)
        if fits == 0:
            continue
        longest = fits
        paid = np.concatenate([[0], np.cumsum(np.where(new, prices[where], 0))])[ends[:fits]]
        total = cost[i] + core + paid
        first = i + fits if greedy else i + 1
        total = total[first - i - 1 :]
        cheaper = total < cost[first : i + fits + 1]
        if greedy:
            cheaper[:] = True
        cost[first : i + fits + 1][cheaper] = total[cheaper]
        start[first : i + fits + 1][cheaper] = i
    return clock


def _place_before(own: Ints, place: Ints) -> Ints:
    """Return the previous place at which each item is read, -1 if there is none."""
    by_item = np.argsort(own, kind="stable")
    before = np.full(len(own), -1, np.int64)
    again = own[by_item][1:] == own[by_item][:-1]
    before[by_item[1:][again]] = place[by_item[:-1][again]]
    return before


# Number of buckets for the share of its items that a neuron is missing.
BUCKETS = 64
# Approximate visits of an item; more where a tile holds few of its readers.
EACH = 8
# Maximum number of neurons of which every step looks at all, if the loop is not compiled.
FEW = 1024
# Item visits up to which so few neurons do not wait for a compiler.
WITHOUT_COMPILER = 10_000_000
# Input for growing tiles, as loops take it: where the items of every neuron begin, the items; where the readers of an
# item begin, the readers; the load of every neuron in neurons of a core; items and neurons that fit a core.
Reads: TypeAlias = tuple[Ints, Ints, Ints, Ints, Ints, int, int]


def overlap_order(demand: AxonDemand, copies: Ints, core: CrossbarCore) -> Ints:
    """Order the neurons of a population by the items that they share."""
    # shapes: copies (n,)
    alive = np.flatnonzero(copies > 0)
    n = len(copies)
    reader = rows_of_entries(demand.indptr)
    kept = copies[reader] > 0
    readers = grouped_by(demand.items[kept], reader[kept], len(demand.price))
    reads: Reads = (demand.indptr, demand.items, *readers, copies, demand.limit, core.neurons)
    if n <= FEW and not pays(EACH * len(demand.items), without_compiler=WITHOUT_COMPILER):
        return grow_few(reads)
    order = np.empty(len(alive), np.int64)
    head = np.full(BUCKETS + 1, -1, np.int64)
    links = np.full((2, n), -1, np.int64)
    state = np.zeros((2, n), np.int64)  # items missing; 0 unplaced, 1 in a bucket, 2 passed over, 3 placed
    state[0] = np.diff(demand.indptr)
    grow = compiled_for(_grow, EACH * len(demand.items))
    stamp = np.zeros(len(demand.price), np.int64)
    scratch = np.empty(n, np.int64)
    grow(alive, reads, head, links, state, stamp, scratch, order)
    return order


def _grow(alive: Any, reads: Any, head: Any, links: Any, state: Any, stamp: Any, touched: Any, order: Any) -> int:
    """Fill ``order`` tile by tile; return how many tiles there are."""
    indptr, items, begin, readers, load, axons, neurons = reads
    missing, mode = state[0], state[1]
    after, before = links[0], links[1]
    placed, seed, clock, near = 0, 0, 0, -1
    while placed < len(alive):
        clock += 1
        first_out = -1
        read, taken, n_touched, lowest = 0, 0, 0, 0
        while True:
            chosen = -1
            while lowest < len(head):
                if head[lowest] < 0:
                    lowest += 1
                    continue
                n = head[lowest]
                head[lowest] = after[n]
                if after[n] >= 0:
                    before[after[n]] = -1
                mode[n] = 2
                if read + missing[n] <= axons and taken + load[n] <= neurons:
                    chosen = n
                    break
                if first_out < 0:
                    first_out = n
            if chosen < 0 and taken == 0 and near >= 0:
                chosen = near
            if chosen < 0:  # nothing related fits: the next unplaced neuron, if it fits
                while seed < len(alive) and mode[alive[seed]] == 3:
                    seed += 1
                if seed == len(alive):
                    break
                n = alive[seed]
                if taken > 0 and (mode[n] == 2 or read + missing[n] > axons or taken + load[n] > neurons):
                    break
                chosen = n
            if mode[chosen] == 0:
                touched[n_touched] = chosen
                n_touched += 1
            mode[chosen] = 3
            order[placed] = chosen
            placed += 1
            taken += load[chosen]
            for k in range(indptr[chosen], indptr[chosen + 1]):
                item = items[k]
                if stamp[item] == clock:
                    continue
                stamp[item] = clock
                read += 1
                for j in range(begin[item], begin[item + 1]):
                    n = readers[j]
                    if mode[n] == 0:
                        touched[n_touched] = n
                        n_touched += 1
                    elif mode[n] == 1:
                        if before[n] >= 0:
                            after[before[n]] = after[n]
                        else:
                            head[missing[n] * BUCKETS // (indptr[n + 1] - indptr[n])] = after[n]
                        if after[n] >= 0:
                            before[after[n]] = before[n]
                    missing[n] -= 1
                    if mode[n] <= 1:
                        mode[n] = 1
                        first = head[missing[n] * BUCKETS // (indptr[n + 1] - indptr[n])]
                        after[n] = first
                        before[n] = -1
                        if first >= 0:
                            before[first] = n
                        head[missing[n] * BUCKETS // (indptr[n + 1] - indptr[n])] = n
                        lowest = min(lowest, missing[n] * BUCKETS // (indptr[n + 1] - indptr[n]))
        near = first_out
        for k in range(n_touched):
            n = touched[k]
            missing[n] = indptr[n + 1] - indptr[n]
            if mode[n] != 3:
                mode[n] = 0
        for k in range(len(head)):
            head[k] = -1
    return clock


# Tiles grown by overlap where neurons are few: a step for every neuron, each over arrays of all of them.
#
# Gives the same order as :func:`_grow`, which goes item by item. Dense populations have few neurons and many items: the
# plain loop takes seconds where a hundred steps do here, and compiling takes half a second.
_NEVER = np.iinfo(np.int64).max
# Above any number of times that items are counted.
_LATER = 2**40


def grow_few(reads: Reads) -> Ints:
    """Order neurons tile by tile."""
    indptr, items, begin, readers, load, most_items, most_neurons = reads
    degree, n = np.diff(indptr), len(load)
    waiting, order = load > 0, []
    near, moment = -1, 1
    known = np.zeros(len(begin) - 1, bool)
    while waiting.any():
        read, taken, passed_first = 0, 0, -1
        missing, urgency, passed = degree.copy(), np.full(n, _NEVER), np.zeros(n, bool)
        known[:] = False
        while True:
            fits = (missing <= most_items - read) & (load <= most_neurons - taken)
            wanted = np.where(fits, urgency, _NEVER)
            chosen = int(wanted.argmin())
            over = urgency < wanted[chosen]  # more urgent, and they do not fit
            if over.any():
                passed_first = int(urgency.argmin()) if passed_first < 0 else passed_first
                passed |= over
                urgency[over] = _NEVER
            if wanted[chosen] == _NEVER:  # nothing related fits: the next waiting neuron, if it fits
                chosen = near if taken == 0 and near >= 0 else int(waiting.argmax())
                if not waiting[chosen] or (taken > 0 and (passed[chosen] or not fits[chosen])):
                    break
            waiting[chosen] = False
            urgency[chosen] = _NEVER
            order.append(chosen)
            taken += int(load[chosen])
            own = items[indptr[chosen] : indptr[chosen + 1]]
            new = own[~known[own]]
            known[new] = True
            read += len(new)
            counted = readers[entries_of_rows(begin, new)]
            missing -= np.bincount(counted, minlength=n)
            latest = np.zeros(n, np.int64)
            latest[counted] = moment + np.arange(len(counted))  # the last time counts
            moment += len(counted)
            related = np.flatnonzero((latest > 0) & waiting & ~passed)
            urgency[related] = missing[related] * BUCKETS // degree[related] * _LATER + (_LATER - 1 - latest[related])
        near = passed_first
    return np.array(order, np.int64)


# How many axons a set of neurons will take, counted without planning them.
#
# A tile of *units* (a neuron, or neurons that stay together) takes about as many axons as it reads distinct *items*:
# a source, or a source with one of its weights where weights need axons of their own.


# Price of a core; prices are whole numbers, so that sums do not depend on their order.
CORE_PRICE = 2**20
# Price of a copy of a source and of a delivery, as shares of a core's ``1 / neurons`` and ``1 / axons``.
COPY, DELIVERY = 1.0, 1.0
# Places at which a tile is planned to see how many axons its items take.
PROBES = 3


class AxonDemand(NamedTuple):
    """What every neuron of a population reads."""

    indptr: Ints  # (n + 1,): where the items of a neuron begin
    items: Ints  # items, ascending within a neuron
    price: Ints  # (number of items,): what a tile that reads the item pays for it; a core costs ``CORE_PRICE``
    limit: int  # distinct items that fit a core
    exact: bool  # whether that many always fit and more never do (bias axons and narrow potentials aside)


def axon_demand(
    matrix: Matrix,
    threshold: Ints,
    copies: Ints,
    fed_by_chip: Bools,
    core: CrossbarCore,
    neuron: LeakNeuron | None = None,
) -> AxonDemand:
    """Find what the neurons of a population read, and how much of it fits a core."""
    # returns a demand whose limit is at least 1
    # shapes: matrix (n, s); threshold, copies (n,); fed_by_chip (s,)
    n_sources = matrix.shape[1]
    price = np.where(fed_by_chip, COPY / core.neurons, 0.0)
    values, kind = distinct_weights(matrix.data)
    columns = matrix.indices.astype(np.int64)
    indptr = matrix.indptr.astype(np.int64)
    narrow = core.has_axon_per_weight(values)
    value = np.zeros(n_sources, np.int64)
    value[columns] = kind
    one_value = narrow and bool((value[columns] == kind).all())  # whether every source has one for all that read it
    demand = of_sources = AxonDemand(
        indptr, columns, _whole(price + DELIVERY / core.axons), core.axons, exact=one_value
    )
    if narrow and not one_value:
        n_values = len(values)
        items = columns * n_values + kind
        seen = np.zeros(n_sources * n_values, bool)
        seen[items] = True
        kinds = np.maximum(1, seen.reshape(n_sources, n_values).sum(axis=1))  # weights of a source share its delivery
        axon_price = _whole(np.repeat(price, n_values) + np.repeat(DELIVERY / kinds, n_values) / core.axons)
        demand = AxonDemand(indptr, items, axon_price, core.axons, exact=True)
    if one_value and not core.needs_bias(threshold):
        return demand
    ratio = _axons_per_item(matrix, threshold, copies, demand, core, neuron)
    if demand is not of_sources and _axons_per_item(matrix, threshold, copies, of_sources, core, neuron) <= 1.0:
        return of_sources  # so few neurons that types by pattern hold them: then items are sources
    return demand if ratio <= 1.0 else demand._replace(limit=max(1, int(core.axons / ratio)), exact=False)


def _whole(price: Floats) -> Ints:
    return np.round(price * CORE_PRICE).astype(np.int64)


def _axons_per_item(
    matrix: Matrix, threshold: Ints, copies: Ints, demand: AxonDemand, core: CrossbarCore, neuron: LeakNeuron | None
) -> float:
    """Plan tiles at a few places to find the most axons that an item takes, at least 1."""
    alive = np.flatnonzero(copies > 0)
    worst = 1.0
    for start in np.unique(np.linspace(0, max(0, len(alive) - 1), PROBES, dtype=int)):
        run = alive[start : start + core.neurons]
        run = run[: max(1, longest_run(copies[run], core.neurons))]
        while True:
            read = [demand.items[demand.indptr[n] : demand.indptr[n + 1]] for n in run.tolist()]
            n_items = len(np.unique(np.concatenate(read)))
            kept = None if neuron is None else neuron.take(run)
            plan = core.plan(dense_rows(matrix, run)[1], threshold[run], kept) if n_items <= core.axons else None
            if plan is not None:
                worst = max(worst, plan.n_axons / max(1, n_items))
                break
            if len(run) == 1:
                break  # stuck, or nearly: whoever plans the tile will see
            run = run[: len(run) // 2]
    return worst
