"""What faults and edits do to a program of dense cores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from neuromap.faults.edited_program import ThresholdEdit, WeightEdit, axons_from, fails, moved, refusal
from neuromap.faults.options import Faults
from neuromap_dense.program import DenseProgram

Bools, Ints = NDArray[np.bool_], NDArray[np.int64]


def with_stuck(program: DenseProgram, stuck: Bools, fires: bool) -> DenseProgram:
    """Let neurons never fire, or fire in every tick: nothing moves their sum, which is below, or at, the threshold."""
    threshold = np.where(stuck, np.int32(not fires), program.threshold).astype(np.int32)
    return replace(program, threshold=threshold, weights=np.where(stuck[:, None, :], np.int8(0), program.weights))


def without_ways(program: DenseProgram, cut: Bools) -> DenseProgram:
    """Take targets from neurons."""
    start = np.append(0, np.cumsum(~cut))[program.start]
    targets = {name: getattr(program, name)[~cut] for name in ("target_core", "target_axon", "delay")}
    return replace(program, start=start, **targets)


def flipped(program: DenseProgram, places: Ints, faults: Faults) -> tuple[DenseProgram, int, int]:
    """Give the weights of synapses the other sign."""
    core, axon, neuron = np.nonzero(program.weights)
    flips = fails(faults, "flipped-synapses", places[core], axon, neuron)
    weights = program.weights.copy()
    weights[core[flips], axon[flips], neuron[flips]] *= -1
    return replace(program, weights=weights), int(flips.sum()), len(flips)


def with_threshold(program: DenseProgram, at: tuple[Ints, Ints], edit: ThresholdEdit) -> DenseProgram:
    """Raise or lower thresholds; below 1 a neuron would fire unasked."""
    return replace(program, threshold=moved(program.threshold, at, 1, 1, program.chip.threshold_range[1], edit))


def with_weight(program: DenseProgram, places: Sequence[tuple[int, int]], edit: WeightEdit) -> DenseProgram:
    """Give a connection another weight."""
    least, greatest = program.chip.weight_range
    weights = program.weights.copy()
    for core, neuron in places:
        axons = axons_from(program, edit.source, edit.source_index, core)
        if not len(axons) or not least <= edit.weight <= greatest:
            raise refusal(edit, range(least, greatest + 1) if len(axons) else [])
        weights[core, axons, neuron] = 0
        weights[core, axons[0], neuron] = edit.weight
    return replace(program, weights=weights)
