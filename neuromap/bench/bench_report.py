"""Results of a bench: programs, each timed on several numbers of threads."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.render.value import Card, Documented, Printed

# The machine of a bench, and its memory bandwidth.

_LEAST_BUFFER = 2**28
# Least size of a buffer in last-level caches, so that it streams from memory.
_CACHES = 4
_CACHE_FOLDER = Path("/sys/devices/system/cpu/cpu0/cache")
_CPU_FILE = Path("/proc/cpuinfo")


@dataclass(frozen=True)
class Machine(Card):
    """The machine of a bench."""

    cpu: str  # model, as the system names it
    cpus: int  # logical CPUs that this process may use
    # memory_bytes, cache_bytes: main memory and last-level cache; ``None`` if the system does not tell
    memory_bytes: int | None
    cache_bytes: int | None
    # runnable threads over the minute before the bench: above 0, others were running too
    load_average: float | None
    # system, python, numpy, numba: versions; ``numba`` is empty if not installed
    system: str
    python: str
    numpy: str
    numba: str


@dataclass(frozen=True)
class Bandwidth:
    """Memory bandwidth of a number of threads, in bytes per second."""

    read: float  # reading a buffer once
    update: float  # reading and writing a buffer in place; both count

    @property
    def best(self) -> float:
        """The greater one, the limit of any engine on as many threads."""
        return max(self.read, self.update)


def this_machine() -> Machine:
    """Describe the current machine."""
    load: float | None = None
    numba = ""
    with suppress(AttributeError, OSError):  # not on every system
        load = os.getloadavg()[0]
    with suppress(PackageNotFoundError):
        numba = version("numba")
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
    """A buffer far larger than the caches, to measure memory bandwidth."""

    # machine: determines the buffer's size: four last-level caches, at least 256 MiB, at most an eighth of the memory

    def __init__(self, machine: Machine) -> None:
        size = max(_LEAST_BUFFER, _CACHES * (machine.cache_bytes or 0))
        if machine.memory_bytes is not None:
            size = min(size, machine.memory_bytes // 8)
        self._buffer = np.zeros(max(1, size // 8), np.int64)
        self._buffer += 1  # touch every page

    @property
    def n_bytes(self) -> int:
        """Size of the buffer."""
        return self._buffer.nbytes

    def measure(self, threads: int) -> Bandwidth:
        """Read and update the buffer once each, divided among some threads."""
        parts = np.array_split(self._buffer, threads)
        size = self._buffer.nbytes
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(len, parts))  # start the threads before the clock
            read = _seconds(pool, np.bitwise_or.reduce, parts)
            return Bandwidth(size / read, 2 * size / _seconds(pool, lambda part: np.add(part, 1, out=part), parts))


def _seconds(pool: ThreadPoolExecutor, work: Callable[..., object], parts: list[NDArray[np.int64]]) -> float:
    start = perf_counter()
    list(pool.map(work, parts))
    return perf_counter() - start


def _cpu_model() -> str:
    with suppress(OSError):
        for line in _CPU_FILE.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return " ".join(line.partition(":")[2].split())
    return platform.processor() or platform.machine()


def _memory() -> int | None:
    with suppress(AttributeError, ValueError, OSError):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return None


def _last_level_cache() -> int | None:
    sizes, units = [], {"K": 2**10, "M": 2**20, "G": 2**30}
    for file in _CACHE_FOLDER.glob("index*/size"):
        with suppress(OSError, ValueError, KeyError, IndexError):
            text = file.read_text(encoding="ascii").strip()
            sizes.append(int(text[:-1]) * units[text[-1]])
    return max(sizes, default=None)


# Measured sizes of caches: reported ones may be shared with others, so less may be available.
#
# In a chain of reads at random places, each of which gives the next place, the time per read is the latency. As long
# as the places fit a cache, it hardly grows with their number.
# 64-bit words per cache line, of which one is read.
_LINE = 8
_LEAST, _MOST = 1 << 14, 1 << 26
_READS, _REPEATS = 4000, 9
# Greatest read times, relative to the smallest buffer and to the largest one.
_NEAR, _LAST = 4.0, 0.5


@dataclass(frozen=True)
class Caches(Card):
    """Cache sizes available to one thread."""

    # memory within which a random read takes at most four times as long as within 16 KiB: the first two levels of most
    # processors
    near_bytes: int
    last_bytes: int  # memory within which it takes at most half as long as within 64 MiB: all levels


def measure_caches() -> Caches:
    """Measure the caches in about a second, plus compilation at the first call on a machine."""
    from neuromap.simulation.engine.kernel.layout import aligned_empty

    powers = range(_LEAST.bit_length() - 1, _MOST.bit_length() - 1)
    sizes = [n for power in powers for n in (1 << power, 3 << (power - 1))] + [_MOST]
    words = aligned_empty(_MOST // 8, np.int64)
    words[:] = 0
    seconds = [_read_seconds(words, size) for size in sizes]
    most = _NEAR * seconds[0], _LAST * seconds[-1]
    return Caches(*(_last_within(sizes, seconds, one) for one in most))


def _last_within(sizes: list[int], seconds: list[float], most: float) -> int:
    """Return the size before the first one at which a read takes longer."""
    fits = [taken <= most for taken in seconds]
    return sizes[max(0, fits.index(False) - 1)] if False in fits else sizes[-1]


def _read_seconds(words: NDArray[np.int64], size: int) -> float:
    """Measure the seconds of a random read within a number of bytes, the least over some chains."""
    lines = size // (8 * _LINE)
    order = np.random.default_rng(0).permutation(lines) * _LINE
    words[order] = np.roll(order, -1)  # one ring through all of them
    follow = _follow()
    at = follow(words, 0, lines)
    taken = []
    for _ in range(_REPEATS):
        start = perf_counter()
        at = follow(words, at, _READS)
        taken.append(perf_counter() - start)
    return min(taken) / _READS


@cache
def _follow() -> Any:
    """Return the compiled function ``follow(words, at, n)``, the end of a chain of ``n`` reads."""
    from neuromap.compiling import cached

    def follow_chain(words, at, n):  # type: ignore[no-untyped-def]
        for _ in range(n):
            at = words[at]
        return at

    return cached(follow_chain)


# Times of a bench.
TIME_AXIS = {
    "tick_seconds": "network time: the length of a tick on the chip",
    "wall": "wall-clock time on this machine",
    "cpu": "time of all threads on this machine's CPUs together",
}


@dataclass(frozen=True)
class Spread:
    """Median and quartiles of a figure over rounds."""

    low: float
    median: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Compute quartiles with linear interpolation."""
        return cls(*(float(q) for q in np.quantile(np.asarray(values, np.float64), (0.25, 0.5, 0.75))))


