"""Lay a program of synapse lists out for the kernels: the image that is read, the state that changes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.hardware.program.list_program import ListProgram
from neuromap.simulation.engine.kernel.barrier import BARRIER_WORDS
from neuromap.simulation.engine.kernel.layout import aligned_empty
from neuromap.simulation.engine.kernel.padding import aligned, padded_lanes
from neuromap.simulation.engine.list_kernel.list_layout import ListImage, ListShape, ListState, ListTeam

__all__ = ["make_list_image", "make_list_state", "make_list_team"]


def make_list_image(program: ListProgram) -> ListImage:
    """Lay out everything that is only read."""
    table, neurons, chip = program.synapses, program.neurons, program.chip
    n_words = -(-program.axon_counts // 64)
    word = np.append(0, np.cumsum(n_words)).astype(np.int64)
    shape = _shape(program, int(word[-1]))
    decays = (neurons.current_decay, neurons.voltage_decay)
    keep = [(1 - decay / 2.0**chip.lists.decay_bits).astype(np.float32) for decay in decays]  # exact: 17 bits or fewer
    shared = [(p == p[:, :1]).all(axis=1) for p in (*decays, neurons.threshold, neurons.bias)]
    per_neuron = np.zeros((program.n_cores, shape.lanes), np.int64)
    per_neuron[:, : chip.neurons] = np.diff(program.targets.start).reshape(program.shape)
    core = program.targets.core
    bit = word[core] * 64 + program.targets.axon
    return ListImage(
        shape=shape,
        word=word,
        axons=aligned(table.axons),
        lists=aligned(table.lists),
        reach=_reach(program),
        synapses=_synapses(program, shape.lanes),
        uniform=np.logical_and.reduce(shared).astype(np.uint8),
        keep_current=aligned(padded_lanes(keep[0], shape.lanes, 0)),
        keep_voltage=aligned(padded_lanes(keep[1], shape.lanes, 0)),
        threshold=aligned(padded_lanes(neurons.threshold, shape.lanes, 2**31 - 1)),
        bias=aligned(padded_lanes(neurons.bias, shape.lanes, 0)),
        refractory=aligned(padded_lanes(neurons.refractory, shape.lanes, 0)),
        start=np.append(0, np.cumsum(per_neuron)).astype(np.int64),
        target=aligned(bit.astype(np.uint32 if word[-1] * 64 < 2**32 else np.uint64)),
        target_core=aligned(core),
    )


def make_list_state(program: ListProgram, image: ListImage) -> ListState:
    """Make the state before tick 0."""
    shape = image.shape
    values = program.neurons
    return ListState(
        current=_copied(values.current, shape.lanes),
        voltage=_copied(values.voltage, shape.lanes),
        resting=_full(shape.n_cores * shape.lanes, np.int32, -1),
        due=_full(shape.n_cores * shape.slots * shape.lanes, np.int32, 0),
        reached=_full((shape.spike_delay + 1) * shape.words, np.uint64, 0),
        fed=_full((shape.spike_delay + 1) * shape.n_cores, np.uint8, 0),
        busy=_full(shape.n_cores, np.int64, -1),
        rests=_full(shape.n_cores, np.int64, -1),
        awake=_full(shape.n_cores, np.uint8, 1),
    )


def make_list_team(image: ListImage, threads: int) -> ListTeam:
    """Divide the cores among at most ``threads`` threads."""
    n_cores = image.shape.n_cores
    n = max(1, min(threads, n_cores))
    most_axons = int(np.diff(image.word).max(initial=0)) * 64
    room = -(-(max(most_axons, image.shape.lanes) + 64) // 32) * 32  # list_ones may write 64 too many
    return ListTeam(
        n_threads=n,
        first=np.array([n_cores * k // n for k in range(n + 1)], np.int64),
        barrier=np.zeros(BARRIER_WORDS, np.uint64),
        listed=_full(n * room, np.uint16, 0),
        room=room,
        totals=np.zeros(n * 8, np.int64),
    )


def _shape(program: ListProgram, words: int) -> ListShape:
    chip, limits = program.chip, program.chip.lists
    lanes = -(-chip.neurons // 64) * 64
    return ListShape(
        n_cores=program.n_cores,
        lanes=lanes,
        unused=lanes - chip.neurons,
        words=words,
        slots=int(program.synapses.delay.max(initial=0)) + 1,
        spike_delay=chip.delay[0],
        half=1 << (limits.current_bits - 1),
        mask=(1 << limits.current_bits) - 1,
        rail=2 ** (chip.potential_bits - 1) - 1,
    )


def _reach(program: ListProgram) -> NDArray[np.uint8]:
    """Find the greatest delay of every list."""
    table = program.synapses
    reach = np.zeros(len(table.lists) - 1, np.uint8)
    some = np.flatnonzero(np.diff(table.lists))
    if len(some):
        reach[some] = np.maximum.reduceat(table.delay, table.lists[some])
    return reach


def _synapses(program: ListProgram, lanes: int) -> NDArray[np.int64]:
    table = program.synapses
    packed: NDArray[np.int64] = aligned_empty(len(table.neuron), np.int64)
    packed[:] = table.weight
    packed <<= 32
    packed |= table.delay.astype(np.int64) * lanes + table.neuron
    return packed


def _copied(values: NDArray[np.int32], lanes: int) -> NDArray[np.int32]:
    return aligned(padded_lanes(values, lanes, 0))


def _full(size: int, dtype: Any, value: int) -> NDArray[Any]:
    array = aligned_empty(size, dtype)
    array[:] = value
    return array
