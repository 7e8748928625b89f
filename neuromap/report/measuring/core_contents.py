"""What lies where on the board, read from a program."""

from __future__ import annotations

import numpy as np

from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.report.figures.core_map import CoreMap

__all__ = ["core_map"]


def core_map(program: ChipProgram) -> CoreMap:
    """Tell what lies in every core.

    Parameters
    ----------
    program : ChipProgram
        Mapped, or written by hand; nodes, relays and splitters are told from its labels.

    Returns
    -------
    CoreMap
        One entry per core in use.
    """
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
        cores_of_node=(held > 0).sum(axis=0)[: len(program.nodes)],
    )
