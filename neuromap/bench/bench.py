"""Bench: how long a tick takes, what it does, and how far that is from what the memory allows.

Every figure of one bench is taken in one run: after a warm-up, rounds go over all programs and thread counts in
turn and measure each for some ticks, and the memory's bandwidth with it; medians over the rounds are reported.
What disturbs the machine for a while disturbs all of them alike, so ratios carry where seconds do not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

import numpy as np

from neuromap.bench.bench_report import Activity, BenchReport, BenchRun, InCache, Spread, Timing
from neuromap.bench.caches import Caches, measure_caches
from neuromap.bench.machine import Bandwidth, Stream, this_machine
from neuromap.bench.session import Session, open_session, require_equal_totals
from neuromap.errors import InputError
from neuromap.hardware.program.program import Program
from neuromap.hardware.program.structure import program_tensors
from neuromap.simulation.engine.engine_choice import EngineChoice
from neuromap.simulation.engine.threads import thread_count
from neuromap.version import __version__

__all__ = ["bench"]

_MOST_TICKS, _MOST_ROUNDS = 10**9, 10**4
"""Days of work."""
_BLOCK_SECONDS = 0.25
"""An engine is asked for so much at a time: an interrupt need not wait longer."""


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
    same_kind : sequence of callable, optional
        For each program, what makes one of its kind with another number of cores, none at rest. With this, and an
        engine that is compiled, time in cache is measured too.
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
    caches = measure_caches() if EngineChoice(engine).kind.is_compiled else None
    makers = same_kind if same_kind is not None and caches is not None else [None] * len(programs)
    total = (len(programs) * len(threads) + sum(make is not None for make in makers)) * (rounds + 1)
    step = 0

    def tell(what: str) -> None:
        nonlocal step
        if progress is not None:
            progress(what, step, total)
        step += 1

    groups: list[list[Session]] = []
    small: list[Session | None] = []
    for program, make in zip(programs, makers, strict=True):
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
        small.append(None)
        if make is not None and caches is not None:
            tell("loading")
            small[-1] = session = open_session(make(_cores_within(caches, group[0])), engine, 1)
            session.calibrate(rounds, ticks, seconds, _BLOCK_SECONDS)

    streams: dict[int, list[Bandwidth]] = {count: [] for count in threads}
    for _ in range(rounds):
        for group, smaller in zip(groups, small, strict=True):
            for session in [*group, *([] if smaller is None else [smaller])]:
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
    runs = tuple(
        _run(group, bandwidths, tuple(label), _in_cache(smaller))
        for group, label, smaller in zip(groups, labels, small, strict=True)
    )
    return BenchReport(__version__, date, machine, caches, engine, rounds, scaling, runs)


def _cores_within(caches: Caches, session: Session) -> int:
    """How many cores like those of a program stay in half of the near cache; the rest is for what else is touched."""
    assert session.footprint is not None
    per_core = max(1, session.footprint.hot_bytes // session.program.n_cores)
    return max(1, min(session.program.n_cores, caches.near_bytes // 2 // per_core))


def _in_cache(session: Session | None) -> InCache | None:
    if session is None or session.footprint is None or not session.measured_visits:
        return None
    visits = session.measured_visits / session.ticks_measured
    return InCache(
        session.program.n_cores, session.footprint.hot_bytes, Spread.of([seconds / visits for seconds in session.wall])
    )


def _checked(
    programs: Sequence[Program], engine: str, threads: Sequence[int], ticks: int | None, seconds: float, rounds: int
) -> int:
    if not programs or not threads or any(program.n_cores == 0 for program in programs):
        raise InputError("bench: nothing to measure; give a program with a core or more, and a number of threads")
    for count in threads:
        thread_count(count)
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
    bandwidths: dict[int, Bandwidth],
    settings: tuple[tuple[str, object], ...],
    in_cache: InCache | None,
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
        in_cache=in_cache,
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
