"""What a bench found: programs, each timed on several numbers of threads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from neuromap.bench.caches import Caches
from neuromap.bench.machine import Bandwidth, Machine
from neuromap.forms.card import Card
from neuromap.forms.formed import Formed, form

__all__ = ["TIME_AXIS", "Activity", "BenchReport", "BenchRun", "InCache", "Spread", "Timing"]

TIME_AXIS = {
    "tick_seconds": "network time: the length of a tick on the chip",
    "wall": "wall-clock time on this machine",
    "cpu": "time of all threads on this machine's CPUs together",
}
"""The times that a bench speaks of."""


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
class BenchReport(Formed):
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

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form; see :func:`neuromap.bench.json_form.bench_to_dict`."""
        return dict(form(self, "dict"))

    def to_json(self) -> str:
        """JSON text that follows the published schema; see :func:`neuromap.bench.json_form.bench_to_json`."""
        return str(form(self, "json"))

    def to_text(self, width: int = 160) -> str:
        """Tables as they are printed in a terminal; see :func:`neuromap.bench.text.bench_to_text`."""
        return str(form(self, "text", width))
