"""Refine a partition: move groups, one by one, to the core that takes the fewest deliveries.

A delivery is a pair of a signal and a core that reads it. Every signal has a list of the cores that read it, with how
many groups do, so that all cores to which a group could go are priced in one pass over its signals. Every move keeps
all limits and lowers the deliveries, or keeps them and lowers those between different cores.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.mapping.lists.neuron_groups import NeuronGroups, Room
from neuromap.mapping.tile.cut.cut_order import compiled_for

__all__ = ["move_groups"]

Ints = NDArray[np.int64]
SWEEPS = 8
"""Times that every group is offered a move."""
LEAST = 2000
"""A sweep that saves less than this part of all deliveries is the last."""
WORK = 4_000_000_000
"""Entries of lists that are looked at, about; some ten seconds."""


def move_groups(core: Ints, groups: NeuronGroups, room: Room) -> Ints:
    """Move groups between cores.

    Parameters
    ----------
    core : ndarray of int64, shape (g,)
        Core of every group; each holds what is in it.
    groups : NeuronGroups
        What they read.
    room : Room
        What a core holds.

    Returns
    -------
    ndarray of int64, shape (g,)
        It takes at most as many deliveries and cores; cores are numbered by their first group.
    """
    core, n_cores = core.copy(), int(core.max()) + 1
    begin = groups.begins()
    entries = np.zeros((2, len(groups.signal)), np.int32)  # core, and how many of its groups read the signal
    length = np.zeros(groups.n_signals, np.int64)
    state = np.zeros((5, n_cores), np.int64)  # compartments, axons, output axons, synapses, groups
    scratch = np.zeros((2, n_cores), np.int64)
    own = np.full(len(groups), -1, np.int64)
    sent = np.flatnonzero(groups.sender >= 0)
    own[groups.sender[sent]] = sent
    compiled_for(_move, 2 * SWEEPS * len(groups.signal))(
        groups.start, groups.signal, begin, groups.load, groups.synapses, groups.sender, own, room.as_array(), core,
        entries, length, state, scratch, SWEEPS, LEAST, WORK,
    )  # fmt: skip
    return _numbered(core)


def _numbered(core: Ints) -> Ints:
    _, first, number = np.unique(core, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[number].astype(np.int64)


def _move(
    start: Any,
    signal: Any,
    begin: Any,
    load: Any,
    synapses: Any,
    sender: Any,
    own: Any,
    room: Any,
    core: Any,
    entries: Any,
    length: Any,
    state: Any,
    scratch: Any,
    sweeps: int,
    least: int,
    work: int,
) -> int:
    """Move groups in ``core``; return by how much the deliveries fell."""
    reading, count = entries[0], entries[1]
    used, read, out, held, size = state[0], state[1], state[2], state[3], state[4]
    shared, found = scratch[0], scratch[1]
    n = len(load)
    for g in range(n):
        c = core[g]
        used[c] += load[g]
        held[c] += synapses[g]
        size[c] += 1
        for k in range(start[g], start[g + 1]):
            s = signal[k]
            at, end = begin[s], begin[s] + length[s]
            while at < end and reading[at] != c:
                at += 1
            if at == end:
                length[s] += 1
                reading[at] = c
                read[c] += 1
                if sender[s] >= 0:
                    out[core[sender[s]]] += 1
            count[at] += 1
    saved, looked = 0, 0
    for _ in range(sweeps):
        before = saved
        for g in range(n):
            if looked > work:
                break
            home, degree = core[g], start[g + 1] - start[g]
            freed, n_found = 0, 0
            for k in range(start[g], start[g + 1]):
                s = signal[k]
                looked += length[s]
                for at in range(begin[s], begin[s] + length[s]):
                    c = reading[at]
                    if c != home:
                        if shared[c] == 0:
                            found[n_found] = c
                            n_found += 1
                        shared[c] += 1
                    elif count[at] == 1:
                        freed += 1
            target, best = -1, 0
            for i in range(n_found):
                c = found[i]
                gain = freed - degree + shared[c]
                shared[c] = 0
                fresh = freed - gain
                bits = (read[c] + fresh) * room[4] + (held[c] + synapses[g]) * room[5]
                if used[c] + load[g] > room[0] or read[c] + fresh > room[1] or bits > room[3]:
                    continue
                if gain > best or (gain == best and gain > 0 and used[c] > used[target]):
                    target, best = c, gain
            if target < 0:
                continue
            fresh = freed - best
            spread = length[own[g]] if own[g] >= 0 else 0
            if out[target] + spread + fresh > room[2]:
                continue
            crowded = False
            for k in range(start[g], start[g + 1]):
                s = signal[k]
                if sender[s] < 0 or out[core[sender[s]]] + fresh <= room[2]:
                    continue
                at, end = begin[s], begin[s] + length[s]
                while at < end and reading[at] != target:
                    at += 1
                crowded = crowded or at == end
            if crowded:
                continue
            for k in range(start[g], start[g + 1]):
                s = signal[k]
                at, end, there = begin[s], begin[s] + length[s], -1
                while at < end:
                    if reading[at] == target:
                        there = at
                    elif reading[at] == home:
                        count[at] -= 1
                        if count[at] == 0:
                            end -= 1
                            reading[at], count[at] = reading[end], count[end]
                            count[end] = 0
                            read[home] -= 1
                            if sender[s] >= 0:
                                out[core[sender[s]]] -= 1
                            continue
                    at += 1
                if there < 0:
                    there = end
                    reading[end] = target
                    end += 1
                    read[target] += 1
                    if sender[s] >= 0:
                        out[core[sender[s]]] += 1
                count[there] += 1
                length[s] = end - begin[s]
            spread = length[own[g]] if own[g] >= 0 else 0
            out[home] -= spread
            out[target] += spread
            used[home] -= load[g]
            used[target] += load[g]
            held[home] -= synapses[g]
            held[target] += synapses[g]
            size[home] -= 1
            size[target] += 1
            core[g] = target
            saved += best
        if (saved - before) * least <= read.sum():
            break
    return saved
