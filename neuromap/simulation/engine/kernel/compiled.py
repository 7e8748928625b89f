"""The compiled entry points, cached on disk under a stamp of everything that they are made of."""

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
from numba import uint64

from neuromap.compiling import cached
from neuromap.errors import NotSupportedError
from neuromap.simulation.engine.kernel.extents import extent
from neuromap.simulation.engine.kernel.replay_runs import begin_run, record_from, state_of_run
from neuromap.simulation.engine.kernel.team import run_ticks
from neuromap.simulation.engine.kernel.words import count_ones, trailing_zeros
from neuromap.version import __version__


class Compiled(NamedTuple):
    """Numba dispatchers; they compile on first use for the types that they meet."""

    run: Any
    """:func:`neuromap.simulation.engine.kernel.team.run_ticks`, without the interpreter's lock: once, or ``n_runs``
    times, each from the state ``start``; or each on with a state of its own (``has_states``)."""
    list_spikes: Any
    """``list_spikes(fired, n_rows, n_groups)``: ticks, rows and neurons of the set bits."""


def kernel_stamp() -> str:
    """Digest of the kernel files and of the versions that compile them."""
    # Numba's own cache looks at the file of the entry point only, so it would not see an edit of another one.
    digest = hashlib.sha256(f"{__version__} {numba.__version__} {np.__version__} {sys.version}".encode())
    folder = Path(__file__).parent
    for path in sorted(folder.rglob("*.py")):
        digest.update(path.relative_to(folder).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()


@cache
def compiled() -> Compiled:
    """Entry points for this machine."""
    if numba.config.DISABLE_JIT:
        raise NotSupportedError("NUMBA_DISABLE_JIT: the fast engine has to be compiled; unset it, or take engine numpy")
    _offer_sleep()
    return _entry_points(kernel_stamp())


def _entry_points(stamp: str) -> Compiled:
    # One entry for both, with one call in it: a second would take as long to compile as the first.
    def run(  # type: ignore[no-untyped-def]
        image, state, start, scratch, team, me, first_tick, n_ticks, n_runs, has_states, events, event_tick, record,
        seed, width,
    ):  # fmt: skip
        for k in range(max(n_runs, 1)):
            here = state_of_run(state, k if has_states else 0, n_runs if has_states else 1)
            if n_runs > 0 and not has_states:
                begin_run(image, here, start, scratch)
            kept = record_from(record, extent(image.shape.groups), k * n_ticks)
            fed = event_tick + k * n_ticks
            run_ticks(
                image, here, scratch, team, me, first_tick, n_ticks, events, fed, kept, seed + uint64(k), width
            )  # fmt: skip

    def list_spikes(fired, n_rows, n_groups):  # type: ignore[no-untyped-def]
        n = 0
        for k in range(len(fired)):
            n += count_ones(fired[k])
        ticks, rows, neurons = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
        n = 0
        for k in range(len(fired)):
            word = uint64(fired[k])
            while word != uint64(0):
                ticks[n] = k // (n_rows * n_groups)
                rows[n] = k // n_groups % n_rows
                neurons[n] = k % n_groups * 32 + trailing_zeros(word)
                n += 1
                word &= word - uint64(1)
        return ticks, rows, neurons

    return Compiled(_cached(run, stamp, _nrt=False), _cached(list_spikes, stamp))


def _cached(function: Callable[..., Any], stamp: str, **options: Any) -> Any:
    """Compile under a name that holds the stamp."""
    function.__qualname__ = f"{function.__name__}_{stamp[:20]}"  # Numba names its files so
    return cached(function, **options)


def _offer_sleep() -> None:
    """Give the kernels a function of the operating system that sleeps for some microseconds."""
    if sys.platform == "win32":
        function = ctypes.windll.kernel32.Sleep  # takes milliseconds: longer naps
    else:
        function = ctypes.CDLL(None).usleep
    llvmlite.binding.add_symbol("neuromap_sleep", ctypes.cast(function, ctypes.c_void_p).value)
