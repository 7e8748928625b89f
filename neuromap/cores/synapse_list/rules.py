"""Rules for programs of synapse lists.

Rules about values that index something come first: invalid ones would make an engine read past an array. If starts do
not rise, no other rule is checked; other invalid indices are skipped by the rules about limits and number formats
(``[core]`` of the chip file).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from neuromap.arrays.array_types import Bools, Ints
from neuromap.cores.synapse_list.program import ListProgram, SynapseProgram
from neuromap.hardware import checker
from neuromap.hardware.checker import Finding, Place, Rules, find, find_values, in_range, inside


def starts(program: SynapseProgram) -> Iterator[Finding]:
    """``list-start``: starts of axons, lists and targets rise from 0 to the number of what they divide."""
    n_axons = max(len(program.synapses.lists) - 1, 0)
    yield _rising("axons", program.synapses.axons, n_axons, lambda i: Place(core=i))
    yield _rising("lists", program.synapses.lists, len(program.synapses.neuron), lambda i: axon_place(program, i))
    n = program.chip.neurons
    yield _rising(
        "targets", program.targets.start, len(program.targets.core), lambda i: Place(core=i // n, neuron=i % n)
    )


def synapses(program: SynapseProgram) -> Iterator[Finding]:
    """``synapse-neuron`` and ``synapse-delay``: synapses feed neurons of their core, after delays that the chip has."""
    table, neurons = program.synapses, program.chip.neurons
    greatest = program.chip.delay[1] - program.chip.delay[0]

    def place(s: int) -> Place:
        return axon_place(program, int(np.searchsorted(table.lists, s, side="right")) - 1)

    yield find(
        "synapse-neuron",
        ~inside(table.neuron, neurons),
        lambda s: (place(s), int(table.neuron[s]), f"a neuron 0 to {neurons - 1}", f"neuron of synapse {s}"),
    )
    yield find(
        "synapse-delay",
        table.delay > greatest,
        lambda s: (place(s), int(table.delay[s]), f"0 to {greatest} ticks", f"delay of synapse {s}"),
    )


def list_targets(program: SynapseProgram) -> Iterator[Finding]:
    """``target-exists``: a target is an axon in use of a core in use."""
    core, axon = program.targets.core, program.targets.axon
    n_axons = np.append(np.diff(program.synapses.axons), 0)
    exists = inside(core, program.n_cores)
    here = n_axons[np.where(exists, core, -1)]
    yield find(
        "target-exists",
        ~exists,
        lambda t: (_source(program, t), int(core[t]), f"a core 0 to {program.n_cores - 1}", "target core"),
    )
    yield find(
        "target-exists",
        exists & ~inside(axon, here),
        lambda t: (_source(program, t), int(axon[t]), f"an axon in use, 0 to {int(here[t]) - 1}", "target axon"),
    )


def host_axons(program: SynapseProgram) -> Iterator[Finding]:
    """``host-row``: the host feeds axons in use."""
    core, axon = program.host.core, program.host.axon
    exists = inside(core, program.n_cores)
    here = np.append(np.diff(program.synapses.axons), 0)[np.where(exists, core, -1)]
    yield find(
        "host-row",
        exists & (axon >= here),
        lambda row: (Place(host_row=row), int(axon[row]), f"an axon in use, 0 to {int(here[row]) - 1}", "axon"),
    )


def decays(program: ListProgram) -> Iterator[Finding]:
    """``decay-range``: decays take from nothing to all of a value."""
    bounds = (0, 1 << program.chip.lists.decay_bits)
    yield in_range("decay-range", program.neurons.current_decay, bounds, "current decay")
    yield in_range("decay-range", program.neurons.voltage_decay, bounds, "voltage decay")


def joins(program: SynapseProgram) -> Iterator[Finding]:
    """``join-exists``: a neuron is joined to one of its core that is not joined itself."""
    joined, neurons = program.joined, program.chip.neurons
    if joined is None:
        return
    exists = inside(joined, neurons)
    chained = exists & (np.take_along_axis(joined, np.where(exists, joined, 0), axis=1) != -1)
    wrong = (joined < -1) | (joined >= neurons) | chained
    bound = f"a neuron 0 to {neurons - 1} that is not joined itself, or -1 for none"
    yield find_values("join-exists", joined, wrong, bound, "neuron that it is joined to")


def refractory_periods(program: ListProgram) -> Iterator[Finding]:
    """``refractory-range``: neurons rest no longer than the chip's counters count."""
    values, greatest = program.neurons.refractory, program.chip.lists.greatest_refractory
    wrong, bound = values > greatest, f"0 to {greatest} ticks"
    yield find_values("refractory-range", values, wrong, bound, "refractory period")


