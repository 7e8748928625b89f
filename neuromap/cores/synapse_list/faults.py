"""Faults and edits of programs of synapse lists."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from neuromap.arrays.array_types import Bools, Ints
from neuromap.cores.synapse_list.program import ListProgram, SynapseProgram, SynapseTable
from neuromap.errors import InputError
from neuromap.faults.edited_program import ThresholdEdit, WeightEdit, axons_from, fails, moved, refusal
from neuromap.faults.options import Faults

_P = TypeVar("_P", bound=SynapseProgram)


def with_stuck(program: ListProgram, stuck: Bools, fires: bool) -> ListProgram:
    """Make neurons never fire, or fire in every tick, for any input."""
    # All synapses onto them, and onto compartments joined to them, get weight 0, so that nothing but the bias
    # moves their voltage: to 0, which is not above the threshold 0, or to 1, which is.
    # shapes: stuck (C, N)
    table = program.neurons
    still = stuck.ravel()[program.soma].reshape(stuck.shape)
    changed: dict[str, Any] = {
        name: np.where(still, 0, getattr(table, name)) for name in ("threshold", "current", "voltage")
    }
    changed["bias"] = np.where(still, int(fires), table.bias)
    if table.reset is not None:
        changed["reset"] = np.where(still, 0, table.reset)
    narrow: dict[str, Any] = {name: array.astype(np.int32) for name, array in changed.items()}
    neurons = replace(table, refractory=np.where(still, np.uint8(0), table.refractory), **narrow)
    return replace(program, neurons=neurons, synapses=without_weights(program, still))


def without_weights(program: SynapseProgram, onto: Bools) -> SynapseTable:
    """Return the synapses with weight 0 onto some neurons."""
    # shapes: onto (C, N)
    table = program.synapses
    weight = np.where(onto[table.list_core[table.synapse_list], table.neuron], np.int32(0), table.weight)
    return replace(table, weight=weight)


def without_ways(program: _P, cut: Bools) -> _P:
    """Remove targets of neurons."""
    # shapes: cut (n,)
    targets = program.targets
    left = np.concatenate([[0], np.cumsum(~cut)])
    kept = replace(targets, start=left[targets.start], core=targets.core[~cut], axon=targets.axon[~cut])
    return replace(program, targets=kept)


def flipped(program: _P, places: Ints, faults: Faults) -> tuple[_P, int, int]:
    """Flip the signs of synapses' weights."""
    # shapes: places (C,)
    synapses = program.synapses
    row = synapses.synapse_list
    core = synapses.list_core[row]
    within = np.arange(len(row)) - synapses.lists[row]
    flips = fails(faults, "flipped-synapses", places[core], row - synapses.axons[core], within)
    weight = np.where(flips, -synapses.weight, synapses.weight)
    return replace(program, synapses=replace(synapses, weight=weight)), int(flips.sum()), len(flips)


def with_threshold(program: ListProgram, at: tuple[Ints, Ints], edit: ThresholdEdit) -> ListProgram:
    """Raise or lower thresholds."""
    step = 1 << program.chip.lists.threshold_shift
    most = ((1 << program.chip.threshold_bits) - 1) * step
    threshold = moved(program.neurons.threshold, at, step, 0, most, edit)
    return replace(program, neurons=replace(program.neurons, threshold=threshold))


def with_weight(program: ListProgram, places: Sequence[tuple[int, int]], edit: WeightEdit) -> ListProgram:
    """Change the weight of a connection."""
    return set_weight(program, places, edit, 1 << program.chip.lists.threshold_shift)


def set_weight(program: _P, places: Sequence[tuple[int, int]], edit: WeightEdit, step: int) -> _P:
    """Change the weight of a connection, in units of ``step``."""
    table = program.synapses
    weight, lists_of = table.weight.copy(), table.synapse_list
    most = 1 << (program.chip.weight_bits - 1)
    for core, neuron in places:
        lists = table.axons[core] + axons_from(program, edit.source, edit.source_index, core)
        mine = np.flatnonzero(np.isin(lists_of, lists) & (table.neuron == neuron))
        if not len(mine):
            raise refusal(edit, [])
        if not -most <= edit.weight < most:
            raise InputError(f"{edit.what}: weights of {program.chip.name} are {-most} to {most - 1}")
        weight[mine] = 0
        weight[mine[0]] = edit.weight * step
    return replace(program, synapses=replace(table, weight=weight))
