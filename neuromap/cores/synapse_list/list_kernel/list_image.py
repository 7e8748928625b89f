"""Lay out a program of synapse lists for the kernels: the image that is read, the state that changes."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import njit, uint64
from numpy.typing import NDArray

from neuromap.arrays.array_types import Bools, Ints, Words
from neuromap.compiling import INSIDE, cached
from neuromap.cores.synapse_list.program import ListProgram
from neuromap.simulation.engine.kernel.barrier import BARRIER_WORDS
from neuromap.simulation.engine.kernel.layout import aligned_empty, aligned_full
from neuromap.simulation.engine.kernel.memory_layout import aligned, padded_lanes
from neuromap.simulation.engine.kernel.remote import Remote, RemoteTargets, no_remote


class ListShape(NamedTuple):
    """Sizes, equal for all cores."""

    n_cores: int
    lanes: int
    """Neurons of a core, padded to a power of two, and to whole words of spike bits."""
    unused: int
    """Padding lanes of a core."""
    words: int
    """Words of axon bits of all cores together."""
    slots: int
    """Ticks for which sums of weights are kept: a power of two, more than the greatest delay of a synapse."""
    spike_delay: int
    """Ticks from a spike to its axons; axon bits are kept for one more."""
    place_bits: int
    """Bits of the lower half of a synapse: 16 or 32."""
    due_bytes: int
    due_shift: int
    """Sums of weights are kept in ``due_bytes`` bytes, in units of 2**due_shift."""
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
    """Read-only data, shared by all threads and forks."""

    shape: ListShape
    word: Ints
    """(C + 1,): first word of axon bits of every core."""
    axons: Ints
    """(C + 1,): first list of every core."""
    lists: Ints
    """(L, 2): for every list its first synapse << 16 | greatest delay << 8 | shift of its weights into sums, and its
    place << 32 | length; the place of a synapse is delay * lanes + neuron, that of a list is its first synapse's."""
    synapses: NDArray[Any]
    """(S,) of int32, or int64 where these are too narrow: weight >> shift, and in the lower half of the bits its place
    less that of its list. Lists that differ only in place, as most of a convolution do, share synapses: a tick is bound
    by memory, and shared synapses stay in caches."""
    extent: Ints
    """(C,): words of 64 neurons up to the last that a synapse, bias or threshold can move from zero."""
    uniform: NDArray[np.uint8]
    """(C,): 1 where the neurons of a core share decays, threshold and bias."""
    keep_current: NDArray[np.float32]
    keep_voltage: NDArray[np.float32]
    """(C, lanes): fraction of a value that a tick leaves, 1 - d / 2**decay_bits."""
    threshold: NDArray[np.int32]
    bias: NDArray[np.int32]
    refractory: NDArray[np.uint8]
    """(C, lanes)."""
    has_options: NDArray[np.uint8]
    """(C,): 1 where neurons have a reset or floor, or where sums wrap."""
    low: NDArray[np.int32]
    reset: NDArray[np.int32]
    subtract: NDArray[np.int32]
    """(C, lanes): least voltage after a tick, voltage after a spike, and 1 where a spike subtracts the threshold; a
    single 0 where no core has options."""
    has_joins: NDArray[np.uint8]
    """(C,): 1 where currents of neurons are joined to others."""
    joined: NDArray[np.int32]
    """(C, lanes): the neuron that takes the current, -1 for none; a single -1 where no core has joins."""
    start: Ints
    """(C * lanes + 1,): first target of every neuron."""
    target: Ints
    """(T,): core << 40 | number of the axon's bit; cores of other ranks come after those of this one."""


class ListState(NamedTuple):
    """Data that ticks change."""

    current: NDArray[np.int32]
    voltage: NDArray[np.int32]
    """(C, lanes)."""
    resting: NDArray[np.int32]
    """(C, lanes): last tick, from the state's epoch, in which the neuron rests."""
    due: NDArray[Any]
    """(C, slots, lanes): sums of weights, of int16 if the sum of all of a neuron's synapses fits, else of int32, modulo
    2**32."""
    reached: Words
    """(spike_delay + 1, words): axons that will be reached, one bit each."""
    fed: NDArray[np.uint8]
    """(spike_delay + 1, C): 1 for cores with such an axon."""
    extent: Ints
    """(C,): words of 64 neurons that ticks go through, those of the image and of all neurons that hold anything; the
    others stay at zero."""
    busy: Ints
    """(C,): last tick for which anything is due."""
    rests: Ints
    """(C,): last tick in which a neuron rests."""
    awake: NDArray[np.uint8]
    """(C,): 1 for cores that may change though nothing is due."""
    extra: Ints
    """(C, lanes): sums of joined currents, of one tick; a single 0 where no core has joins."""
    words: Words
    """(C, 2, lanes / 64): who fired and who changed in cores with joins; a single 0 where there are none."""


