"""Compiled entry points of bit-sliced batches, cached on disk under a stamp of their sources and versions.

They are compiled once for all core sizes.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from numba import int16, int64, njit, uint64
from numpy.typing import NDArray

from neuromap.arrays.array_types import Ints, Words
from neuromap.simulation.engine.kernel.compiled import cached_under, compiled, kernel_stamp
from neuromap.simulation.engine.kernel.lanes import CALLED, INLINED, any_lane, broadcast, load, store
from neuromap.simulation.engine.kernel.words import get, nonzero_bytes, put, trailing_zeros

# Bits of a weight's magnitude.
LEVELS = 16


@njit(**CALLED)
def list_synapses(
    crossbar: Any, axon_types: Any, weights: Any, cores: Any, place: Any, entries: Any, least: Any, most: Any
) -> None:
    """Write the entries of some cores, where any are given, and sum up negative and positive weights, (C, N)."""
    # A synapse is an entry at every level whose bit is set in the magnitude of its weight. ``place``, (C, N, LEVELS),
    # is where a list's next entry goes; from 0 on it counts them. Crossbar rows are 64-bit words, shape (C, A, words).
    _, n_axons, n_words = crossbar.shape
    for core in cores:
        for axon in range(n_axons):
            kind = axon_types[core, axon]
            for k in range(n_words):
                word = crossbar[core, axon, k]
                while word != uint64(0):
                    neuron = 64 * k + trailing_zeros(word)
                    word &= word - uint64(1)
                    weight = int64(weights[core, neuron, kind])
                    least[core, neuron] += min(weight, 0)
                    most[core, neuron] += max(weight, 0)
                    magnitude = abs(weight)
                    for level in range(LEVELS):
                        if magnitude >> level == 0:
                            break
                        if magnitude >> level & 1:
                            if len(entries) > 0:
                                entries[place[core, neuron, level]] = axon if weight > 0 else n_axons + 1 + axon
                            place[core, neuron, level] += 1


# Number of runs side by side.
LANES = 512
# Number of int16 values in a plane.
PLANE = 32
# Number of uint64 values in a plane.
WORDS = 8


class SlicedImage(NamedTuple):
    """Read-only data, shared by all threads."""

    # A neuron's sum has no negative terms: an axon with a negative weight counts when it is silent. The sum starts at
    # ``first_sum``, so that the bit of weight ``2 ** n_bits`` is set exactly if the neuron fires, and no result
    # overflows it.

    n_rows: int
    n_axons: int
    slot_bits: int
    """The ring of due axons has ``2 ** slot_bits`` slots, more than the longest delay."""
    first_neuron: Ints
    """(rows + 1,): first of a row's neurons that may ever fire."""
    restless: NDArray[np.uint8]
    """(rows,): 1 where a neuron fires without any event."""
    n_bits: NDArray[np.uint8]
    first_sum: Ints
    first_list: Ints
    """(neurons + 1,): first list of every neuron, then the number of lists."""
    target: Ints
    """(neurons,): row * A + axon; -1 for none; -2 - (64 * words * core + axon) for cores that are not bit-sliced."""
    delay: NDArray[np.uint8]
    level: NDArray[np.uint8]
    """(lists,): entries of a list have weight 2 ** level."""
    first_entry: Ints
    """(lists + 1,): multiples of 8."""
    entries: NDArray[np.uint16]
    """a: axon a. A: padding. A + 1 + a: axon a, when it is silent."""


class SlicedState(NamedTuple):
    """Data that ticks change."""

    due: NDArray[np.int16]
    due_words: Words
    """(slots, rows, A) planes of axons; a view of the memory of ``due``."""
    busy: NDArray[np.uint8]
    """(slots, rows): 1 where an axon may be due in any run."""
    planes: NDArray[np.int16]
    """Planes that entries refer to, for the current core."""
    sums: NDArray[np.int16]
    """Planes of the current neuron's sum."""
    handed: NDArray[np.int16]
    handed_words: Words
    """A plane handed over to other cores; a view of the memory of ``handed``."""


class Fed(NamedTuple):
    """Host input: rows ``start[t]`` to ``start[t + 1] - 1`` are fed in tick t."""

    start: Ints
    axon: Ints
    """As ``SlicedImage.target``."""
    column: NDArray[np.int32]
    """Index of a plane of ``planes``."""
    planes: NDArray[np.int16]
    """(columns,) planes: the runs in which the spike occurs."""


