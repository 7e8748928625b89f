"""A session: one engine that is loaded, warmed up and timed round by round."""

from __future__ import annotations

import importlib
import math
import time
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from neuromap.errors import VerificationError
from neuromap.hardware.program.program import Program
from neuromap.simulation.engine.engine import Engine, Footprint, HostEvents, Totals
from neuromap.simulation.engine.engine_choice import EngineChoice
from neuromap.simulation.engine.engines import make_engine
from neuromap.simulation.run.host_feed import HostFeed
from neuromap.simulation.stimulus.stimulus import random_frames

__all__ = ["Session", "open_session", "require_equal_totals"]

_HOST_VALUES = 2**24
"""Host rows times turns that are laid out at once."""
_WARM_SECONDS = 0.02
"""The calibration doubles its ticks until they take so long."""


class Session:
    """An engine with its clock; the mutable state of a bench."""

    # wall, cpu: seconds per tick, one value per round
    # ticks_per_round, block: ticks of a round, a multiple of the ticks for which the engine is asked at a time

    def __init__(
        self, program: Program, engine: Engine, threads: int, load_seconds: float, compile_seconds: float | None
    ) -> None:
        self.program = program
        self.threads = threads
        self.load_seconds = load_seconds
        self.compile_seconds = compile_seconds
        self.wall: list[float] = []
        self.cpu: list[float] = []
        self.ticks_per_round = self.block = program.period.numerator
        self._engine = engine
        self._feed = HostFeed(program)
        self._events: HostEvents | None = None
        self._silence = _nobody(program)
        self._before: tuple[int, Totals, int | None] | None = None

    @property
    def ticks(self) -> int:
        """Ticks since tick 0."""
        return self._engine.tick

    @property
    def totals(self) -> Totals:
        """Activity since tick 0."""
        return self._engine.totals

    @property
    def visits(self) -> int | None:
        """Core visits since tick 0; ``None`` where the engine does not count them."""
        return cast("int | None", getattr(self._engine, "visits", None))

    @property
    def footprint(self) -> Footprint | None:
        """Memory of the engine; ``None`` where it does not say."""
        return cast("Footprint | None", getattr(self._engine, "footprint", None))

    @property
    def ticks_measured(self) -> int:
        """Ticks of the rounds so far."""
        return self.ticks - self._start[0]

    @property
    def measured_totals(self) -> tuple[int, ...]:
        """Activity in the rounds so far."""
        return tuple(now - then for now, then in zip(self.totals, self._start[1], strict=True))

    @property
    def measured_visits(self) -> int | None:
        """Core visits in the rounds so far."""
        now, then = self.visits, self._start[2]
        return None if now is None or then is None else now - then

    @property
    def _start(self) -> tuple[int, Totals, int | None]:
        return self._before if self._before is not None else (self.ticks, self.totals, self.visits)

    def calibrate(self, rounds: int, ticks: int | None, seconds: float, block_seconds: float) -> None:
        """Warm up and choose the ticks of a round."""
        period = self.program.period.numerator  # after so many ticks the host's clock is where it was
        self.warm_up(self.ticks + int(self.program.delay.max(initial=0)) + 1)  # spikes on every delay are under way
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
        block = max(1, min(per_round // period, turns, int(block_seconds / per_tick / period))) * period
        self.plan(-(-per_round // block) * block, block)

    def plan(self, ticks_per_round: int, block: int) -> None:
        """Set the ticks of a round and of a block."""
        self.ticks_per_round, self.block = ticks_per_round, block
        self._events = None

    def warm_up(self, until: int) -> None:
        """Run up to a tick, without a clock."""
        while self.ticks < until:
            self._engine.run(HostEvents.none(min(until - self.ticks, 1024)), self._silence)

    def measure(self) -> None:
        """Run one round and note the time of a tick."""
        if self._events is None:
            self._events = self._lay_out(self.block)
        if self._before is None:
            self._before = (self.ticks, self.totals, self.visits)
        wall, cpu = time.perf_counter(), time.process_time()
        for _ in range(self.ticks_per_round // self.block):
            self._engine.run(self._events, self._silence)
        self.cpu.append((time.process_time() - cpu) / self.ticks_per_round)
        self.wall.append((time.perf_counter() - wall) / self.ticks_per_round)

    def _lay_out(self, n_ticks: int) -> HostEvents:
        """Events of whole turns of the program's clock, far enough in for every row to deliver."""
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


def open_session(program: Program, engine: str, threads: int) -> Session:
    """Load a program into an engine and run its first tick, so that everything is compiled."""
    choice = EngineChoice(engine, threads)
    compiler = _compiler() if choice.kind.is_compiled else None
    start = time.perf_counter()
    with compiler.install_recorder("numba:compile") if compiler else nullcontext() as recorder:
        loaded = make_engine(program, choice)
        load_seconds = time.perf_counter() - start
        compiled_loading = _outermost(recorder.buffer) if recorder else 0.0
        loaded.run(HostEvents.none(1), _nobody(program))
    compile_seconds = _outermost(recorder.buffer) if recorder else None
    return Session(program, loaded, threads, max(0.0, load_seconds - compiled_loading), compile_seconds)


def require_equal_totals(sessions: Sequence[Session]) -> None:
    """Refuse sessions of one program that did not do the same."""
    first = sessions[0]
    for other in sessions[1:]:
        if (other.ticks, other.totals, other.visits) != (first.ticks, first.totals, first.visits):
            raise VerificationError(
                f"bench of {first.program.name}: {first.ticks} ticks on {first.threads} threads gave {first.totals}, "
                f"{other.ticks} on {other.threads} {other.totals}; must be equal, please report it"
            )


def _nobody(program: Program) -> NDArray[np.bool_]:
    return np.zeros(program.target_core.shape, np.bool_)


def _compiler() -> Any:
    """Numba's events, imported before any clock starts; ``None`` where they are not to be had."""
    try:
        return importlib.import_module("numba.core.event")
    except ImportError:
        return None


def _outermost(events: list[tuple[float, Any]]) -> float:
    """Seconds between starts and ends of recorded events; what is compiled inside another counts once."""
    depth, begin, seconds = 0, 0.0, 0.0
    for at, event in events:
        if event.is_start:
            begin = at if depth == 0 else begin
            depth += 1
        elif event.is_end:
            depth -= 1
            seconds += at - begin if depth == 0 else 0.0
    return seconds
