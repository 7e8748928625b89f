"""Many runs in one call: what the kernel does between two of them, so that nothing of Python is left there.

A run of a few ticks on a few cores takes some microseconds, less than one call from Python. Runs have one state, one
after the other, or a state each, with which they go on (``engine/bit_sliced``: tick by tick, side by side).
"""

from __future__ import annotations

from numba import njit

from neuromap.simulation.engine.kernel.emission import CALLED, INLINED
from neuromap.simulation.engine.kernel.extents import extent
from neuromap.simulation.engine.kernel.layout import Image, State
from neuromap.simulation.engine.kernel.words import clear_values, copy_values, get
from neuromap.simulation.engine.kernel.workspace import Record, Scratch

inlined = njit(**INLINED)


@inlined
def begin_run(image: Image, state: State, start: State, scratch: Scratch) -> None:
    """Bring a state back to the one that runs start from, in which no spikes are under way; count from 0."""
    n_cores, lanes = image.shape.n_cores, 32 * extent(image.shape.groups)
    copy_values(state.narrow, start.narrow, 0, n_cores * lanes)
    copy_values(state.is_wide, start.is_wide, 0, n_cores)
    copy_values(state.bound, start.bound, 0, n_cores)
    copy_values(state.awake, start.awake, 0, len(start.awake))
    for core in range(n_cores):  # the wide potentials of narrow cores are never read
        if get(start.is_wide, core):
            copy_values(state.wide, start.wide, core * lanes, lanes)
    clear_values(state.ring)
    clear_values(state.busy)
    clear_values(scratch.totals)


@njit(**CALLED)
def state_of_run(states: State, run: int, n_runs: int) -> State:
    """Give the state of one of so many runs, whose states lie side by side in every array."""
    return State(
        states.narrow[len(states.narrow) // n_runs * run :],
        states.wide[len(states.wide) // n_runs * run :],
        states.is_wide[len(states.is_wide) // n_runs * run :],
        states.bound[len(states.bound) // n_runs * run :],
        states.ring[len(states.ring) // n_runs * run :],
        states.busy[len(states.busy) // n_runs * run :],
        states.awake[len(states.awake) // n_runs * run :],
    )


@inlined
def record_from(record: Record, groups: int, tick: int) -> Record:
    """Give the part of a record, of so many words of 32 bits a core, that begins at a tick."""
    return Record(record.row, record.watched, record.fired[tick * record.n_rows * groups :], record.n_rows)