inlined = njit(**INLINED)

# Width of a plane: one group of 32 lanes of 16 bits.
_ONE = (0,)


@inlined
def load_plane(planes: Any, index: int) -> Any:
    """Plane number ``index``."""
    return load(_ONE, planes, index * PLANE)


@inlined
def store_plane(planes: Any, index: int, plane: Any) -> None:
    """Write plane number ``index``."""
    store(planes, index * PLANE, plane)


@inlined
def plane_of(bit: int) -> Any:
    """Plane with the same bit, 0 or 1, for every run."""
    return broadcast(_ONE, int16(-bit))


@inlined
def sum_neuron(image: SlicedImage, state: SlicedState, neuron: int) -> Any:
    """Plane of the runs in which a neuron fires, from the axons of ``state.planes``."""
    top, first_sum = get(image.n_bits, neuron), get(image.first_sum, neuron)
    for bit in range(top + 1):
        store_plane(state.sums, bit, plane_of((first_sum >> bit) & 1))
    for k in range(get(image.first_list, neuron), get(image.first_list, neuron + 1)):
        _add_list(
            state, image.entries, get(image.first_entry, k), get(image.first_entry, k + 1), get(image.level, k), top
        )
    return load_plane(state.sums, top)


@inlined
def _majority(a: Any, b: Any, c: Any) -> Any:
    return (a & b) | (c & (a | b))


@inlined
def _odd(a: Any, b: Any, c: Any) -> Any:
    return a ^ b ^ c


@inlined
def _add_list(state: SlicedState, entries: Any, first: int, last: int, level: int, top: int) -> None:
    """Add the planes of a list, a multiple of 8, to the sum with weight ``2 ** level``."""
    ones, twos = load_plane(state.sums, level), load_plane(state.sums, level + 1)
    fours, eights = load_plane(state.sums, level + 2), load_plane(state.sums, level + 3)
    k = first
    while k + 8 < last:
        ones, twos, fours, one = _add_eight(state.planes, entries, k, ones, twos, fours)
        ones, twos, fours, other = _add_eight(state.planes, entries, k + 8, ones, twos, fours)
        _carry(state.sums, level + 4, top, _majority(eights, one, other))
        eights = _odd(eights, one, other)
        k += 16
    if k < last:
        ones, twos, fours, one = _add_eight(state.planes, entries, k, ones, twos, fours)
        _carry(state.sums, level + 4, top, eights & one)
        eights = eights ^ one
    store_plane(state.sums, level, ones)
    store_plane(state.sums, level + 1, twos)
    store_plane(state.sums, level + 2, fours)
    store_plane(state.sums, level + 3, eights)


@inlined
def _add_eight(planes: Any, entries: Any, k: int, ones: Any, twos: Any, fours: Any) -> Any:
    """Add eight planes to ones, twos and fours; also return the carry, a plane of eights."""
    ones, twos, one = _add_four(planes, entries, k, ones, twos)
    ones, twos, other = _add_four(planes, entries, k + 4, ones, twos)
    return ones, twos, _odd(fours, one, other), _majority(fours, one, other)


@inlined
def _add_four(planes: Any, entries: Any, k: int, ones: Any, twos: Any) -> Any:
    a, b = load_plane(planes, get(entries, k)), load_plane(planes, get(entries, k + 1))
    one, ones = _majority(ones, a, b), _odd(ones, a, b)
    c, d = load_plane(planes, get(entries, k + 2)), load_plane(planes, get(entries, k + 3))
    other, ones = _majority(ones, c, d), _odd(ones, c, d)
    return ones, _odd(twos, one, other), _majority(twos, one, other)


@inlined
def _carry(sums: Any, bit: int, top: int, plane: Any) -> None:
    """Add one plane to the sum and carry it to the end."""
    while bit <= top:
        before = load_plane(sums, bit)
        store_plane(sums, bit, before ^ plane)
        plane = before & plane
        bit += 1


class States(NamedTuple):
    """State of all runs in the ordinary kernel that spikes between the two kernels need."""

    n_runs: int
    """0 if all cores are bit-sliced."""
    n_cores: int
    n_words: int
    """Words of 64 axons per core."""
    core_of: NDArray[np.int32]
    """(rows,): core of a row of the bit-sliced image."""
    ring: Words
    """(runs, slots, C, words): as in ``State`` of the ordinary kernel."""
    busy: NDArray[np.uint8]
    """(runs, slots, blocks, 64)."""


