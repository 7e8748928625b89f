"""Compiled loops over spikes that leave for other ranks or come from there.

All of the compiled code is in this file, because Numba's cache on disk looks at the file of an entry point only. It is
imported when ranks run, and never before: Numba is slow to import.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from neuromap.compiling.numba_cache import cached

__all__ = ["PostKernel", "post_kernel"]

_PLACE = (1 << 40) - 1


class PostKernel(NamedTuple):
    """Entry points."""

    # of spikes (neurons as ``core * N + neuron``, and ticks of the block), the first wire of every neuron (empty where
    # none has two), the wires (``peer << 40 | place``; -1 for a neuron without), the ticks of the block and the number
    # of ranks: records ordered by rank, and where those of each rank begin, shape (R + 1,). In place of the ticks of
    # the block their bits are given. A place has the core on its rank, the axon and the delay, from the highest bits
    # on; a record has the place, and the tick in its lowest bits
    pack: Any
    # of records, the bits of a tick, an axon and a delay, and the ticks that are asked for: cores and axons in the
    # order in which they are due, and how many are due in each tick from the block's first on
    unpack: Any


def _pack(neurons, ticks, start, wires, tick_bits, n_ranks):  # type: ignore[no-untyped-def]
    # a load per spike that waits for no other one: the tables are larger than caches
    fans_out = len(start) > 0
    n = 0
    if fans_out:
        for neuron in neurons:
            n += start[neuron + 1] - start[neuron]
    else:
        n = len(neurons)
    found, tick = np.empty(n, np.int64), np.empty(n, np.int64)
    n = 0
    for spike in range(len(neurons)):
        neuron = neurons[spike]
        first, last = (start[neuron], start[neuron + 1]) if fans_out else (neuron, neuron + 1)
        for wire in range(first, last):
            found[n], tick[n] = wires[wire], ticks[spike]
            n += 1
    begin = np.zeros(n_ranks + 2, np.int64)  # neurons without a wire first
    for k in range(n):
        begin[(found[k] >> 40) + 2] += 1
    begin = np.cumsum(begin)
    none = begin[1]
    place = begin[1:].copy() - none
    records = np.empty(n - none, np.int64)
    for k in range(n):
        peer = found[k] >> 40
        if peer >= 0:
            records[place[peer]] = (found[k] & _PLACE) << tick_bits | tick[k]
            place[peer] += 1
    return records, begin[1:] - none


def _unpack(records, tick_bits, axon_bits, delay_bits, span):  # type: ignore[no-untyped-def]
    counts = np.zeros(span + 1, np.int64)
    found, due = np.empty(len(records), np.int64), np.empty(len(records), np.int64)
    for k in range(len(records)):
        record = np.int64(records[k])
        place = record >> tick_bits
        found[k] = place >> delay_bits
        due[k] = (record & ((1 << tick_bits) - 1)) + (place & ((1 << delay_bits) - 1))
        counts[due[k] + 1] += 1
    first = np.cumsum(counts)
    cores, axons = np.empty(len(records), np.int32), np.empty(len(records), np.int32)
    for k in range(len(records)):
        at = first[due[k]]
        cores[at], axons[at] = found[k] >> axon_bits, found[k] & ((1 << axon_bits) - 1)
        first[due[k]] = at + 1
    return cores, axons, counts[1:]


@cache
def post_kernel() -> PostKernel:
    """Entry points for this machine; they compile when they are first called."""
    return PostKernel(cached(_pack), cached(_unpack))
