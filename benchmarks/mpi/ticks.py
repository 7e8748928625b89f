"""What a tick costs on ranks, beside the same ticks in one thread; for machines whose cores are not free.

    mpiexec -n 2 python -m benchmarks.mpi.ticks [--cores 4096] [--ticks 400] [--delay 1] [--near 2] [--noise]

The program is the characterisation network. Its neurons send to any core of the board, which no placement helps: as
many spikes cross between ranks as can. With --near D they send at most D places away in x and in y, as placed networks
do. With --noise all thresholds draw from 0 to 3. After the last tick the state of the ranks (potentials, spikes under
way, totals) must be that of one thread, and of as many threads as ranks; else the exit code is 1.

Processor times leave out what ranks spend waiting for each other, which is told apart: it is the machine's load as
much as ours. On a machine with free cores compare the wall times.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import adopted
from neuromap.bench.characterisation import characterisation_program
from neuromap.hardware.program.program import Program
from neuromap.simulation.engine.engine import Engine, HostEvents
from neuromap.simulation.engine.engine_choice import EngineChoice
from neuromap.simulation.engine.engine_state import EngineState
from neuromap.simulation.engine.engines import make_engine
from neuromap.simulation.ranks.mpi_exchange import MpiExchange
from neuromap.simulation.ranks.rank_engine import RankEngine

_WARM_UP = 20


class TimedExchange(MpiExchange):
    """Tells the seconds of the processor that waiting took, and what was sent."""

    def __init__(self) -> None:
        super().__init__()
        self.forget()

    def forget(self) -> None:
        """Count from now on."""
        self.waiting, self.messages, self.bytes = 0.0, 0, 0

    def start(self, parcels: Any) -> None:
        """Send, and count."""
        self.messages += sum(len(parcel) > 0 for parcel in parcels)
        self.bytes += sum(parcel.nbytes for parcel in parcels)
        super().start(parcels)

    def finish(self) -> Any:
        """Wait, and take the time."""
        began = time.process_time()
        found = super().finish()
        self.waiting += time.process_time() - began
        return found


def program_of(cores: int, delay: int, near: int | None = None, noise: bool = False) -> Program:
    """Make the characterisation network with every delay at ``delay`` or more, and targets at most ``near`` away."""
    program = characterisation_program(cores, seed=0)
    if noise:
        bits = np.full(program.shape, 2, np.uint8)
        program = replace(program, neurons=replace(program.neurons, noise_bits=bits))
    if near is not None:
        program = replace(program, target_core=_near(program, near))
    longer = np.where(program.target_core >= 0, np.maximum(program.delay, delay), 0)
    return replace(program, delay=longer.astype(np.uint8))


def _near(program: Program, most: int) -> NDArray[np.int32]:
    """Draw another target core for every neuron that has one; beyond the edge of the board it is the core itself."""
    places = program.coordinates.astype(np.int64)
    row_of = np.full(tuple(places.max(axis=0) + 1), -1, np.int64)
    row_of[tuple(places.T)] = np.arange(len(places))
    step = np.random.default_rng(0).integers(-most, most + 1, (*program.shape, 2))
    there = (places[:, None] + step).clip(0, np.array(row_of.shape) - 1)
    core = row_of[there[..., 0], there[..., 1]]
    core = np.where(core < 0, np.arange(len(places))[:, None], core)
    return np.where(program.target_core >= 0, core, -1).astype(np.int32)


def timed(chip: Engine, n_ticks: int, warm: Callable[[], object] = lambda: None) -> tuple[float, float]:
    """Run ticks that nobody looks at; seconds on the wall and of the processor. Others, and ``warm``, go before."""
    nobody = adopted(np.zeros(chip.program.shape, np.bool_))
    chip.run(HostEvents.none(_WARM_UP), nobody)
    warm()
    wall, processor = time.perf_counter(), time.process_time()
    chip.run(HostEvents.none(n_ticks), nobody)
    return time.perf_counter() - wall, time.process_time() - processor


def _equal(one: EngineState, other: EngineState) -> bool:
    tables = ((one.potentials, other.potentials), (one.spikes, other.spikes))
    return all(np.array_equal(*pair) for pair in tables) and (one.tick, one.totals) == (other.tick, other.totals)


def main() -> None:
    """Measure and print; rank 0 does."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cores", type=int, default=4096, help="cores of the program")
    parser.add_argument("--ticks", type=int, default=400, help="ticks that are timed")
    parser.add_argument("--delay", type=int, default=1, help="shortest delay, in ticks: 2 or more leave slack")
    parser.add_argument("--near", type=int, help="send so many places away at most")
    parser.add_argument("--noise", action="store_true", help="thresholds vary")
    asked = parser.parse_args()
    program, exchange = program_of(asked.cores, asked.delay, asked.near, asked.noise), TimedExchange()
    chip = RankEngine(program, exchange, EngineChoice(threads=1))
    wall, processor = timed(chip, asked.ticks, exchange.forget)
    every = _WARM_UP + asked.ticks
    told = np.array([processor * 1e9, exchange.waiting * 1e9, exchange.bytes, exchange.messages], np.int64)
    parts, state = exchange.gather(told), chip.state
    if exchange.rank > 0:
        return
    rows = np.array(parts, np.float64)
    alone = make_engine(program, EngineChoice(threads=1))
    one_wall, one = timed(alone, asked.ticks)
    threads = make_engine(program, EngineChoice(threads=exchange.size))
    threads_wall, threads_processor = timed(threads, asked.ticks)
    work = (rows[:, 0] - rows[:, 1]).sum() / 1e9
    per_tick = 1e6 / asked.ticks
    print(f"{exchange.size} ranks, {asked.cores} cores, {asked.ticks} ticks, delays of {asked.delay} ticks or more")
    print(
        f"processor: one thread {one * per_tick:.0f}, {exchange.size} threads {threads_processor * per_tick:.0f}, "
        f"ranks, waiting left out, {work * per_tick:.0f} us per tick"
    )
    waiting = rows[:, 1].sum() / 1e3 / asked.ticks
    print(f"processor: one thread / ranks = {one / work:.3f}; waiting {waiting:.0f} us per tick")
    print(
        f"sent: {rows[:, 2].sum() / asked.ticks / 1e3:.1f} kB per tick in "
        f"{rows[:, 3].sum() / asked.ticks:.2f} messages; "
        f"{state.totals[0] / every:.0f} spikes per tick"
    )
    print(
        f"wall: one thread {one_wall * per_tick:.0f}, {exchange.size} threads {threads_wall * per_tick:.0f}, "
        f"{exchange.size} ranks {wall * per_tick:.0f} us per tick; threads / ranks = {threads_wall / wall:.3f}"
    )
    if not (_equal(state, alone.state) and _equal(state, threads.state)):
        raise SystemExit("the ranks' state differs from that of one machine")
    print(f"state after {every} ticks: equal on {exchange.size} ranks, one thread and {exchange.size} threads")


if __name__ == "__main__":
    main()
