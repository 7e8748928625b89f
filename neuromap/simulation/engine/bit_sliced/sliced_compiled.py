"""The compiled entry points of bit-sliced batches, cached on disk under a stamp of everything that they are made of.

They are compiled once for all sizes of cores.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from numba import njit, uint64

from neuromap.compiling import cached
from neuromap.simulation.engine.bit_sliced.between import States, hand_over, keep_fired, slot_of, take_over
from neuromap.simulation.engine.bit_sliced.carry_save import load_plane, plane_of, store_plane, sum_neuron
from neuromap.simulation.engine.bit_sliced.sliced_layout import LANES, WORDS, Fed, SlicedImage, SlicedState
from neuromap.simulation.engine.bit_sliced.synapse_lists import fill_lists, weigh_synapses
from neuromap.simulation.engine.kernel.compiled import compiled, kernel_stamp
from neuromap.simulation.engine.kernel.emission import CALLED, INLINED
from neuromap.simulation.engine.kernel.lanes import any_lane
from neuromap.simulation.engine.kernel.words import get, nonzero_bytes, put, trailing_zeros

inlined = njit(**INLINED)

# Ticks of the cores that are bit-sliced, for 512 runs side by side.


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
    """Run some ticks; one alone where there are other cores, whose turn is next."""
    # ``kept_of`` says which plane of ``kept`` a neuron has in every tick, of ``n_kept`` a tick, or -1; ``kept`` is 0.
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
    """Let an axon be due at a tick in the runs of a plane."""
    if target >= 0:
        at = slot_of(image, tick) * image.n_rows
        here = at * image.n_axons + target
        store_plane(state.due, here, load_plane(state.due, here) | plane)
        put(state.busy, at + target // image.n_axons, 1)
    elif target < -1:
        hand_over(image, state, states, tick, -2 - target, plane)


@inlined
def _tick_row(
    image: SlicedImage,
    state: SlicedState,
    states: States,
    tick: int,
    row: int,
    kept_of: Any,
    kept: Any,
    first: int,
) -> None:
    """Take all neurons of a core through a tick."""
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


# From runs to planes and back: tables of bits, transposed 64 by 64.


_TILE = 64
_CHUNKS = LANES // _TILE


@njit(**CALLED)
def make_planes(bytes_: Any, stride: int, n_runs: int, n_columns: int, planes: Any, tile: Any) -> None:
    """Fill planes, as uint64, from one byte per run and column."""
    # That of a run r and a column c at ``r * stride + c``.
    # 64 bytes are read at once, so rows and the last of them may be read a bit beyond.
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
    """List runs and numbers of planes of all bits that are set, run by run; how many there are."""
    # ``n_planes`` is a multiple of 64; ``rows`` has room for as many words, ``runs`` and ``numbers`` for all bits.
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
    """Let bit c of word r be bit r of word c."""
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


class SlicedKernel(NamedTuple):
    """Numba dispatchers, all without the interpreter's lock; they take what the functions of their names take."""

    weigh_synapses: Any
    fill_lists: Any
    make_planes: Any
    run_ticks: Any
    keep_fired: Any
    list_planes: Any


@cache
def sliced_kernel() -> SlicedKernel:
    """Entry points for this machine."""
    compiled()  # refuses where nothing may be compiled
    functions = (weigh_synapses, fill_lists, make_planes, run_sliced_ticks, keep_fired, list_planes)
    stamp = _stamp()
    return SlicedKernel(*(_entry(function.py_func, stamp) for function in functions))


def _entry(function: Callable[..., Any], stamp: str) -> Any:
    function.__qualname__ = f"{function.__name__}_{stamp[:20]}"  # Numba names its files so
    return cached(function, _nrt=False)


def _stamp() -> str:
    """Digest of these files and of what they are built on."""
    digest = hashlib.sha256(kernel_stamp().encode())
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()