def _rising(what: str, start: Ints, end: int, place: Callable[[int], Place]) -> Finding:
    """Report where starts do not rise from 0 to ``end``; ``place`` gets the number of the start before."""
    wrong = np.zeros(len(start), np.bool_)
    wrong[1:] = start[1:] < start[:-1]
    wrong |= (start < 0) | (start > end)
    wrong[:1] |= start[:1] != 0
    wrong[-1:] |= start[-1:] != end
    bound = f"starts that rise from 0 to {end}"
    return find("list-start", wrong, lambda i: (place(max(i - 1, 0)), int(start[i]), bound, f"start {i} of {what}"))


def axon_place(program: SynapseProgram, number: int) -> Place:
    """Return the core and axon that a list belongs to."""
    core = int(np.searchsorted(program.synapses.axons, number, side="right")) - 1
    core = min(max(core, 0), max(program.n_cores - 1, 0))
    return Place(core=core, axon=number - int(program.synapses.axons[core]))


def _source(program: SynapseProgram, target: int) -> Place:
    neuron = int(np.searchsorted(program.targets.start, target, side="right")) - 1
    return Place(core=neuron // program.chip.neurons, neuron=neuron % program.chip.neurons)


def axons(program: SynapseProgram) -> Iterator[Finding]:
    """``axon-count``: no core has more axons in use than the chip's."""
    yield _per_core("axon-count", program.axon_counts, program.chip.axons, "number of axons in use")


def synapse_memory(program: ListProgram) -> Iterator[Finding]:
    """``synapse-memory``: the lists of every core fit its memory."""
    nothing = np.zeros(program.n_cores, np.int64)
    yield memory_of_lists(program, 1 + _needs_two_runs(program), nothing, "memory of its lists in bits")


def memory_of_lists(program: SynapseProgram, runs: Ints, other: Ints, what: str) -> Finding:
    """Report cores whose memory is too small for their lists, of some runs each, and ``other`` bits."""
    table, limits = program.synapses, program.chip.lists
    synapses = np.diff(table.lists) * limits.synapse_bits
    some = np.flatnonzero(synapses)
    if limits.dense_bits and len(some):  # lists of one delay, with a weight for every neuron from the first to the last
        first = table.lists[some]
        one_delay = np.maximum.reduceat(table.delay, first) == np.minimum.reduceat(table.delay, first)
        neurons = np.maximum.reduceat(table.neuron, first) - np.minimum.reduceat(table.neuron, first) + np.int64(1)
        bits = runs[some] * neurons * limits.dense_bits
        synapses[some] = np.where(one_delay & (bits < synapses[some]), bits, synapses[some])
    each = runs * limits.list_bits + synapses
    bits = other + np.bincount(table.list_core, each, program.n_cores).astype(np.int64)
    if limits.shares_lists:
        for core in np.flatnonzero(bits > limits.synapse_memory_bits).tolist():
            bits[core] = other[core] + sum(each[one] for one in unlike_lists(program, core))
    return _per_core("synapse-memory", bits, limits.synapse_memory_bits, what)


def unlike_lists(program: SynapseProgram, core: int) -> list[int]:
    """List the distinct lists of a core; those that differ only by a common offset of their neurons count once."""
    table, known, found = program.synapses, set(), []
    for one in range(int(table.axons[core]), int(table.axons[core + 1])):
        mine = slice(int(table.lists[one]), int(table.lists[one + 1]))
        told = (np.diff(table.neuron[mine]).tobytes(), table.weight[mine].tobytes(), table.delay[mine].tobytes())
        if told not in known:
            known.add(told)
            found.append(one)
    return found


def output_axons(program: SynapseProgram) -> Iterator[Finding]:
    """``output-axons``: pairs of a neuron and a core that it feeds; no core has more than the chip's."""
    n_cores, n_neurons = program.shape
    of = np.repeat(np.arange(n_cores * n_neurons), np.diff(program.targets.start))
    core = program.targets.core.astype(np.int64)
    exists = inside(core, n_cores)
    pairs = np.unique(of[exists] * n_cores + core[exists])
    found = np.bincount(pairs // max(n_cores * n_neurons, 1), minlength=n_cores)
    yield _per_core("output-axons", found, program.chip.lists.output_axons, "number of output axons")


def weights(program: ListProgram) -> Iterator[Finding]:
    """``weight-range``: weights of a list, or those of each sign, are mantissas of some width times a power of two."""
    table, chip = program.synapses, program.chip
    lists = np.flatnonzero(np.diff(table.lists))
    if not len(lists):
        return
    start, weight = table.lists[lists], table.weight.astype(np.int64)
    low, high, unit = (ufunc.reduceat(weight, start) for ufunc in (np.minimum, np.maximum, np.gcd))
    wrong = np.zeros(len(lists), np.bool_)
    for of_sign in (np.maximum(weight, 0), np.minimum(weight, 0)):
        lowest, highest, divisor = (ufunc.reduceat(of_sign, start) for ufunc in (np.minimum, np.maximum, np.gcd))
        wrong |= ~_has_shift(lowest, highest, divisor, np.int64(1), chip.lists.weight_shifts, chip.weight_range)
    least, most = chip.lists.weight_shifts
    bound = f"mantissas of {chip.weight_range[0]} to {chip.weight_range[1]} times one 2^k, k {least} to {most}"
    if chip.lists.mixed_sign_step > 1:
        bound += f", or of {chip.lists.mixed_sign_step} where both signs share one, which else have one each"

    def describe(i: int) -> tuple[Place, tuple[int, ...], str, str]:
        what = f"least and greatest weight, all multiples of {unit[i]},"
        return axon_place(program, int(lists[i])), (int(low[i]), int(high[i])), bound, what

    yield find("weight-range", wrong, describe)


def _needs_two_runs(program: ListProgram) -> Ints:
    """Return 1 for every list whose weights have no power of two that suits all, else 0."""
    table, chip = program.synapses, program.chip
    lists, needs = np.flatnonzero(np.diff(table.lists)), np.zeros(len(table.lists) - 1, np.int64)
    if len(lists):
        start, weight = table.lists[lists], table.weight.astype(np.int64)
        low, high, unit = (ufunc.reduceat(weight, start) for ufunc in (np.minimum, np.maximum, np.gcd))
        step = np.where((low < 0) & (high > 0), chip.lists.mixed_sign_step, 1)
        needs[lists] = ~_has_shift(low, high, unit, step, chip.lists.weight_shifts, chip.weight_range)
    return needs


def thresholds(program: ListProgram) -> Iterator[Finding]:
    """``threshold-range``: thresholds are unsigned mantissas times the chip's power of two."""
    shift, values = program.chip.lists.threshold_shift, program.neurons.threshold
    most = (2**program.chip.threshold_bits - 1) << shift
    wrong = (values < 0) | (values > most) | (values % (1 << shift) != 0)
    bound = f"multiples of {1 << shift} from 0 to {most}"
    yield find_values("threshold-range", values, wrong, bound, "threshold")


def biases(program: ListProgram) -> Iterator[Finding]:
    """``bias-range``: biases are mantissas, within their width, times a power of two."""
    limits, values = program.chip.lists, program.neurons.bias.astype(np.int64)
    half = 1 << (limits.bias_bits - 1)
    fits = _has_shift(values, values, values, np.int64(1), limits.bias_shifts, (-half, half - 1))
    least, most = limits.bias_shifts
    bound = f"mantissas of {-half} to {half - 1} times 2^k, k {least} to {most}"
    yield find_values("bias-range", values, (values != 0) & ~fits, bound, "bias")


def scales(program: ListProgram) -> Iterator[Finding]:
    """``neuron-scale``: threshold and bias are multiples of the factor that scaled the network's."""
    neurons = program.neurons
    if neurons.scale is None:
        return
    unit = np.int64(1) << np.minimum(neurons.scale, 31).astype(np.int64)
    wrong = (neurons.threshold % unit != 0) | (neurons.bias % unit != 0) | (neurons.scale > 31)
    bound = "powers k with 2^k in threshold and bias, at most 31"
    yield find_values("neuron-scale", neurons.scale, wrong, bound, "power of its scale")


def initial_state(program: ListProgram) -> Iterator[Finding]:
    """``potential-range``: currents and voltages before the first tick fit their widths."""
    chip, neurons = program.chip, program.neurons
    rail = 2 ** (chip.potential_bits - 1) - 1
    yield in_range("potential-range", neurons.current, chip.lists.current_range, "current before the first tick")
    yield in_range("potential-range", neurons.voltage, (-rail, rail), "voltage before the first tick")


def resets(program: ListProgram) -> Iterator[Finding]:
    """``reset-range`` and ``floor-range``: resets after spikes, and floors of voltages, are ones that the chip has."""
    neurons, lists = program.neurons, program.chip.lists
    rail = 2 ** (program.chip.potential_bits - 1) - 1
    floor = np.full(program.shape, rail) if neurons.floor is None else np.minimum(neurons.floor, rail)
    if neurons.subtract is not None:
        takes = neurons.subtract.astype(np.int64)
        bound = "0 or 1" if lists.soft_reset else "0"
        yield find_values("reset-range", takes, takes > int(lists.soft_reset), bound, "soft reset")
    if neurons.reset is not None:
        wrong = (neurons.reset < -floor) | (neurons.reset > rail) if lists.reset_values else neurons.reset != 0
        bound = f"-floor to {rail}" if lists.reset_values else "0"
        yield find_values("reset-range", neurons.reset, wrong, bound, "reset")
    below = neurons.voltage < -floor
    yield find_values("floor-range", neurons.voltage, below, "-floor or more", "first voltage")
    if neurons.floor is not None:
        wrong, bound = floor < 0, "0 or more"
        if lists.floors == "none":
            wrong, bound = floor < rail, f"{rail} or more"
        elif lists.floors == "shared":
            odd = (floor < rail) & ((floor & (floor + 1)) != 0)
            wrong, bound = wrong | odd | (floor != floor[:, :1]), "one 2^k - 1 for all neurons of a core"
        yield find_values("floor-range", neurons.floor, wrong, bound, "floor")


def _has_shift(
    low: Ints, high: Ints, unit: Ints, step: Ints | np.int64, shifts: tuple[int, int], mantissa: tuple[int, int]
) -> Bools:
    """Test which sets of values, all multiples of ``unit``, some shift makes multiples of ``step`` in range."""
    found = np.zeros(np.shape(low), np.bool_)
    for shift in range(shifts[1], shifts[0] - 1, -1):
        divides = unit % (step << shift) == 0
        found |= divides & (low >> shift >= mantissa[0]) & (high >> shift <= mantissa[1])
    return found


def _per_core(rule: str, found: Ints, most: int, what: str) -> Finding:
    return find_values(rule, found, found > most, f"at most {most}", what, checker.CORES)


RULES = Rules(
    starts=(starts,),
    indices=(synapses, list_targets, decays, refractory_periods, joins, *checker.TABLES, host_axons),
    chip=(
        checker.coordinates,
        axons,
        synapse_memory,
        output_axons,
        weights,
        thresholds,
        biases,
        scales,
        initial_state,
        resets,
        *checker.BOARD,
    ),
    mapped=(checker.chosen_periods,),
)
