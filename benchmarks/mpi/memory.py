"""Memory of every rank that runs a program file, sampled while it runs.

    python -m benchmarks.mpi.memory --write program.nmp [--cores 65536] [--near 2]
    mpiexec -n 2 python -m benchmarks.mpi.memory program.nmp [--ticks 50]

Told are the peaks of all that is resident, and of what is the process's own and nobody else's: neither pages of the
file, which the system may drop and which ranks of one machine have in common, nor memory that ranks share. Linux only.
"""

from __future__ import annotations

import argparse
import threading
import time
from pathlib import Path

import numpy as np

_MB = 1000.0


class Sampler(threading.Thread):
    """Looks at /proc every few milliseconds."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.own = 0

    def run(self) -> None:
        """Keep the peak."""
        while True:
            self.own = max(self.own, _kilobytes("RssAnon"))
            time.sleep(0.005)


def _kilobytes(name: str) -> int:
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))


def main() -> None:
    """Write a program, or run it on this rank and tell."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=Path)
    parser.add_argument("--write", action="store_true", help="write the characterisation network to this file")
    parser.add_argument("--cores", type=int, default=65536)
    parser.add_argument("--near", type=int, default=2)
    parser.add_argument("--ticks", type=int, default=50)
    asked = parser.parse_args()
    if asked.write:
        from benchmarks.mpi.ticks import program_of

        program_of(asked.cores, 1, asked.near).save(asked.program)
        return
    sampler = Sampler()
    sampler.start()
    from neuromap.simulation.engine.engine import HostEvents
    from neuromap.simulation.engine.engine_choice import EngineChoice
    from neuromap.simulation.mpi.simulate_on_ranks import RankEngine
    from neuromap.simulation.mpi.start_ranks import MpiExchange, load_on_ranks

    exchange, began = MpiExchange(), time.perf_counter()
    chip = RankEngine(load_on_ranks(asked.program, exchange), exchange, EngineChoice(threads=1))
    loaded = time.perf_counter() - began
    chip.run(HostEvents.none(asked.ticks), np.zeros(chip.program.shape, np.bool_))
    totals = chip.totals
    numbers = [_kilobytes("VmHWM"), sampler.own, round(1000 * time.process_time()), round(1000 * loaded)]
    for rank, (all_, own, processor, seconds) in enumerate(exchange.gather(np.array(numbers))):
        print(
            f"rank {rank} of {exchange.size}: peak {all_ / _MB:.0f} MB resident, {own / _MB:.0f} MB its own; "
            f"{processor / 1000:.1f} s of the processor, loaded after {seconds / 1000:.1f} s"
        )
    if exchange.rank == 0:
        print(f"{totals.spikes} spikes in {asked.ticks} ticks")


if __name__ == "__main__":
    main()
