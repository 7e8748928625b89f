"""From a program and edits to the program that runs then, and the state that it goes on from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from neuromap.errors import InputError
from neuromap.faults.edits.edit import DeadLink, Edit, SilentCore, ThresholdEdit, WeightEdit
from neuromap.faults.edits.thresholds import with_threshold
from neuromap.faults.edits.weights import with_weight
from neuromap.faults.effects.links_in_use import Links, cut_ways, links_in_use
from neuromap.faults.effects.struck_program import with_stuck, without_ways
from neuromap.files.given import needs
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.simulation.engine.engine_state import CurrentState, EngineState

__all__ = ["apply_edits", "settled_state"]

Bools = NDArray[np.bool_]


def apply_edits(program: ChipProgram, edits: Sequence[Edit]) -> ChipProgram:
    """Change a program by hand.

    Parameters
    ----------
    program : ChipProgram
        As it was mapped.
    edits : sequence of Edit
        In any order, but for two of one threshold or weight: thresholds add up, the last weight counts.

    Returns
    -------
    ChipProgram
        The very same where there are no edits.

    Raises
    ------
    InputError
        If the program has no such node, neuron, core or link, or the chip cannot hold the value.
    """
    needs("apply_edits", program, ChipProgram)
    now = program
    for edit in edits:
        if isinstance(edit, ThresholdEdit):
            now = with_threshold(now, edit)
        elif isinstance(edit, WeightEdit):
            now = with_weight(now, edit)
    dead = [edit for edit in edits if isinstance(edit, DeadLink)]
    if dead:
        links = Links(*(np.array(column, np.int64) for column in zip(*map(_ends, dead), strict=True)))
        _require_links(program, dead)
        now = without_ways(now, cut_ways(program, links, program.wires))
    silent = _silent(program, edits)
    return with_stuck(now, silent, fires=False) if silent.any() else now


def settled_state(program: ChipProgram, edits: Sequence[Edit], state: EngineState) -> EngineState:
    """Take from silent neurons what they hold, so that they do not fire once more.

    Parameters
    ----------
    program : ChipProgram
        As it was mapped.
    edits : sequence of Edit
        Those that are in force from now on.
    state : EngineState
        What the chip holds.

    Returns
    -------
    EngineState
        For :meth:`neuromap.simulation.live.live_run.LiveRun.put`.
    """
    silent = _silent(program, edits)
    if not silent.any():
        return state
    held = state.currents
    if held is not None:
        kept = ~silent[held.due[:, 1], held.due[:, 2]]
        current, resting = (np.where(silent, 0, table) for table in (held.current, held.resting))
        held = CurrentState(current, resting, held.due[kept], held.amounts[kept])
    return replace(state, potentials=np.where(silent, 0, state.potentials), currents=held)


def _silent(program: ChipProgram, edits: Sequence[Edit]) -> Bools:
    silent = np.zeros(program.shape, np.bool_)
    for edit in edits:
        if isinstance(edit, SilentCore):
            if edit.core >= program.n_cores:
                raise InputError(f"core {edit.core}: program {program.name} has cores 0 to {program.n_cores - 1}")
            silent[edit.core] = True
    return silent


def _ends(link: DeadLink) -> tuple[int, int, int]:
    return link.x, link.y, int(link.upwards)


def _require_links(program: ChipProgram, dead: Sequence[DeadLink]) -> None:
    used = links_in_use(program)
    there = set(zip(used.x.tolist(), used.y.tolist(), used.upwards.tolist(), strict=True))
    for link in dead:
        if _ends(link) not in there:
            raise InputError(f"{link.what.removesuffix(' is dead')}: no spike of program {program.name} crosses it")
