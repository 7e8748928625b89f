"""Compiled entry points, cached on disk under a stamp of their sources and versions."""

from __future__ import annotations

import ctypes
import hashlib
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import llvmlite.binding
import numba
import numpy as np
from numba import njit, uint64

from neuromap.compiling import cached
from neuromap.errors import NotSupportedError
from neuromap.simulation.engine.kernel.lanes import CALLED, INLINED
from neuromap.simulation.engine.kernel.layout import Image, State, extent
from neuromap.simulation.engine.kernel.team import run_ticks
from neuromap.simulation.engine.kernel.words import clear_values, copy_values, count_ones, get, trailing_zeros
from neuromap.simulation.engine.kernel.workspace import Call, Record, Scratch
from neuromap.version import __version__

inlined = njit(**INLINED)


@inlined
def begin_run(image: Image, state: State, start: State, scratch: Scratch) -> None:
    """Reset a state to the start state of runs, without pending spikes; reset the totals."""
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
    """State of one of ``n_runs`` runs, whose states lie side by side in every array."""
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
def call_of_run(call: Call, run: int, groups: int) -> Call:
    """One run of a call; a core has ``groups`` words of 32 spike bits."""
    done, record = run * call.n_ticks, call.record
    kept = Record(record.row, record.watched, record.fired[done * record.n_rows * groups :], record.n_rows)
    seed = call.seed + uint64(run)
    return Call(call.first_tick, call.n_ticks, 0, False, call.events, call.event_tick + done, kept, seed)


class Compiled(NamedTuple):
    """Numba dispatchers; they compile on first use for the types they meet."""

    run: Any
    """``run(image, state, start, scratch, team, me, call)``: the runs of a call, without the interpreter lock."""
    list_spikes: Any
    """``list_spikes(fired, n_rows, n_groups)``: ticks, rows and neurons of the set bits."""


def kernel_stamp(*others: Path) -> str:
    """Digest of the kernel files, of others built on them, and of the versions that compile them."""
    # Numba's own cache checks only the file of the entry point, so it would miss edits of other files.
    digest = hashlib.sha256(f"{__version__} {numba.__version__} {np.__version__} {sys.version}".encode())
    for path in (*sorted(Path(__file__).parent.glob("*.py")), *sorted(others)):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()


@cache
def compiled() -> Compiled:
    """Entry points for this machine."""
    if numba.config.DISABLE_JIT:
        raise NotSupportedError("NUMBA_DISABLE_JIT: the fast engine has to be compiled; unset it, or take engine numpy")
    _offer_sleep()
    stamp = kernel_stamp()

    # one entry for both, containing a single call: a second would take as long to compile as the first
    def run(image, state, start, scratch, team, me, call):  # type: ignore[no-untyped-def]
        for k in range(max(call.n_runs, 1)):
            here = state_of_run(state, k if call.has_states else 0, call.n_runs if call.has_states else 1)
            if call.n_runs > 0 and not call.has_states:
                begin_run(image, here, start, scratch)
            run_ticks(image, here, scratch, team, me, call_of_run(call, k, extent(image.shape.groups)))

    def list_spikes(fired, n_rows, n_groups):  # type: ignore[no-untyped-def]
        n = 0
        for k in range(len(fired)):
            n += count_ones(fired[k])
        ticks, rows, neurons = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
        n = tick = row = group = 0
        for k in range(len(fired)):  # counters instead of divisions: most words are 0
            word = uint64(fired[k])
            while word != uint64(0):
                ticks[n], rows[n], neurons[n] = tick, row, group * 32 + trailing_zeros(word)
                n += 1
                word &= word - uint64(1)
            group += 1
            if group == n_groups:
                group, row = 0, row + 1
                if row == n_rows:
                    row, tick = 0, tick + 1
        return ticks, rows, neurons

    return Compiled(cached_under(stamp, run, _nrt=False), cached_under(stamp, list_spikes))


def cached_under(stamp: str, function: Callable[..., Any], **options: Any) -> Any:
    """Compile an entry point under a name that contains the stamp."""
    function.__qualname__ = f"{function.__name__}_{stamp[:20]}"  # Numba uses it in file names
    return cached(function, **options)


def _offer_sleep() -> None:
    """Make the operating system's microsecond sleep available to the kernels."""
    if sys.platform == "win32":
        function = ctypes.windll.kernel32.Sleep  # takes milliseconds: longer naps
    else:
        function = ctypes.CDLL(None).usleep
    llvmlite.binding.add_symbol("neuromap_sleep", ctypes.cast(function, ctypes.c_void_p).value)
