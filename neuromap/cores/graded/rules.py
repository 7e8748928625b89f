"""Rules for graded programs; those common to all lists are in the rules of synapse-list cores.

Everything is read from program and chip, nothing from the mapper. Invalid indices are skipped by the rules that follow
them.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.array_types import Bools, Ints
from neuromap.cores.graded.program import GradedProgram
from neuromap.cores.synapse_list import rules as list_rules
from neuromap.cores.synapse_list.program import SynapseTable
from neuromap.hardware import checker
from neuromap.hardware.checker import Finding, Place, Rules, find, find_values, in_range, inside
from neuromap.hardware.program.ports import BIAS
from neuromap.network.spiking_neuron import GREATEST_SUM, PAYLOAD


def units(program: GradedProgram) -> Iterator[Finding]:
    """``unit-range``: multipliers, shifts and bounds of values are ones that every engine computes exactly."""
    table = program.units
    for what, values, wrong, bound in (
        ("multiplier", table.multiplier, table.multiplier < 0, "0 or more"),
        ("shift", table.shift, table.shift > 62, "0 to 62"),
        ("least value", table.low, np.abs(table.low.astype(np.int64)) > PAYLOAD, f"{-PAYLOAD} to {PAYLOAD}"),
        ("greatest value", table.high, np.abs(table.high.astype(np.int64)) > PAYLOAD, f"{-PAYLOAD} to {PAYLOAD}"),
        ("greatest value", table.high, table.high < table.low, "the least value or more"),
    ):
        yield find_values("unit-range", values, wrong, bound, what)
    joined = program.joined
    if joined is not None:
        sends = (joined >= 0) & ((table.low != 0) | (table.high != 0))
        yield find_values("unit-range", table.high, sends, "0, as its least: a compartment sends nothing", "its value")


def node_ranges(program: GradedProgram) -> Iterator[Finding]:
    """``node-range``: ranges of nodes include 0 and stay within what any program may send."""
    low, high = program.ranges.T.astype(np.int64)
    yield find(
        "node-range",
        (low < -PAYLOAD) | (low > 0) | (high < 0) | (high > PAYLOAD),
        lambda n: (
            Place(),
            (int(low[n]), int(high[n])),
            f"{-PAYLOAD} to 0 and 0 to {PAYLOAD}",
            f"range of node {program.nodes[n].name}",
        ),
    )


def axon_sources(program: GradedProgram) -> Iterator[Finding]:
    """``axon-source``: an axon has at most one source, neuron or host row, so it carries one value per tick."""
    count = np.bincount(program.sources()[0], minlength=len(program.synapses.lists) - 1)
    yield find(
        "axon-source",
        count > 1,
        lambda a: (list_rules.axon_place(program, a), int(count[a]), "at most 1", "number of sources"),
    )


def sums_of_32_bits(program: GradedProgram) -> Iterator[Finding]:
    """``sum-range``: no sum, for any inputs, leaves the width in which engines add, whatever the chip."""
    yield from _sums(program, -GREATEST_SUM, GREATEST_SUM)


def sums(program: GradedProgram) -> Iterator[Finding]:
    """``sum-range``: no sum, for any inputs, leaves the chip's accumulator."""
    yield from _sums(program, *program.chip.lists.sum_range)


def values(program: GradedProgram) -> Iterator[Finding]:
    """``value-range``: neurons and the host send what a message of the chip carries."""
    least, greatest = program.chip.lists.value_range
    bound, host = f"{least} to {greatest}", program.host
    yield in_range("value-range", program.units.low, (least, greatest), "least value")
    yield in_range("value-range", program.units.high, (least, greatest), "greatest value")
    wrong = (host.node == BIAS) & (host.index > greatest)
    yield find_values("value-range", host.index, wrong, bound, "value of a bias row", checker.HOST_ROWS)
    for port, (low, high) in zip(program.nodes, program.ranges.tolist(), strict=True):
        wrong = np.asarray(port.kind == "input" and not least <= low <= high <= greatest)
        said = (low, high)
        yield find("value-range", wrong, lambda said=said, name=port.name: (Place(), said, bound, f"range of {name}"))


def weights(program: GradedProgram) -> Iterator[Finding]:
    """``weight-range``: a weight is a mantissa times a power of two; a list has a run for each that it needs."""
    lists, chip, weight = program.chip.lists, program.chip, program.synapses.weight
    known = np.unique(weight)
    fits = np.zeros(len(known), np.bool_)
    for shift in range(lists.weight_shifts[0], lists.weight_shifts[1] + 1):
        fits |= _is_mantissa(program, known, shift)
    wrong = np.zeros(len(weight), np.bool_) if fits.all() else np.isin(weight, known[~fits])
    bound = (
        f"mantissas of {chip.weight_range[0]} to {chip.weight_range[1]} times 2^k, k {lists.weight_shifts[0]} to "
        f"{lists.weight_shifts[1]}"
    )
    yield find("weight-range", wrong, lambda s: (_axon_of(program, s), int(weight[s]), bound, f"weight of synapse {s}"))