class ListTeam(NamedTuple):
    """Cores of each thread, and what differs from call to call."""

    n_threads: int
    first: Ints
    """(threads + 1,): first core of every thread."""
    barrier: Words
    held: NDArray[np.uint8]
    """(ticks of the call, C, lanes): 1 for neurons that hold a voltage as a tick begins; empty if not wanted."""
    epoch: int
    """Tick from which ticks of rest count."""
    remote: Remote
    """Spikes to and from other ranks."""


class ListScratch(NamedTuple):
    """Working memory of one thread."""

    listed: NDArray[np.uint16]
    """Reached axons of a core, then its neurons that fire."""
    totals: Ints
    """Counts since tick 0; SPIKES and so on of :mod:`neuromap.simulation.engine.kernel.workspace`."""


def make_list_image(program: ListProgram, remote: RemoteTargets | None = None) -> ListImage:
    """Lay out the read-only data; ``remote`` are targets on other ranks, besides those of the program."""
    table, neurons, chip = program.synapses, program.neurons, program.chip
    n_words = -(-program.axon_counts // 64)
    word = np.append(0, np.cumsum(n_words)).astype(np.int64)
    found = _measured(program)
    shape = _shape(program, int(word[-1]), found)
    heads, synapses = _lists(program, found, shape)
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
        lists=heads,
        synapses=synapses,
        extent=_extent(program, found.extent),
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
        current=aligned(padded_lanes(values.current, shape.lanes, 0)),
        voltage=aligned(padded_lanes(values.voltage, shape.lanes, 0)),
        resting=aligned_full(shape.n_cores * shape.lanes, np.int32, -1),
        due=aligned_full(shape.n_cores * shape.slots * shape.lanes, f"i{shape.due_bytes}"),
        reached=aligned_full((shape.spike_delay + 1) * shape.words, np.uint64),
        fed=aligned_full((shape.spike_delay + 1) * shape.n_cores, np.uint8),
        extent=np.maximum(image.extent, _words_of((values.current != 0) | (values.voltage != 0))),
        busy=aligned_full(shape.n_cores, np.int64, -1),
        rests=aligned_full(shape.n_cores, np.int64, -1),
        awake=aligned_full(shape.n_cores, np.uint8, 1),
        extra=aligned_full(shape.n_cores * shape.lanes if image.has_joins.any() else 1, np.int64),
        words=aligned_full(shape.n_cores * shape.lanes // 32 if image.has_joins.any() else 1, np.uint64),
    )


def put_extent(image: ListImage, state: ListState, due: tuple[Ints, Ints]) -> None:
    """Update the words that ticks go through for a changed state; cores and neurons of ``due`` have pending input."""
    holds = (state.current != 0) | (state.voltage != 0)
    state.extent[:] = np.maximum(image.extent, _words_of(holds.reshape(-1, image.shape.lanes)))
    np.maximum.at(state.extent, due[0], (due[1] >> 6) + 1)


def put_reached(image: ListImage, state: ListState, spikes: Ints) -> None:
    """Write spikes under way, rows (tick at which it is due, core, axon), into a new state."""
    turns = image.shape.spike_delay + 1
    due, core, axon = spikes.T
    bits = np.uint64(1) << (axon & 63).astype(np.uint64)
    np.bitwise_or.at(state.reached.reshape(turns, -1), (due % turns, image.word[core] + (axon >> 6)), bits)
    state.fed.reshape(turns, -1)[due % turns, core] = 1


def first_list_cores(n_cores: int, threads: int) -> Ints:
    """Divide cores among at most ``threads`` threads; return the first core of each, and the number of cores."""
    n = max(1, min(threads, n_cores))
    return np.array([n_cores * k // n for k in range(n + 1)], np.int64)


def make_list_team(image: ListImage, threads: int, remote: Remote | None = None) -> tuple[ListTeam, list[ListScratch]]:
    """Divide the cores among threads; ``remote`` connects to other ranks."""
    first = first_list_cores(image.shape.n_cores, threads)
    others = no_remote(np.int64) if remote is None else remote
    team = ListTeam(len(first) - 1, first, aligned_full(BARRIER_WORDS, np.uint64), np.zeros(0, np.uint8), 0, others)
    most_axons = int(np.diff(image.word).max(initial=0)) * 64
    room = max(most_axons, image.shape.lanes) + 64  # list_ones may write 64 too many
    scratches = (ListScratch(aligned_full(room, np.uint16), aligned_full(8, np.int64)) for _ in first[1:])
    return team, list(scratches)


def _shape(program: ListProgram, words: int, lists: _Lists) -> ListShape:
    chip, limits = program.chip, program.chip.lists
    slots = 1 << int(program.synapses.delay.max(initial=0)).bit_length()
    is_narrow = slots * _lanes(program) <= 2**16 and lists.least >= -(2**15) and lists.greatest < 2**15
    shift = (lists.bits & -lists.bits).bit_length() - 1 if lists.bits else 0
    # In a tick every synapse adds its weight at most once, so a neuron's sum is bounded by that of all magnitudes.
    is_small = lists.most >> shift < 2**15
    return ListShape(
        n_cores=program.n_cores,
        lanes=_lanes(program),
        unused=_lanes(program) - chip.neurons,
        words=words,
        slots=slots,
        spike_delay=chip.delay[0],
        place_bits=16 if is_narrow else 32,
        due_bytes=2 if is_small else 4,
        due_shift=shift if is_small else 0,
        half=1 << (limits.current_bits - 1),
        mask=(1 << limits.current_bits) - 1,
        rail=2 ** (chip.potential_bits - 1) - 1,
        sum_half=1 << (limits.sum_bits - 1),
        sum_mask=(1 << limits.sum_bits) - 1,
        sum_wraps=int(limits.sum_wraps),
    )


def _options(program: ListProgram, lanes: int) -> dict[str, NDArray[Any]]:
    """Lay out the parameters that few neurons have."""
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


def _extent(program: ListProgram, reached: Ints) -> Ints:
    """Count the words of each core that can change; all of them if currents are joined."""
    neurons = program.neurons
    moves = (neurons.bias != 0) | (neurons.threshold < 0) | (_has_joins(program)[:, None] > 0)
    return np.maximum(_words_of(moves), (reached >> 6) + 1)


def _words_of(some: Bools) -> Ints:
    """Count the words of 64 up to the last that is marked, shape (C,)."""
    last = some.shape[1] - 1 - some[:, ::-1].argmax(axis=1)
    return np.where(some.any(axis=1), (last >> 6) + 1, 0).astype(np.int64)


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


def _targets(program: ListProgram, word: Ints, remote: RemoteTargets | None) -> tuple[Ints, Ints]:
    """Count the targets of every neuron, shape (C * N,), and list them."""
    core, each = program.targets.core.astype(np.int64), np.diff(program.targets.start)
    here = core << 40 | word[core] * 64 + program.targets.axon
    if remote is None:
        return each, here
    of = np.append(np.repeat(np.arange(len(each)), each), remote.neuron)
    target = np.append(here, remote.core << 40 | remote.axon)
    return each + np.bincount(remote.neuron, minlength=len(each)), target[np.argsort(of, kind="stable")]


# Synapses: lists that differ only in place are found by a hash of what they have in common.


class _Lists(NamedTuple):
    """Properties of lists before they are laid out."""

    model: Ints
    """(L,): the first list with the same synapses but for the place, often itself."""
    span: Ints
    shift: Ints
    """(L,): for models, the greatest place of a synapse less that of the list, and the power of two that divides all
    weights."""
    extent: Ints
    """(C,): the last neuron with a weight, -1 without any."""
    n_kept: int
    """Synapses of models."""
    bits: int
    """Bitwise or of all weights of models."""
    least: int
    greatest: int
    """Least and greatest weight, divided by the power of two of its list."""
    most: int
    """Greatest sum of a neuron's weights, all of them positive."""


# Near 2**64 / golden ratio: products with it reach the highest bits.
_ODD = uint64(0x9E3779B97F4A7C15)
_part = njit(error_model="numpy", **INSIDE)


def _measured(program: ListProgram) -> _Lists:
    table = program.synapses
    n = len(table.lists) - 1
    model, span, shift = np.zeros((3, n), np.int64)
    codes = np.full(2 << n.bit_length(), -1, np.int64)
    sums, extent = np.zeros(program.chip.neurons, np.int64), np.full(program.n_cores, -1)
    lists = (table.axons, table.lists, table.neuron, table.weight, table.delay)
    numbers = _compiled()[0](*lists, _lanes(program), codes, sums, model, span, shift, extent)
    return _Lists(model, span, shift, extent, *numbers)


def _lists(program: ListProgram, found: _Lists, shape: ListShape) -> tuple[Ints, NDArray[Any]]:
    """Lay out lists and synapses, in halves of 16 bits where places and weights fit."""
    table = program.synapses
    heads = aligned_empty(2 * len(found.model), np.int64)  # both numbers of a list lie on one cache line
    synapses = aligned_empty(found.n_kept, np.int32 if shape.place_bits == 16 else np.int64)
    lists = (table.lists, table.neuron, table.weight, table.delay)
    _compiled()[1](*lists, shape.lanes, shape.place_bits, shape.due_shift, found[:3], heads, synapses)
    return heads, synapses


@cache
def _compiled() -> tuple[Any, Any]:
    # At once, however small the program: the kernels that run it are compiled too.
    return cached(_measure_lists), cached(_fill_lists)


@_part
def _place(neuron, delay, lanes, s):  # type: ignore[no-untyped-def]
    return np.int64(delay[s]) * lanes + neuron[s]


@_part
def _differ_by_place(lists, neuron, weight, delay, lanes, one, other):  # type: ignore[no-untyped-def]
    """Whether two lists differ only in place."""
    a, b = lists[one], lists[other]
    n = lists[one + 1] - a
    if lists[other + 1] - b != n:
        return False
    step = _place(neuron, delay, lanes, b) - _place(neuron, delay, lanes, a)
    for k in range(n):
        if weight[a + k] != weight[b + k]:
            return False
        if _place(neuron, delay, lanes, a + k) + step != _place(neuron, delay, lanes, b + k):
            return False
    return True


def _measure_lists(  # type: ignore[no-untyped-def]
    axons, lists, neuron, weight, delay, lanes, codes, sums, model, span, shift, extent
):
    """Fill ``model``, ``span``, ``shift`` and ``extent``; return the numbers of ``_Lists``."""
    # ``codes`` is a hash table of the lists that are models, -1 in free places. It has at least twice as many places as
    # there are lists, so a list finds its model, or a free place, after a few steps.
    n_kept = every = least = greatest = most = 0
    for core in range(len(axons) - 1):
        sums[:] = 0
        for one in range(axons[core], axons[core + 1]):
            first, last = lists[one], lists[one + 1]
            model[one] = one
            if first == last:
                continue
            place, code = _place(neuron, delay, lanes, first), uint64(last - first)
            for s in range(first, last):
                here = np.int64(weight[s])
                sums[neuron[s]] += abs(here)
                code = (code ^ uint64(here << 32 ^ _place(neuron, delay, lanes, s) - place)) * _ODD
            at = np.int64((code ^ code >> uint64(32)) & uint64(len(codes) - 1))
            while codes[at] >= 0 and not _differ_by_place(lists, neuron, weight, delay, lanes, codes[at], one):
                at = (at + 1) & (len(codes) - 1)
            if codes[at] >= 0:
                model[one] = codes[at]
                continue
            codes[at] = one
            n_kept += last - first
            bits = low = high = np.int64(0)
            for s in range(first, last):
                here = np.int64(weight[s])
                bits |= here
                low, high = min(low, here), max(high, here)
                span[one] = max(span[one], _place(neuron, delay, lanes, s) - place)
            while bits and not bits >> shift[one] & 1:
                shift[one] += 1
            every |= int(bits)
            least, greatest = min(least, low >> shift[one]), max(greatest, high >> shift[one])
        most = max(most, int(sums.max()))
        extent[core] = -1
        for n in range(len(sums)):
            if sums[n] > 0:
                extent[core] = n
    return n_kept, every, least, greatest, most


def _fill_lists(  # type: ignore[no-untyped-def]
    lists, neuron, weight, delay, lanes, place_bits, due_shift, found, heads, synapses
):
    """Write heads, and the synapses of models, which come before those that share theirs."""
    model, span, shift = found
    n, mask = 0, (1 << place_bits) - 1
    for one in range(len(model)):
        first, last, its = lists[one], lists[one + 1], model[one]
        begin = heads[2 * its] >> 16
        place = _place(neuron, delay, lanes, first) if first < last else 0
        if its == one:
            begin = n
            n += last - first
            for s in range(first, last):
                step = _place(neuron, delay, lanes, s) - place
                synapses[begin + s - first] = np.int64(weight[s]) >> shift[one] << place_bits | step & mask
        # The greatest place has the greatest delay; where delays rise may differ from the model, as neurons may carry.
        # Lists of zeros have no shift.
        heads[2 * one] = begin << 16 | (place + span[its]) // lanes << 8 | max(shift[its] - due_shift, 0)
        heads[2 * one + 1] = place << 32 | last - first
