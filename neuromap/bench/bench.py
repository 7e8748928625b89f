"""Bench: time and activity of a tick, compared with the limit of memory bandwidth.

All figures of a bench come from one run: after a warm-up, rounds go over all programs and thread counts in turn,
measure each for some ticks, and the memory's bandwidth as well; medians over rounds are reported. Temporary
disturbances of the machine affect all of them alike, so ratios are more reliable than seconds.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from datetime import UTC, datetime
from itertools import count
from typing import Any, cast

import numpy as np

from neuromap.bench import bench_report
from neuromap.cores.crossbar.program import Program
from neuromap.errors import InputError, VerificationError
from neuromap.hardware.program.program_bytes import program_tensors
from neuromap.simulation.engine.engine import Footprint, HostEvents, Totals, make_engine
from neuromap.simulation.engine.engine_choice import EngineChoice, thread_count
from neuromap.simulation.run.tick_run import HostFeed
from neuromap.simulation.stimulus import random_frames
from neuromap.version import __version__

# Limits beyond which a bench would take days.
_MOST_TICKS, _MOST_ROUNDS = 10**9, 10**4
# Longest time of one call of an engine, so that interrupts need not wait longer.
_BLOCK_SECONDS = 0.25


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
    same_kind: Sequence[Callable[[int], Program]] | None = None,
    progress: Callable[[str, int, int], object] | None = None,
) -> bench_report.BenchReport:
    """Measure the ticks of programs, each on several numbers of threads.

    Parameters
    ----------
    programs : sequence of Program
        At least one; all are held in memory with their engines. Programs with host rows get random frames.
    engine : {"fast", "numpy"}
        Engine that runs the ticks.
    threads : sequence of int
        Numbers of threads, without repetition.
    ticks : int, optional
        Ticks to measure for every program and number of threads, or a few more, in equal rounds; at most 10**9.
    seconds : float
        Without ``ticks``: approximate time of each measurement, in wall-clock seconds.
    rounds : int
        Number of rounds, at most 10**4 and at most the number of ticks.
    scaling : str, optional
        Label for what differs between the programs.
    settings : sequence, optional
        Labels for how each program was made.
    same_kind : sequence of callable, optional
        For each program, a function that makes a similar one with another number of cores, none at rest. With this
        and a compiled engine, time in cache is measured too.
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
        If a program is not well formed, or its indices are out of range.
    VerificationError
        If two numbers of threads do not give equal totals: a defect of the engine.
    """
    rounds = _checked(programs, engine, threads, ticks, seconds, rounds)
    machine = bench_report.this_machine()
    date = datetime.now(UTC).isoformat(timespec="seconds")
    stream = bench_report.Stream(machine)
    caches = bench_report.measure_caches() if EngineChoice(engine).kind.is_compiled else None
    makers = same_kind if same_kind is not None and caches is not None else [None] * len(programs)
    total = (len(programs) * len(threads) + sum(make is not None for make in makers)) * (rounds + 1)
    steps = count()

    def tell(what: str) -> None:
        step = next(steps)
        if progress is not None:
            progress(what, step, total)

    groups: list[tuple[list[Session], Session | None]] = []
    for program, make in zip(programs, makers, strict=True):
        group: list[Session] = []
        for n_threads in threads:
            tell("loading")
            session = Session(program, engine, n_threads)
            if group:
                session.plan(group[0].ticks_per_round, group[0].block)
                session.warm_up(group[0].ticks)
            else:
                session.calibrate(rounds, ticks, seconds)
            group.append(session)
        smaller = None
        if make is not None and caches is not None:
            tell("loading")
            smaller = Session(make(_cores_within(caches, group[0])), engine, 1)
            smaller.calibrate(rounds, ticks, seconds)
        groups.append((group, smaller))

    streams: dict[int, list[bench_report.Bandwidth]] = {n_threads: [] for n_threads in threads}
    for _ in range(rounds):
        for group, smaller in groups:
            for session in [*group, *([] if smaller is None else [smaller])]:
                tell("measuring")
                session.measure()
        for n_threads, found in streams.items():
            found.append(stream.measure(n_threads))
    tell("measuring")
    bandwidths = {
        n_threads: bench_report.Bandwidth(*np.median([(b.read, b.update) for b in found], axis=0).tolist())
        for n_threads, found in streams.items()
    }
    labels = settings if settings is not None else [()] * len(programs)
    runs = tuple(
        _run(group, bandwidths, tuple(label), _in_cache(smaller))
        for (group, smaller), label in zip(groups, labels, strict=True)
    )
    return bench_report.BenchReport(__version__, date, machine, caches, engine, rounds, scaling, runs)


def _cores_within(caches: bench_report.Caches, session: Session) -> int:
    """Return how many cores of a program fit half of the near cache; the rest is for other data."""
    assert session.footprint is not None
    per_core = max(1, session.footprint.hot_bytes // session.program.n_cores)
    return max(1, min(session.program.n_cores, caches.near_bytes // 2 // per_core))


def _in_cache(session: Session | None) -> bench_report.InCache | None:
    if session is None or session.footprint is None:
        return None
    ticks, _, n_visits = session.measured
    if not n_visits:
        return None
    visits = n_visits / ticks
    return bench_report.InCache(
        session.program.n_cores,
        session.footprint.hot_bytes,
        bench_report.Spread.of([seconds / visits for seconds in session.wall]),
    )


def _checked(
    programs: Sequence[Program], engine: str, threads: Sequence[int], ticks: int | None, seconds: float, rounds: int
) -> int:
    if not programs or not threads or any(program.n_cores == 0 for program in programs):
        raise InputError("bench: nothing to measure; give a program with a core or more, and a number of threads")
    for n_threads in threads:
        thread_count(n_threads)
    if len(set(threads)) < len(threads):
        raise InputError(f"threads {', '.join(map(str, threads))}: a number is named twice; name each once")
    if not EngineChoice(engine).kind.has_threads and tuple(threads) != (1,):
        raise InputError(f"threads {', '.join(map(str, threads))}: the engine {engine} has 1; ask for 1")
    if ticks is not None and not 1 <= ticks <= _MOST_TICKS:
        raise InputError(f"ticks {ticks}: must be 1 to {_MOST_TICKS}")
    if not 0 < seconds <= 3600:
        raise InputError(f"seconds {seconds:g}: must be above 0, at most 3600")
    if not 1 <= rounds <= _MOST_ROUNDS:
        raise InputError(f"rounds {rounds}: must be 1 to {_MOST_ROUNDS}")
    return rounds if ticks is None else min(rounds, ticks)


def _run(
    group: Sequence[Session],
    bandwidths: dict[int, bench_report.Bandwidth],
    settings: tuple[tuple[str, object], ...],
    in_cache: bench_report.InCache | None,
) -> bench_report.BenchRun:
    first = group[0]
    require_equal_totals(group)
    program, (ticks, totals, n_visits) = first.program, first.measured
    per_tick = [total / ticks for total in totals]
    visits = None if n_visits is None else n_visits / ticks
    footprint = first.footprint
    moved = None
    if footprint is not None and visits is not None:
        moved = float(footprint.visit_bytes * visits + footprint.event_bytes * per_tick[1])
        moved += footprint.spike_bytes * per_tick[0]
    return bench_report.BenchRun(
        name=program.name,
        chip=program.chip.name,
        settings=settings,
        cores=program.n_cores,
        neurons=program.n_cores * program.chip.neurons,
        synapses=sum(int(np.bitwise_count(core).sum()) for core in program.crossbar),
        tick_seconds=program.chip.tick_seconds,
        ticks_per_round=first.ticks_per_round,
        activity=bench_report.Activity(per_tick[0], per_tick[1], per_tick[2], visits),
        program_bytes=sum(array.nbytes for array in program_tensors(program).values()),
        hot_bytes=None if footprint is None else footprint.hot_bytes,
        bytes_per_tick=moved,
        in_cache=in_cache,
        timings=tuple(
            bench_report.Timing(
                threads=session.threads,
                tick=bench_report.Spread.of(session.wall),
                cpu=bench_report.Spread.of(session.cpu),
                bandwidth=bandwidths[session.threads],
                load_seconds=session.load_seconds,
                compile_seconds=session.compile_seconds,
            )
            for session in group
        ),
    )


# A session: one engine, loaded, warmed up and timed round by round.


# Most host rows times turns that are laid out at once.
_HOST_VALUES = 2**24
# Calibration doubles its ticks until they take this many seconds.
_WARM_SECONDS = 0.02


class Session:
    """An engine with a program and its clock; the mutable state of a bench."""

    # wall, cpu: seconds per tick, one value per round
    # load_seconds, compile_seconds: of loading the program and running its first tick, which compiles everything
    # ticks_per_round, block: ticks of a round, a multiple of the ticks of one call of the engine

    def __init__(self, program: Program, engine: str, threads: int) -> None:
        self.program, self.threads = program, threads
        self.wall: list[float] = []
        self.cpu: list[float] = []
        self.ticks_per_round = self.block = program.period.numerator
        self._feed = HostFeed(program)
        self._events: HostEvents | None = None
        self._silence = np.zeros(program.target_core.shape, np.bool_)
        self._before: tuple[int, Totals, int | None] | None = None
        choice = EngineChoice(engine, threads)
        recording: Any = nullcontext()
        if choice.kind.is_compiled:
            from numba.core.event import install_recorder  # before the clock starts: Numba is slow to import

            recording = install_recorder("numba:compile")
        start = time.perf_counter()
        with recording as recorder:
            self._engine = make_engine(program, choice)
            load_seconds = time.perf_counter() - start
            compiled_loading = _outermost(recorder.buffer) if recorder else 0.0
            self._engine.run(HostEvents.none(1), self._silence)
        self.load_seconds = max(0.0, load_seconds - compiled_loading)
        self.compile_seconds = _outermost(recorder.buffer) if recorder else None

    @property
    def ticks(self) -> int:
        """Ticks since tick 0."""
        return self._engine.tick

    @property
    def done(self) -> tuple[int, Totals, int | None]:
        """Ticks, activity and core visits since tick 0; visits are ``None`` if the engine does not count them."""
        return self.ticks, self._engine.totals, getattr(self._engine, "visits", None)

    @property
    def footprint(self) -> Footprint | None:
        """Memory of the engine; ``None`` if it does not tell."""
        return cast("Footprint | None", getattr(self._engine, "footprint", None))

    @property
    def measured(self) -> tuple[int, tuple[int, ...], int | None]:
        """Ticks, activity and core visits of the rounds so far."""
        ticks, totals, visits = self.done
        ticks_before, totals_before, visits_before = self._before or self.done
        counts = tuple(now - then for now, then in zip(totals, totals_before, strict=True))
        return ticks - ticks_before, counts, None if visits is None or visits_before is None else visits - visits_before

    def calibrate(self, rounds: int, ticks: int | None, seconds: float) -> None:
        """Warm up and choose the ticks of a round."""
        period = self.program.period.numerator  # ticks after which the host's clock repeats
        self.warm_up(self.ticks + int(self.program.delay.max(initial=0)) + 1)  # spikes are in flight on every delay
        n_ticks = 1
        while True:
            start = time.perf_counter()
            self.warm_up(self.ticks + n_ticks)
            elapsed = time.perf_counter() - start
            if elapsed >= min(_WARM_SECONDS, seconds / rounds) or n_ticks >= 2**20:
                break
            n_ticks *= 2
        per_tick = max(elapsed / n_ticks, 1e-9)
        wanted = seconds / rounds / per_tick if ticks is None else ticks / rounds
        per_round = max(1, math.ceil(wanted / period)) * period
        turns = _HOST_VALUES // max(1, len(self.program.host))
        block = max(1, min(per_round // period, turns, int(_BLOCK_SECONDS / per_tick / period))) * period
        self.plan(-(-per_round // block) * block, block)

    def plan(self, ticks_per_round: int, block: int) -> None:
        """Set the ticks of a round and of a block."""
        self.ticks_per_round, self.block = ticks_per_round, block
        self._events = None

    def warm_up(self, until: int) -> None:
        """Run up to a tick without timing."""
        while self.ticks < until:
            self._engine.run(HostEvents.none(min(until - self.ticks, 1024)), self._silence)

    def measure(self) -> None:
        """Run one round and record the time per tick."""
        if self._events is None:
            self._events = self._lay_out(self.block)
        if self._before is None:
            self._before = self.done
        wall, cpu = time.perf_counter(), time.process_time()
        for _ in range(self.ticks_per_round // self.block):
            self._engine.run(self._events, self._silence)
        self.cpu.append((time.process_time() - cpu) / self.ticks_per_round)
        self.wall.append((time.perf_counter() - wall) / self.ticks_per_round)

    def _lay_out(self, n_ticks: int) -> HostEvents:
        """Make host events for whole turns of the program's clock, late enough that every row delivers."""
        program = self.program
        if not len(program.host):
            return HostEvents.none(n_ticks)
        turn, per_turn = program.period.numerator, program.period.denominator
        settled = int(max(0, program.host.arrival.max()) // turn + 2)
        n_frames = (settled + n_ticks // turn + 2) * per_turn
        inputs = any(port.kind == "input" for port in program.nodes)
        frames = random_frames(program, n_frames) if inputs else {}
        stacked = {name: rows[None] for name, rows in frames.items()}
        return self._feed.events(stacked, n_frames, settled * turn, n_ticks)


def require_equal_totals(sessions: Sequence[Session]) -> None:
    """Refuse sessions of one program with different totals."""
    first = sessions[0]
    for other in sessions[1:]:
        if other.done != first.done:
            raise VerificationError(
                f"bench of {first.program.name}: {first.ticks} ticks on {first.threads} threads gave {first.done[1]}, "
                f"{other.ticks} on {other.threads} {other.done[1]}; must be equal, please report it"
            )


def _outermost(events: list[tuple[float, Any]]) -> float:
    """Sum the seconds of recorded events; nested ones count once."""
    depth, begin, seconds = 0, 0.0, 0.0
    for at, event in events:
        if event.is_start:
            begin = at if depth == 0 else begin
            depth += 1
        elif event.is_end:
            depth -= 1
            seconds += at - begin if depth == 0 else 0.0
    return seconds
