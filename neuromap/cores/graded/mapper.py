"""The mapper for graded cores: as for synapse lists, but values must fit the chip's widths."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.array_types import Ints
from neuromap.cores.graded.program import GradedProgram, UnitTable
from neuromap.cores.synapse_list.fill_cores import ListPartition, fill_cores, ways, wires_of
from neuromap.cores.synapse_list.list_network import ListNetwork, digit_of, list_network
from neuromap.cores.synapse_list.mapper import core_bound, listed, most_axons, regions_of, require_memory
from neuromap.cores.synapse_list.pinned import Fixed, fixed_by
from neuromap.cores.synapse_list.program import one_run_holds, powers_needed
from neuromap.errors import DoesNotFitError
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.hardware.program.ports import BIAS
from neuromap.loops import compiled_for
from neuromap.mapping.legalise.legalise import keep_nodes, legalise
from neuromap.mapping.map_rollout import Parts
from neuromap.mapping.options.budget import Budget
from neuromap.mapping.options.infeasibility import Remedy, refuse
from neuromap.mapping.partition.partition_rollout import cheap_phases
from neuromap.mapping.tile.tilings import MappingContext
from neuromap.network.network import Network
from neuromap.network.spiking_neuron import GradedNeuron
from neuromap.rollout.schedule.rollout import Rollout

__all__ = ["core_bound", "emit", "most_axons", "partition"]


def partition(rollout: Rollout, chip: ChipSpec, context: MappingContext) -> Parts:
    """Partition the neurons of a rollout into cores."""
    rollout, options, phases = cheap_phases(rollout, chip, context.options, context.budget)
    network = keep_nodes(legalise(rollout, chip, ticks_per_step=options.ticks_per_step), options.keep)
    lists = list_network(network, chip)
    require_values_held(lists, rollout.network, chip)
    lists = cut_weights(lists, chip)
    fixed = fixed_by(options.pins, lists, chip)
    parts = fewest_cores(lists, chip, context.budget, fixed)
    regions = None if fixed is None else regions_of(parts, fixed)
    return Parts(rollout, parts, parts.n_cores, wires_of(parts), regions=regions, phases=phases)


def emit(rollout: Rollout, given: Parts, where: Ints, chip: ChipSpec) -> GradedProgram:
    """Write the program of placed cores."""
    parts: ListPartition = given.partition
    # Unused neurons and joined compartments send nothing.
    dtypes = {"multiplier": np.int32, "shift": np.uint8, "low": np.int32, "high": np.int32}
    tables = {name: parts.placed(parts.lists.values_of(name), chip.neurons, 0, kind) for name, kind in dtypes.items()}
    units = UnitTable(**tables, joined=parts.joined(chip.neurons))
    return GradedProgram(**listed(rollout, parts, where, chip), units=units, ranges=_ranges(rollout.network))


def _ranges(network: Network) -> NDArray[np.int32]:
    """Return the least and greatest value of every node."""
    ranges = [node.graded.value_range for node in network.nodes.values() if node.graded is not None]
    return np.array(ranges, np.int32).reshape(-1, 2)


def fewest_cores(lists: ListNetwork, chip: ChipSpec, budget: Budget, fixed: Fixed | None) -> ListPartition:
    """Fill few cores, trying lists dense or sparse, in boxes that share a kernel's lists or not."""
    # Where neurons lie decides which lists are dense or shared, so variants are tried and their memory is counted,
    # except those that cannot take fewer cores than the best so far.
    # Room is reserved for the most runs that the list of any source needs, whichever cores read it.
    runs = int(powers_needed(lists.weight, lists.signal, lists.n_signals, chip).max(initial=1))
    shapes = [p.shape for p in lists.network.populations if p.shape is not None]
    has_kernels = chip.lists.shares_lists and fixed is None and any(shape[0] * shape[1] > 1 for shape in shapes)
    best: ListPartition | None = None
    refusals: list[DoesNotFitError] = []
    for in_boxes, is_dense in ((True, True), (True, False), (False, True), (False, False)):
        if (in_boxes and not has_kernels) or (is_dense and not chip.lists.dense_bits):
            continue
        if best is not None and (in_boxes or _least_cores(lists, chip, is_dense) >= best.n_cores):
            continue
        try:
            parts = fill_cores(lists, chip, runs=runs, in_boxes=in_boxes, is_dense=is_dense, budget=budget, fixed=fixed)
            require_memory(parts, chip, is_pinned=fixed is not None)
        except DoesNotFitError as error:
            refusals.append(error)
            continue
        if best is None or (parts.n_cores, len(ways(parts)[0])) < (best.n_cores, len(ways(best)[0])):
            best = parts
    if best is None:
        raise min(refusals, key=_demand)
    return best


