"""Lay a program of synapse lists out for the kernels: the image that is read, the state that changes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuromap.cores.synapse_list.program import ListProgram
from neuromap.simulation.engine.kernel.barrier import BARRIER_WORDS
from neuromap.simulation.engine.kernel.layout import aligned_empty
from neuromap.simulation.engine.kernel.memory_layout import aligned, padded_lanes
from neuromap.simulation.engine.kernel.remote import Remote, RemoteTargets, no_remote


class ListShape(NamedTuple):
    """Sizes, equal for all cores."""

    n_cores: int
    lanes: int
    """Neurons of a core, padded to a power of two, and to whole words of spike bits."""
    unused: int
    """Lanes of a core that are none of its neurons."""
    words: int
    """Words of axon bits of all cores together."""
    slots: int
    """Ticks for which sums of weights are kept: a power of two, more than the greatest delay of a synapse."""
    spike_delay: int
    """Ticks from a spike to its axons; axon bits are kept for one more."""
    place_bits: int
    """Lower half of a synapse: 16 or 32."""
    due_bytes: int
    due_shift: int
    """Sums of weights are kept in so many bytes, in units of 2**due_shift."""
    half: int
    mask: int
    """Of currents: a value wraps as ((value + half) & mask) - half."""
    rail: int
    """Greatest voltage; the least is -rail."""
    sum_half: int
    sum_mask: int
    """Of the sum of a tick's input, likewise."""
    sum_wraps: int
    """1 where currents and bias wrap, as currents do, before a voltage takes them."""


class ListImage(NamedTuple):
    """What is only read; shared by all threads and forks."""

    shape: ListShape
    word: NDArray[np.int64]
    """(C + 1,): first word of axon bits of every core."""
    axons: NDArray[np.int64]
    """(C + 1,): first list of every core."""
    lists: NDArray[np.int64]
    """(L + 1,): of every list its first synapse << 16 | its greatest delay << 8 | what shifts its weights into sums."""
    synapses: NDArray[Any]
    """(S,) of int32, or int64 where these are too narrow: weight >> shift, and in the lower half of the bits
    delay * lanes + neuron."""
    uniform: NDArray[np.uint8]
    """(C,): 1 where the neurons of a core share decays, threshold and bias."""
    keep_current: NDArray[np.float32]
    keep_voltage: NDArray[np.float32]
    """(C, lanes): what a tick leaves of a value, 1 - d / 2**decay_bits."""
    threshold: NDArray[np.int32]
    bias: NDArray[np.int32]
    refractory: NDArray[np.uint8]
    """(C, lanes)."""
    has_options: NDArray[np.uint8]
    """(C,): 1 where neurons have a reset or floor, or where sums wrap."""
    low: NDArray[np.int32]
    reset: NDArray[np.int32]
    subtract: NDArray[np.int32]
    """(C, lanes): least voltage that a tick leaves, what a spike leaves, and 1 where it takes the threshold off; a
    single 0 where no core has options."""
    has_joins: NDArray[np.uint8]
    """(C,): 1 where currents of neurons are joined to others."""
    joined: NDArray[np.int32]
    """(C, lanes): the neuron that takes the current, -1 for none; a single -1 where no core has joins."""
    start: NDArray[np.int64]
    """(C * lanes + 1,): first target of every neuron."""
    target: NDArray[np.int64]
    """(T,): core << 40 | number of the axon's bit; cores of other ranks come after those that are here."""


class ListState(NamedTuple):
    """What the ticks change."""

    current: NDArray[np.int32]
    voltage: NDArray[np.int32]
    """(C, lanes)."""
    resting: NDArray[np.int32]
    """(C, lanes): last tick, from the state's epoch, in which the neuron rests."""
    due: NDArray[Any]
    """(C, slots, lanes): sums of weights, of int16 where all of a neuron's synapses together stay inside, else of
    int32, modulo 2**32."""
    reached: NDArray[np.uint64]
    """(spike_delay + 1, words): axons that will be reached, one bit each."""
    fed: NDArray[np.uint8]
    """(spike_delay + 1, C): 1 for cores with such an axon."""
    busy: NDArray[np.int64]
    """(C,): last tick for which anything is due."""
    rests: NDArray[np.int64]
    """(C,): last tick in which a neuron rests."""
    awake: NDArray[np.uint8]
    """(C,): 1 for cores that may change though nothing is due."""
    extra: NDArray[np.int64]
    """(C, lanes): sums of joined currents, of one tick; a single 0 where no core has joins."""
    words: NDArray[np.uint64]
    """(C, 2, lanes / 64): who fired and who changed in cores with joins; a single 0 where there are none."""


class ListTeam(NamedTuple):
    """Who runs which cores, and the working memory of each thread."""

    n_threads: int
    first: NDArray[np.int64]
    """(threads + 1,): first core of every thread."""
    barrier: NDArray[np.uint64]
    listed: NDArray[np.uint16]
    """(threads, room): axons of a core that are reached, then its neurons that fire."""
    room: int
    totals: NDArray[np.int64]
    """(threads, 8): since tick 0; SPIKES and so on of :mod:`neuromap.simulation.engine.kernel.workspace`."""
    remote: Remote
    """What goes to other ranks and comes from there."""


