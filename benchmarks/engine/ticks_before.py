"""Ticks beside those of another checkout, in short turns, on one thread.

    python -m benchmarks.engine.ticks_before --before CHECKOUT [--rounds 15] [--starts 3] [--board]

Each checkout has a process of its own, and the two take turns of about 20 ms, each after an eighth as many
ticks that are not counted and warm the caches. Where the memory of a process happens to lie changes its times by some
per cent, so every case is begun anew `--starts` times. Programs are characterisation networks of 128 synapses per
axon, delay 1; `--board` adds 65,536 cores (3 GB of memory for each checkout). Told are CPU nanoseconds per core and
tick of the best turn, before and now, their ratio, and the median of the ratios of all rounds with quartiles. What else
runs on a machine only takes time away, so the best turns are what to read on a busy one. `--write` puts the figures
into `benchmarks/results/ticks_before.json`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from neuromap.files.whole_file import write_whole

_HERE = Path(__file__).parents[2]
_RESULTS = _HERE / "benchmarks" / "results" / "ticks_before.json"
_TURN_SECONDS = 0.02
_ENGINES = """
import json, sys, time
import numpy as np
from neuromap.bench.characterisation import characterisation_program
from neuromap.simulation.engine.engine import HostEvents
from neuromap.simulation.engine.engine_choice import EngineChoice
from neuromap.simulation.engine.engine import make_engine

for line in sys.stdin:
    what = json.loads(line)
    if "make" in what:
        program = characterisation_program(**what["make"])
        engine, silent = make_engine(program, EngineChoice(threads=1)), np.zeros(program.shape, np.bool_)
        what["ticks"] = 60
    engine.run(HostEvents.none(-(-what["ticks"] // 8)), silent)
    began = time.process_time()
    engine.run(HostEvents.none(what["ticks"]), silent)
    print(json.dumps([(time.process_time() - began) / what["ticks"], engine.totals.spikes]), flush=True)
"""


@dataclass(frozen=True)
class _Case:
    cores: int
    rate_hz: float
    at_rest: float = 0.0
    heterogeneous: bool = False

    @property
    def name(self) -> str:
        rest = f", {self.at_rest:.0%} at rest" * (self.at_rest > 0)
        return f"{self.cores:,} cores, {self.rate_hz:g} Hz{rest}" + ", own parameters" * self.heterogeneous

    @property
    def arguments(self) -> dict[str, Any]:
        """Of ``characterisation_program``."""
        same = {"rate_hz": self.rate_hz, "at_rest": self.at_rest, "heterogeneous": self.heterogeneous}
        return {"n_cores": self.cores, **same}


_CHIP = (
    *(_Case(64, rate) for rate in (2, 20, 100)),
    *(_Case(4096, rate) for rate in (2, 20, 100)),
    _Case(4096, 20, heterogeneous=True),
    _Case(4096, 20, at_rest=0.99),
)
_BOARD = (_Case(65536, 2), _Case(65536, 20))


class _Checkout:
    """The process of one checkout."""

    def __init__(self, folder: Path) -> None:
        variables = {**os.environ, "PYTHONPATH": str(folder)}
        self._process = subprocess.Popen(
            [sys.executable, "-c", _ENGINES], cwd=folder, env=variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True,
        )  # fmt: skip

    def tell(self, **what: Any) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(what) + "\n")
        self._process.stdin.flush()

    def hear(self) -> tuple[float, int]:
        """CPU seconds per tick, and spikes since tick 0."""
        assert self._process.stdout is not None
        seconds, spikes = json.loads(self._process.stdout.readline())
        return seconds, spikes

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, required=True, help="a checkout of the commit to compare with")
    parser.add_argument("--rounds", type=int, default=15, help="in each start")
    parser.add_argument("--starts", type=int, default=3)
    parser.add_argument("--board", action="store_true", help="65,536 cores too")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    cases = [*_CHIP, *(_BOARD if options.board else ())]
    rows = [_compare(options.before.resolve(), case, options.rounds, options.starts) for case in cases]
    if options.write:
        write_whole(_RESULTS, (json.dumps(rows, indent=1) + "\n").encode())


def _compare(before: Path, case: _Case, rounds: int, starts: int) -> dict[str, Any]:
    taken: list[list[float]] = [[], []]
    for _ in range(starts):
        checkouts = [_Checkout(before), _Checkout(_HERE)]
        try:
            for checkout in checkouts:
                checkout.tell(make=case.arguments)
            for checkout in checkouts:
                checkout.hear()
            _take_turns(checkouts, case, rounds, taken)
        finally:
            for checkout in checkouts:
                checkout.close()
    best = [min(seconds) / case.cores * 1e9 for seconds in taken]
    low, middle, high = (float(q) for q in np.quantile(np.divide(taken[1], taken[0]), (0.25, 0.5, 0.75)))
    print(
        f"{case.name:36} best {best[0]:7.2f} -> {best[1]:7.2f} ns of CPU time per core and tick, ratio "
        f"{best[1] / best[0]:.3f}; median of ratios {middle:.3f} ({low:.3f} to {high:.3f})",
        flush=True,
    )
    return {
        "case": case.name, "starts": starts, "rounds": rounds, "best_cpu_ns_per_core_tick": best,
        "best_ratio": best[1] / best[0], "ratio_quartiles": [low, middle, high],
    }  # fmt: skip


def _take_turns(checkouts: list[_Checkout], case: _Case, rounds: int, taken: list[list[float]]) -> None:
    """Add CPU seconds per tick of both checkouts, one of each for every round."""
    ticks, pace = 8, []
    for turn in range(-3, rounds):
        spikes = set()
        for which in (0, 1) if turn % 2 else (1, 0):
            checkouts[which].tell(ticks=ticks)
            seconds, fired = checkouts[which].hear()
            (taken[which] if turn >= 0 else pace).append(seconds)
            spikes.add(fired)
        if len(spikes) > 1:
            raise SystemExit(f"{case.name}: spikes differ, so there is nothing to compare")
        if turn == -1:
            ticks = max(4, round(_TURN_SECONDS / min(pace)))


if __name__ == "__main__":
    main()
