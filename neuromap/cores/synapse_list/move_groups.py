"""Refine a partition: move groups, one by one, to the core with the fewest deliveries.

A delivery is a pair of a signal and a core that reads it. Every signal has a list of the cores that read it, with the
number of groups that do, so that all cores to which a group could go are priced in one pass over its signals. Every
move keeps all limits and lowers the deliveries.

Where signals are read in many cores the lists are long, and nearly all cores have no axons left for the group. Then
every signal has a row of bits too, one for each core. The rows of a group's signals are added up in all cores at once,
a bit of the sums in a word for 64 cores (carry-save adders), to what axons they have left: where a sum is less than
the group's signals there is no room. The moves are the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from neuromap.arrays.array_types import Ints, Words
from neuromap.cores.synapse_list.list_network import NeuronGroups, Room
from neuromap.loops import compiled_for
from neuromap.mapping.options.budget import NO_LIMIT, Budget

# Most times that every group is offered a move.
SWEEPS = 8
# A sweep that saves no more than 1 / LEAST of all deliveries is the last.
LEAST = 2000
# Most entries of lists, or words of bits, visited, about; some three seconds. If they do not suffice to offer every
# group one move, none is offered: so large a network takes as long to set up, and saves no more than a thousandth
# (random networks of 65,536 neurons that read 512 others; of 16,384, 0.4 %).
WORK = 1_000_000_000
# Of these, visited between two looks at the clock.
AT_ONCE = 20_000_000
# Words of bits that take as long as an entry of a list, about.
WORDS = 1.0
# Bits of all rows, at most: 256 MiB.
MOST_BITS = 2**31


def move_groups(core: Ints, groups: NeuronGroups, room: Room, deliveries: int, budget: Budget = NO_LIMIT) -> Ints:
    """Move groups between cores to save deliveries."""
    # Takes at most as many deliveries and cores; cores are numbered by their first group.
    # shapes: core (g,); returns (g,)
    n_cores = int(core.max()) + 1
    if _work(groups, n_cores, deliveries) > WORK:
        return _numbered(core)
    core = core.copy()
    # a core, how many of its groups read the signal, and which: the exclusive or of their numbers
    readers = np.bincount(groups.signal, minlength=groups.n_signals)
    begin = np.concatenate([[0], np.cumsum(np.minimum(readers, n_cores))])
    entries = np.zeros((3, int(begin[-1])), np.int32)
    length = np.zeros(groups.n_signals, np.int64)
    state = np.zeros((5, n_cores), np.int64)  # compartments, axons, output axons, synapses, groups
    scratch = np.zeros((3, n_cores), np.int64)
    by_core = np.argsort(core, kind="stable")
    own = np.full(len(groups), -1, np.int64)
    sent = np.flatnonzero(groups.sender >= 0)
    own[groups.sender[sent]] = sent
    rows, sums = _rows(groups, n_cores, int((readers > 0).sum()), deliveries)
    alone = np.zeros_like(own)  # signals that no other group of the core reads
    network = (groups.start, groups.signal, begin, groups.load, groups.synapses, groups.sender)
    books = (core, entries, length, state, rows, alone)
    entries_moved = 2 * SWEEPS * len(groups.signal)
    compiled_for(_count, entries_moved)(network, by_core, books)
    move, looked = compiled_for(_move, entries_moved), 0
    for _ in range(SWEEPS):
        at, saved = 0, 0
        while at < len(groups) and looked <= WORK and not budget.is_over("filling"):
            work = min(AT_ONCE, WORK - looked)
            at, gained, seen = move(network, own, np.array(room), books, scratch, sums, at, work)
            saved, looked = saved + gained, looked + seen
        if saved * LEAST <= state[1].sum():
            break
    return _numbered(core)


def _n_words(n_cores: int) -> int:
    """Count the words of a row of bits."""
    return -(-n_cores // 64)


def _work(groups: NeuronGroups, n_cores: int, deliveries: int) -> float:
    """Estimate the visits to offer every group one move: to a signal's row, or the list of cores that read it."""
    listed = deliveries / max(1, groups.n_signals)
    return len(groups.signal) * min(listed, _n_words(n_cores))


