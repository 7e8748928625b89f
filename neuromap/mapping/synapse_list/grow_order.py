"""An order without rows and columns: cores grow by the group that adds the fewest signals to those they read already.

Every group of a pool knows how many of its signals the growing core lacks; the first group of a core is the one that
lacked the fewest when the core before was full. The pool is those groups that share most with the last ones that were
placed. When half of it is placed it is drawn anew: a core finds what it shares among thousands of groups as well as
among all, and what is left over at the end is small.
"""

from __future__ import annotations

from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.mapping.synapse_list.fill_order import GroupOrder
from neuromap.mapping.synapse_list.neuron_groups import NeuronGroups, Room
from neuromap.mapping.tile.cut_order import compiled_for

__all__ = ["grow_order"]

Ints = NDArray[np.int64]
POOL = 12
"""Groups of a pool, times the root of the number of all."""
LAST = 256
"""Groups placed last that a pool is drawn by."""
SAMPLED = 128
"""Signals of a group, about, by which a pool is drawn: of more, every second, third and so on."""


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
    """Put the groups that read nothing where there is room for compartments; what is left follows, one by one."""
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
    """Choose the groups of which the last ones read the greatest share; of equal ones the first."""
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
    """Fill ``share`` with how often the last groups read what one of those left reads, by what it reads."""
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
    """Grow cores until so many groups of a pool are placed; return how many cores, and where to go on."""
    order, ends = found
    degree = groups.start[pool + 1] - groups.start[pool]
    n_entries = int(degree.sum())
    is_small = len(pool) < 2**16 and n_entries < 2**31  # as is every pool that is not gigantic: half the memory to read
    begin = np.zeros(groups.n_signals + 2, np.int32 if is_small else np.int64)
    reader = np.empty(n_entries, np.uint16 if is_small else np.uint32)
    missing = np.empty((2, len(pool)), np.int32)
    stamp = np.full(groups.n_signals, -1, np.int32)
    state = np.array([near, 0], np.int64)
    compiled_for(_grow, 8 * len(groups.signal))(
        pool, groups.start, groups.signal, groups.load, groups.synapses, room.as_array(), wanted, begin, reader,
        missing, stamp, order, ends, state,
    )  # fmt: skip
    return int(state[1]), int(state[0])


def _grow(
    pool: Any,
    start: Any,
    signal: Any,
    load: Any,
    synapses: Any,
    room: Any,
    wanted: int,
    begin: Any,
    reader: Any,
    missing: Any,
    stamp: Any,
    order: Any,
    ends: Any,
    state: Any,
) -> int:
    """Fill ``order`` and ``ends``, and ``state`` with where to go on and how many cores there are."""
    # What is placed, or passed over in a core, misses more than ``far`` signals.
    lacks, all_lacked = missing[0], missing[1]
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
