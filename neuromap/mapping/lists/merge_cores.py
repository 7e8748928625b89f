"""Merge cores that fit one and empty small ones: where nodes or blocks end, cores are left that are not full."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.ragged import ragged_ranges
from neuromap.mapping.asked.budget import NO_LIMIT, Budget
from neuromap.mapping.lists.neuron_groups import NeuronGroups, Room

__all__ = ["empty_cores", "merge_cores"]

Ints = NDArray[np.int64]
WORK = 20_000_000
"""Groups times cores times signals up to which cores are emptied; some seconds."""
MOST = 64
"""Cores that are tried with each other: those with the fewest compartments."""


def merge_cores(core: Ints, groups: NeuronGroups, room: Room, budget: Budget = NO_LIMIT) -> Ints:
    """Merge cores as long as two fit one; the two that share most signals come first."""
    # gives it takes at most as many deliveries
    # shapes: core (g,); returns (g,)
    core = core.copy()
    n_cores = int(core.max()) + 1
    used = np.bincount(core, groups.load, n_cores).astype(np.int64)
    small = np.argsort(used, kind="stable")[:MOST]
    small = small[2 * used[small] <= 2 * room.neurons - used[small].min()]
    held = np.bincount(core, groups.synapses, n_cores).astype(np.int64)
    reads = {c: _row_of_bits(np.flatnonzero(core == c), groups) for c in small.tolist()}
    n_read = {c: int(np.bitwise_count(row).sum()) for c, row in reads.items()}
    in_common: dict[tuple[int, int], int] = {}
    while True:
        best, pair = -1, (0, 0)
        for one in () if budget.is_over("filling") else reads:
            for other in reads:
                if one < other and used[one] + used[other] <= room.neurons:
                    if (one, other) not in in_common:
                        in_common[one, other] = int(np.bitwise_count(reads[one] & reads[other]).sum())
                    shared = in_common[one, other]
                    n_axons = n_read[one] + n_read[other] - shared
                    bits = n_axons * room.list_bits + int(held[one] + held[other]) * room.synapse_bits
                    fits = n_axons <= room.axons and bits <= room.memory
                    if shared > best and fits and _has_outputs(core, one, other, groups, room):
                        best, pair = shared, (one, other)
        if best < 0:
            return np.unique(core, return_inverse=True)[1].astype(np.int64)
        one, other = pair
        core[core == other] = one
        used[one] += used[other]
        held[one] += held[other]
        reads[one] |= reads.pop(other)
        n_read[one] += n_read.pop(other) - best
        in_common = {pair: shared for pair, shared in in_common.items() if one not in pair and other not in pair}


def empty_cores(core: Ints, groups: NeuronGroups, room: Room, wanted: int, budget: Budget = NO_LIMIT) -> Ints:
    """Empty the smallest cores, group by group, into those with room, until there are few enough or it fails."""
    # shapes: core (g,); returns (g,)
    core, n_cores = core.copy(), int(core.max()) + 1
    used = np.bincount(core, groups.load, n_cores).astype(np.int64)
    held = np.bincount(core, groups.synapses, n_cores).astype(np.int64)
    order = np.argsort(used, kind="stable")
    gone, kept = order[: max(0, n_cores - wanted)], order[max(0, n_cores - wanted) :]
    moved = np.flatnonzero(np.isin(core, gone))
    kept = kept[used[kept] < room.neurons]
    if int(np.diff(groups.start)[moved].sum()) * len(kept) > WORK:
        return core
    reads = {c: _reads(np.flatnonzero(core == c), groups) for c in kept.tolist()}
    for g in moved.tolist():
        mine = _reads(np.array([g]), groups)
        target, least = -1, room.axons + 1
        for c, known in reads.items():
            fresh = len(mine - known)
            bits = (len(known) + fresh) * room.list_bits + int(held[c] + groups.synapses[g]) * room.synapse_bits
            full = used[c] + groups.load[g] > room.neurons or len(known) + fresh > room.axons or bits > room.memory
            if not full and fresh < least:
                target, least = c, fresh
        if target < 0 or budget.is_over("filling"):
            break
        core[g] = target
        used[target] += groups.load[g]
        held[target] += groups.synapses[g]
        reads[target] |= mine
    return np.unique(core, return_inverse=True)[1].astype(np.int64)


def _row_of_bits(mine: Ints, groups: NeuronGroups) -> NDArray[np.uint64]:
    """Mark the signals that some groups read, a bit each."""
    length = groups.start[mine + 1] - groups.start[mine]
    is_read = np.zeros(-(-groups.n_signals // 64) * 64, bool)
    is_read[groups.signal[ragged_ranges(groups.start[mine], length)]] = True
    return np.packbits(is_read).view(np.uint64)


def _reads(mine: Ints, groups: NeuronGroups) -> set[int]:
    length = groups.start[mine + 1] - groups.start[mine]
    return set(groups.signal[ragged_ranges(groups.start[mine], length)].tolist())


def _has_outputs(core: Ints, one: int, other: int, groups: NeuronGroups, room: Room) -> bool:
    """Ask whether the output axons suffice for two cores in one."""
    if len(groups.signal) <= room.output_axons:
        return True
    core = np.where(core == other, one, core)
    sender = groups.sender[groups.read_in(core)[0]]
    return int(((sender >= 0) & (core[sender] == one)).sum()) <= room.output_axons
