"""Tiles grown by overlap where neurons are few: a step for every neuron, each over arrays of all of them.

What :mod:`neuromap.mapping.tile.cut.overlap_order` does item by item, in the same order. Dense populations have few
neurons and many items: the plain loop takes seconds for what is a hundred steps here; a compiler takes half a second.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.ragged import ragged_ranges

__all__ = ["grow_few"]

Ints = NDArray[np.int64]
_NEVER = np.iinfo(np.int64).max
_LATER = 2**40
"""Above any number of times that items are counted off."""


def grow_few(
    buckets: int, indptr: Ints, items: Ints, begin: Ints, readers: Ints, load: Ints, limits: tuple[int, int]
) -> Ints:
    """Order neurons tile by tile."""
    # shapes: load (n,)
    most_items, most_neurons = limits
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
            if wanted[chosen] == _NEVER:  # nothing that is related fits: the next that waits, if it does
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
            counted = readers[ragged_ranges(begin[new], begin[new + 1] - begin[new])]
            missing -= np.bincount(counted, minlength=n)
            latest = np.zeros(n, np.int64)
            latest[counted] = moment + np.arange(len(counted))  # the last time counts
            moment += len(counted)
            related = np.flatnonzero((latest > 0) & waiting & ~passed)
            urgency[related] = missing[related] * buckets // degree[related] * _LATER + (_LATER - 1 - latest[related])
        near = passed_first
    return np.array(order, np.int64)
