"""An order without rows and columns: cores grow by the group that adds the fewest signals to those they read already.

Every unplaced group knows how many of its signals the growing core lacks; groups with as many lie in one linked list.
The first group of a core is one that nearly fitted the core before.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.mapping.lists.fill_order import GroupOrder
from neuromap.mapping.lists.neuron_groups import NeuronGroups, Room
from neuromap.mapping.tile.cut.cut_order import compiled_for

__all__ = ["grow_order"]

Ints = NDArray[np.int64]


def grow_order(groups: NeuronGroups, room: Room) -> GroupOrder:
    """Order groups core by core.

    Parameters
    ----------
    groups : NeuronGroups
        Each of them fits a core.
    room : Room
        What a core holds; output axons are not looked at.

    Returns
    -------
    GroupOrder
        Its blocks are the cores.
    """
    n, degree = len(groups), np.diff(groups.start).astype(np.int32)
    begin, reader = groups.readers()
    head = np.full(int(degree.max(initial=0)) + 1, -1, np.int32)
    links = np.full((3, n), -1, np.int32)  # after, before, and those that were touched
    mode = np.zeros(n, np.int8)  # 0 untouched, 1 in a list, 2 passed over, 3 placed
    stamp = np.full(groups.n_signals, -1, np.int32)
    order, ends = np.empty(n, np.int64), np.empty(n, np.int64)
    n_cores = compiled_for(_grow, 8 * len(groups.signal))(
        groups.start, groups.signal, begin, reader, groups.load, groups.synapses, room.as_array(), degree, head,
        links, mode, stamp, order, ends,
    )  # fmt: skip
    return GroupOrder(order, ends[:n_cores].copy())


def _grow(
    start: Any,
    signal: Any,
    begin: Any,
    reader: Any,
    load: Any,
    synapses: Any,
    room: Any,
    missing: Any,
    head: Any,
    links: Any,
    mode: Any,
    stamp: Any,
    order: Any,
    ends: Any,
) -> int:
    """Fill ``order`` and ``ends``; return how many cores there are."""
    after, before, touched = links[0], links[1], links[2]
    n = len(load)
    placed, seed, core, near = 0, 0, 0, -1
    while placed < n:
        used, read, held, n_touched, lowest, first_out = 0, 0, 0, 0, 0, -1
        while True:
            chosen = -1
            while lowest < len(head) and read + lowest <= room[1]:
                g = head[lowest]
                if g < 0:
                    lowest += 1
                    continue
                head[lowest] = after[g]
                if after[g] >= 0:
                    before[after[g]] = -1
                mode[g] = 2
                bits = (read + missing[g]) * room[4] + (held + synapses[g]) * room[5]
                if used + load[g] <= room[0] and bits <= room[3]:
                    chosen = g
                    break
                if first_out < 0:
                    first_out = g
            if chosen < 0 and used > 0 and first_out < 0 and lowest < len(head):
                first_out = head[lowest]  # the axons are used up; it lacks the fewest
            if chosen < 0 and used == 0 and near >= 0:
                chosen = near
            if chosen < 0:  # nothing that is related fits: the next that is unplaced, if it does
                while seed < n and mode[seed] == 3:
                    seed += 1
                if seed == n:
                    break
                g = seed
                bits = (read + missing[g]) * room[4] + (held + synapses[g]) * room[5]
                full = used + load[g] > room[0] or read + missing[g] > room[1] or bits > room[3]
                if used > 0 and (full or mode[g] != 0):
                    break
                chosen = g
            if mode[chosen] == 0:
                touched[n_touched] = chosen
                n_touched += 1
            mode[chosen] = 3
            order[placed] = chosen
            placed += 1
            used += load[chosen]
            held += synapses[chosen]
            for k in range(start[chosen], start[chosen + 1]):
                s = signal[k]
                if stamp[s] == core:
                    continue
                stamp[s] = core
                read += 1
                for j in range(begin[s], begin[s + 1]):
                    g = reader[j]
                    if mode[g] == 3:
                        continue
                    if mode[g] == 0:
                        touched[n_touched] = g
                        n_touched += 1
                        mode[g] = 1
                    elif mode[g] == 1:
                        if before[g] < 0:
                            head[missing[g]] = after[g]
                        else:
                            after[before[g]] = after[g]
                        if after[g] >= 0:
                            before[after[g]] = before[g]
                    missing[g] -= 1
                    if mode[g] == 1:
                        lacks = missing[g]
                        after[g] = head[lacks]
                        before[g] = -1
                        if head[lacks] >= 0:
                            before[head[lacks]] = g
                        head[lacks] = g
                        lowest = min(lowest, lacks)
        ends[core] = placed
        core += 1
        near = first_out
        for k in range(n_touched):
            g = touched[k]
            missing[g] = start[g + 1] - start[g]
            if mode[g] != 3:
                mode[g] = 0
        for k in range(len(head)):
            head[k] = -1
    return core
