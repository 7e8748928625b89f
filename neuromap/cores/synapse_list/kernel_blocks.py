"""Layers cut into boxes, so that the axons of a core share the lists of a kernel.

Sources of a convolution at different positions feed a box of rows, columns and features in the same way but for a step,
except at its edges. A core that holds a box of many positions and few features therefore stores few lists, where it has
a chip whose axons may share them. Of all ways to cut a layer into equal boxes, the one with the fewest cores is taken,
then the one with the fewest axons.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product

import numpy as np
from numpy.typing import NDArray

from neuromap.cores.synapse_list.list_network import ListNetwork, NeuronGroups
from neuromap.cores.synapse_list.synapse_rows import in_lists
from neuromap.hardware.chip.chip_spec import ChipSpec

Ints = NDArray[np.int64]
_MOST_TRIED = 200
"""Ways to cut a layer that are looked at."""


def boxes(lists: ListNetwork, groups: NeuronGroups, chip: ChipSpec) -> Ints:
    """Give the groups of layers that can be cut into boxes a core each, numbered from 0; -1 for all others."""
    # shapes: returns (g,)
    core, used = np.full(len(groups), -1, np.int64), 0
    layers = list(zip(lists.network.populations, lists.offset.tolist(), strict=False))
    for population, begin in reversed(layers):  # so that the cores that read a layer are mostly known
        shape = population.shape
        if shape is None or shape[0] * shape[1] == 1:
            continue
        first, end = np.searchsorted(groups.neuron, (begin, begin + len(population.neurons))).tolist()
        mine = np.arange(first, end)  # of a layer that is read in part, the neurons that are
        inside = groups.neuron[mine] - begin
        ways = _readers(core, groups)[mine]
        for sizes in _cuts(mine, inside, shape, groups, chip):
            box = _box_of(shape, sizes, inside)
            if int(np.bincount(box, ways).max()) > chip.lists.output_axons:
                continue
            if all(_fits(mine[box == one], lists, groups, chip) for one in _hardest_first(int(box.max()) + 1)):
                core[mine] = used + box
                used += int(box.max()) + 1
                break
    return core


def _readers(core: Ints, groups: NeuronGroups) -> Ints:
    """Count the cores that read every group, those without a core yet taken as one, shape (g,)."""
    signal, _ = groups.read_in(core + 1)
    sender = groups.sender[signal]
    return np.bincount(sender[sender >= 0], minlength=len(groups))


def _cuts(
    mine: Ints, inside: Ints, shape: tuple[int, int, int], groups: NeuronGroups, chip: ChipSpec
) -> Iterator[tuple[int, ...]]:
    """List the sizes of boxes whose neurons and axons fit a core, those with the fewest cores first."""
    if not len(mine):
        return
    sizes = [sorted({-(-length // parts) for parts in range(1, length + 1)}) for length in shape]
    load = int(groups.load[mine].max())
    found = []
    for size in product(*sizes):
        n_boxes = math.prod(-(-length // one) for length, one in zip(shape, size, strict=True))
        if -(-len(mine) // n_boxes) * load > chip.neurons:
            continue
        held = np.bincount(_box_of(shape, size, inside))
        if int(held.max()) * load <= chip.neurons:
            found.append((len(held), size))
    found.sort()
    tried = []
    for n_boxes, size in found[:_MOST_TRIED]:
        is_read = np.zeros(groups.n_signals, np.bool_)
        is_read[groups.read_by(mine[_box_of(shape, size, inside) == n_boxes // 2])] = True
        axons = int(is_read.sum())
        if axons <= chip.axons:
            tried.append((n_boxes, axons, size))
    yield from (size for _, _, size in sorted(tried))


def _box_of(shape: tuple[int, int, int], size: tuple[int, ...], inside: Ints) -> Ints:
    """Give some neurons of a layer the numbers of their boxes, counted from 0 without those that hold none."""
    at = np.unravel_index(inside, shape)
    parts = [-(-length // one) for length, one in zip(shape, size, strict=True)]
    row, column, feature = (axis // one for axis, one in zip(at, size, strict=True))
    number = (row * parts[1] + column) * parts[2] + feature
    found: Ints = (np.cumsum(np.bincount(number) > 0) - 1)[number]
    return found


def _hardest_first(n_boxes: int) -> list[int]:
    """Boxes from the middle on: those at the edges read no more."""
    return sorted(range(n_boxes), key=lambda one: abs(one - n_boxes // 2))


def _fits(some: Ints, lists: ListNetwork, groups: NeuronGroups, chip: ChipSpec) -> bool:
    """Whether one core has the axons and the memory for some groups."""
    soma = groups.neuron[some]
    if lists.n_neurons > lists.n_somas:
        soma = np.flatnonzero(np.isin(lists.soma, soma))
    core = np.full(lists.n_neurons, -1, np.int64)
    core[soma] = 0
    slot = np.zeros(lists.n_neurons, np.int64)
    slot[soma] = np.arange(len(soma))
    columns = lists.signal, lists.weight, lists.delay
    table, signal = in_lists(lists.start, columns, core, slot, 1, lists.n_signals)
    other = chip.lists.other_memory(len(soma))
    return len(signal) <= chip.axons and int(table.bits(chip, other)[0]) + other <= chip.lists.synapse_memory_bits
