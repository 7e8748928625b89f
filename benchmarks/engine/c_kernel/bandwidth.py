"""Memory bandwidth of this machine: the limit of every engine whose chip is larger than the caches.

Run from the repository root: ``python -m benchmarks.engine.c_kernel.bandwidth``.
"""

from __future__ import annotations

import ctypes
import os

import numpy as np

from benchmarks.engine.c_kernel.build import compile_library
from neuromap.errors import NotSupportedError

__all__ = ["least_tick_seconds", "measure_bandwidth"]

_MODES = ("read", "update", "copy")
_LINE = 64
"""Bytes of a cache line: the least that memory delivers."""


def measure_bandwidth(threads: int = 1, *, n_bytes: int | None = None, repeats: int = 9) -> dict[str, float]:
    """Measure streaming bandwidth.

    Parameters
    ----------
    threads : int
        Threads that share the work.
    n_bytes : int, optional
        Buffer of all threads together; by default 256 MiB, or 8 times the last-level cache if that is more.
    repeats : int
        Passes, of which the median counts; one more goes first and does not.

    Returns
    -------
    dict of str to float
        Bytes per second of "read", "update" (in place) and "copy" (memcpy). Update and copy count what is read and
        what is written.

    Raises
    ------
    NotSupportedError
        If the C cannot be compiled, or there is no memory.
    """
    if n_bytes is None:
        n_bytes = max(1 << 28, 8 * _last_level_cache())
    library = compile_library("bandwidth")
    result = {}
    for mode, name in enumerate(_MODES):
        seconds = np.zeros(repeats + 1)
        failed = library.measure(
            ctypes.c_int(mode),
            ctypes.c_int(threads),
            ctypes.c_int64(n_bytes),
            ctypes.c_int(len(seconds)),
            ctypes.c_void_p(seconds.ctypes.data),
        )
        if failed:
            raise NotSupportedError(f"bandwidth: no memory or threads for {n_bytes} bytes on {threads} threads")
        result[name] = (1 if name == "read" else 2) * n_bytes / float(np.median(seconds[1:]))
    return result


def least_tick_seconds(
    n_cores: int, axon_events: float, spikes: float, bandwidth: dict[str, float]
) -> tuple[float, float]:
    """Time that memory alone takes for one tick of 256 x 256 cores that are all awake, none of it cached.

    What every engine must move: 512 bytes of state in and out per core, 1280 bytes of weights and leaks and 64 of axon
    types; and, in whole cache lines, one row of the crossbar per axon that is due and one record per spike.

    Parameters
    ----------
    n_cores : int
        Cores.
    axon_events, spikes : float
        Per tick, of all cores.
    bandwidth : dict of str to float
        From :func:`measure_bandwidth`.

    Returns
    -------
    n_bytes : float
        Bytes of one tick, read and written.
    seconds : float
        The same at the bandwidths of reading and updating.
    """
    updated = n_cores * 2.0 * 512
    rows = _distinct(256 * 32 / _LINE, axon_events / n_cores)
    records = _distinct(256 * 8 / _LINE, spikes / n_cores)
    read = n_cores * (1280 + 64 + _LINE * (rows + records))
    return updated + read, updated / bandwidth["update"] + read / bandwidth["read"]


def _distinct(lines: float, draws: float) -> float:
    """Give the expected number of distinct lines among random draws."""
    return float(lines * (1 - (1 - 1 / lines) ** draws))


def _last_level_cache() -> int:
    """Bytes of the last-level cache; 0 where the system does not say."""
    name = "SC_LEVEL3_CACHE_SIZE"
    return max(0, os.sysconf(name)) if name in os.sysconf_names else 0


if __name__ == "__main__":
    for n in range(1, (os.cpu_count() or 1) + 1):
        figures = measure_bandwidth(n)
        print(f"{n} threads: " + ", ".join(f"{name} {figure / 1e9:.1f} GB/s" for name, figure in figures.items()))
