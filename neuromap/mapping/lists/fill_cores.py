"""The partition of many-target cores: which neuron is in which core, and where within it.

A core holds so many neurons, axons (different signals that its neurons read), bits of synapses, and output axons (pairs
of one of its neurons and a core that reads it). A neuron has one place: there are no copies.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.distinct import distinct
from neuromap.arrays.frozen import freeze_arrays
from neuromap.arrays.value import Value
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.mapping.asked.budget import NO_LIMIT, Budget
from neuromap.mapping.legalise.legalised import Legalised
from neuromap.mapping.lists.block_order import Layer
from neuromap.mapping.lists.list_network import ListNetwork
from neuromap.mapping.lists.neuron_groups import NeuronGroups, neuron_groups, room_of
from neuromap.mapping.lists.partition_groups import number_order, partition_groups, settle
from neuromap.mapping.refused.infeasible import Limit, Remedy, count_cores, refuse

__all__ = ["ListPartition", "fill_cores", "ways"]

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ListPartition(Value):
    """Where every neuron is."""

    lists: ListNetwork  # neurons and synapses
    # core, slot: (n,): core of every compartment, and its number within the core; -1 where it is not computed
    core: Ints
    slot: Ints
    n_cores: int  # cores in use

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @property
    def network(self) -> Legalised:
        """Populations and links in ticks."""
        return self.lists.network


def fill_cores(
    lists: ListNetwork, chip: ChipSpec, *, by_number: bool = False, budget: Budget = NO_LIMIT
) -> ListPartition:
    """Put the neurons that are computed into cores with few deliveries."""
    # by_number: keep the order of the neurons
    # gives deliveries are at most those in the order of the neurons
    groups, room = neuron_groups(lists), room_of(chip)
    _require_groups_fit(lists, groups, chip)
    core = (
        settle(number_order(groups), groups, room)[0]
        if by_number
        else partition_groups(groups, room, _layers(lists, groups), budget)
    )
    parts = _with_slots(lists, groups, core)
    _require_outputs(parts, groups, chip)
    if parts.n_cores > chip.n_usable_cores:
        raise _refuse_cores(parts, chip)
    return parts


def _require_groups_fit(lists: ListNetwork, groups: NeuronGroups, chip: ChipSpec) -> None:
    axons = np.diff(groups.start)
    bits = axons * chip.lists.list_bits + groups.synapses * chip.lists.synapse_bits
    wrong = (groups.load > chip.neurons) | (axons > chip.axons) | (bits > chip.lists.synapse_memory_bits)
    if not wrong.any():
        return
    one = int(np.argmax(wrong))
    neuron = int(groups.neuron[one])
    if groups.load[one] > chip.neurons:
        raise _refuse_compartments(lists, neuron, int(groups.load[one]), chip)
    raise _refuse_neuron(lists, neuron, int(axons[one]), int(bits[one]), chip)


def _layers(lists: ListNetwork, groups: NeuronGroups) -> list[Layer]:
    """List the nodes with rows or columns of which every neuron is computed."""
    found: list[Layer] = []
    for population, begin in zip(lists.network.populations, lists.offset.tolist(), strict=False):
        first, end = np.searchsorted(groups.neuron, (begin, begin + len(population.neurons))).tolist()
        shape = population.shape
        if shape is not None and shape[0] * shape[1] > 1 and end - first == shape[0] * shape[1] * shape[2]:
            found.append((first, shape))
    return found


def _with_slots(lists: ListNetwork, groups: NeuronGroups, core: Ints) -> ListPartition:
    """Give every compartment its number in its core: neuron by neuron, the soma before its further currents."""
    of_neuron = np.full(lists.n_somas, -1, np.int64)
    of_neuron[groups.neuron] = core
    where = np.where(lists.is_computed, of_neuron[lists.soma], -1)
    order = np.lexsort((np.arange(lists.n_neurons), lists.soma, where))[int((where < 0).sum()) :]
    slot = np.full(lists.n_neurons, -1, np.int64)
    slot[order] = np.arange(len(order)) - np.searchsorted(where[order], where[order])
    return ListPartition(lists, where, slot, int(core.max(initial=0)) + 1)


def _require_outputs(parts: ListPartition, groups: NeuronGroups, chip: ChipSpec) -> None:
    neuron, _ = ways(parts)
    used = np.bincount(parts.core[neuron], minlength=parts.n_cores)
    for one in np.flatnonzero(used > chip.lists.output_axons).tolist():
        mine = groups.neuron[parts.core[groups.neuron] == one]
        if len(mine) == 1:
            raise _refuse_outputs(parts, int(mine[0]), chip)


def ways(parts: ListPartition) -> tuple[Ints, Ints]:
    """List the pairs of a neuron and a core that reads it, each once, ordered by neuron."""
    # shapes: neuron, core (w,)
    lists = parts.lists
    on_chip = lists.signal < lists.n_neurons
    pair = lists.signal[on_chip] * parts.n_cores + parts.core[lists.target[on_chip]]
    neuron, core = np.divmod(distinct(pair), parts.n_cores)
    return neuron, core


def _refuse_compartments(lists: ListNetwork, neuron: int, demand: int, chip: ChipSpec) -> Exception:
    text = f"one neuron needs {demand} compartments, one for each current, a {chip.name} core has {chip.neurons}"
    advice = Remedy("chip.neurons", demand, f"a core with {demand} neurons would hold it")
    return refuse("neuron", lists.node_of(neuron), demand, chip.neurons, text, [advice])


def _refuse_neuron(lists: ListNetwork, neuron: int, axons: int, bits: int, chip: ChipSpec) -> Exception:
    node, memory = lists.node_of(neuron), chip.lists.synapse_memory_bits
    limit: Limit = "axons" if axons > chip.axons else "synapse_memory"
    demand, bound = (axons, chip.axons) if limit == "axons" else (bits, memory)
    what = "axons" if limit == "axons" else "bits of synapses"
    text = f"one neuron needs {demand} {what}, a {chip.name} core has {bound}"
    lever = "chip.axons" if limit == "axons" else "chip.synapse_memory_bits"
    return refuse(
        limit, node, demand, bound, text, [Remedy(lever, demand, f"a core with {demand} {what} would hold it")]
    )


def _refuse_outputs(parts: ListPartition, neuron: int, chip: ChipSpec) -> Exception:
    demand = int((ways(parts)[0] == neuron).sum())
    bound = chip.lists.output_axons
    text = f"one neuron is read in {count_cores(demand)}, a {chip.name} core has {bound} output axons"
    advice = Remedy("chip.output_axons", demand, f"a core with {demand} output axons would do")
    return refuse("output_axons", parts.lists.node_of(neuron), demand, bound, text, [advice])


def _refuse_cores(parts: ListPartition, chip: ChipSpec) -> Exception:
    text = f"the network needs {count_cores(parts.n_cores)}, {chip.name} has {chip.n_usable_cores}"
    advice = Remedy("chip.cores", parts.n_cores, f"a chip or board of {count_cores(parts.n_cores)} would do")
    return refuse("cores", None, parts.n_cores, chip.n_usable_cores, text, [advice])