def _rows(groups: NeuronGroups, n_cores: int, n_read: int, deliveries: int) -> tuple[Words, Words]:
    """Allocate rows of bits, none if lists are faster, and scratch for sums of them."""
    n_words = _n_words(n_cores)
    fits = 64 * n_words * (groups.n_signals + 1) <= MOST_BITS
    n_rows = groups.n_signals + 1 if fits and n_words * n_read <= WORDS * deliveries else 0
    digits = max(3, int(np.diff(groups.start).max(initial=1)).bit_length()) + 1
    return np.zeros((n_rows, n_words), np.uint64), np.zeros((2, digits + 3, n_words), np.uint64)


def _numbered(core: Ints) -> Ints:
    _, first, number = np.unique(core, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[number].astype(np.int64)


def _count(network: Any, by_core: Any, books: Any) -> None:
    """List the cores that read every signal, and count what every core holds."""
    start, signal, begin, load, synapses, sender = network
    core, entries, length, state, rows, alone = books
    reading, count, which = entries
    used, read, out, held, size = state
    bit, none = np.uint64(1), len(rows) - 1
    for g in by_core:
        c = core[g]
        used[c] += load[g]
        held[c] += synapses[g]
        size[c] += 1
        for k in range(start[g], start[g + 1]):
            s = signal[k]
            at = begin[s] + length[s] - 1
            if length[s] == 0 or reading[at] != c:
                at += 1
                length[s] += 1
                reading[at] = c
                read[c] += 1
                if sender[s] >= 0:
                    out[core[sender[s]]] += 1
                if none >= 0:
                    rows[s, c >> 6] |= bit << np.uint64(c & 63)
            count[at] += 1
            which[at] ^= g
    for s in range(len(length)):
        for at in range(begin[s], begin[s] + length[s]):
            if count[at] == 1:
                alone[which[at]] += 1


def _move(
    network: Any, own: Any, room: Any, books: Any, scratch: Any, sums: Any, first: int, work: int
) -> tuple[int, int, int]:
    """Move groups from ``first`` on; return where it ended, the deliveries saved, the entries visited."""
    start, signal, begin, load, synapses, sender = network
    core, entries, length, state, rows, alone = books
    reading, count, which = entries
    used, read, out, held, size = state
    shared, found, stale = scratch
    left, total, digits, n_words = sums[0], sums[1], sums.shape[1] - 3, sums.shape[2]
    ones, twos, fours = total[digits], total[digits + 1], total[digits + 2]
    bit, none, most = np.uint64(1), len(rows) - 1, 2 ** (digits - 1) - 1
    n, n_stale = len(load), len(used)
    for c in range(n_stale):
        stale[c] = c  # its axons are not in ``left`` yet
    saved, looked = 0, 0
    for g in range(first, n):
        if looked > work:
            return g, saved, looked
        home, degree = core[g], start[g + 1] - start[g]
        freed, n_found = alone[g], 0
        if freed == 0:
            continue  # no move saves more deliveries than it frees
        if none >= 0:
            looked += degree * n_words
            for i in range(n_stale):
                c = stale[i]
                axons = min(max(room[1] - read[c], 0), most)
                for d in range(digits):
                    left[d, c >> 6] &= ~(bit << np.uint64(c & 63))
                    left[d, c >> 6] |= np.uint64((axons >> d) & 1) << np.uint64(c & 63)
            n_stale = 0
            total[:digits] = left[:digits]
            end = start[g + 1]
            for k in range(start[g], end, 7):
                r0, r1 = rows[signal[k]], rows[signal[k + 1] if k + 1 < end else none]
                r2, r3 = rows[signal[k + 2] if k + 2 < end else none], rows[signal[k + 3] if k + 3 < end else none]
                r4, r5 = rows[signal[k + 4] if k + 4 < end else none], rows[signal[k + 5] if k + 5 < end else none]
                r6 = rows[signal[k + 6] if k + 6 < end else none]
                for w in range(n_words):  # seven bits become a number of three
                    a, b = r0[w] ^ r1[w], r3[w] ^ r4[w]
                    one = a ^ r2[w]
                    two = b ^ r5[w]
                    p, q = (r0[w] & r1[w]) | (a & r2[w]), (r3[w] & r4[w]) | (b & r5[w])
                    a = one ^ two
                    b = (one & two) | (a & r6[w])
                    ones[w] = a ^ r6[w]
                    twos[w] = p ^ q ^ b
                    fours[w] = (p & q) | ((p ^ q) & b)
                place = total[0]
                for w in range(n_words):
                    a = place[w]
                    place[w] = a ^ ones[w]
                    ones[w] &= a
                for d in range(1, 3):
                    place, more = total[d], total[digits + d]
                    for w in range(n_words):
                        a = place[w] ^ more[w]
                        b = (place[w] & more[w]) | (a & ones[w])
                        place[w] = a ^ ones[w]
                        ones[w] = b
                for d in range(3, digits):
                    place = total[d]
                    for w in range(n_words):
                        a = place[w]
                        place[w] = a ^ ones[w]
                        ones[w] &= a
            for w in range(n_words):
                enough = ~np.uint64(0)
                for d in range(digits):
                    if (degree >> d) & 1:
                        enough &= total[d, w]
                    else:
                        enough |= total[d, w]
                c = 64 * w
                while enough != np.uint64(0) and c < len(used):
                    if enough & bit and c != home:
                        shared[c] = -min(max(room[1] - read[c], 0), most)
                        for d in range(digits):
                            if total[d, w] & (bit << np.uint64(c & 63)):
                                shared[c] += 1 << d
                        found[n_found] = c
                        n_found += 1
                    enough >>= bit
                    c += 1
        else:
            for k in range(start[g], start[g + 1]):
                s = signal[k]
                looked += length[s]
                for c in reading[begin[s] : begin[s] + length[s]]:
                    if shared[c] == 0:
                        found[n_found] = c
                        n_found += 1
                    shared[c] += 1
            shared[home] = 0
        target, best = -1, 0
        for i in range(n_found):
            c = found[i]
            gain = freed - degree + shared[c]
            shared[c] = 0
            if gain <= 0 or c == home:
                continue
            fresh = freed - gain
            memory = (read[c] + fresh) * room[4] + (held[c] + synapses[g]) * room[5]
            if used[c] + load[g] > room[0] or read[c] + fresh > room[1] or memory > room[3]:
                continue
            if gain > best or (gain == best and (used[c], -c) > (used[target], -target)):
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
        alone[g] = 0
        for k in range(start[g], start[g + 1]):
            s = signal[k]
            at, end, there = begin[s], begin[s] + length[s], -1
            while at < end:
                if reading[at] == target:
                    there = at
                elif reading[at] == home:
                    count[at] -= 1
                    which[at] ^= g
                    if count[at] == 1:
                        alone[which[at]] += 1
                    if count[at] == 0:
                        end -= 1
                        reading[at], count[at], which[at] = reading[end], count[end], which[end]
                        count[end], which[end] = 0, 0
                        read[home] -= 1
                        if sender[s] >= 0:
                            out[core[sender[s]]] -= 1
                        if none >= 0:
                            rows[s, home >> 6] &= ~(bit << np.uint64(home & 63))
                        continue
                at += 1
            if there < 0:
                there = end
                reading[end] = target
                end += 1
                read[target] += 1
                if sender[s] >= 0:
                    out[core[sender[s]]] += 1
                if none >= 0:
                    rows[s, target >> 6] |= bit << np.uint64(target & 63)
            if count[there] == 0:
                alone[g] += 1
            elif count[there] == 1:
                alone[which[there]] -= 1
            count[there] += 1
            which[there] ^= g
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
        stale[0], stale[1], n_stale = home, target, 2
        saved += best
    return n, saved, looked
