"""What faults and edits do to a program of graded cores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from neuromap.cores.graded.program import GradedProgram
from neuromap.cores.synapse_list import faults as list_faults
from neuromap.cores.synapse_list.faults import flipped, set_weight, without_weights
from neuromap.errors import InputError
from neuromap.faults.edited_program import ThresholdEdit, WeightEdit

__all__ = ["flipped", "with_stuck", "with_threshold", "with_weight", "without_ways"]
Bools: TypeAlias = NDArray[np.bool_]
Ints: TypeAlias = NDArray[np.int64]
without_ways = list_faults.without_ways


def with_stuck(program: GradedProgram, stuck: Bools, fires: bool) -> GradedProgram:
    """Let neurons send nothing, or in every tick their greatest value (the least where that is 0)."""
    # shapes: stuck (C, N); compartments send nothing anyway. Nothing that is loaded says any more that they are reached
    units, onto = program.units, stuck.ravel()[program.soma].reshape(stuck.shape)
    still = stuck & ~program.further_compartments
    value = np.where(units.high > 0, units.high, units.low) * np.int32(fires)
    low, high = (np.where(still, value, bound).astype(np.int32) for bound in (units.low, units.high))
    return replace(program, units=replace(units, low=low, high=high), synapses=without_weights(program, onto))


def with_threshold(program: GradedProgram, at: tuple[Ints, Ints], edit: ThresholdEdit) -> GradedProgram:
    """Refuse: graded neurons have no thresholds."""
    raise InputError(f"{edit.what}: graded neurons have no threshold; edit weights instead")


def with_weight(program: GradedProgram, places: Sequence[tuple[int, int]], edit: WeightEdit) -> GradedProgram:
    """Change the weight of a connection."""
    return set_weight(program, places, edit, 1)