def make_list_image(program: ListProgram, remote: RemoteTargets | None = None) -> ListImage:
    """Lay out everything that is only read; ``remote`` are targets on other ranks, beside those of the program."""
    table, neurons, chip = program.synapses, program.neurons, program.chip
    n_words = -(-program.axon_counts // 64)
    word = np.append(0, np.cumsum(n_words)).astype(np.int64)
    due = _due(program)
    heads, synapses = _lists(program, due[1])
    shape = _shape(program, int(word[-1]), 4 * synapses.itemsize, due)
    decays = (neurons.current_decay, neurons.voltage_decay)
    keep = [(1 - decay / 2.0**chip.lists.decay_bits).astype(np.float32) for decay in decays]  # exact: 17 bits or fewer
    shared = [(p == p[:, :1]).all(axis=1) for p in (*decays, neurons.threshold, neurons.bias)]
    per_neuron, target = _targets(program, word, remote)
    padded = np.zeros((program.n_cores, shape.lanes), np.int64)
    padded[:, : chip.neurons] = per_neuron.reshape(program.shape)
    return ListImage(
        shape=shape,
        word=word,
        axons=aligned(table.axons),
        lists=aligned(heads),
        synapses=synapses,
        uniform=np.logical_and.reduce(shared).astype(np.uint8),
        keep_current=aligned(padded_lanes(keep[0], shape.lanes, 0)),
        keep_voltage=aligned(padded_lanes(keep[1], shape.lanes, 0)),
        threshold=aligned(padded_lanes(neurons.threshold, shape.lanes, 2**31 - 1)),
        bias=aligned(padded_lanes(neurons.bias, shape.lanes, 0)),
        refractory=aligned(padded_lanes(neurons.refractory, shape.lanes, 0)),
        has_joins=_has_joins(program),
        **_options(program, shape.lanes),
        joined=_joined(program, shape.lanes),
        start=np.append(0, np.cumsum(padded)).astype(np.int64),
        target=aligned(target),
    )


def make_list_state(program: ListProgram, image: ListImage) -> ListState:
    """Make the state before tick 0."""
    shape = image.shape
    values = program.neurons
    return ListState(
        current=_copied(values.current, shape.lanes),
        voltage=_copied(values.voltage, shape.lanes),
        resting=_full(shape.n_cores * shape.lanes, np.int32, -1),
        due=_full(shape.n_cores * shape.slots * shape.lanes, f"i{shape.due_bytes}", 0),
        reached=_full((shape.spike_delay + 1) * shape.words, np.uint64, 0),
        fed=_full((shape.spike_delay + 1) * shape.n_cores, np.uint8, 0),
        busy=_full(shape.n_cores, np.int64, -1),
        rests=_full(shape.n_cores, np.int64, -1),
        awake=_full(shape.n_cores, np.uint8, 1),
        extra=_full(shape.n_cores * shape.lanes if image.has_joins.any() else 1, np.int64, 0),
        words=_full(shape.n_cores * shape.lanes // 32 if image.has_joins.any() else 1, np.uint64, 0),
    )


def put_reached(image: ListImage, state: ListState, spikes: NDArray[np.int64]) -> None:
    """Put spikes that are under way, rows (tick at which it is due, core, axon), into a new state."""
    turns = image.shape.spike_delay + 1
    due, core, axon = spikes.T
    bits = np.uint64(1) << (axon & 63).astype(np.uint64)
    np.bitwise_or.at(state.reached.reshape(turns, -1), (due % turns, image.word[core] + (axon >> 6)), bits)
    state.fed.reshape(turns, -1)[due % turns, core] = 1


def first_list_cores(n_cores: int, threads: int) -> NDArray[np.int64]:
    """Divide cores among at most ``threads`` threads; first core of each, and their number."""
    n = max(1, min(threads, n_cores))
    return np.array([n_cores * k // n for k in range(n + 1)], np.int64)


def make_list_team(image: ListImage, threads: int, remote: Remote | None = None) -> ListTeam:
    """Divide the cores among threads; ``remote`` leads to those of other ranks."""
    first = first_list_cores(image.shape.n_cores, threads)
    n = len(first) - 1
    most_axons = int(np.diff(image.word).max(initial=0)) * 64
    room = -(-(max(most_axons, image.shape.lanes) + 64) // 32) * 32  # list_ones may write 64 too many
    return ListTeam(
        n_threads=n,
        first=first,
        barrier=np.zeros(BARRIER_WORDS, np.uint64),
        listed=_full(n * room, np.uint16, 0),
        room=room,
        totals=np.zeros(n * 8, np.int64),
        remote=no_remote(np.int64) if remote is None else remote,
    )


def _shape(program: ListProgram, words: int, place_bits: int, due: tuple[int, int]) -> ListShape:
    chip, limits = program.chip, program.chip.lists
    return ListShape(
        n_cores=program.n_cores,
        lanes=_lanes(program),
        unused=_lanes(program) - chip.neurons,
        words=words,
        slots=1 << int(program.synapses.delay.max(initial=0)).bit_length(),
        spike_delay=chip.delay[0],
        place_bits=place_bits,
        due_bytes=due[0],
        due_shift=due[1],
        half=1 << (limits.current_bits - 1),
        mask=(1 << limits.current_bits) - 1,
        rail=2 ** (chip.potential_bits - 1) - 1,
        sum_half=1 << (limits.sum_bits - 1),
        sum_mask=(1 << limits.sum_bits) - 1,
        sum_wraps=int(limits.sum_wraps),
    )


def _options(program: ListProgram, lanes: int) -> dict[str, NDArray[Any]]:
    """Lay out what few neurons have."""
    neurons, lists, rail = program.neurons, program.chip.lists, 2 ** (program.chip.potential_bits - 1) - 1
    none = np.zeros(program.shape, np.int64)
    reset = none if neurons.reset is None else neurons.reset
    low = none - rail if neurons.floor is None else -neurons.floor.astype(np.int64).clip(0, rail)
    subtract = none if neurons.subtract is None else neurons.subtract
    sums = lists.sum_wraps or lists.sum_bits < lists.current_bits
    found = ((reset != 0) | (low != -rail) | (subtract != 0)).any(axis=1) | sums
    tables = {"low": low, "reset": reset, "subtract": subtract} if found.any() else {}
    laid = {name: aligned(padded_lanes(table.astype(np.int32), lanes, 0)) for name, table in tables.items()}
    empty = dict.fromkeys(("low", "reset", "subtract"), np.zeros(1, np.int32))
    return {"has_options": found.astype(np.uint8), **empty, **laid}


def _has_joins(program: ListProgram) -> NDArray[np.uint8]:
    joined = program.neurons.joined
    if joined is None:
        return np.zeros(program.n_cores, np.uint8)
    return np.asarray(joined.max(axis=1, initial=-1) >= 0, np.uint8)


def _joined(program: ListProgram, lanes: int) -> NDArray[np.int32]:
    joined = program.neurons.joined
    return np.array([-1], np.int32) if joined is None else aligned(padded_lanes(joined, lanes, -1))


def _lanes(program: ListProgram) -> int:
    return max(64, 1 << (program.chip.neurons - 1).bit_length())


def _due(program: ListProgram) -> tuple[int, int]:
    """Say in how many bytes sums of weights are kept, and in which power of two."""
    # In a tick every synapse adds its weight once at most, so a neuron's sum is no more than that of all magnitudes.
    table = program.synapses
    weight = np.abs(table.weight.astype(np.int64))
    unit = int(np.bitwise_or.reduce(weight, initial=0))
    shift = (unit & -unit).bit_length() - 1 if unit else 0
    core = np.repeat(np.arange(program.n_cores), np.diff(table.lists[table.axons]))
    most = np.bincount(core * program.chip.neurons + table.neuron, weights=weight >> shift).max(initial=0)
    return (2, shift) if most < 2**15 else (4, 0)


def _targets(
    program: ListProgram, word: NDArray[np.int64], remote: RemoteTargets | None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Count the targets of every neuron, shape (C * N,), and list them."""
    core, each = program.targets.core.astype(np.int64), np.diff(program.targets.start)
    here = core << 40 | word[core] * 64 + program.targets.axon
    if remote is None:
        return each, here
    of = np.append(np.repeat(np.arange(len(each)), each), remote.neuron)
    target = np.append(here, remote.core << 40 | remote.axon)
    return each + np.bincount(remote.neuron, minlength=len(each)), target[np.argsort(of, kind="stable")]


def _lists(program: ListProgram, due_shift: int) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Lay out lists and synapses, in halves of 16 bits where places and weights fit."""
    table, lanes = program.synapses, _lanes(program)
    reach, shift = np.zeros((2, len(table.lists) - 1), np.int64)
    some = np.flatnonzero(np.diff(table.lists))
    if len(some):
        start = table.lists[some]
        reach[some] = np.maximum.reduceat(table.delay, start)
        all_bits = np.bitwise_or.reduceat(table.weight, start).astype(np.int64)
        shift[some] = np.bitwise_count((all_bits & -all_bits) - (all_bits != 0))
    weight = table.weight >> np.repeat(shift, np.diff(table.lists))
    n_places = lanes << int(reach.max(initial=0)).bit_length()
    narrow = n_places <= 2**16 and weight.min(initial=0) >= -(2**15) and weight.max(initial=0) < 2**15
    synapses = aligned_empty(len(weight), np.int32 if narrow else np.int64)
    synapses[:] = weight
    synapses <<= 4 * synapses.itemsize
    synapses |= table.delay.astype(synapses.dtype) * lanes + table.neuron
    heads = table.lists << 16
    heads[:-1] |= reach << 8 | np.maximum(shift - due_shift, 0)  # lists of zeros have none
    return heads, synapses


def _copied(values: NDArray[np.int32], lanes: int) -> NDArray[np.int32]:
    return aligned(padded_lanes(values, lanes, 0))


def _full(size: int, dtype: Any, value: int) -> NDArray[Any]:
    array = aligned_empty(size, dtype)
    array[:] = value
    return array