@dataclass(frozen=True)
class Activity:
    """Activity of the chip per tick, averaged over all measured ticks."""

    # spikes, axon_events, synaptic_events: neurons that fire, axons that are due, synapses on these axons
    spikes: float
    axon_events: float
    synaptic_events: float
    visits: float | None  # cores that are not skipped; ``None`` if the engine does not count them


@dataclass(frozen=True)
class Timing:
    """One program on one number of threads."""

    threads: int  # threads of the engine
    tick: Spread  # wall-clock seconds per tick
    cpu: Spread  # seconds per tick on all CPUs together
    bandwidth: Bandwidth  # of as many threads, medians over the same rounds
    load_seconds: float  # from a program in memory to an engine before tick 0, without compiling
    # compilation time; 0 if everything came from the cache, ``None`` if nothing is compiled
    compile_seconds: float | None


@dataclass(frozen=True)
class InCache:
    """A similar network, small enough for the near cache, on one thread."""

    cores: int  # number of cores, none at rest
    hot_bytes: int  # memory that its ticks read and write
    visit: Spread  # wall-clock seconds per visited core


@dataclass(frozen=True)
class BenchRun(Card):
    """One program on all numbers of threads."""

    # name, chip: of the program
    name: str
    chip: str
    settings: tuple[tuple[str, object], ...]  # how the program was made, as names and values; empty if unknown
    # cores, neurons, synapses: cores in use, their neurons, and set synapses
    cores: int
    neurons: int
    synapses: int
    tick_seconds: float  # length of a tick on the chip
    ticks_per_round: int  # ticks per round, for every timing
    activity: Activity  # equal for all timings, which is checked
    program_bytes: int  # size of the program's arrays
    # memory that the engine reads and writes in its ticks; like the next, ``None`` if it does not tell
    hot_bytes: int | None
    bytes_per_tick: float | None  # part of it that an average tick must move
    in_cache: InCache | None  # time of visits without memory; ``None`` if not measured
    timings: tuple[Timing, ...]  # in the requested order

    @property
    def rate_hz(self) -> float:
        """Mean spikes per neuron and second of network time, including silent neurons."""
        return self.activity.spikes / self.neurons / self.tick_seconds

    def real_time_factor(self, timing: Timing) -> float:
        """Length of a tick / time per tick; above 1, the engine is faster than the chip's clock."""
        return self.tick_seconds / timing.tick.median

    def synaptic_events_per_second(self, timing: Timing) -> float:
        """Synaptic events per second of wall-clock time."""
        return self.activity.synaptic_events / timing.tick.median

    def speed_up(self, timing: Timing) -> float:
        """Time per tick of the first timing / that of this one."""
        return self.timings[0].tick.median / timing.tick.median

    def limit_seconds(self, timing: Timing) -> float | None:
        """Bytes per tick / bandwidth, the time per tick if memory were the only limit; ``None`` if unknown."""
        return None if self.bytes_per_tick is None else self.bytes_per_tick / timing.bandwidth.best

    def distance(self, timing: Timing) -> float | None:
        """Time per tick / :meth:`limit_seconds`; ``None`` if no bytes are moved, or if unknown."""
        # Values below 1 are possible if the hot memory fits a cache.
        limit = self.limit_seconds(timing)
        return timing.tick.median / limit if limit else None

    def in_cache_seconds(self, timing: Timing) -> float | None:
        """Visits * time of a visit in cache / threads, the time per tick if computing were the only limit."""
        if self.in_cache is None or self.activity.visits is None:
            return None
        return self.activity.visits * self.in_cache.visit.median / timing.threads

    def distance_to_cache(self, timing: Timing) -> float | None:
        """Time per tick / :meth:`in_cache_seconds`; ``None`` if no core is visited, or if unknown."""
        limit = self.in_cache_seconds(timing)
        return timing.tick.median / limit if limit else None


@dataclass(frozen=True)
class BenchReport(Documented, Printed):
    """Results of a bench.

    Attributes
    ----------
    version : str
        Version of neuromap.
    date : str
        Date and time, in UTC, to the second (ISO 8601).
    machine : Machine
        Machine that it ran on.
    caches : Caches or None
        Measured caches; ``None`` for engines that are not compiled.
    engine : str
        Engine that ran the ticks.
    rounds : int
        Number of rounds over which medians are taken.
    scaling : str or None
        What differs between the runs; ``None`` for a single run.
    runs : tuple of BenchRun
        One per program.
    """

    _called = "a bench"
    _forms = ("neuromap.bench.forms",)

    version: str
    date: str
    machine: Machine
    caches: Caches | None
    engine: str
    rounds: int
    scaling: str | None
    runs: tuple[BenchRun, ...]

    def _facts(self) -> dict[str, object]:
        return {
            "engine": self.engine,
            "programs": ", ".join(run.name for run in self.runs) or "none",
            "rounds": self.rounds,
            "date": self.date,
        }