@inlined
def slot_of(image: SlicedImage, tick: int) -> int:
    """Ring slot of axons due at a tick."""
    return tick & ((1 << image.slot_bits) - 1)


@inlined
def take_over(image: SlicedImage, state: SlicedState, states: States, tick: int) -> None:
    """Move spikes due at a tick from ordinary to bit-sliced cores."""
    slot = slot_of(image, tick)
    blocks = (states.n_cores + 63) >> 6
    for run in range(states.n_runs):
        at = (run << image.slot_bits) + slot
        for row in range(image.n_rows):
            core = get(states.core_of, row)
            if get(states.busy, at * blocks * 64 + core) != 0:
                put(states.busy, at * blocks * 64 + core, 0)
                here = slot * image.n_rows + row
                put(state.busy, here, 1)
                for k in range(states.n_words):
                    word = (at * states.n_cores + core) * states.n_words + k
                    axons = get(states.ring, word)
                    put(states.ring, word, uint64(0))
                    while axons != uint64(0):
                        plane = here * image.n_axons + 64 * k + trailing_zeros(axons)
                        _set_bit(state.due_words, plane, run)
                        axons &= axons - uint64(1)


@inlined
def hand_over(image: SlicedImage, state: SlicedState, states: States, tick: int, target: int, plane: Any) -> None:
    """Mark an axon of an ordinary core, 64 * words * core + axon, as due at a tick in the runs of a plane."""
    store_plane(state.handed, 0, plane)
    slot, blocks = slot_of(image, tick), (states.n_cores + 63) >> 6
    bit = uint64(1) << uint64(target & 63)
    for k in range((states.n_runs + 63) >> 6):
        runs = get(state.handed_words, k)
        while runs != uint64(0):
            run = 64 * k + trailing_zeros(runs)
            runs &= runs - uint64(1)
            if run < states.n_runs:
                at = (run << image.slot_bits) + slot
                word = at * states.n_cores * states.n_words + (target >> 6)
                put(states.ring, word, get(states.ring, word) | bit)
                put(states.busy, at * blocks * 64 + (target >> 6) // states.n_words, 1)


@njit(**CALLED)
def keep_fired(fired: Any, n_runs: int, places: Any, kept: Any) -> None:
    """Write a tick's spikes of ordinary cores, (runs, rows, groups) of uint32, into planes, as uint64."""
    # ``places`` (rows, groups, 32) gives each neuron's plane in ``kept``.
    n = len(fired) // n_runs
    for run in range(n_runs):
        for k in range(n):
            spikes = uint64(get(fired, run * n + k))
            while spikes != uint64(0):
                _set_bit(kept, get(places, 32 * k + trailing_zeros(spikes)), run)
                spikes &= spikes - uint64(1)


@inlined
def _set_bit(planes: Any, plane: int, run: int) -> None:
    word = plane * WORDS + (run >> 6)
    put(planes, word, get(planes, word) | uint64(1) << uint64(run & 63))


# Ticks of the bit-sliced cores, for 512 runs side by side.


@njit(**CALLED)
def run_sliced_ticks(
    image: SlicedImage,
    state: SlicedState,
    states: States,
    fed: Fed,
    first_tick: int,
    n_ticks: int,
    kept_of: Any,
    kept: Any,
    n_kept: int,
) -> None:
    """Run some ticks of the bit-sliced cores; only one if there are other cores, which come next."""
    # ``kept_of`` gives a neuron's plane among the ``n_kept`` planes per tick in ``kept``, or -1; ``kept`` starts as 0.
    for time in range(n_ticks):
        tick = first_tick + time
        take_over(image, state, states, tick)
        for k in range(get(fed.start, tick), get(fed.start, tick + 1)):
            plane = load_plane(fed.planes, get(fed.column, k))
            _make_due(image, state, states, tick, get(fed.axon, k), plane)
        for row in range(image.n_rows):
            _tick_row(image, state, states, tick, row, kept_of, kept, time * n_kept)


@inlined
def _make_due(image: SlicedImage, state: SlicedState, states: States, tick: int, target: int, plane: Any) -> None:
    """Mark an axon as due at a tick in the runs of a plane."""
    if target >= 0:
        at = slot_of(image, tick) * image.n_rows
        here = at * image.n_axons + target
        store_plane(state.due, here, load_plane(state.due, here) | plane)
        put(state.busy, at + target // image.n_axons, 1)
    elif target < -1:
        hand_over(image, state, states, tick, -2 - target, plane)


@inlined
def _tick_row(
    image: SlicedImage, state: SlicedState, states: States, tick: int, row: int, kept_of: Any, kept: Any, first: int
) -> None:
    """Run one tick of all neurons of a core."""
    at = slot_of(image, tick) * image.n_rows + row
    if get(state.busy, at) | get(image.restless, row) == 0:
        return
    put(state.busy, at, 0)
    silent, every = plane_of(0), plane_of(1)
    n = image.n_axons
    for axon in range(n):
        plane = load_plane(state.due, at * n + axon)
        store_plane(state.planes, axon, plane)
        store_plane(state.planes, n + 1 + axon, plane ^ every)
        store_plane(state.due, at * n + axon, silent)
    for neuron in range(get(image.first_neuron, row), get(image.first_neuron, row + 1)):
        spikes = sum_neuron(image, state, neuron)
        if any_lane(spikes != silent):
            _make_due(image, state, states, tick + get(image.delay, neuron), get(image.target, neuron), spikes)
            place = get(kept_of, neuron)
            if place >= 0:
                store_plane(kept, first + place, spikes)


# From runs to planes and back: bit tables, transposed 64 by 64.


_TILE = 64
_CHUNKS = LANES // _TILE


@njit(**CALLED)
def make_planes(bytes_: Any, stride: int, n_runs: int, n_columns: int, planes: Any, tile: Any) -> None:
    """Fill planes, as uint64, from one byte per run and column."""
    # The byte of run r and column c is at ``r * stride + c``.
    # 64 bytes are read at once, so reads may go beyond the end of rows and of the last one.
    for chunk in range(_CHUNKS):
        for first in range(0, n_columns, _TILE):
            for k in range(_TILE):
                run = chunk * _TILE + k
                put(tile, k, nonzero_bytes(bytes_, run * stride + first) if run < n_runs else uint64(0))
            _transpose(tile)
            for k in range(min(_TILE, n_columns - first)):
                put(planes, (first + k) * WORDS + chunk, get(tile, k))


@njit(**CALLED)
def list_planes(planes: Any, n_planes: int, n_runs: int, rows: Any, tile: Any, runs: Any, numbers: Any) -> int:
    """List run and plane number of all set bits, run by run; return their number."""
    # ``n_planes`` is a multiple of 64; ``rows`` has room for that many words, ``runs`` and ``numbers`` for all bits.
    n = 0
    n_tiles = n_planes // _TILE
    for chunk in range((n_runs + _TILE - 1) // _TILE):
        n_here = min(_TILE, n_runs - chunk * _TILE)
        for t in range(n_tiles):
            for k in range(_TILE):
                put(tile, k, get(planes, (t * _TILE + k) * WORDS + chunk))
            _transpose(tile)
            for k in range(n_here):
                put(rows, k * n_tiles + t, get(tile, k))
        for k in range(n_here * n_tiles):
            word = get(rows, k)
            while word != uint64(0):
                put(runs, n, chunk * _TILE + k // n_tiles)
                put(numbers, n, k % n_tiles * _TILE + trailing_zeros(word))
                n += 1
                word &= word - uint64(1)
    return n


@inlined
def _transpose(tile: Any) -> None:
    """Transpose 64 words: bit c of word r becomes bit r of word c."""
    half, mask = 32, uint64(0xFFFFFFFF)
    while half:
        shift = uint64(half)
        for pair in range(32):
            k = (pair & ~(half - 1)) << 1 | pair & (half - 1)
            low, high = get(tile, k), get(tile, k + half)
            swap = (low >> shift ^ high) & mask
            put(tile, k, low ^ swap << shift)
            put(tile, k + half, high ^ swap)
        half >>= 1
        mask ^= mask << uint64(half)


@cache
def sliced_kernel() -> SimpleNamespace:
    """Entry points for this machine, by name: dispatchers that release the interpreter lock."""
    compiled()  # refuses if compiling is disabled
    functions = (list_synapses, make_planes, run_sliced_ticks, keep_fired, list_planes)
    stamp = kernel_stamp(*Path(__file__).parent.glob("*.py"))
    return SimpleNamespace(**{f.__name__: cached_under(stamp, f.py_func, _nrt=False) for f in functions})
