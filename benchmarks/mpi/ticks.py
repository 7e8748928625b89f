"""What a tick costs on ranks, beside the same ticks in one thread and in as many threads as ranks.

    mpiexec -n 2 python -m benchmarks.mpi.ticks [--cores 4096] [--ticks 400] [--rounds 5] [--delay 1] [--near 2]
                                                [--noise] [--messages] [--out FILE]

The program is the characterisation network. Its neurons send to any core of the board, which no placement helps: as
many spikes cross between ranks as can. With --near D they send at most D places away in x and in y, as placed networks
do. With --noise all thresholds draw from 0 to 3. With --messages the ranks do not use the memory that they share, as
on several machines. After the last tick the state of the ranks (potentials, spikes under way, totals) must be that of
one thread, and of as many threads as ranks; else the exit code is 1.

In each of some rounds all three run the same ticks one after the other; who does not run sleeps. Told are the shortest
times, on the wall and of the processor; the latter with what ranks and threads spend looking for each other. --out
adds all rounds to a JSON file, such as benchmarks/results/ranks.json.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import adopted
from neuromap.bench.characterisation import characterisation_program
from neuromap.cores.crossbar.program import Program
from neuromap.simulation.engine.engine import Engine, EngineState, HostEvents, make_engine
from neuromap.simulation.engine.engine_choice import EngineChoice
from neuromap.simulation.mpi.simulate_on_ranks import RankEngine
from neuromap.simulation.mpi.start_ranks import MpiExchange

_WARM_UP = 20
_MICRO = 1e6


class CountedExchange(MpiExchange):
    """Counts what is sent, and may keep to messages."""

    def __init__(self, shares: bool) -> None:
        super().__init__()
        self.messages = self.bytes = 0
        self._shares = shares

    def memory(self, n_bytes: int) -> NDArray[np.uint8] | None:
        """Share memory, or not."""
        return super().memory(n_bytes) if self._shares else None

    def start(self, parcels: Any) -> None:
        """Send, and count."""
        self.messages += sum(len(parcel) > 0 for parcel in parcels)
        self.bytes += sum(parcel.nbytes for parcel in parcels)
        super().start(parcels)


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


def timed(chip: Engine, n_ticks: int) -> tuple[float, float]:
    """Run ticks that nobody looks at, after some others; microseconds per tick on the wall and of the processor."""
    nobody = adopted(np.zeros(chip.program.shape, np.bool_))
    chip.run(HostEvents.none(_WARM_UP), nobody)
    wall, processor = time.perf_counter(), time.process_time()
    chip.run(HostEvents.none(n_ticks), nobody)
    scale = _MICRO / n_ticks
    return (time.perf_counter() - wall) * scale, (time.process_time() - processor) * scale


def _equal(one: EngineState, other: EngineState) -> bool:
    tables = ((one.potentials, other.potentials), (one.spikes, other.spikes))
    return all(np.array_equal(*pair) for pair in tables) and (one.tick, one.totals) == (other.tick, other.totals)


def measured(program: Program, exchange: CountedExchange, n_ticks: int, n_rounds: int) -> dict[str, Any] | None:
    """Measure in rounds; on rank 0 what was found."""
    size, speaks = exchange.size, exchange.rank == 0
    makers: dict[str, Callable[[], Engine]] = {
        "one thread": lambda: make_engine(program, EngineChoice(threads=1)),
        "threads": lambda: make_engine(program, EngineChoice(threads=size)),
    }
    ranks = RankEngine(program, exchange, EngineChoice(threads=1))
    alone = {name: make() for name, make in makers.items()} if speaks else {}
    rows: dict[str, list[tuple[float, float]]] = {name: [] for name in ("ranks", *makers)}
    for _ in range(n_rounds):
        wall, processor = timed(ranks, n_ticks)
        parts = exchange.gather(np.array([int(1e6 * processor)]))
        rows["ranks"].append((wall, sum(int(part[0]) for part in parts) / 1e6))
        for name, chip in alone.items():
            rows[name].append(timed(chip, n_ticks))
        exchange.agree(0)  # until then other ranks sleep
    state, every = ranks.state, n_rounds * (n_ticks + _WARM_UP)
    sent = exchange.gather(np.array([exchange.messages, exchange.bytes]))
    if not speaks:
        return None
    if not all(_equal(state, chip.state) for chip in alone.values()):
        raise SystemExit("the ranks' state differs from that of one machine")
    best = {name: np.array(found).min(axis=0).round(1).tolist() for name, found in rows.items()}
    return {
        "ranks": size,
        "ticks": n_ticks,
        "rounds": n_rounds,
        "spikes per tick": round(state.totals[0] / every),
        "kB per tick in messages": round(sum(int(part[1]) for part in sent) / every / 1e3, 1),
        "messages per tick": round(sum(int(part[0]) for part in sent) / every, 2),
        "us per tick, wall": {name: times[0] for name, times in best.items()},
        "us per tick, processor": {name: times[1] for name, times in best.items()},
        "threads / ranks, wall": round(best["threads"][0] / best["ranks"][0], 3),
        "threads / ranks, processor": round(best["threads"][1] / best["ranks"][1], 3),
        "every round": {name: np.array(found).round(1).tolist() for name, found in rows.items()},
    }


def main() -> None:
    """Measure and print; rank 0 does."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cores", type=int, default=4096, help="cores of the program")
    parser.add_argument("--ticks", type=int, default=400, help="ticks that are timed in a round")
    parser.add_argument("--rounds", type=int, default=5, help="rounds, of which the shortest times count")
    parser.add_argument("--delay", type=int, default=1, help="shortest delay, in ticks: 2 or more leave slack")
    parser.add_argument("--near", type=int, help="send so many places away at most")
    parser.add_argument("--noise", action="store_true", help="thresholds vary")
    parser.add_argument("--messages", action="store_true", help="do not share memory")
    parser.add_argument("--out", type=Path, help="add what was found to this file")
    asked = parser.parse_args()
    exchange = CountedExchange(not asked.messages)
    program = program_of(asked.cores, asked.delay, asked.near, asked.noise)
    found = measured(program, exchange, asked.ticks, asked.rounds)
    if found is None:
        return
    where = "anywhere" if asked.near is None else f"{asked.near} places away at most"
    how = "messages" if asked.messages else "shared memory"
    case = f"{asked.cores} cores, targets {where}, delays from {asked.delay}, {how}" + ", noise" * asked.noise
    print(case)
    for name, value in found.items():
        if name != "every round":
            print(f"  {name}: {value}")
    print(f"  state equal on {found['ranks']} ranks, one thread and {found['ranks']} threads")
    if asked.out is not None:
        kept = json.loads(asked.out.read_text()) if asked.out.exists() else {}
        asked.out.write_text(json.dumps(kept | {case: found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
