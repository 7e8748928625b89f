"""Faults and edits of crossbar programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.array_types import Bools, Ints
from neuromap.cores.crossbar.program import NeuronTable, Program
from neuromap.faults.edited_program import ThresholdEdit, WeightEdit, axons_from, fails, moved, refusal
from neuromap.faults.options import Faults

_MOST_AXONS = 8
_NO_MORE = (
    "weights", "leak", "leak_reversal", "negative_threshold", "reset", "reset_mode", "saturate_negative", "potential",
    "stochastic_weight", "stochastic_leak", "noise_bits",
)  # fmt: skip


def with_stuck(program: Program, stuck: Bools, fires: bool) -> Program:
    """Make neurons never fire, or fire in every tick, for any input."""
    # Their potential stays 0: no weight, no leak, no noise. A threshold of 1 is out of reach then, one of 0 is reached.
    # shapes: stuck (C, N)
    table = program.neurons
    changed: dict[str, Any] = {name: _cleared(getattr(table, name), stuck) for name in _NO_MORE}
    changed["threshold"] = np.where(stuck, np.int32(0 if fires else 1), table.threshold)
    return replace(program, neurons=NeuronTable(**changed))


def without_ways(program: Program, cut: Bools) -> Program:
    """Remove the targets of neurons."""
    # shapes: cut (n,)
    wires = program.wires
    tables = {name: getattr(program, name).copy() for name in ("target_core", "target_axon", "delay")}
    for name, nothing in (("target_core", -1), ("target_axon", 0), ("delay", 0)):
        tables[name][wires.core[cut], wires.neuron[cut]] = nothing
    return replace(program, **tables)


def flipped(program: Program, places: Ints, faults: Faults) -> tuple[Program, int, int]:
    """Flip bits where axons in use cross neurons in use."""
    # shapes: places (C,)
    crossbar = program.crossbar.copy()
    struck = at_risk = 0
    cores = zip(places.tolist(), axons_in_use(program), program.neurons_in_use, strict=True)
    for core, (place, axons, neurons) in enumerate(cores):  # one by one: all crossings of a chip take gigabytes
        axon, neuron = np.flatnonzero(axons), np.flatnonzero(neurons)
        flips = np.zeros(axons.shape + neurons.shape, np.bool_)
        flips[np.ix_(axon, neuron)] = fails(faults, "flipped-synapses", place, axon[:, None], neuron)
        crossbar[core] ^= np.packbits(flips, axis=1, bitorder="little")
        struck += int(flips.sum())
        at_risk += len(axon) * len(neuron)
    return replace(program, crossbar=crossbar), struck, at_risk


def axons_in_use(program: Program) -> Bools:
    """Mask the axons that a neuron or the host feeds, or that have a synapse, shape (C, A)."""
    used = np.asarray(program.crossbar.any(axis=2))
    wires, host = program.wires, program.host
    used[wires.target_core, wires.target_axon] = True
    used[host.core, host.axon] = True
    return used


def _cleared(table: NDArray[Any] | None, stuck: Bools) -> NDArray[Any] | None:
    if table is None:
        return None
    found = table.copy()
    found[stuck] = 0
    return found


def with_threshold(program: Program, at: tuple[Ints, Ints], edit: ThresholdEdit) -> Program:
    """Raise or lower thresholds."""
    # A frame neuron compares with 0 and subtracts its threshold from the sum as a leak, so its leak changes.
    core, neuron = at
    table = program.neurons
    compares_with_0 = (table.threshold[at] == 0) & (table.negative_threshold[at] == 0) & (table.reset_mode[at] == 0)
    frames = core[compares_with_0], neuron[compares_with_0]
    others = core[~compares_with_0], neuron[~compares_with_0]
    leak = moved(table.leak, frames, -1, program.chip.leak_range[0], -1, edit)
    threshold = moved(table.threshold, others, 1, 1, program.chip.threshold_range[1], edit)
    return replace(program, neurons=replace(table, leak=leak, threshold=threshold))


def with_weight(program: Program, places: Sequence[tuple[int, int]], edit: WeightEdit) -> Program:
    """Change the weight of a connection."""
    # Synapses are bits, and a neuron has one weight per axon type: the weight of a connection is a sum over the axons
    # that carry its source.
    crossbar = program.crossbar.copy()
    for core, neuron in places:
        siblings = np.packbits(_of_target(program, core, edit.target), bitorder="little")
        axons = [
            a
            for a in axons_from(program, edit.source, edit.source_index, core).tolist()
            if (crossbar[core, a] & siblings).any()
        ][:_MOST_AXONS]
        weights = program.neurons.weights[core, neuron, program.axon_types[core, axons]].tolist()
        chosen = _subset(edit, weights)
        byte, bit = neuron // 8, np.uint8(1 << neuron % 8)
        for k, axon in enumerate(axons):
            crossbar[core, axon, byte] &= ~bit
            if k in chosen:
                crossbar[core, axon, byte] |= bit
    return replace(program, crossbar=crossbar)


def _subset(edit: WeightEdit, weights: Sequence[int]) -> tuple[int, ...]:
    """Choose as few axons as possible whose weights add up to the wanted weight."""
    every = range(len(weights))
    sums = {
        sum(weights[k] for k in some): some
        for n in reversed(range(len(weights) + 1))
        for some in combinations(every, n)
    }
    if edit.weight not in sums or not weights:
        raise refusal(edit, sorted(sums) if weights else [])
    return sums[edit.weight]


def _of_target(program: Program, core: int, target: str) -> Bools:
    position = [port.name for port in program.nodes].index(target)
    found: Bools = (program.neuron_node[core] == position) & ~program.is_relay[core]
    return found
