"""What a bench found: programs, each timed on several numbers of threads."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.render.value import Card, Documented, Printed

# The machine that a bench ran on, and how fast its memory streams.

_LEAST_BUFFER = 2**28
# A buffer is at least so many times the last-level cache, so that streams come from memory.
_CACHES = 4
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


# Sizes of the caches, measured: what a system reports may be shared with others, and is not what is to be had.
#
# A chain of reads at random places, each of which says where the next one is, takes as long as one read takes. While
# the places fit a cache that time hardly grows with their number.
# Words of 64 bits in a cache line, of which one is read.
_LINE = 8
_LEAST, _MOST = 1 << 14, 1 << 26
_READS, _REPEATS = 4000, 9
# How many times as long as in the smallest buffer a read may take, and how long beside one of the largest.
_NEAR, _LAST = 4.0, 0.5


@dataclass(frozen=True)
class Caches(Card):
    """What one thread has of the caches."""

    # within so much memory a random read takes at most four times as long as within 16 KiB: the first two levels of
    # most processors
    near_bytes: int
    last_bytes: int  # within so much it takes at most half as long as within 64 MiB: all levels


def measure_caches() -> Caches:
    """Measure the caches, in about a second; the chain is compiled at the first call on a machine."""
    from neuromap.simulation.engine.kernel.layout import aligned_empty

    powers = range(_LEAST.bit_length() - 1, _MOST.bit_length() - 1)
    sizes = [n for power in powers for n in (1 << power, 3 << (power - 1))] + [_MOST]
    words = aligned_empty(_MOST // 8, np.int64)
    words[:] = 0
    seconds = [_read_seconds(words, size) for size in sizes]
    return Caches(
        near_bytes=_last_within(sizes, seconds, _NEAR * seconds[0]),
        last_bytes=_last_within(sizes, seconds, _LAST * seconds[-1]),
    )


def _last_within(sizes: list[int], seconds: list[float], most: float) -> int:
    """Give the size before the first one at which a read takes longer."""
    fits = [taken <= most for taken in seconds]
    return sizes[max(0, fits.index(False) - 1)] if False in fits else sizes[-1]


def _read_seconds(words: NDArray[np.int64], size: int) -> float:
    """Seconds that a random read takes within a number of bytes: the least of some chains."""
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
    """``follow(words, at, n)``: where a chain of ``n`` reads ends, compiled."""
    from neuromap.compiling import cached

    def follow_chain(words, at, n):  # type: ignore[no-untyped-def]
        for _ in range(n):
            at = words[at]
        return at

    return cached(follow_chain)


# The times that a bench speaks of.
TIME_AXIS = {
    "tick_seconds": "network time: the length of a tick on the chip",
    "wall": "wall-clock time on this machine",
    "cpu": "time of all threads on this machine's CPUs together",
}


@dataclass(frozen=True)
class Spread:
    """Median and quartiles of one figure over the rounds."""

    low: float
    median: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Take quartiles, interpolated linearly."""
        return cls(*(float(q) for q in np.quantile(np.asarray(values, np.float64), (0.25, 0.5, 0.75))))


@dataclass(frozen=True)
class Activity:
    """What the chip does in a tick, on average over all ticks that were measured."""

    # spikes, axon_events, synaptic_events: neurons that fire, axons that are due, synapses on these axons
    spikes: float
    axon_events: float
    synaptic_events: float
    visits: float | None  # cores that are not skipped; ``None`` where the engine does not count them


@dataclass(frozen=True)
class Timing:
    """One program on one number of threads."""

    threads: int  # threads of the engine
    tick: Spread  # wall-clock seconds per tick
    cpu: Spread  # seconds per tick on all CPUs together
    bandwidth: Bandwidth  # of as many threads, medians over the same rounds
    load_seconds: float  # from a program in memory to an engine before tick 0, without compiling
    # spent on compiling; 0 where everything came from the cache, ``None`` where nothing is compiled
    compile_seconds: float | None


@dataclass(frozen=True)
class InCache:
    """A network of the same kind, so small that it stays in the near cache, on one thread."""

    cores: int  # cores that it has; none is at rest
    hot_bytes: int  # what its ticks read and write
    visit: Spread  # wall-clock seconds per core that is visited


@dataclass(frozen=True)
class BenchRun(Card):
    """One program on all numbers of threads."""

    # name, chip: of the program
    name: str
    chip: str
    settings: tuple[tuple[str, object], ...]  # how the program was made, name by name; empty where that is not known
    # cores, neurons, synapses: cores in use, their neurons, and synapses that are set
    cores: int
    neurons: int
    synapses: int
    tick_seconds: float  # length of a tick on the chip
    ticks_per_round: int  # ticks that every timing has per round
    activity: Activity  # the same for all timings: that is checked
    program_bytes: int  # the arrays of the program
    # what the engine reads and writes in its ticks; ``None`` where it does not say, like the next
    hot_bytes: int | None
    bytes_per_tick: float | None  # of it, what an average tick has to move
    in_cache: InCache | None  # what visits take without memory; ``None`` where that was not measured
    timings: tuple[Timing, ...]  # in the order that was asked for

    @property
    def rate_hz(self) -> float:
        """Mean spikes per neuron and second of network time, silent neurons included."""
        return self.activity.spikes / self.neurons / self.tick_seconds

    def real_time_factor(self, timing: Timing) -> float:
        """Length of a tick / time per tick: above 1 the engine is faster than the chip's clock."""
        return self.tick_seconds / timing.tick.median

    def synaptic_events_per_second(self, timing: Timing) -> float:
        """Synaptic events per second of wall-clock time."""
        return self.activity.synaptic_events / timing.tick.median

    def speed_up(self, timing: Timing) -> float:
        """Time per tick of the first timing / that of this one."""
        return self.timings[0].tick.median / timing.tick.median

    def limit_seconds(self, timing: Timing) -> float | None:
        """Bytes per tick / bandwidth: what a tick would take if memory were all; ``None`` where not known."""
        return None if self.bytes_per_tick is None else self.bytes_per_tick / timing.bandwidth.best

    def distance(self, timing: Timing) -> float | None:
        """Time per tick / :meth:`limit_seconds`; ``None`` where no bytes are moved, or it is not known."""
        # Below 1 is no contradiction where the hot memory fits into a cache.
        limit = self.limit_seconds(timing)
        return timing.tick.median / limit if limit else None

    def in_cache_seconds(self, timing: Timing) -> float | None:
        """Visits * time of a visit in cache / threads: what a tick would take if computing were all."""
        if self.in_cache is None or self.activity.visits is None:
            return None
        return self.activity.visits * self.in_cache.visit.median / timing.threads

    def distance_to_cache(self, timing: Timing) -> float | None:
        """Time per tick / :meth:`in_cache_seconds`; ``None`` where no core is visited, or it is not known."""
        limit = self.in_cache_seconds(timing)
        return timing.tick.median / limit if limit else None


@dataclass(frozen=True)
class BenchReport(Documented, Printed):
    """What a bench found.

    Attributes
    ----------
    version : str
        Of neuromap.
    date : str
        When, in UTC, to the second (ISO 8601).
    machine : Machine
        Where.
    caches : Caches or None
        Its caches, as measured; ``None`` for engines that are not compiled.
    engine : str
        What ran the ticks.
    rounds : int
        Rounds that medians are taken over.
    scaling : str or None
        What differs between the runs; ``None`` for a single one.
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
