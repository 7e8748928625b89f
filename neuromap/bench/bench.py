"""Bench: how long a tick takes, what it does, and how far that is from what the memory allows.

Every figure of one bench is taken in one run: after a warm-up, rounds go over all programs and thread counts in
turn and measure each for some ticks, and the memory's bandwidth with it; medians over the rounds are reported.
What disturbs the machine for a while disturbs all of them alike, so ratios carry where seconds do not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

from neuromap.bench.machine import Bandwidth, Machine, Stream, this_machine
from neuromap.bench.session import Session, open_session, require_equal_totals
from neuromap.errors import InputError
from neuromap.hardware.program.program import Program
from neuromap.hardware.program.structure import program_tensors
from neuromap.simulation.engine.threads import thread_count
from neuromap.version import __version__

__all__ = ["TIME_AXIS", "Activity", "BenchReport", "BenchRun", "Spread", "Timing", "bench"]

TIME_AXIS = {
    "tick_seconds": "network time: the length of a tick on the chip",
    "wall": "wall-clock time on this machine",
    "cpu": "time of all threads on this machine's CPUs together",
}
"""The times that a bench speaks of."""

_MOST_TICKS, _MOST_ROUNDS = 10**9, 10**4
"""Days of work."""
_BLOCK_SECONDS = 0.25
"""An engine is asked for so much at a time: an interrupt need not wait longer."""


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
    """What the chip does in a tick, on average over all ticks that were measured.

    Attributes
    ----------
    spikes, axon_events, synaptic_events : float
        Neurons that fire, axons that are due, synapses on these axons.
    visits : float or None
        Cores that are not skipped; ``None`` where the engine does not count them.
    """

    spikes: float
    axon_events: float
    synaptic_events: float
    visits: float | None


@dataclass(frozen=True)
class Timing:
    """One program on one number of threads.

    Attributes
    ----------
    threads : int
        Threads of the engine.
    tick : Spread
        Wall-clock seconds per tick.
    cpu : Spread
        Seconds per tick on all CPUs together.
    bandwidth : Bandwidth
        Of as many threads, medians over the same rounds.
    load_seconds : float
        From a program in memory to an engine before tick 0, without compiling.
    compile_seconds : float or None
        Spent on compiling; 0 where everything came from the cache, ``None`` where nothing is compiled.
    """

    threads: int
    tick: Spread
    cpu: Spread
    bandwidth: Bandwidth
    load_seconds: float
    compile_seconds: float | None


@dataclass(frozen=True)
class BenchRun:
    """One program on all numbers of threads.

    Attributes
    ----------
    name, chip : str
        Of the program.
    settings : tuple of (str, object)
        How the program was made, name by name; empty where that is not known.
    cores, neurons, synapses : int
        Cores in use, their neurons, and synapses that are set.
    tick_seconds : float
        Length of a tick on the chip.
    ticks_per_round : int
        Ticks that every timing has per round.
    activity : Activity
        The same for all timings: that is checked.
    program_bytes : int
        The arrays of the program.
    hot_bytes : int or None
        What the engine reads and writes in its ticks; ``None`` where it does not say, like the next.
    bytes_per_tick : float or None
        Of it, what an average tick has to move.
    timings : tuple of Timing
        In the order that was asked for.
    """

    name: str
    chip: str
    settings: tuple[tuple[str, object], ...]
    cores: int
    neurons: int
    synapses: int
    tick_seconds: float
    ticks_per_round: int
    activity: Activity
    program_bytes: int
    hot_bytes: int | None
    bytes_per_tick: float | None
    timings: tuple[Timing, ...]

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
        """Time per tick / :meth:`limit_seconds`; ``None`` where no bytes are moved, or it is not known.

        Below 1 is no contradiction where the hot memory fits into a cache.
        """
        limit = self.limit_seconds(timing)
        return timing.tick.median / limit if limit else None


@dataclass(frozen=True)
class BenchReport:
    """What a bench found.

    Attributes
    ----------
    version : str
        Of neuromap.
    date : str
        When, in UTC, to the second (ISO 8601).
    machine : Machine
        Where.
    engine : str
        What ran the ticks.
    rounds : int
        Rounds that medians are taken over.
    scaling : str or None
        What differs between the runs; ``None`` for a single one.
    runs : tuple of BenchRun
        One per program.
    """

    version: str
    date: str
    machine: Machine
    engine: str
    rounds: int
    scaling: str | None
    runs: tuple[BenchRun, ...]


def bench(
    programs: Sequence[Program],
    *,
    engine: str = "fast",
    threads: Sequence[int] = (1,),
    ticks: int | None = None,
    seconds: float = 2.0,
    rounds: int = 7,
    scaling: str | None = None,
    settings: Sequence[Sequence[tuple[str, object]]] | None = None,
    progress: Callable[[str, int, int], object] | None = None,
) -> BenchReport:
    """Measure the ticks of programs, each on every number of threads.

    Parameters
    ----------
    programs : sequence of Program
        At least one; all are held in memory with their engines. Programs with host rows get random frames.
    engine : {"fast", "numpy"}
        What runs the ticks.
    threads : sequence of int
        Numbers of threads, without repetition.
    ticks : int, optional
        Ticks that are measured for every program and number of threads, or a few more, in equal rounds; at most 10**9.
    seconds : float
        Without ``ticks``: about how long each of them is measured, in wall-clock seconds.
    rounds : int
        Rounds, at most 10**4 and as many as ticks.
    scaling : str, optional
        What differs between the programs; a label.
    settings : sequence, optional
        How each program was made; labels.
    progress : callable, optional
        Called as ``progress(what is done, steps done, steps in all)``.

    Returns
    -------
    BenchReport

    Raises
    ------
    InputError
        If a number is out of range, or there is no such engine.
    ProgramError
        If a program is not well formed, or its indices point nowhere.
    VerificationError
        If two numbers of threads do not give equal totals: a defect of the engine.
    """
    rounds = _checked(programs, engine, threads, ticks, seconds, rounds)
    machine = this_machine()
    date = datetime.now(UTC).isoformat(timespec="seconds")
    stream = Stream(machine)
    total = len(programs) * len(threads) * (rounds + 1)
    step = 0

    def tell(what: str) -> None:
        nonlocal step
        if progress is not None:
            progress(what, step, total)
        step += 1

    groups: list[list[Session]] = []
    for program in programs:
        group: list[Session] = []
        for count in threads:
            tell("loading")
            session = open_session(program, engine, count)
            if group:
                session.plan(group[0].ticks_per_round, group[0].block)
                session.warm_up(group[0].ticks)
            else:
                session.calibrate(rounds, ticks, seconds, _BLOCK_SECONDS)
            group.append(session)
        groups.append(group)

    streams: dict[int, list[Bandwidth]] = {count: [] for count in threads}
    for _ in range(rounds):
        for group in groups:
            for session in group:
                tell("measuring")
                session.measure()
        for count in threads:
            streams[count].append(stream.measure(count))
    tell("measuring")
    bandwidths = {
        count: Bandwidth(
            float(np.median([b.read for b in found])),
            float(np.median([b.update for b in found])),
        )
        for count, found in streams.items()
    }
    labels = settings if settings is not None else [()] * len(programs)
    runs = tuple(_run(group, bandwidths, tuple(label)) for group, label in zip(groups, labels, strict=True))
    return BenchReport(__version__, date, machine, engine, rounds, scaling, runs)


def _checked(
    programs: Sequence[Program], engine: str, threads: Sequence[int], ticks: int | None, seconds: float, rounds: int
) -> int:
    if not programs or not threads or any(program.n_cores == 0 for program in programs):
        raise InputError("bench: nothing to measure; give a program with a core or more, and a number of threads")
    for count in threads:
        thread_count(count)
    if len(set(threads)) < len(threads):
        raise InputError(f"threads {', '.join(map(str, threads))}: a number is named twice; name each once")
    if engine == "numpy" and tuple(threads) != (1,):
        raise InputError(f"threads {', '.join(map(str, threads))}: the engine numpy has 1; ask for 1")
    if ticks is not None and not 1 <= ticks <= _MOST_TICKS:
        raise InputError(f"ticks {ticks}: must be 1 to {_MOST_TICKS}")
    if not 0 < seconds <= 3600:
        raise InputError(f"seconds {seconds:g}: must be above 0, at most 3600")
    if not 1 <= rounds <= _MOST_ROUNDS:
        raise InputError(f"rounds {rounds}: must be 1 to {_MOST_ROUNDS}")
    return rounds if ticks is None else min(rounds, ticks)


def _run(
    group: Sequence[Session], bandwidths: dict[int, Bandwidth], settings: tuple[tuple[str, object], ...]
) -> BenchRun:
    first = group[0]
    require_equal_totals(group)
    program, ticks = first.program, first.ticks_measured
    per_tick = [count / ticks for count in first.measured_totals]
    visits = None if first.measured_visits is None else first.measured_visits / ticks
    footprint = first.footprint
    moved = None
    if footprint is not None and visits is not None:
        parts = (
            footprint.visit_bytes * visits,
            footprint.event_bytes * per_tick[1],
            footprint.spike_bytes * per_tick[0],
        )
        moved = float(sum(parts))
    return BenchRun(
        name=program.name,
        chip=program.chip.name,
        settings=settings,
        cores=program.n_cores,
        neurons=program.n_cores * program.chip.neurons,
        synapses=sum(int(np.bitwise_count(core).sum()) for core in program.crossbar),
        tick_seconds=program.chip.tick_seconds,
        ticks_per_round=first.ticks_per_round,
        activity=Activity(per_tick[0], per_tick[1], per_tick[2], visits),
        program_bytes=sum(array.nbytes for array in program_tensors(program).values()),
        hot_bytes=None if footprint is None else footprint.hot_bytes,
        bytes_per_tick=moved,
        timings=tuple(
            Timing(
                threads=session.threads,
                tick=Spread.of(session.wall),
                cpu=Spread.of(session.cpu),
                bandwidth=bandwidths[session.threads],
                load_seconds=session.load_seconds,
                compile_seconds=session.compile_seconds,
            )
            for session in group
        ),
    )
