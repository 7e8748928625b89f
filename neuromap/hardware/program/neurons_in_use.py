"""Which neurons of a program do anything, whatever its cores are like."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.hardware.program.list_program import ListProgram
from neuromap.hardware.program.program import Program

__all__ = ["further_compartments", "neurons_in_use"]

Bools = NDArray[np.bool_]


def neurons_in_use(program: ChipProgram) -> Bools:
    """Find the neurons that bear a node's label, have a synapse, or send spikes; with a bias too."""
    # Where there are any.
    # shapes: returns (C, N)
    used: Bools = program.neuron_node >= 0
    if isinstance(program, Program):
        used |= _read_in_crossbars(program)
        used |= program.target_core >= 0
    if isinstance(program, ListProgram):
        table = program.synapses
        used[table.list_core[table.synapse_list], table.neuron] = True
        used |= np.diff(program.targets.start).reshape(used.shape) > 0
        used |= program.neurons.bias != 0
    return used


def further_compartments(program: ChipProgram) -> Bools:
    """Find what is joined to another: it holds a further current of a neuron, and is no neuron of its own."""
    # gives none of crossbar cores
    # shapes: returns (C, N)
    joined = program.neurons.joined if isinstance(program, ListProgram) else None
    return np.zeros(program.neuron_node.shape, np.bool_) if joined is None else joined >= 0


def _read_in_crossbars(program: Program) -> Bools:
    columns = np.bitwise_or.reduce(program.crossbar, axis=1)
    return np.unpackbits(columns, axis=-1, count=program.shape[1], bitorder="little").astype(np.bool_)