def _axon_of(program: GradedProgram, synapse: int) -> Place:
    """Return the place of a synapse."""
    return list_rules.axon_place(program, int(np.searchsorted(program.synapses.lists, synapse, side="right")) - 1)


def memory(program: GradedProgram) -> Iterator[Finding]:
    """``synapse-memory``: lists, neurons in use and their program fit the memory of every core."""
    table, limits = program.synapses, program.chip.lists
    used = (program.neuron_node >= 0) | (np.diff(program.targets.start).reshape(program.shape) > 0)
    for core, (_, mine) in enumerate(table.by_core()):
        neuron = table.neuron[mine]
        used[core, neuron[inside(neuron, program.chip.neurons)]] = True
    other = limits.program_bits + limits.neuron_bits * used.sum(axis=1)
    yield list_rules.memory_of_lists(program, _runs(program), other, "memory of its lists and neurons in bits")


def maximum(program: GradedProgram) -> Iterator[Finding]:
    """``join-maximum``: only some chips have neurons that take the greatest of several sums."""
    if program.joined is not None and not program.chip.lists.joins_maximum:
        yield find_values("join-maximum", program.joined, program.joined != -1, "-1: none", "neuron it is joined to")


def labelled_ranges(program: GradedProgram) -> Iterator[Finding]:
    """``node-range``: neurons of mapped programs have the value range of their nodes."""
    node = program.neuron_node
    known = inside(node, len(program.nodes))
    low, high = (program.ranges[np.where(known, node, 0), k] for k in (0, 1))
    for what, found, said in (("least value", program.units.low, low), ("greatest value", program.units.high, high)):
        yield find_values("node-range", found, known & (found != said), "that of its node", what)


def _sums(program: GradedProgram, least: int, greatest: int) -> Iterator[Finding]:
    """Report neurons whose sums can leave a range, for any values that the sources may send."""
    lowest, highest = program.sum_bounds()  # raw events are checked against sums when they are fed
    bound = f"{least} to {greatest}"
    yield find_values("sum-range", lowest, lowest < least, bound, "least sum of its inputs")
    yield find_values("sum-range", highest, highest > greatest, bound, "greatest sum of its inputs")


def _lists_of(table: SynapseTable, lists: slice) -> Ints:
    """Return the list of every synapse of some lists, counted from the first of them."""
    length = np.diff(table.lists[lists.start : lists.stop + 1])
    return np.repeat(np.arange(len(length)), length)


def _is_mantissa(program: GradedProgram, weight: NDArray[np.integer], shift: int) -> Bools:
    """Test which weights are mantissas of the chip times ``2**shift``."""
    low, high = program.chip.weight_range
    fits: Bools = (weight % (1 << shift) == 0) & (low <= weight >> shift) & (weight >> shift <= high)
    return fits


def _runs(program: GradedProgram) -> Ints:
    """Return the fewest powers of two that the weights of every list need, at least one."""
    # A weight is a mantissa for a range of consecutive powers. From the least power up, one is needed wherever the
    # range of a weight still without one ends.
    table, runs = program.synapses, np.zeros(len(program.synapses.lists) - 1, np.int64)
    least, greatest = program.chip.lists.weight_shifts
    for lists, mine in table.by_core():
        number, weight, mine_runs = _lists_of(table, lists), table.weight[mine], runs[lists]
        fits = [_is_mantissa(program, weight, shift) for shift in range(least, greatest + 1)]
        left = np.ones(len(weight), np.bool_)
        for k, now in enumerate(fits):
            ends = now & left & (~fits[k + 1] if k + 1 < len(fits) else True)
            needs = np.bincount(number[ends], minlength=len(mine_runs)) > 0
            mine_runs += needs
            left &= ~(now & needs[number])
    return np.maximum(runs, 1)


RULES = Rules(
    starts=(list_rules.starts,),
    indices=(
        list_rules.synapses,
        list_rules.list_targets,
        list_rules.joins,
        units,
        node_ranges,
        axon_sources,
        *checker.TABLES,
        list_rules.host_axons,
        sums_of_32_bits,
    ),
    chip=(
        checker.coordinates,
        list_rules.axons,
        memory,
        list_rules.output_axons,
        weights,
        values,
        sums,
        maximum,
        *checker.BOARD,
    ),
    mapped=(checker.chosen_periods, labelled_ranges),
)
