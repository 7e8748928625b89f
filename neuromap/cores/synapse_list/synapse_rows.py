"""Turn rows of synapses into the lists of cores, in loops that visit every synapse of a network once or twice.

Networks have a hundred million synapses, so nothing here sorts them: signals, cores and lists are small numbers, and
counting tells where each synapse goes. Arrays over all synapses are as narrow as their values allow.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from neuromap.arrays.array_types import Ints
from neuromap.arrays.packed_rows import rows_of_entries
from neuromap.cores.synapse_list.program import SynapseTable
from neuromap.loops import compiled_for, join_items, pays, read_only

SmallInts = NDArray[np.int32]


def narrow(values: NDArray[np.integer]) -> NDArray[np.integer]:
    """Store integers in 32 bits if all fit."""
    bound = np.iinfo(np.int32)
    fits = bound.min < int(values.min(initial=0)) and int(values.max(initial=0)) <= bound.max
    return values.astype(np.int32) if fits else values


# Who reads what.


def signals_read(
    start: Ints, signal: NDArray[np.integer], label: Ints, n_labels: int, n_signals: int
) -> tuple[Ints, SmallInts]:
    """Return where the signals of each label begin, and the signals its rows read, each once, ascending."""
    # label: (rows,): -1 for rows that are left out
    # shapes: start (rows + 1,), signal (s,); returns (n_labels + 1,), (p,)
    read = _read(start, signal, label, n_labels, n_signals)
    read.sort_indices()
    return read.indptr.astype(np.int64), read.indices.astype(np.int32)


def readers_of(
    start: Ints, signal: NDArray[np.integer], label: Ints, n_labels: int, n_signals: int
) -> tuple[Ints, Ints]:
    """List the distinct pairs of a signal and a label whose rows read it, by signal and then by label."""
    readers = _read(start, signal, label, n_labels, n_signals).tocsc()
    return rows_of_entries(readers.indptr.astype(np.int64)), readers.indices.astype(np.int64)


def _read(start: Ints, signal: NDArray[np.integer], label: Ints, n_labels: int, n_signals: int) -> csr_array:
    """Mark the signals that the rows of every label read."""
    if pays(len(signal)):
        begin, items = join_items(start, signal, label, n_labels, n_signals)
        return csr_array((np.ones(len(items), np.bool_), items, begin), shape=(n_labels, n_signals))
    # filling and merging cores makes many such calls: without compiled loops, a product is ten times as fast
    rows = csr_array((np.ones(len(signal), np.bool_), signal, start), shape=(len(label), n_signals))
    some = np.flatnonzero(label >= 0)
    return csr_array((np.ones(len(some), np.bool_), (label[some], some)), shape=(n_labels, len(label))) @ rows


# From synapses in any order to rows, and from rows to lists.


def in_rows(
    target: NDArray[np.integer], signal: NDArray[np.integer], delay: NDArray[np.integer], n_rows: int
) -> tuple[Ints, NDArray[np.integer]]:
    """Sort synapses stably by target, signal and delay; return where rows begin, and the order."""
    start = np.append(0, np.cumsum(np.bincount(target, minlength=n_rows))).astype(np.int64)
    order: NDArray[np.integer] = np.empty(len(target), np.int32 if len(target) < 2**31 else np.int64)
    step = int(delay.max(initial=0)) + 1
    compiled_for(_order_rows, len(target))(target, signal, delay, step, start, start[:-1].copy(), order)
    return start, order


def _order_rows(target: Any, signal: Any, delay: Any, step: int, start: Any, place: Any, order: Any) -> None:
    """Fill ``order``; most rows arrive sorted, as links and their matrices are."""
    for s in range(len(target)):
        order[place[target[s]]] = s
        place[target[s]] += 1
    for row in range(len(start) - 1):
        is_sorted, last = True, -1
        for k in range(start[row], start[row + 1]):
            key = np.int64(signal[order[k]]) * step + delay[order[k]]
            is_sorted &= last <= key
            last = key
        if not is_sorted:
            mine = order[start[row] : start[row + 1]].copy()
            keys = np.empty(len(mine), np.int64)
            for k in range(len(mine)):
                keys[k] = np.int64(signal[mine[k]]) * step + delay[mine[k]]
            order[start[row] : start[row + 1]] = mine[np.argsort(keys, kind="mergesort")]


def in_lists(
    start: Ints,
    columns: tuple[NDArray[np.integer], NDArray[np.integer], NDArray[np.integer]],
    core: Ints,
    slot: Ints,
    n_cores: int,
    n_signals: int,
) -> tuple[SynapseTable, Ints]:
    """Build the lists of all cores, one per signal that a core reads, by delay and slot; also return their signals."""
    # columns: signal, weight and delay of every synapse; core: (rows,), -1 for rows that are left out
    signal, weight, delay = columns
    axons, list_signal = signals_read(start, signal, core, n_cores, n_signals)
    rows = np.lexsort((slot, core))
    rows = rows[np.searchsorted(core[rows], 0) :]
    first = np.searchsorted(core[rows], np.arange(n_cores + 1))
    lists = np.zeros(len(list_signal) + 1, np.int64)
    table = read_only(rows, first, axons, list_signal, start, signal)
    place, has_delay = np.zeros(n_signals, np.int64), np.zeros(256, np.bool_)
    compiled_for(_count_lists, len(signal))(table, *read_only(delay), place, lists, has_delay)
    np.cumsum(lists, out=lists)
    size = int(lists[-1])
    found = np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size, np.uint8)
    delays = np.flatnonzero(has_delay)
    fill = compiled_for(_fill_lists, len(signal) * len(delays))
    fill(table, *read_only(weight, delay, delays, slot), place, lists[:-1].copy(), found)
    return SynapseTable(axons, lists, *found), list_signal.astype(np.int64)


def _count_lists(table: Any, delay: Any, place: Any, lists: Any, has_delay: Any) -> None:
    """Count the synapses of list l in ``lists[l + 1]``, and mark the delays that occur."""
    rows, first, axons, list_signal, start, signal = table
    for core in range(len(first) - 1):
        for one in range(axons[core], axons[core + 1]):
            place[list_signal[one]] = one
        for k in range(first[core], first[core + 1]):
            for s in range(start[rows[k]], start[rows[k] + 1]):
                lists[place[signal[s]] + 1] += 1
                has_delay[delay[s]] = True


def _fill_lists(table: Any, weight: Any, delay: Any, delays: Any, slot: Any, place: Any, end: Any, found: Any) -> None:
    """Put every synapse after those of its list with a shorter delay or an earlier slot."""
    rows, first, axons, list_signal, start, signal = table
    of_neuron, of_weight, of_delay = found
    for core in range(len(first) - 1):
        for one in range(axons[core], axons[core + 1]):
            place[list_signal[one]] = one
        for now in delays:
            for k in range(first[core], first[core + 1]):
                row = rows[k]
                for s in range(start[row], start[row + 1]):
                    if delay[s] == now:
                        at = end[place[signal[s]]]
                        end[place[signal[s]]] += 1
                        of_neuron[at], of_weight[at], of_delay[at] = slot[row], weight[s], now
