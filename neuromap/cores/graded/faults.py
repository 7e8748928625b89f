"""Faults and edits of graded programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from neuromap.arrays.array_types import Bools, Ints
from neuromap.cores.graded.program import GradedProgram
from neuromap.cores.synapse_list.faults import flipped as flipped
from neuromap.cores.synapse_list.faults import set_weight, without_weights
from neuromap.cores.synapse_list.faults import without_ways as without_ways
from neuromap.errors import InputError
from neuromap.faults.edited_program import ThresholdEdit, WeightEdit


def with_stuck(program: GradedProgram, stuck: Bools, fires: bool) -> GradedProgram:
    """Make neurons never send, or send their greatest value in every tick, for any input."""
    # shapes: stuck (C, N)
    units = program.units
    value = np.where(units.high > 0, units.high, units.low) if fires else np.zeros_like(units.high)
    low, high = (np.where(stuck, value, bound).astype(np.int32) for bound in (units.low, units.high))
    still = stuck.ravel()[program.soma].reshape(stuck.shape)  # and the compartments joined to them
    return replace(program, units=replace(units, low=low, high=high), synapses=without_weights(program, still))


def with_threshold(program: GradedProgram, at: tuple[Ints, Ints], edit: ThresholdEdit) -> GradedProgram:
    """Refuse: graded neurons have no threshold."""
    raise InputError(f"{edit.what}: graded neurons have no threshold; change a weight")


def with_weight(program: GradedProgram, places: Sequence[tuple[int, int]], edit: WeightEdit) -> GradedProgram:
    """Change the weight of a connection; its synapses become one."""
    return set_weight(program, places, edit, 1)
