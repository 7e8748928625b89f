"""Spikes between cores that are bit-sliced and the others, and what the others' runs leave.

The others run in the ordinary kernel, one run after the other, each with a state of its own; a spike to them is one bit
in one of these states, and a spike from them one bit in a plane.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit, uint64
from numpy.typing import NDArray

from neuromap.simulation.engine.bit_sliced.carry_save import store_plane
from neuromap.simulation.engine.bit_sliced.sliced_layout import WORDS, SlicedImage, SlicedState
from neuromap.simulation.engine.kernel.emission import CALLED, INLINED
from neuromap.simulation.engine.kernel.words import get, put, trailing_zeros

inlined = njit(**INLINED)


class States(NamedTuple):
    """What the ordinary kernel holds of all runs, as far as spikes between the two ways need it."""

    n_runs: int
    """0 where all cores are bit-sliced."""
    n_cores: int
    n_words: int
    """Words of 64 axons of a core."""
    core_of: NDArray[np.int32]
    """(rows,): core of a row of the bit-sliced image."""
    ring: NDArray[np.uint64]
    """(runs, slots, C, words): as in ``State`` of the ordinary kernel."""
    busy: NDArray[np.uint8]
    """(runs, slots, blocks, 64)."""


@inlined
def slot_of(image: SlicedImage, tick: int) -> int:
    """Slot of the rings for what is due at a tick."""
    return tick & ((1 << image.slot_bits) - 1)


@inlined
def take_over(image: SlicedImage, state: SlicedState, states: States, tick: int) -> None:
    """Let bit-sliced cores have what ordinary ones have sent them for a tick."""
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
    """Let an axon of an ordinary core, 64 * words * core + axon, be due at a tick in the runs of a plane."""
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
    """Put spikes of ordinary cores in a tick, (runs, rows, groups) of uint32, into planes, as uint64."""
    # ``places`` (rows, groups, 32) says which plane of ``kept`` each has.
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
