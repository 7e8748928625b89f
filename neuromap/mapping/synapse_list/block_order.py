"""Orders of nodes with rows and columns: blocks of near neurons, which read much the same, stand together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import adopted
from neuromap.mapping.synapse_list.fill_order import GroupOrder, fill_order
from neuromap.mapping.synapse_list.neuron_groups import NeuronGroups, Room

__all__ = ["Layer", "block_order"]

Ints = NDArray[np.int64]
Layer = tuple[int, tuple[int, int, int]]
"""First group of a node whose groups follow each other, and its rows, columns and features."""
TRIED = 8
"""Blocks of a layer that cores are filled with, of those that read the least by an estimate."""
_PARTS = (1, 2, 3, 4, 6, 8, 12, 16)
"""Into how many parts columns and features are divided."""


def block_order(layers: Sequence[Layer], groups: NeuronGroups, room: Room) -> GroupOrder:
    """Order groups by the blocks that take the fewest deliveries, layer by layer, and no more cores than rows do."""
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
                last = first  # what one of them reads all do
            read[groups.signal[groups.start[first] : groups.start[last + 1]]] = True
    return int(read.sum()) * (groups.start.size - 1) // (len(rows) * len(columns) * len(features))


def _part_of(groups: NeuronGroups, first: int, end: int) -> NeuronGroups:
    """Take some groups, with no signals before the first that they read nor after the last."""
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
    """Give sizes of blocks that a core has neurons for: any width and depth of some, as many rows as there can be."""
    rows, columns, features = shape
    for depth in sorted({-(-features // part) for part in _PARTS}, reverse=True):
        for width in sorted({-(-columns // part) for part in _PARTS}, reverse=True):
            if (height := min(rows, neurons // (depth * width))) > 0:
                yield -(-rows // -(-rows // height)), width, depth


def _in_blocks(shape: tuple[int, int, int], block: tuple[int, int, int]) -> GroupOrder:
    number = np.zeros(shape, np.int64)
    for axis in (2, 0, 1):  # along columns first, so that blocks that follow each other are near
        place = np.arange(shape[axis]) // block[axis]
        number = number * (int(place[-1]) + 1) + place.reshape([-1 if a == axis else 1 for a in range(3)])
    flat = number.ravel()
    return GroupOrder(np.argsort(flat, kind="stable"), np.cumsum(np.bincount(flat)))
