"""What lies where on the board, read from a program."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.hardware.program.neurons_in_use import further_compartments
from neuromap.report.figures.core_map import CoreMap

__all__ = ["core_map"]


def core_map(program: ChipProgram) -> CoreMap:
    """Tell what lies in every core."""
    n_cores, n_nodes = program.n_cores, max(1, len(program.nodes))
    core, neuron = np.nonzero(program.neuron_node >= 0)
    held = np.bincount(core * n_nodes + program.neuron_node[core, neuron], minlength=n_cores * n_nodes)
    held = held.reshape(n_cores, n_nodes)
    order = np.argsort(-held, axis=1, kind="stable")
    every = np.arange(n_cores)
    main, main_neurons = order[:, 0], held[every, order[:, 0]]
    second = order[:, 1] if n_nodes > 1 else np.zeros(n_cores, np.int64)
    second_neurons = held[every, second] if n_nodes > 1 else np.zeros(n_cores, np.int64)
    splitters, parts = (
        np.zeros(n_cores, np.int64) if marks is None else marks.sum(axis=1)
        for marks in (program.is_splitter, program.is_part)
    )
    chip = program.chip
    return CoreMap(
        names=tuple(port.name for port in program.nodes),
        cores=chip.cores,
        chips=chip.chips,
        places=chip.neurons,
        dead=tuple(sorted({*chip.defects.cores, *chip.defects.routers})),
        coordinates=program.coordinates,
        neurons=held.sum(axis=1),
        main=np.where(main_neurons > 0, main, -1),
        second=np.where(second_neurons > 0, second, -1),
        main_neurons=main_neurons,
        second_neurons=second_neurons,
        n_nodes=(held > 0).sum(axis=1),
        relays=program.is_relay.sum(axis=1) - splitters - parts,
        splitters=splitters,
        parts=parts,
        copied=_copied(program),
        cores_of_node=(held > 0).sum(axis=0)[: len(program.nodes)],
    )


def _copied(program: ChipProgram) -> NDArray[np.int64]:
    """Count in every core the neurons of nodes that stand on the chip more than once."""
    core, place = np.nonzero((program.neuron_node >= 0) & ~program.is_relay & ~further_compartments(program))
    source = np.stack([program.neuron_node[core, place], program.neuron_index[core, place]], axis=1)
    _, which, times = np.unique(source, axis=0, return_inverse=True, return_counts=True)
    found: NDArray[np.int64] = np.bincount(core[times[which.ravel()] > 1], minlength=program.n_cores)
    return found
