"""Orders in which groups fill cores: cores grown by shared signals, and blocks of nodes with rows and columns.

Without rows and columns, a core grows by the group that adds the fewest signals to those it reads. Every group of a
pool tracks how many of its signals the growing core lacks; the first group of a core is the one that lacked the fewest
when the core before was full. The pool holds the groups that share most with those placed last. When half of it is
placed it is drawn anew: thousands of groups serve a core as well as all, and little is left over at the end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isqrt
from typing import Any

import numpy as np

from neuromap.arrays.array_types import Ints
from neuromap.arrays.frozen import ReadOnly, adopted
from neuromap.arrays.value import Value
from neuromap.cores.synapse_list.list_network import NeuronGroups, Room
from neuromap.loops import compiled_for

# Groups of a pool, divided by the root of the number of all.
POOL = 12
# Number of last placed groups by which a pool is drawn.
LAST = 256
# Approximate number of signals per group by which a pool is drawn: of more, every second, third and so on.
SAMPLED = 128


def grow_order(groups: NeuronGroups, room: Room) -> GroupOrder:
    """Order groups core by core."""
    is_left = np.diff(groups.start) > 0
    n = int(is_left.sum())
    size = POOL * (1 + isqrt(n))
    order, ends = np.empty(n, np.int64), np.empty(n, np.int64)
    placed, n_cores, near = 0, 0, -1
    while placed < n:
        left = np.flatnonzero(is_left)
        pool = _pool(groups, left, order[max(0, placed - LAST) : placed], size)
        wanted = len(pool) if len(pool) == len(left) else len(pool) // 2
        more, near = _grow_in(pool, groups, room, near, wanted, (order[placed:], ends[n_cores:]))
        ends[n_cores : n_cores + more] += placed
        n_cores += more
        is_left[order[placed : ends[n_cores - 1]]] = False
        placed = int(ends[n_cores - 1])
    return _filled_up(order, ends[:n_cores], groups, room)


def _filled_up(order: Ints, ends: Ints, groups: NeuronGroups, room: Room) -> GroupOrder:
    """Insert groups that read nothing where compartments are free; the rest follows, one by one."""
    idle = np.flatnonzero(np.diff(groups.start) == 0)
    used = np.diff(np.cumsum(groups.load[order])[ends - 1], prepend=0)
    at, core = [], 0
    for load in groups.load[idle].tolist():
        while core < len(ends) and used[core] + load > room.neurons:
            core += 1
        if core == len(ends):
            break
        used[core] += load
        at.append(ends[core])
    ends = ends + np.searchsorted(np.array(at, np.int64), ends, side="right")
    order = np.insert(order, at + [len(order)] * (len(idle) - len(at)), idle)
    return GroupOrder(order, np.concatenate([ends, np.arange(len(order) - len(idle) + len(at), len(order)) + 1]))


def _pool(groups: NeuronGroups, left: Ints, last: Ints, size: int) -> Ints:
    """Choose the groups that share most signals with the last ones; of equal ones the first."""
    if len(left) <= size + size // 4:
        return left
    weight = np.zeros(groups.n_signals, np.int32)
    share = np.zeros(len(left))
    step = max(1, len(groups.signal) // (SAMPLED * len(groups)))
    compiled_for(_weigh, len(groups.signal))(
        last if len(last) else left[:1], left, groups.start, groups.signal, step, weight, share
    )
    least = np.partition(share, len(left) - size)[len(left) - size]
    above = np.flatnonzero(share > least)
    equal = np.flatnonzero(share == least)[: size - len(above)]
    pool: Ints = left[np.sort(np.concatenate([above, equal]))]
    return pool


def _weigh(last: Any, left: Any, start: Any, signal: Any, step: int, weight: Any, share: Any) -> int:
    """Fill ``share`` with the mean number of last groups that read a signal of each group left."""
    for g in last:
        for k in range(start[g], start[g + 1]):
            weight[signal[k]] += 1
    for i in range(len(left)):
        total, number = 0, 0
        for k in range(start[left[i]], start[left[i] + 1], step):
            total += weight[signal[k]]
            number += 1
        share[i] = total / max(1, number)
    return len(left)


def _grow_in(
    pool: Ints, groups: NeuronGroups, room: Room, near: int, wanted: int, found: tuple[Ints, Ints]
) -> tuple[int, int]:
    """Grow cores until ``wanted`` groups of a pool are placed; return the number of cores, and where to continue."""
    degree = groups.start[pool + 1] - groups.start[pool]
    n_entries = int(degree.sum())
    is_small = len(pool) < 2**16 and n_entries < 2**31  # as are all but gigantic pools: half the memory to read
    begin = np.zeros(groups.n_signals + 2, np.int32 if is_small else np.int64)
    reader = np.empty(n_entries, np.uint16 if is_small else np.uint32)
    missing = np.empty((2, len(pool)), np.int32)
    stamp = np.full(groups.n_signals, -1, np.int32)
    state = np.array([near, 0], np.int64)
    of_groups = (groups.start, groups.signal, groups.load, groups.synapses)
    readers = (begin, reader)
    compiled_for(_grow, 8 * len(groups.signal))(
        pool, of_groups, np.array(room), wanted, readers, missing, stamp, found, state
    )
    return int(state[1]), int(state[0])


def _grow(
    pool: Any, groups: Any, room: Any, wanted: int, readers: Any, missing: Any, stamp: Any, found: Any, state: Any
) -> int:
    """Fill ``found``, order and ends, and ``state``, where to continue and the number of cores."""
    # Groups that are placed, or skipped for a core, lack more than ``far`` signals.
    start, signal, load, synapses = groups
    (begin, reader), (lacks, all_lacked), (order, ends) = readers, missing, found
    far = 2**30
    # who reads a signal, by numbers within the pool
    for g in pool:
        for k in range(start[g], start[g + 1]):
            begin[signal[k] + 1] += 1
    for s in range(len(begin) - 1):
        begin[s + 1] += begin[s]
    for i in range(len(pool) - 1, -1, -1):
        for k in range(start[pool[i]], start[pool[i] + 1]):
            begin[signal[k] + 1] -= 1
            reader[begin[signal[k] + 1]] = i
    first = begin[1:]
    near = -1
    for i in range(len(pool)):
        all_lacked[i] = start[pool[i] + 1] - start[pool[i]]
        if pool[i] == state[0]:
            near = i
    placed, core = 0, 0
    while placed < wanted:
        lacks[:] = all_lacked
        used, read, held, next_near = 0, 0, 0, -1
        while placed < len(pool):
            i = near if used == 0 and near >= 0 else lacks.argmin()
            g = pool[i]
            if lacks[i] >= far or read + lacks[i] > room[1]:
                if next_near < 0 and lacks[i] < far:
                    next_near = i  # the axons are used up; it lacks the fewest
                break
            bits = (read + lacks[i]) * room[4] + (held + synapses[g]) * room[5]
            if used + load[g] > room[0] or bits > room[3]:
                if next_near < 0:
                    next_near = i
                lacks[i] = 2 * far - 1
                continue
            lacks[i] = 2 * far - 1
            all_lacked[i] = 2 * far - 1
            order[placed] = g
            placed += 1
            used += load[g]
            held += synapses[g]
            for k in range(start[g], start[g + 1]):
                s = signal[k]
                if stamp[s] != core:
                    stamp[s] = core
                    read += 1
                    for r in reader[first[s] : first[s + 1]]:
                        lacks[r] -= 1
        ends[core] = placed
        core += 1
        near = next_near
    state[0] = pool[near] if near >= 0 else -1
    state[1] = core
    return core


# Orders for nodes with rows and columns: blocks of near neurons, which read much the same, stay together.


# First group of a node with consecutive groups, and its rows, columns and features.
Layer = tuple[int, tuple[int, int, int]]
# Most shapes of blocks tried for a layer, of those with the fewest deliveries by an estimate.
TRIED = 8
# Numbers of parts into which columns and features are divided.
_PARTS = (1, 2, 3, 4, 6, 8, 12, 16)


def block_order(layers: Sequence[Layer], groups: NeuronGroups, room: Room) -> GroupOrder:
    """Order groups by the blocks with the fewest deliveries, layer by layer, that take no more cores than rows do."""
    # layers: nodes with rows and columns, ascending and apart; all other groups keep their order
    orders, lengths, known = [], [], 0
    for first, shape in layers:
        orders.append(np.arange(known, first))
        lengths.append(np.ones(first - known, np.int64))
        best = _best_of_layer(first, shape, groups, room)
        orders.append(best.groups)
        lengths.append(np.diff(best.ends, prepend=0))
        known = first + len(best.groups)
    orders.append(np.arange(known, len(groups)))
    lengths.append(np.ones(len(groups) - known, np.int64))
    return GroupOrder(np.concatenate(orders), np.cumsum(np.concatenate(lengths)))


def _best_of_layer(first: int, shape: tuple[int, int, int], groups: NeuronGroups, room: Room) -> GroupOrder:
    size = shape[0] * shape[1] * shape[2]
    mine = _part_of(groups, first, first + size)
    rows = GroupOrder(np.arange(size), np.arange(1, size + 1))
    work = 2 * len(groups.signal)
    core, least = fill_order(rows, mine, room, work=work)
    best, most = rows, int(core.max())
    if most and least:
        blocks = sorted(_blocks(shape, room.neurons), key=lambda block: _estimate(shape, block, mine))
        for block in blocks[:TRIED]:
            order = _in_blocks(shape, block)
            core, found = fill_order(order, mine, room, work=work, enough=(least, most + 1))
            if core.max() <= most and found < least:
                best, least = order, found
    return GroupOrder(best.groups + first, best.ends)


def _estimate(shape: tuple[int, int, int], block: tuple[int, int, int], groups: NeuronGroups) -> int:
    """Estimate the deliveries of a layer in blocks from those of one in its middle."""
    number = [-(-size // part) for size, part in zip(shape, block, strict=True)]
    middle = [n // 2 * part for n, part in zip(number, block, strict=True)]
    rows, columns, features = (
        range(at, min(size, at + part)) for at, size, part in zip(middle, shape, block, strict=True)
    )
    read = np.zeros(groups.n_signals, bool)
    for row in rows:
        for column in columns:
            place = (row * shape[1] + column) * shape[2]
            first, last = place + features[0], place + features[-1]
            if groups.alike[first] == groups.alike[last]:
                last = first  # all of them read the same
            read[groups.signal[groups.start[first] : groups.start[last + 1]]] = True
    return int(read.sum()) * (groups.start.size - 1) // (len(rows) * len(columns) * len(features))


def _part_of(groups: NeuronGroups, first: int, end: int) -> NeuronGroups:
    """Select consecutive groups, with signals only from the first to the last that they read."""
    begin, stop = int(groups.start[first]), int(groups.start[end])
    signal = groups.signal[begin:stop]
    low, high = (int(signal.min()), int(signal.max()) + 1) if len(signal) else (0, 0)
    return NeuronGroups(
        groups.neuron[first:end],
        groups.start[first : end + 1] - begin,
        adopted(signal - np.int32(low)),
        groups.load[first:end],
        groups.synapses[first:end],
        np.full(high - low, -1, np.int64),
    )


def _blocks(shape: tuple[int, int, int], neurons: int) -> Iterator[tuple[int, int, int]]:
    """Yield sizes of blocks that a core has neurons for: some widths and depths, with as many rows as fit."""
    rows, columns, features = shape
    for depth in sorted({-(-features // part) for part in _PARTS}, reverse=True):
        for width in sorted({-(-columns // part) for part in _PARTS}, reverse=True):
            if (height := min(rows, neurons // (depth * width))) > 0:
                yield -(-rows // -(-rows // height)), width, depth


def _in_blocks(shape: tuple[int, int, int], block: tuple[int, int, int]) -> GroupOrder:
    number = np.zeros(shape, np.int64)
    for axis in (2, 0, 1):  # along columns first, so that consecutive blocks are near
        place = np.arange(shape[axis]) // block[axis]
        number = number * (int(place[-1]) + 1) + place.reshape([-1 if a == axis else 1 for a in range(3)])
    flat = number.ravel()
    return GroupOrder(np.argsort(flat, kind="stable"), np.cumsum(np.bincount(flat)))


# Fill cores in an order of groups: a core is closed where the next group, or the next block, does not fit it.
_NO_LIMIT = 2**62


@dataclass(frozen=True, eq=False)
class GroupOrder(ReadOnly, Value):
    """An order of groups."""

    groups: Ints  # (g,): groups, each once
    ends: Ints  # (b,): where its blocks end, ascending: a block that fits a core is not divided


def fill_order(
    order: GroupOrder,
    groups: NeuronGroups,
    room: Room,
    most: Ints | None = None,
    *,
    work: int = 0,
    enough: tuple[int, int] = (_NO_LIMIT, _NO_LIMIT),
) -> tuple[Ints, int]:
    """Fill cores with groups in an order."""
    # Returns the core of every group, -1 if it is not in the order or the loop ended before, and the deliveries.
    # shapes: most (g,); core (g,)
    core = np.full(len(groups), -1, np.int64)
    most = np.full(len(groups), room.neurons, np.int64) if most is None else most
    of_groups = (groups.start, groups.signal, groups.alike, groups.load, groups.synapses)
    stamp = np.full((2, groups.n_signals), -1, np.int64)
    seen = np.full((2, len(groups)), -1, np.int64)
    fill = compiled_for(_fill, max(work, 2 * len(groups.signal)))
    return core, fill(order.groups, order.ends, of_groups, np.array(room), most, stamp, seen, core, enough)


def _fill(
    order: Any, ends: Any, groups: Any, room: Any, most: Any, stamp: Any, seen: Any, core: Any, enough: tuple[int, int]
) -> int:
    """Fill ``core``; return the number of axons of all cores."""
    # ``stamp`` and ``seen`` hold the core and block in which a signal, or one of a run of alike groups, was last met.
    start, signal, alike, load, synapses = groups
    most_deliveries, most_cores = enough
    here, used, read, held, total = 0, 0, 0, 0, 0
    limit = room[0]
    first = 0
    for block in range(len(ends)):
        # the block as a whole: does it fit what is left, or an empty core?
        compartments, axons, fresh, n_synapses, bound = 0, 0, 0, 0, room[0]
        for i in range(first, ends[block]):
            g = order[i]
            compartments += load[g]
            n_synapses += synapses[g]
            bound = min(bound, most[g])
            if seen[1, alike[g]] == block:
                continue
            seen[1, alike[g]] = block
            for k in range(start[g], start[g + 1]):
                s = signal[k]
                if stamp[1, s] != block:
                    stamp[1, s] = block
                    axons += 1
                    fresh += stamp[0, s] != here
        bits = (read + fresh) * room[4] + (held + n_synapses) * room[5]
        whole = used + compartments <= min(bound, limit) and read + fresh <= room[1] and bits <= room[3]
        bits = axons * room[4] + n_synapses * room[5]
        divided = not whole and (compartments > bound or axons > room[1] or bits > room[3])
        for i in range(first, ends[block]):
            g = order[i]
            full = i == first and not whole
            if divided and not full:
                fresh = 0
                if seen[0, alike[g]] != here:
                    for k in range(start[g], start[g + 1]):
                        fresh += stamp[0, signal[k]] != here
                bits = (read + fresh) * room[4] + (held + synapses[g]) * room[5]
                full = used + load[g] > min(limit, most[g]) or read + fresh > room[1] or bits > room[3]
            if used > 0 and full:
                here, used, read, held, limit = here + 1, 0, 0, 0, room[0]
            if seen[0, alike[g]] != here:
                seen[0, alike[g]] = here
                for k in range(start[g], start[g + 1]):
                    s = signal[k]
                    if stamp[0, s] != here:
                        stamp[0, s] = here
                        read += 1
                        total += 1
            core[g] = here
            used += load[g]
            held += synapses[g]
            limit = min(limit, most[g])
        first = ends[block]
        if total >= most_deliveries or here >= most_cores:
            break
    return total