def _demand(refusal: DoesNotFitError) -> tuple[bool, int]:
    """Return a sort key of refusals: those that more cores would resolve come first, by least demand."""
    found = refusal.infeasibility
    return (found is None or found.limit != "cores", 0 if found is None else found.demand)


def _least_cores(lists: ListNetwork, chip: ChipSpec, is_dense: bool) -> int:
    """Count the cores that hold all synapses and neurons, if lists have no overhead and none is shared."""
    bits = chip.lists.dense_bits if is_dense else chip.lists.synapse_bits
    n_neurons = int(lists.is_computed.sum())
    memory = len(lists.weight) * bits + n_neurons * chip.lists.neuron_bits
    return int(
        max(-(-memory // (chip.lists.synapse_memory_bits - chip.lists.program_bits)), -(-n_neurons // chip.neurons))
    )


def cut_weights(lists: ListNetwork, chip: ChipSpec) -> ListNetwork:
    """Split weights that are no mantissa times a power of two into digits that are, one synapse each."""
    # Digits have the bits of weights without the sign, except for the last, which is the rest.
    least, greatest = int(lists.weight.min(initial=0)), int(lists.weight.max(initial=0))
    if greatest - least < len(lists.weight):  # each value is tested once
        known = np.arange(least, greatest + 1)
        wide = ~one_run_holds(known, known, known, chip)[lists.weight - least]
    else:
        wide = ~one_run_holds(lists.weight, lists.weight, lists.weight, chip)
    if not wide.any():
        return lists
    bits = chip.weight_bits - 1
    cut = np.flatnonzero(wide)
    rest, step = lists.weight[cut].astype(np.int64), 0
    synapse, digits = [np.flatnonzero(~wide)], [lists.weight[~wide]]
    while rest.any():
        if step > chip.lists.weight_shifts[1]:
            raise _refuse_weight(lists, cut, chip)
        is_last = (rest >= chip.weight_range[0]) & (rest <= chip.weight_range[1])
        digit = np.where(is_last, rest, digit_of(rest, bits))
        synapse.append(cut[digit != 0])
        digits.append(digit[digit != 0] << step)
        rest, step = (rest - digit) >> bits, step + bits
    if chip.lists.weight_shifts[0]:
        raise _refuse_weight(lists, cut, chip)
    at, weight = np.concatenate(synapse), np.concatenate(digits)
    order = np.argsort(at, kind="stable")
    at, weight = at[order], weight[order]
    start = np.append(0, np.cumsum(np.bincount(at, minlength=len(wide))))[lists.start]
    return replace(lists, start=start, signal=lists.signal[at], weight=weight, delay=lists.delay[at])


def _refuse_weight(lists: ListNetwork, cut: Ints, chip: ChipSpec) -> DoesNotFitError:
    """Return the refusal of a weight that no synapses of the chip add up to."""
    worst = int(cut[np.argmax(np.abs(lists.weight[cut]))])
    weight, target = int(lists.weight[worst]), int(lists.target[worst])
    bound = chip.weight_range[1] << chip.lists.weight_shifts[1]
    text = (
        f"it has a weight of {weight}; {chip.name} holds {chip.weight_bits} bits with the sign times 2^"
        f"{chip.lists.weight_shifts[0]} to 2^{chip.lists.weight_shifts[1]}, {bound} at most"
    )
    advice = Remedy("weights", None, "scale or round the weights and the multiplier of the node alike")
    return refuse("weights", lists.node_of(target), abs(weight), bound, text, [advice])


def require_values_held(lists: ListNetwork, network: Network, chip: ChipSpec) -> None:
    """Refuse values and sums that can exceed the chip's widths for some input."""
    least, greatest = chip.lists.value_range
    narrow, wide = chip.lists.sum_range
    low, high = _signal_ranges(lists, network)
    for node in network.nodes.values():
        if node.graded is not None and not least <= node.graded.low <= node.graded.high <= greatest:
            found = node.graded.low if node.graded.low < least else node.graded.high
            text = f"its values reach {found}; messages of {chip.name} carry {least} to {greatest}"
            advice = Remedy("neuron", None, "narrower bounds (low, high) would do")
            raise refuse("potential", node.name, abs(found), greatest, text, [advice])
    too_high = high > greatest  # of a bias: those of nodes are narrower
    if too_high.any() and (wrong := np.flatnonzero(too_high[lists.signal])).size:
        sent = int(high[lists.signal[wrong[0]]])
        text = f"its bias takes a message of {sent}; those of {chip.name} carry {least} to {greatest}"
        name = lists.node_of(int(lists.target[wrong[0]]))
        advice = Remedy("neuron", None, "scale its weights and bias down, and its multiplier up, by one factor")
        raise refuse("potential", name, sent, greatest, text, [advice])
    maximum = [n.neuron.maximum for n in lists.neurons if isinstance(n.neuron, GradedNeuron)]
    if any(maximum) and not chip.lists.joins_maximum:
        name = lists.network.populations[int(np.argmax(maximum))].name
        text = f"its neurons take the greatest input, which those of {chip.name} do not"
        raise refuse("neuron", name, 1, 0, text, [Remedy("neuron", None, "maximum = 0, a sum or mean, would do")])
    ends = np.zeros((2, lists.n_neurons))  # exact below 2^53; beyond, never back in range, as wrapped integers may be
    compiled_for(_sum_ends, len(lists.weight))(lists.start, lists.signal, lists.weight, low, high, ends)
    wrong = np.flatnonzero((ends[0] < narrow) | (ends[1] > wide))
    if len(wrong):
        worst = int(wrong[np.argmax(np.maximum(-ends[0][wrong], ends[1][wrong]))])
        found = int(ends[0][worst] if -ends[0][worst] > ends[1][worst] else ends[1][worst])
        text = f"a sum of its neurons can reach {found}; those of {chip.name} hold {narrow} to {wide}"
        advice = Remedy("weights", None, "scale its weights and bias down, and its multiplier up, by one factor")
        raise refuse("potential", lists.node_of(worst), abs(found), wide, text, [advice])


def _sum_ends(start: Any, signal: Any, weight: Any, low: Any, high: Any, ends: Any) -> None:
    """Add up the least and greatest contributions of every neuron's synapses."""
    for row in range(len(start) - 1):
        for s in range(start[row], start[row + 1]):
            one, other = weight[s] * low[signal[s]], weight[s] * high[signal[s]]
            ends[0, row] += min(one, other, 0)
            ends[1, row] += max(one, other, 0)


def _signal_ranges(lists: ListNetwork, network: Network) -> tuple[Ints, Ints]:
    """Return the least and greatest value of every signal, shape (signals,)."""
    low, high = np.zeros(lists.n_signals, np.int64), np.zeros(lists.n_signals, np.int64)
    for some, begin, end in zip(lists.neurons, lists.offset[:-1].tolist(), lists.offset[1:].tolist(), strict=True):
        assert isinstance(some.neuron, GradedNeuron), "others are refused before"
        low[begin:end], high[begin:end] = some.neuron.value_range
    host, ranges = lists.host, _ranges(network).astype(np.int64)
    is_bias = host.node == BIAS
    given = np.where(is_bias[:, None], host.neuron[:, None], ranges[np.where(is_bias, 0, host.node)])
    low[lists.n_neurons :], high[lists.n_neurons :] = given.min(axis=1), given.max(axis=1)
    low[lists.n_neurons :][is_bias] = 0
    return low, high
