"""Partition for many-target cores: the core of every neuron, and its place within.

A core has limited neurons, axons (distinct signals that its neurons read), bits of synapses, and output axons (pairs of
one of its neurons and a core that reads it). A neuron has one place: there are no copies.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.array_types import Ints, Words
from neuromap.arrays.frozen import ReadOnly
from neuromap.arrays.value import Value
from neuromap.cores.synapse_list.grow_order import GroupOrder, Layer, block_order, fill_order, grow_order
from neuromap.cores.synapse_list.list_network import ListNetwork, NeuronGroups, Room, floors_of, neuron_groups, room_of
from neuromap.cores.synapse_list.move_groups import move_groups
from neuromap.cores.synapse_list.pinned import Fixed, free_groups, require_held
from neuromap.cores.synapse_list.synapse_rows import in_lists, readers_of
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.mapping.legalise.legalised import Legalised
from neuromap.mapping.options.budget import NO_LIMIT, Budget
from neuromap.mapping.options.infeasibility import Limit, Remedy, count_cores, refuse, refuse_core_count
from neuromap.network.spiking_neuron import NO_FLOOR

# Most ways to cut a layer that are tried.
_MOST_TRIED = 200


def boxes(lists: ListNetwork, groups: NeuronGroups, chip: ChipSpec) -> Ints:
    """Cut layers into boxes that fit a core each; return every group's box, from 0, or -1 if its layer is not cut."""
    # shapes: returns (g,)
    core, used = np.full(len(groups), -1, np.int64), 0
    layers = list(zip(lists.network.populations, lists.offset.tolist(), strict=False))
    for population, begin in reversed(layers):  # so that the cores that read a layer are mostly known
        shape = population.shape
        if shape is None or shape[0] * shape[1] == 1:
            continue
        first, end = np.searchsorted(groups.neuron, (begin, begin + len(population.neurons))).tolist()
        mine = np.arange(first, end)  # of a layer that is read in part, only the neurons read
        inside = groups.neuron[mine] - begin
        ways = _readers(core, groups)[mine]
        for sizes in _cuts(mine, inside, shape, groups, chip):
            box = _box_of(shape, sizes, inside)
            if int(np.bincount(box, ways).max()) > chip.lists.output_axons:
                continue
            n_boxes = int(box.max()) + 1
            hardest_first = sorted(range(n_boxes), key=lambda one: abs(one - n_boxes // 2))  # those at edges read less
            if all(_fits(mine[box == one], lists, groups, chip) for one in hardest_first):
                core[mine] = used + box
                used += n_boxes
                break
    return core


def _readers(core: Ints, groups: NeuronGroups) -> Ints:
    """Count the cores that read every group, all readers without a core yet as one, shape (g,)."""
    signal, _ = groups.read_in(core + 1)
    sender = groups.sender[signal]
    return np.bincount(sender[sender >= 0], minlength=len(groups))


def _cuts(
    mine: Ints, inside: Ints, shape: tuple[int, int, int], groups: NeuronGroups, chip: ChipSpec
) -> Iterator[tuple[int, ...]]:
    """Yield the sizes of boxes whose neurons and axons fit a core, those with the fewest cores first."""
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
    """Return the boxes of some neurons of a layer, numbered from 0 without empty ones."""
    at = np.unravel_index(inside, shape)
    parts = [-(-length // one) for length, one in zip(shape, size, strict=True)]
    row, column, feature = (axis // one for axis, one in zip(at, size, strict=True))
    number = (row * parts[1] + column) * parts[2] + feature
    found: Ints = (np.cumsum(np.bincount(number) > 0) - 1)[number]
    return found


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


@dataclass(frozen=True, eq=False)
class ListPartition(ReadOnly, Value):
    """Core and slot of every neuron."""

    lists: ListNetwork  # neurons and synapses
    # core, slot: (n,): core of every compartment, and its number within the core; -1 where it is not computed
    core: Ints
    slot: Ints
    n_cores: int  # cores in use

    @property
    def network(self) -> Legalised:
        """Populations and links in ticks."""
        return self.lists.network

    def placed(self, values: NDArray[Any], n_slots: int, nothing: int = 0, dtype: Any = np.int32) -> NDArray[Any]:
        """Write values of neurons at their places, shape (cores, n_slots), and ``nothing`` at all others."""
        # shapes: values (n_somas,)
        somas = np.flatnonzero(self.lists.is_computed[: self.lists.n_somas])
        table = np.full((self.n_cores, n_slots), nothing, dtype)
        table[self.core[somas], self.slot[somas]] = values[somas]
        return table

    def joined(self, n_slots: int) -> NDArray[np.int32] | None:
        """Return the slot of the neuron that each further compartment belongs to, -1 for none; None without any."""
        # shapes: returns (cores, n_slots)
        more = np.flatnonzero(self.lists.is_computed[self.lists.n_somas :]) + self.lists.n_somas
        if not len(more):
            return None
        joined = np.full((self.n_cores, n_slots), -1, np.int32)
        joined[self.core[more], self.slot[more]] = self.slot[self.lists.soma[more]]
        return joined

    def held(self, population: int) -> tuple[int, int]:
        """Return the most copies of any neuron of a population, and the number of cores that hold some."""
        start, stop = self.lists.offset[population : population + 2]
        cores = np.unique(self.core[start:stop])
        n_cores = int((cores >= 0).sum())
        return int(n_cores > 0), n_cores


def fill_cores(
    lists: ListNetwork,
    chip: ChipSpec,
    *,
    by_number: bool = False,
    runs: int = 1,
    in_boxes: bool = False,
    is_dense: bool = False,
    budget: Budget = NO_LIMIT,
    fixed: Fixed | None = None,
) -> ListPartition:
    """Partition the computed neurons into cores with few deliveries."""
    # by_number: keep the order of the neurons
    # runs: most runs of a list, for which room is reserved
    # in_boxes: whether layers are cut into boxes that share lists
    # is_dense: whether synapses are counted as in dense lists, which the caller must then ensure
    # Deliveries are at most those in the order of the neurons.
    groups, room = neuron_groups(lists, chip, is_dense=is_dense), room_of(chip, runs, is_dense=is_dense)
    _require_groups_fit(lists, groups, chip, room)

    floor = floors_of(lists, chip)

    def fill(some: NeuronGroups) -> Ints:
        if floor is not None and len(kinds := np.unique(of := floor[some.neuron])) > 1:
            return _apart(some, np.searchsorted(kinds, of), fill)
        if by_number:
            return settle(number_order(some), some, room)[0]
        return partition_groups(some, room, _layers(lists, some), budget)

    label = boxes(lists, groups, chip) if in_boxes else None
    if fixed is not None:
        label = fixed.label[groups.neuron]
    core = fill(groups) if label is None else _around(groups, label, fill)
    if fixed is not None:
        require_held(core, fixed.label[groups.neuron], groups, lists, chip)
    parts = with_slots(lists, groups, core)
    _require_outputs(parts, groups, chip)
    require_one_floor(parts, chip)
    if parts.n_cores > chip.n_usable_cores:
        raise refuse_core_count(parts.n_cores, chip.n_usable_cores, chip.name)
    return parts


def _around(groups: NeuronGroups, label: Ints, fill: Callable[[NeuronGroups], Ints]) -> Ints:
    """Give each label a core, and neurons without a label further cores."""
    # shapes: label, returns (g,)
    is_free = label < 0
    core = np.unique(np.where(is_free, label.max(), label), return_inverse=True)[1].astype(np.int64)
    if is_free.any():
        core[is_free] = len(np.unique(label[~is_free])) + fill(free_groups(groups, is_free))
    return core


def _apart(groups: NeuronGroups, kind: Ints, fill: Callable[[NeuronGroups], Ints]) -> Ints:
    """Give each kind of groups its own cores."""
    # shapes: kind, returns (g,)
    core, n_cores = np.empty(len(groups), np.int64), 0
    for one in range(int(kind.max()) + 1):
        core[kind == one] = n_cores + fill(free_groups(groups, kind == one))
        n_cores = int(core[kind == one].max()) + 1
    return core


def require_one_floor(parts: ListPartition, chip: ChipSpec) -> None:
    """Refuse a core whose neurons have different floors, if cores have one for all."""
    lists = parts.lists
    if (floor := floors_of(lists, chip)) is None:
        return
    somas = np.flatnonzero(parts.core[: lists.n_somas] >= 0)
    core, first = np.unique(parts.core[somas], return_index=True)
    other = floor[somas[first]][np.searchsorted(core, parts.core[somas])]
    if (wrong := np.flatnonzero(floor[somas] != other)).size:
        said = [f"{one}" if one != NO_FLOOR else "none" for one in (floor[somas][wrong[0]], other[wrong[0]])]
        text = f"its voltages have a floor of {said[0]} and others of its core one of {said[1]}; a core of {chip.name}"
        advice = Remedy("pins.neurons", None, "different cores for different floors would do")
        raise refuse("neuron", lists.node_of(int(somas[wrong[0]])), 1, 0, f"{text} has one", [advice])


def _require_groups_fit(lists: ListNetwork, groups: NeuronGroups, chip: ChipSpec, room: Room) -> None:
    """Refuse a neuron that no core holds, with the reserved runs: filling would never end."""
    axons = np.diff(groups.start)
    bits = axons * room.list_bits + groups.synapses * room.synapse_bits
    wrong = (groups.load > chip.neurons) | (axons > chip.axons) | (bits > room.memory)
    if not wrong.any():
        return
    one = int(np.argmax(wrong))
    neuron = int(groups.neuron[one])
    each = "current" if lists.neurons[lists.population_of(neuron)].apart is None else "synapse"
    limits: tuple[tuple[Limit, Any, int, str, str, str], ...] = (
        ("neuron", groups.load[one], chip.neurons, "neurons", "neurons", f"compartments, one for each {each}"),
        ("axons", axons[one], chip.axons, "axons", "axons", "axons"),
        ("synapse_memory", bits[one], room.memory, "synapse_memory_bits", "bits of synapses", "bits of synapses"),
    )
    for limit, found, bound, figure, unit, needed in limits:
        if (demand := int(found)) > bound:
            text = f"one neuron needs {demand} {needed}, a {chip.name} core has {bound}"
            advice = Remedy(f"chip.{figure}", demand, f"a core with {demand} {unit} would hold it")
            raise refuse(limit, lists.node_of(neuron), demand, bound, text, [advice])


def _layers(lists: ListNetwork, groups: NeuronGroups) -> list[Layer]:
    """List the nodes with rows or columns of which every neuron is computed."""
    found: list[Layer] = []
    for population, begin in zip(lists.network.populations, lists.offset.tolist(), strict=False):
        first, end = np.searchsorted(groups.neuron, (begin, begin + len(population.neurons))).tolist()
        shape = population.shape
        if shape is not None and shape[0] * shape[1] > 1 and end - first == shape[0] * shape[1] * shape[2]:
            found.append((first, shape))
    return found


def with_slots(
    lists: ListNetwork, groups: NeuronGroups, core: Ints, last: NDArray[np.float64] | None = None
) -> ListPartition:
    """Assign compartments slots in their cores: neuron by neuron, the soma before its further currents."""
    # last: (g,): sort key of the groups within a core; without it they keep their order
    of_neuron = np.full(lists.n_somas, -1, np.int64)
    of_neuron[groups.neuron] = core
    where = np.where(lists.is_computed, of_neuron[lists.soma], -1)
    key = np.zeros(lists.n_somas)
    key[groups.neuron] = 0.0 if last is None else last
    order = np.lexsort((np.arange(lists.n_neurons), lists.soma, key[lists.soma], where))[int((where < 0).sum()) :]
    slot = np.full(lists.n_neurons, -1, np.int64)
    slot[order] = np.arange(len(order)) - np.searchsorted(where[order], where[order])
    return ListPartition(lists, where, slot, int(core.max(initial=0)) + 1)


def _require_outputs(parts: ListPartition, groups: NeuronGroups, chip: ChipSpec) -> None:
    """Refuse a core that lacks output axons: of one neuron, or one filled apart, whose readers were not known."""
    used = np.bincount(parts.core[ways(parts)[0]], minlength=parts.n_cores)
    core, bound = parts.core[groups.neuron], chip.lists.output_axons
    if used.max(initial=0) <= bound:
        return
    alone = np.flatnonzero((used > bound) & (np.bincount(core, minlength=parts.n_cores) == 1))
    one = int(alone[0]) if len(alone) else int(used.argmax())
    demand = int(used[one])
    text = f"its core needs {demand} output axons, one of {chip.name} has {bound}"
    if len(alone):
        text = f"one neuron is read in {count_cores(demand)}, a {chip.name} core has {bound} output axons"
    advice = Remedy("chip.output_axons", demand, f"a core with {demand} output axons would do")
    node = parts.lists.node_of(int(groups.neuron[core == one][0]))
    raise refuse("output_axons", node, demand, bound, text, [advice])


def ways(parts: ListPartition) -> tuple[Ints, Ints]:
    """List the pairs of a neuron and a core that reads it, each once, ordered by neuron."""
    # shapes: neuron, core (w,)
    lists = parts.lists
    signal, core = readers_of(lists.start, lists.signal, parts.core, parts.n_cores, lists.n_signals)
    sent = slice(int(np.searchsorted(signal, lists.n_neurons)))
    return signal[sent], core[sent]


def wires_of(parts: ListPartition) -> tuple[Ints, Ints]:
    """List source and target cores of spikes: each pair of a neuron and a core that reads it once."""
    source, target = ways(parts)
    return parts.core[source], target


# From groups to cores: the best of a few orders, refined.
#
# The orders are that of the neurons, blocks of rows, columns and features, and cores grown by shared signals. They are
# compared by deliveries: pairs of a signal and a core that reads it. No order may take more cores than the first.


# Share of the compartments that a core keeps if its output axons do not suffice.
SHRINK = 0.75
# Share of the deliveries in the order of the neurons above which cores are grown, too.
ENOUGH = 0.95
# Signals of cores times readers up to which cores are grown; some minutes.
MOST_GROWTH = 40_000_000_000
# Of these, how many are surely visited in a second; growth that would exceed the time left is not begun.
GROWN_PER_SECOND = 50_000_000


def partition_groups(groups: NeuronGroups, room: Room, layers: Sequence[Layer] = (), budget: Budget = NO_LIMIT) -> Ints:
    """Partition groups into cores with few deliveries."""
    # budget: ends the search for fewer deliveries; the order of the neurons is filled in any case
    # Returns the core of every group, numbered by their first groups. Deliveries are at most those of the order of the
    # neurons where that order is possible; a core may then still lack output axons, as it may where no order is
    # shapes: returns (g,)
    first = settle(number_order(groups), groups, room)
    if first.n_cores == 1:
        return first.core
    if first.stuck < 0 and budget.is_over("filling"):
        return first.core
    best = first
    for order in _block_orders(groups, room, layers):
        best = _better(best, order, groups, room, first, budget)
        if best.stuck < 0 and budget.is_over("filling"):
            break
    work = first.deliveries * len(groups.signal) / max(1, groups.n_signals)  # is there time for it? If not, all ends
    may_grow = work < MOST_GROWTH and best.deliveries > ENOUGH * first.deliveries
    if may_grow and not budget.is_over("filling", work / GROWN_PER_SECOND):
        best = _better(best, grow_order(groups, room), groups, room, first, budget)
    if best.stuck >= 0:
        return first.core
    return merge_cores(move_groups(best.core, groups, room, best.deliveries, budget), groups, room, budget)


class Filled(NamedTuple):
    """Result of filling cores in an order."""

    core: Ints  # (g,)
    stuck: int  # a group that no core has the output axons for, or -1
    deliveries: int

    @property
    def n_cores(self) -> int:
        """Cores in use."""
        return int(self.core.max(initial=0)) + 1


def _better(best: Filled, order: GroupOrder, groups: NeuronGroups, room: Room, first: Filled, budget: Budget) -> Filled:
    """Fill cores in another order; return the result if it is better, else the best so far."""
    found = settle(order, groups, room)
    if found.stuck < 0 and first.stuck < 0 and found.n_cores > first.n_cores:
        core = merge_cores(found.core, groups, room, budget)
        core = empty_cores(core, groups, room, first.n_cores, budget)
        found = Filled(core, -1, groups.deliveries(core))
        if found.n_cores > first.n_cores or _crowded(core, groups, room, found.deliveries):
            return best
    if found.stuck >= 0 or (best.stuck < 0 and found.deliveries >= best.deliveries):
        return best
    return found


def _block_orders(groups: NeuronGroups, room: Room, layers: Sequence[Layer]) -> Iterator[GroupOrder]:
    if layers:
        blocks = block_order(layers, groups, room)
        yield blocks
        yield GroupOrder(blocks.groups, np.arange(1, len(groups) + 1))  # cores are filled up with parts of blocks


def number_order(groups: NeuronGroups) -> GroupOrder:
    """Return the order of the neurons, without blocks."""
    return GroupOrder(np.arange(len(groups)), np.arange(1, len(groups) + 1))


def settle(order: GroupOrder, groups: NeuronGroups, room: Room) -> Filled:
    """Fill cores in an order, with fewer neurons where output axons do not suffice."""
    most = np.full(len(groups), room.neurons, np.int64)
    while True:
        core, deliveries = fill_order(order, groups, room, most)
        crowded = _crowded(core, groups, room, deliveries)
        for one in crowded:
            mine = np.flatnonzero(core == one)
            if len(mine) == 1:
                return Filled(core, int(mine[0]), deliveries)
            load = groups.load[mine]
            most[mine] = np.minimum(most[mine], max(int(load.max()), int(SHRINK * load.sum())))
        if not crowded:
            return Filled(core, -1, deliveries)


def _crowded(core: Ints, groups: NeuronGroups, room: Room, deliveries: int) -> list[int]:
    """List the cores that lack output axons."""
    if deliveries <= room.output_axons:
        return []
    sender = groups.sender[groups.read_in(core)[0]]
    used = np.bincount(core[sender[sender >= 0]])
    return np.flatnonzero(used > room.output_axons).tolist()  # type: ignore[no-any-return]


# Merge cores that fit into one, and empty small ones: the ends of nodes or blocks leave cores that are not full.
# Groups times cores times signals up to which cores are emptied; some seconds.
WORK = 20_000_000
# Most cores tried with each other: those with the fewest compartments.
MOST = 64


def merge_cores(core: Ints, groups: NeuronGroups, room: Room, budget: Budget = NO_LIMIT) -> Ints:
    """Merge cores while two fit into one, those that share most signals first."""
    # Deliveries do not increase.
    # shapes: core (g,); returns (g,)
    core = core.copy()
    n_cores = int(core.max()) + 1
    used = np.bincount(core, groups.load, n_cores).astype(np.int64)
    small = np.argsort(used, kind="stable")[:MOST]
    small = small[used[small] <= room.neurons - used[small].min()]
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
    """Empty the smallest cores, group by group, into others, until few enough are left or a group fits nowhere."""
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
    reads = {c: set(groups.read_by(np.flatnonzero(core == c)).tolist()) for c in kept.tolist()}
    for g in moved.tolist():
        mine = set(groups.signal[groups.start[g] : groups.start[g + 1]].tolist())
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


def _row_of_bits(mine: Ints, groups: NeuronGroups) -> Words:
    """Mark the signals that some groups read, one bit each."""
    is_read = np.zeros(-(-groups.n_signals // 64) * 64, bool)
    is_read[groups.read_by(mine)] = True
    return np.packbits(is_read).view(np.uint64)


def _has_outputs(core: Ints, one: int, other: int, groups: NeuronGroups, room: Room) -> bool:
    """Whether the output axons suffice for two cores merged into one."""
    if len(groups.signal) <= room.output_axons:
        return True
    core = np.where(core == other, one, core)
    sender = groups.sender[groups.read_in(core)[0]]
    return int(((sender >= 0) & (core[sender] == one)).sum()) <= room.output_axons
