"""Rules about limits and number formats of synapse-list cores (``[core]`` of the chip file).

Every rule is a function from a well-formed program to findings. Starts that do not rise are found by
:mod:`neuromap.hardware.check.list_index_rules`; then nothing here is asked. Other indices that point nowhere are passed
over.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from neuromap.hardware.check.violation import Finding, Place, find
from neuromap.hardware.program.program import ListProgram

Ints = NDArray[np.int64]


def axons(program: ListProgram) -> Iterator[Finding]:
    """``axon-count``: no core has more axons in use than the chip's."""
    yield _per_core("axon-count", program.axon_counts, program.chip.axons, "number of axons in use")


def synapse_memory(program: ListProgram) -> Iterator[Finding]:
    """``synapse-memory``: the lists of every core fit its memory."""
    table, limits = program.synapses, program.chip.lists
    n_synapses = np.diff(table.lists[table.axons])
    bits = program.axon_counts * limits.list_bits + n_synapses * limits.synapse_bits
    yield _per_core("synapse-memory", bits, limits.synapse_memory_bits, "memory of its lists in bits")


def output_axons(program: ListProgram) -> Iterator[Finding]:
    """``output-axons``: pairs of a neuron and a core that it feeds; no core has more than the chip's."""
    n_cores, n_neurons = program.shape
    of = np.repeat(np.arange(n_cores * n_neurons), np.diff(program.targets.start))
    core = program.targets.core.astype(np.int64)
    inside = (core >= 0) & (core < n_cores)
    pairs = np.unique(of[inside] * n_cores + core[inside])
    found = np.bincount(pairs // max(n_cores * n_neurons, 1), minlength=n_cores)
    yield _per_core("output-axons", found, program.chip.lists.output_axons, "number of output axons")


def weights(program: ListProgram) -> Iterator[Finding]:
    """``weight-range``: weights of a list are mantissas, within their width, times one power of two."""
    table, chip = program.synapses, program.chip
    lists = np.flatnonzero(np.diff(table.lists))
    if not len(lists):
        return
    start, weight = table.lists[lists], table.weight.astype(np.int64)
    low, high = np.minimum.reduceat(weight, start), np.maximum.reduceat(weight, start)
    step = np.where((low < 0) & (high > 0), chip.lists.mixed_sign_step, 1)
    unit = np.gcd.reduceat(weight, start)  # 0 for lists of zeros
    wrong = (unit != 0) & ~_has_shift(low, high, unit, step, chip.lists.weight_shifts, chip.weight_range)
    least, most = chip.lists.weight_shifts
    bound = f"mantissas of {chip.weight_range[0]} to {chip.weight_range[1]} times one 2^k, k {least} to {most}"
    if chip.lists.mixed_sign_step > 1:
        bound += f", mantissas multiples of {chip.lists.mixed_sign_step} where both signs occur"

    def describe(i: int) -> tuple[Place, tuple[int, ...], str, str]:
        core = int(np.searchsorted(table.axons, lists[i], side="right")) - 1
        place = Place(core=core, axon=int(lists[i] - table.axons[core]))
        return place, (int(low[i]), int(high[i])), bound, f"least and greatest weight, all multiples of {unit[i]},"

    yield find("weight-range", wrong, describe)


def thresholds(program: ListProgram) -> Iterator[Finding]:
    """``threshold-range``: thresholds are unsigned mantissas times the chip's power of two."""
    shift, values = program.chip.lists.threshold_shift, program.neurons.threshold
    most = (2**program.chip.threshold_bits - 1) << shift
    yield _of_neurons(
        "threshold-range",
        values,
        (values < 0) | (values > most) | (values % (1 << shift) != 0),
        f"multiples of {1 << shift} from 0 to {most}",
        "threshold",
    )


def biases(program: ListProgram) -> Iterator[Finding]:
    """``bias-range``: biases are mantissas, within their width, times a power of two."""
    limits, values = program.chip.lists, program.neurons.bias.astype(np.int64)
    half = 1 << (limits.bias_bits - 1)
    fits = _has_shift(values, values, values, np.int64(1), limits.bias_shifts, (-half, half - 1))
    least, most = limits.bias_shifts
    bound = f"mantissas of {-half} to {half - 1} times 2^k, k {least} to {most}"
    yield _of_neurons("bias-range", values, (values != 0) & ~fits, bound, "bias")


def initial_state(program: ListProgram) -> Iterator[Finding]:
    """``potential-range``: currents and voltages before the first tick fit their widths."""
    rail = 2 ** (program.chip.potential_bits - 1) - 1
    neurons = program.neurons
    for what, values, (least, most) in (
        ("current", neurons.current, program.chip.lists.current_range),
        ("voltage", neurons.voltage, (-rail, rail)),
    ):
        outside = (values < least) | (values > most)
        yield _of_neurons("potential-range", values, outside, f"{least} to {most}", f"{what} before the first tick")


def _has_shift(
    low: Ints, high: Ints, unit: Ints, step: Ints | np.int64, shifts: tuple[int, int], mantissa: tuple[int, int]
) -> NDArray[np.bool_]:
    """Say of sets of values, all multiples of ``unit``, whether a shift makes them multiples of ``step`` in range."""
    found = np.zeros(np.shape(low), np.bool_)
    for shift in range(shifts[1], shifts[0] - 1, -1):
        divides = unit % (step << shift) == 0
        found |= divides & (low >> shift >= mantissa[0]) & (high >> shift <= mantissa[1])
    return found


def _per_core(rule: str, found: Ints, most: int, what: str) -> Finding:
    return find(rule, found > most, lambda c: (Place(core=c), int(found[c]), f"at most {most}", what))


def _of_neurons(
    rule: str, values: NDArray[np.signedinteger], wrong: NDArray[np.bool_], bound: str, what: str
) -> Finding:
    return find(rule, wrong, lambda c, n: (Place(core=c, neuron=n), int(values[c, n]), bound, what))
