"""The weight of one connection in a program, changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from neuromap.errors import InputError, NotSupportedError
from neuromap.faults.edits.edit import WeightEdit
from neuromap.faults.edits.places import axons_from, places_of
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.hardware.program.list_program import ListProgram
from neuromap.hardware.program.program import Program

__all__ = ["with_weight"]

_MOST_AXONS = 8


def with_weight(program: ChipProgram, edit: WeightEdit) -> ChipProgram:
    """Change the weight of a connection."""
    # A crossbar has bits where axons and neurons cross, and a neuron one weight for every type of axon: what a
    # connection can weigh is a sum over the axons that bring its source here.
    places = list(zip(*(part.tolist() for part in places_of(program, edit.target, edit.target_index)), strict=True))
    if isinstance(program, Program):
        return _on_crossbars(program, edit, places)
    if isinstance(program, ListProgram):
        return _in_lists(program, edit, places)
    raise NotSupportedError(f"{edit.what}: cores of {program.chip.name} are of another kind")


def _on_crossbars(program: Program, edit: WeightEdit, places: Sequence[tuple[int, int]]) -> Program:
    crossbar = program.crossbar.copy()
    for core, neuron in places:
        siblings = np.packbits(_of_target(program, core, edit.target), bitorder="little")
        axons = [a for a in _sources(program, edit, core) if (crossbar[core, a] & siblings).any()][:_MOST_AXONS]
        weights = program.neurons.weights[core, neuron, program.axon_types[core, axons]].tolist()
        chosen = _subset(edit, weights)
        byte, bit = neuron // 8, np.uint8(1 << neuron % 8)
        for k, axon in enumerate(axons):
            crossbar[core, axon, byte] &= ~bit
            if k in chosen:
                crossbar[core, axon, byte] |= bit
    return replace(program, crossbar=crossbar)


def _subset(edit: WeightEdit, weights: Sequence[int]) -> tuple[int, ...]:
    """Choose axons whose weights add up to what is asked for, as few as can be."""
    every = range(len(weights))
    sums = {
        sum(weights[k] for k in some): some
        for n in reversed(range(len(weights) + 1))
        for some in combinations(every, n)
    }
    if edit.weight not in sums or not weights:
        raise _refusal(edit, sorted(sums) if weights else [])
    return sums[edit.weight]


def _in_lists(program: ListProgram, edit: WeightEdit, places: Sequence[tuple[int, int]]) -> ListProgram:
    table = program.synapses
    weight, lists_of = table.weight.copy(), table.synapse_list
    step = 1 << program.chip.lists.threshold_shift
    most = 1 << (program.chip.weight_bits - 1)
    for core, neuron in places:
        lists = table.axons[core] + np.array(_sources(program, edit, core), np.int64)
        mine = np.flatnonzero(np.isin(lists_of, lists) & (table.neuron == neuron))
        if not len(mine):
            raise _refusal(edit, [])
        if not -most <= edit.weight < most:
            raise InputError(f"{edit.what}: weights of {program.chip.name} are {-most} to {most - 1}")
        weight[mine] = 0
        weight[mine[0]] = edit.weight * step
    return replace(program, synapses=replace(table, weight=weight))


def _sources(program: ChipProgram, edit: WeightEdit, core: int) -> list[int]:
    found: list[int] = axons_from(program, edit.source, edit.source_index, core).tolist()
    return found


def _of_target(program: Program, core: int, target: str) -> NDArray[np.bool_]:
    position = [port.name for port in program.nodes].index(target)
    found: NDArray[np.bool_] = (program.neuron_node[core] == position) & ~program.is_relay[core]
    return found


def _refusal(edit: WeightEdit, values: Sequence[int]) -> InputError:
    if not values:
        return InputError(f"{edit.what}: no axon brings {edit.source}[{edit.source_index}] there; choose another pair")
    shown = ", ".join(map(str, values[:12])) + (", ..." if len(values) > 12 else "")
    return InputError(f"{edit.what}: the axons there can add up to {shown}; choose one of these")
