"""Thresholds of neurons in a program, raised or lowered."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from neuromap.errors import InputError, NotSupportedError
from neuromap.faults.edits.edit import ThresholdEdit
from neuromap.faults.edits.places import places_of
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.hardware.program.list_program import ListProgram
from neuromap.hardware.program.program import Program

__all__ = ["with_threshold"]

_T = TypeVar("_T", bound=np.integer)


def with_threshold(program: ChipProgram, edit: ThresholdEdit) -> ChipProgram:
    """Raise or lower thresholds."""
    # A frame neuron on a crossbar compares with 0, and its leak is its threshold taken from the sum; so its leak moves.
    core, neuron = at = places_of(program, edit.node, edit.index)
    if isinstance(program, Program):
        table = program.neurons
        compares_with_0 = (table.threshold[at] == 0) & (table.negative_threshold[at] == 0) & (table.reset_mode[at] == 0)
        frames = core[compares_with_0], neuron[compares_with_0]
        others = core[~compares_with_0], neuron[~compares_with_0]
        leak = _moved(table.leak, frames, -1, program.chip.leak_range[0], -1, edit)
        threshold = _moved(table.threshold, others, 1, 1, program.chip.threshold_range[1], edit)
        return replace(program, neurons=replace(table, leak=leak, threshold=threshold))
    if isinstance(program, ListProgram):
        step = 1 << program.chip.lists.threshold_shift
        most = ((1 << program.chip.threshold_bits) - 1) * step
        threshold = _moved(program.neurons.threshold, at, step, 0, most, edit)
        return replace(program, neurons=replace(program.neurons, threshold=threshold))
    raise NotSupportedError(f"{edit.what}: cores of {program.chip.name} are of another kind")


def _moved(
    table: NDArray[_T],
    at: tuple[NDArray[np.int64], NDArray[np.int64]],
    step: int,
    low: int,
    high: int,
    edit: ThresholdEdit,
) -> NDArray[_T]:
    """Add ``step`` for every 1 of the edit, within bounds."""
    if not len(at[0]):
        return table
    held = table[at].astype(np.int64)
    moved = held + step * edit.by
    if moved.min() < low or moved.max() > high:
        least, most = sorted(int(room / step) for room in (low - held.min(), high - held.max()))
        raise InputError(f"{edit.what}: the chip's neurons can change theirs by {least} to {most}; stay within")
    found = table.copy()
    found[at] = moved
    return found
