"""The mapper of many-target cores: from a rollout to a program, stage by stage."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.array_types import Ints
from neuromap.cores.synapse_list.balance_cores import BalanceSearch
from neuromap.cores.synapse_list.fill_cores import ListPartition, fill_cores, require_one_floor, ways, wires_of
from neuromap.cores.synapse_list.fit_weights import held, in_two_synapses
from neuromap.cores.synapse_list.list_network import ListNetwork, floors_of, list_network
from neuromap.cores.synapse_list.pinned import Fixed, fixed_by
from neuromap.cores.synapse_list.program import CurrentTable, ListProgram, SynapseTable, TargetTable
from neuromap.cores.synapse_list.synapse_rows import in_lists
from neuromap.errors import DoesNotFitError, InputError
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.hardware.program.ports import HostTable, OutputTable
from neuromap.mapping.bounds.lower_bounds import CoreBound, counted_cores
from neuromap.mapping.legalise.legalise import keep_nodes, legalise
from neuromap.mapping.legalise.legalised import HostLink, Legalised, Link, Population, Sources
from neuromap.mapping.map_rollout import Parts, program_labels
from neuromap.mapping.options.budget import Budget
from neuromap.mapping.options.infeasibility import Remedy, refuse
from neuromap.mapping.partition.partition_rollout import cheap_phases
from neuromap.mapping.place.board import Region, few_tiles
from neuromap.mapping.place.emit import arrivals_in_ticks
from neuromap.mapping.tile.tilings import MappingContext
from neuromap.network.spiking_neuron import NO_FLOOR, PARAMETERS, CurrentNeuron
from neuromap.rollout.schedule.rollout import Rollout


def partition(rollout: Rollout, chip: ChipSpec, context: MappingContext) -> Parts:
    """Partition the neurons of a rollout into cores; splitters and tilings do not apply."""
    rollout, options, phases = cheap_phases(rollout, chip, context.options, context.budget)
    network = keep_nodes(legalise(rollout, chip, ticks_per_step=options.ticks_per_step), options.keep)
    lists = list_network(network, chip)
    fixed = fixed_by(options.pins, lists, chip)
    is_plain = options.objective == "deliveries"
    if fixed is not None and not is_plain:
        raise InputError(
            f"objective = {options.objective}: moves neurons, which pins keep in place; leave one of them out"
        )
    parts = partition_lists(lists, chip, context.budget, fixed, shares=is_plain)
    if fixed is not None:
        require_memory(parts, chip)
    regions = None if fixed is None else regions_of(parts, fixed)
    found = Parts(rollout, parts, parts.n_cores, wires_of(parts), regions=regions, phases=phases)
    return found if is_plain else _balanced(found, chip, context)


def regions_of(parts: ListPartition, fixed: Fixed) -> list[Region | None]:
    """Return the region of the board in which each core must lie."""
    somas = parts.core[: parts.lists.n_somas]
    label = np.full(parts.n_cores, -1, np.int64)
    label[somas[somas >= 0]] = fixed.label[somas >= 0]
    return [fixed.region.get(one) for one in label.tolist()]


def partition_lists(
    lists: ListNetwork, chip: ChipSpec, budget: Budget, fixed: Fixed | None = None, *, shares: bool = True
) -> ListPartition:
    """Partition neurons into cores, with plain lists if these hold the weights, else as the chip can encode them."""
    # shares: whether cores that share lists are preferred; neurons moved afterwards would not share them
    try:
        parts = fill_cores(lists, chip, budget=budget, fixed=fixed)
        if not _holds(parts, chip, 1):
            # in their own order, neurons of one core have weights in common where others have none
            parts = fill_cores(lists, chip, by_number=True, fixed=fixed)
            require_weights_held(parts, chip)
        return parts
    except DoesNotFitError:
        found = list(_encoded(lists, chip, budget, fixed))
        if not found:
            raise
    if not shares:
        return found[0]
    return min(found, key=lambda parts: (parts.n_cores, len(ways(parts)[0])))


def _encoded(lists: ListNetwork, chip: ChipSpec, budget: Budget, fixed: Fixed | None) -> Iterator[ListPartition]:
    """Fill cores with one run per sign and wide weights split in two, without and with boxes that share lists."""
    cut = in_two_synapses(lists, chip)
    for in_boxes in (False, True)[: 1 + (fixed is None and bool(chip.lists.shares_lists))]:
        try:
            parts = fill_cores(cut, chip, runs=2, in_boxes=in_boxes, budget=budget, fixed=fixed)
        except DoesNotFitError:
            continue
        senders = np.bincount(parts.core[ways(parts)[0]], minlength=1)
        if _holds(parts, chip, 2) and senders.max() <= chip.lists.output_axons:
            yield parts


def _holds(parts: ListPartition, chip: ChipSpec, runs: int) -> bool:
    try:
        require_weights_held(parts, chip, runs)
    except DoesNotFitError:
        return False
    return True


def require_memory(parts: ListPartition, chip: ChipSpec, *, is_pinned: bool = True) -> None:
    """Refuse a core whose memory is too small for its synapses and what else it holds."""
    used = np.bincount(parts.core[parts.core >= 0], minlength=parts.n_cores)
    other = np.array([chip.lists.other_memory(n) for n in used.tolist()], np.int64)
    bits, most = synapse_table(parts)[0].bits(chip, other) + other, chip.lists.synapse_memory_bits
    if (bits > most).any():
        one = int(np.argmax(bits))
        node = parts.lists.node_of(int(np.flatnonzero(parts.core == one)[0]))
        who, what = "the pins" if is_pinned else "its neurons", "synapses and neurons" if other[one] else "synapses"
        text = f"{who} put {bits[one]} bits of {what} into a core, one of {chip.name} has {most}"
        advice = Remedy("pins.neurons", None, "spread these neurons over more cores")
        raise refuse("synapse_memory", node, int(bits[one]), most, text, [advice])


def _balanced(first: Parts, chip: ChipSpec, context: MappingContext) -> Parts:
    """Search for a partition that the objective prefers, by the activity of a draft program of the first."""
    draft = emit(first.rollout, first, _draft_places(first.n_cores, chip), chip)
    runs = 1 if _holds(first.partition, chip, 1) else 2
    search = BalanceSearch(first.partition, draft, chip, context, runs)
    parts = search.found()
    other = replace(first, partition=parts, n_cores=parts.n_cores)
    try:
        require_one_floor(parts, chip)
        require_weights_held(parts, chip, runs)
        better = emit(first.rollout, other, _draft_places(parts.n_cores, chip), chip)
    except (
        DoesNotFitError
    ):  # other neurons share lists, and their weights have no power of 2 in common; or floors are mixed
        better = draft
    if bool((better.synapses.bits(chip) > chip.lists.synapse_memory_bits).any()):
        better = draft
    if better is draft or search.measured(better) > search.measured(draft):
        other = first
    return replace(other, wires=search.wires(other.partition))


def _draft_places(n_cores: int, chip: ChipSpec) -> Ints:
    """Place the cores of a draft on few tiles, as in the final program."""
    y, x = np.nonzero(few_tiles(np.ones((chip.rows, chip.columns), np.bool_), n_cores, chip))
    return np.stack([x, y], axis=1)[:n_cores]


# Checks that the chip can hold the weights of a list: mantissas times one power of 2.


def require_weights_held(parts: ListPartition, chip: ChipSpec, runs: int = 1) -> None:
    """Refuse weights that no list of ``runs`` runs holds, and drives that overflow a frame neuron."""
    lists = parts.lists
    target = lists.target
    pair = parts.core[target] * lists.n_signals + lists.signal
    _, number = np.unique(pair, return_inverse=True)
    if held(number, lists.weight, chip)[runs - 1].all():
        return _require_drives_held(parts, chip)
    raise _refuse_weights(parts, number, chip)


def _refuse_weights(parts: ListPartition, number: Ints, chip: ChipSpec) -> DoesNotFitError:
    """Return the refusal that names a list whose weights do not fit one run."""
    lists, target = parts.lists, parts.lists.target
    size = int(number.max(initial=-1)) + 1
    most, rest = np.zeros(size, np.int64), np.zeros(size, np.int64)
    has_plus, has_minus = np.zeros(size, np.bool_), np.zeros(size, np.bool_)
    np.maximum.at(most, number, np.abs(lists.weight))
    np.bitwise_or.at(rest, number, np.abs(lists.weight))
    has_plus[number[lists.weight > 0]] = True
    has_minus[number[lists.weight < 0]] = True
    least, greatest = chip.lists.weight_shifts
    low_zeros = np.where(rest > 0, np.bitwise_count((rest & -rest) - 1), greatest).astype(np.int64)
    step = np.where(has_plus & has_minus, chip.lists.mixed_sign_step.bit_length() - 1, 0)
    shift = np.clip(low_zeros - step, least, greatest)
    fits = (most >> shift <= chip.weight_range[1]) & (low_zeros >= shift + step)
    wrong = int(number[np.argmin(fits[number])])
    unit, signs = int(low_zeros[wrong]), int(step[wrong])
    mixed = " of both signs" if signs else ""
    head = f"weights{mixed} up to {most[wrong]}, multiples of {1 << unit}, lie in one list; {chip.name} holds"
    if unit < least + signs:
        demand, bound = 1 << (least + signs), 1 << unit
        text = f"{head} such as are multiples of {demand}"
    else:
        demand = int(most[wrong] >> (unit - signs)).bit_length()
        bound = int(chip.weight_range[1]).bit_length()
        text = f"{head} {bound} bits and the sign times one power of 2, up to 2^{greatest}, and they take {demand}"
    node = lists.node_of(int(target[np.argmin(fits[number])]))
    remedy = Remedy("weights", None, "round the weights of each source to fewer bits")
    return refuse("weights", node, max(demand, bound + 1), bound, text, [remedy])


def _require_drives_held(parts: ListPartition, chip: ChipSpec) -> None:
    """Refuse frame neurons whose current or voltage may meet its rails, where they are not exact."""
    lists = parts.lists
    pairs = zip(lists.neurons, lists.network.populations, strict=True)
    is_frame = np.concatenate([np.full(len(n.bias), p.neuron is None) for n, p in pairs])[lists.soma]
    drive = np.zeros(lists.n_neurons, np.int64)
    np.add.at(drive, lists.target, np.abs(lists.weight))
    bound = min(chip.lists.greatest_sum, chip.potential_range[1])
    too_great = np.flatnonzero(is_frame & (drive > bound))
    if len(too_great):
        demand = int(drive[too_great[0]])
        text = (
            f"the weights of one neuron sum up to {demand} in units of its current, which holds {bound} in {chip.name}"
        )
        remedy = Remedy("chip.potential_bits", demand.bit_length() + 1, "wider currents and voltages would hold it")
        raise refuse("potential", lists.node_of(int(too_great[0])), demand, bound, text, [remedy])


# The stage "emit" of many-target cores: write the program of a placed partition.


_DTYPES = {"refractory": np.uint8, "subtract": np.uint8}


def emit(rollout: Rollout, given: Parts, where: Ints, chip: ChipSpec) -> ListProgram:
    """Write the program of placed cores."""
    # Unused neurons get parameters with which they never spike.
    parts: ListPartition = given.partition
    return ListProgram(**listed(rollout, parts, where, chip), neurons=_current_table(parts, chip))


def listed(rollout: Rollout, parts: ListPartition, where: Ints, chip: ChipSpec) -> dict[str, Any]:
    """Return all fields of a program of lists except the parameters of its neurons."""
    synapses, list_signal = synapse_table(parts)
    list_core = synapses.list_core
    axon = np.arange(len(list_core)) - synapses.axons[list_core]
    populations, sizes = parts.lists.network.populations, np.diff(parts.lists.offset)
    node = parts.placed(np.repeat([p.node for p in populations], sizes), chip.neurons, -1)
    index = parts.placed(np.concatenate([p.neurons for p in populations]), chip.neurons)
    return {
        **program_labels(rollout, parts.lists.network, where, chip),
        "neuron_node": node,
        "neuron_index": index,
        "is_relay": parts.placed(np.repeat([p.is_relay for p in populations], sizes), chip.neurons, dtype=np.bool_),
        "host": _host_table(parts, list_core, list_signal, axon),
        "outputs": _output_table(parts, node, index),
        "synapses": synapses,
        "targets": _targets(parts, list_core, list_signal, axon, chip.neurons),
    }


def synapse_table(parts: ListPartition) -> tuple[SynapseTable, Ints]:
    """Make the lists of all cores, and the signal that each reads, shape (L,)."""
    lists = parts.lists
    columns = lists.signal, lists.weight, lists.delay
    return in_lists(lists.start, columns, parts.core, parts.slot, parts.n_cores, lists.n_signals)


def _output_table(parts: ListPartition, node: NDArray[np.int32], index: NDArray[np.int32]) -> OutputTable:
    """Make the table of neurons that are read out; ``node`` and ``index`` are the labels of all, shape (C, N)."""
    populations, sizes = parts.lists.network.populations, np.diff(parts.lists.offset)
    is_output = np.repeat([p.is_output for p in populations], sizes)
    read = np.flatnonzero(is_output & parts.lists.is_computed[: parts.lists.n_somas])
    core, slot = parts.core[read], parts.slot[read]
    order = np.lexsort((slot, core))
    core, slot = core[order].astype(np.int32), slot[order].astype(np.int32)
    return OutputTable(node=node[core, slot], index=index[core, slot], core=core, neuron=slot)


def _current_table(parts: ListPartition, chip: ChipSpec) -> CurrentTable:
    lists, forget = parts.lists, 1 << chip.lists.decay_bits
    silent = {"current_decay": forget, "voltage_decay": forget}
    tables = {}
    options = CurrentNeuron.options
    for name in (*PARAMETERS, "subtract"):
        if name in options and not any(name in n.neuron.arrays | n.neuron.stated for n in lists.neurons):
            continue
        values, nothing = lists.values_of(name), silent.get(name, options.get(name, 0))
        table = parts.placed(values, chip.neurons, nothing, _DTYPES.get(name, np.int32))
        if name == "floor" and chip.lists.floors == "shared":
            core_floor = np.full(parts.n_cores, values.min(initial=NO_FLOOR))
            if (floor := floors_of(lists, chip)) is not None:
                somas = np.flatnonzero(lists.is_computed[: lists.n_somas])
                core_floor[parts.core[somas]] = floor[somas]
            table[:] = core_floor[:, None]
        tables[name] = table
    pairs = zip(lists.neurons, lists.network.populations, strict=True)
    powers = [(n.scale.bit_length() - 1) * (p.neuron is not None) for n, p in pairs]
    if any(powers):
        scale = np.repeat(powers, np.diff(lists.offset))
        tables["scale"] = parts.placed(scale, chip.neurons, dtype=np.uint8)
    more = np.flatnonzero(lists.is_computed[lists.n_somas :]) + lists.n_somas
    tables["current_decay"][parts.core[more], parts.slot[more]] = lists.decay[more]
    return CurrentTable(**tables, joined=parts.joined(chip.neurons))


def _host_table(parts: ListPartition, list_core: Ints, list_signal: Ints, axon: Ints) -> HostTable:
    host, n_neurons = parts.lists.host, parts.lists.n_neurons
    fed = list_signal >= n_neurons
    signal = list_signal[fed] - n_neurons
    return HostTable(
        node=host.node[signal].astype(np.int32),
        index=host.neuron[signal].astype(np.int32),
        core=list_core[fed].astype(np.int32),
        axon=axon[fed].astype(np.int32),
        **arrivals_in_ticks(host.arrival[signal], parts.lists.network.period),
        first_frame=host.first_frame[signal].astype(np.int8),
    )


def _targets(parts: ListPartition, list_core: Ints, list_signal: Ints, axon: Ints, n_neurons: int) -> TargetTable:
    sent = list_signal < parts.lists.n_neurons
    source, core, axon = list_signal[sent], list_core[sent], axon[sent]
    place = parts.core[source] * n_neurons + parts.slot[source]
    order = np.lexsort((core, place))
    start = np.searchsorted(place[order], np.arange(parts.n_cores * n_neurons + 1))
    return TargetTable(start.astype(np.int64), core[order].astype(np.int32), axon[order].astype(np.int32))


def core_bound(network: Legalised, chip: ChipSpec, proven: bool, priced: bool, budget: Budget) -> CoreBound:
    """Return a lower bound on the cores of any mapping, by counting."""
    lists = chip.lists
    if lists.shares_lists:  # counting does not tell how few lists a core stores
        return counted_cores(network, chip)
    return counted_cores(network, chip, lambda n, synapses: (lists.list_memory(n, synapses), lists.synapse_memory_bits))


def most_axons(sources: Sources, population: Population, chip: ChipSpec, gathers: bool) -> int:
    """Return the most signals of any single neuron: its distinct sources, and the constant of a frame neuron."""
    span = int(sources.neuron_of.max(initial=0)) + 1
    key_of_link = np.unique([_signal(link) for link in sources.links], axis=0, return_inverse=True)[1].ravel()
    key = key_of_link[sources.link_of] * span + sources.neuron_of if len(sources.links) else sources.neuron_of
    columns, start = sources.matrix.indices, sources.matrix.indptr
    needs_bias = (population.threshold < 1) & (population.neuron is None)
    distinct = [len(np.unique(key[columns[start[n] : start[n + 1]]])) + int(needs_bias[n]) for n in sources.busiest]
    return max(distinct, default=0)


def _signal(link: Link | HostLink) -> tuple[int, int]:
    """Key of what one axon can carry, whatever the delays of its synapses: population, or input and first frame."""
    return (link.source, -1) if isinstance(link, Link) else (link.node, link.first_frame)
