"""Pending synaptic input of synapse-list cores."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.array_types import Ints
from neuromap.arrays.packed_rows import ragged_ranges
from neuromap.cores.synapse_list.program import ListProgram, SynapseProgram


def pending_amounts(program: ListProgram, tick: int, due: Ints, reached: NDArray[np.bool_]) -> Ints:
    """Sum what will be added to currents; spikes that have not reached their axons yet are followed through."""
    # shapes: due (slots, C, N); reached (D + 1, L); returns (D + slots, C, N)
    slots, turns = len(due), len(reached)
    amounts = np.zeros((turns + slots - 1, *program.shape), np.int64)
    for ahead in range(slots):
        amounts[ahead] += due[(tick + ahead) % slots]
    table = program.synapses
    for ahead in range(turns):
        synapses, core = synapses_of(program, np.flatnonzero(reached[(tick + ahead) % turns]))
        place = (ahead + table.delay[synapses].astype(np.int64), core, table.neuron[synapses])
        np.add.at(amounts, place, table.weight[synapses])
    return wrapped(amounts, program.chip.lists.sum_bits)


def pending_rows(amounts: Ints, tick: int) -> Ints:
    """List the neurons to whom something is under way as sorted rows (tick, core, neuron), shape (n, 3)."""
    # Sums that are multiples of the range they wrap into change nothing and have no row.
    ahead, core, neuron = np.nonzero(amounts)
    return np.stack([tick + ahead, core, neuron], axis=1).astype(np.int64)


def due_and_amounts(program: ListProgram, tick: int, due: Ints) -> tuple[Ints, Ints]:
    """List what axons that were reached will add to currents; the arguments are those of :func:`pending_amounts`."""
    # shapes: rows (m, 3); amounts (m,)
    amounts = wrapped(due[(tick + np.arange(len(due))) % len(due)], program.chip.lists.sum_bits)
    rows = pending_rows(amounts, tick)
    return rows, amounts[amounts != 0]


def reached_axons(program: ListProgram, tick: int, reached: NDArray[np.bool_]) -> Ints:
    """List axons that spikes will reach, as sorted rows (tick, core, axon); arguments as :func:`pending_amounts`."""
    ahead, number = np.nonzero(reached[(tick + np.arange(len(reached))) % len(reached)])
    core = np.searchsorted(program.synapses.axons, number, side="right") - 1
    return np.stack([tick + ahead, core, number - program.synapses.axons[core]], axis=1).astype(np.int64)


def synapses_of(program: SynapseProgram, lists: Ints) -> tuple[Ints, Ints]:
    """List the synapses of lists, and the core of each."""
    # shapes: lists (n,); synapses, cores (m,)
    table = program.synapses
    length = np.diff(table.lists)[lists]
    core = np.searchsorted(table.axons, lists, side="right") - 1
    return ragged_ranges(table.lists[lists], length), np.repeat(core, length)


def wrapped(current: Ints, bits: int) -> Ints:
    """Fit currents into a width, two's complement."""
    half = 1 << (bits - 1)
    return ((current + half) & (2 * half - 1)) - half
