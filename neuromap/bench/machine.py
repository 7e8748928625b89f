"""The machine that a bench ran on, and how fast its memory streams."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from neuromap.forms.card import Card

__all__ = ["Bandwidth", "Machine", "Stream", "this_machine"]

_LEAST_BUFFER = 2**28
_CACHES = 4
"""A buffer is at least so many times the last-level cache, so that streams come from memory."""
_CACHE_FOLDER = Path("/sys/devices/system/cpu/cpu0/cache")
_CPU_FILE = Path("/proc/cpuinfo")


@dataclass(frozen=True)
class Machine(Card):
    """What figures were taken on."""

    cpu: str  # model, as the system names it
    cpus: int  # logical CPUs that this process may use
    # memory_bytes, cache_bytes: main memory and last-level cache; ``None`` where the system does not say
    memory_bytes: int | None
    cache_bytes: int | None
    # runnable threads over the last minute, before the bench: above 0 others were at work too
    load_average: float | None
    # system, python, numpy, numba: versions; ``numba`` is empty where it is not installed
    system: str
    python: str
    numpy: str
    numba: str


@dataclass(frozen=True)
class Bandwidth:
    """Bytes per second between memory and a number of threads."""

    read: float  # A buffer is read once
    update: float  # A buffer is read and written in place; both count

    @property
    def best(self) -> float:
        """The greater one: what no engine on as many threads can beat."""
        return max(self.read, self.update)


def this_machine() -> Machine:
    """Describe the machine that this process runs on."""
    try:
        load = os.getloadavg()[0]
    except (AttributeError, OSError):  # not on every system
        load = None
    try:
        numba = version("numba")
    except PackageNotFoundError:
        numba = ""
    return Machine(
        cpu=_cpu_model(),
        cpus=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        memory_bytes=_memory(),
        cache_bytes=_last_level_cache(),
        load_average=load,
        system=platform.platform(),
        python=platform.python_version(),
        numpy=np.__version__,
        numba=numba,
    )


class Stream:
    """A buffer far larger than the caches, through which memory is read and updated."""

    # machine: its last-level cache and memory decide on the buffer's size: four caches, 256 MiB or more, but at most an
    # eighth of the memory

    def __init__(self, machine: Machine) -> None:
        size = max(_LEAST_BUFFER, _CACHES * (machine.cache_bytes or 0))
        if machine.memory_bytes is not None:
            size = min(size, machine.memory_bytes // 8)
        self._buffer = np.zeros(max(1, size // 8), np.int64)
        self._buffer += 1  # every page is really there

    @property
    def n_bytes(self) -> int:
        """Size of the buffer."""
        return self._buffer.nbytes

    def measure(self, threads: int) -> Bandwidth:
        """Stream the buffer once each way, shared out over some threads."""
        parts = np.array_split(self._buffer, threads)
        size = self._buffer.nbytes
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(len, parts))  # the threads are there before the clock starts
            return Bandwidth(size / _seconds(pool, _read, parts), 2 * size / _seconds(pool, _update, parts))


def _seconds(
    pool: ThreadPoolExecutor, work: Callable[[NDArray[np.int64]], None], parts: list[NDArray[np.int64]]
) -> float:
    start = perf_counter()
    list(pool.map(work, parts))
    return perf_counter() - start


def _read(part: NDArray[np.int64]) -> None:
    np.bitwise_or.reduce(part)


def _update(part: NDArray[np.int64]) -> None:
    np.add(part, 1, out=part)


def _cpu_model() -> str:
    try:
        lines = _CPU_FILE.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    for line in lines:
        if line.startswith("model name"):
            return " ".join(line.partition(":")[2].split())
    return platform.processor() or platform.machine()


def _memory() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def _last_level_cache() -> int | None:
    sizes = []
    units = {"K": 2**10, "M": 2**20, "G": 2**30}
    for file in _CACHE_FOLDER.glob("index*/size"):
        try:
            text = file.read_text(encoding="ascii").strip()
            sizes.append(int(text[:-1]) * units[text[-1]])
        except (OSError, ValueError, KeyError, IndexError):
            continue
    return max(sizes, default=None)
