"""What faults do to a program of synapse lists."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from neuromap.faults.effects.draw_faults import fails
from neuromap.faults.effects.fault_model import Faults
from neuromap.hardware.program.list_program import ListProgram

__all__ = ["flip_signs", "list_with_stuck", "list_without_ways"]

Bools = NDArray[np.bool_]


def list_with_stuck(program: ListProgram, stuck: Bools, fires: bool) -> ListProgram:
    """Let neurons never fire, or fire in every tick, whatever reaches them."""
    # All synapses onto them, and onto compartments that are joined to them, have weight 0, so that nothing but the bias
    # moves their voltage: to 0, which is not above the threshold 0, or to 1, which is.
    # shapes: stuck (C, N)
    table, synapses = program.neurons, program.synapses
    still = stuck.ravel()[program.soma].reshape(stuck.shape)
    changed = {name: np.where(still, 0, getattr(table, name)) for name in ("threshold", "current", "voltage")}
    changed["bias"] = np.where(still, int(fires), table.bias)
    neurons = replace(
        table,
        refractory=np.where(still, np.uint8(0), table.refractory),
        **{name: array.astype(np.int32) for name, array in changed.items()},
    )
    onto = still[synapses.list_core[synapses.synapse_list], synapses.neuron]
    weight = np.where(onto, np.int32(0), synapses.weight)
    return replace(program, neurons=neurons, synapses=replace(synapses, weight=weight))


def list_without_ways(program: ListProgram, cut: Bools) -> ListProgram:
    """Take targets from neurons."""
    # shapes: cut (n,)
    targets = program.targets
    left = np.concatenate([[0], np.cumsum(~cut)])
    kept = replace(targets, start=left[targets.start], core=targets.core[~cut], axon=targets.axon[~cut])
    return replace(program, targets=kept)


def flip_signs(program: ListProgram, places: NDArray[np.int64], faults: Faults) -> tuple[ListProgram, int, int]:
    """Give the weights of synapses the other sign."""
    # shapes: places (C,)
    synapses = program.synapses
    row = synapses.synapse_list
    core = synapses.list_core[row]
    within = np.arange(len(row)) - synapses.lists[row]
    flips = fails(faults, "flipped-synapses", places[core], row - synapses.axons[core], within)
    weight = np.where(flips, -synapses.weight, synapses.weight)
    return replace(program, synapses=replace(synapses, weight=weight)), int(flips.sum()), len(flips)
