"""Batches and single runs beside those of another checkout, in turn and in processes of their own.

    python -m benchmarks.engine.batch_before --before CHECKOUT [--rounds 5] [--write]

Cases: batches of random stimuli of density 0.2 and six ticks through two programs of `examples` (`digits/sr.toml`,
`on_chip/sr.toml`), 10,000 stimuli of eight ticks through the second of them, and its cores with one neuron in each of
eight that remembers; batches of 32 ticks through the 64 cores of `benchmarks.engine.batch`; each on one thread and on
two; single runs of the characterisation network on one thread. Of each the least of seven times in a process counts, of
the 10,000 stimuli the second. Every round gives one ratio, before to now; medians and ranges are told, of CPU time and
of wall time. `--write` puts them into `benchmarks/results/batch_before.json`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import median

_HERE = Path(__file__).parents[2]
_RESULTS = _HERE / "benchmarks" / "results" / "batch_before.json"
_MEASURE = """
import json, time
from dataclasses import replace
import numpy as np, neuromap as nm
from benchmarks.engine.batch import program_with_ports
from neuromap.bench.characterisation import characterisation_program
from neuromap.simulation.engine.engine import HostEvents
from neuromap.simulation.engine.engine_choice import EngineChoice
from neuromap.simulation.engine.engine import make_engine

found = {}

def tell(name, n, work, times=7):
    spikes, taken = work(), []
    for _ in range(times):
        cpu, wall = time.process_time(), time.perf_counter()
        work()
        taken.append(((time.process_time() - cpu) / n, (time.perf_counter() - wall) / n))
    found[name] = [*map(min, zip(*taken)), spikes]

def batch(name, program, n, n_frames, density, times=7):
    rng = np.random.default_rng(0)
    stimuli = {p.name: rng.random((n, n_frames, p.size)) < density for p in program.nodes if p.kind == "input"}
    for threads in (1, 2):
        run = lambda: int(nm.simulate_batch(program, stimuli, threads=threads).spike_counts.sum())
        tell(f"{name}, {threads} threads", n, run, times)

def single(n_cores, n_ticks):
    engine = make_engine(characterisation_program(n_cores, seed=0), EngineChoice(threads=1))
    silent = np.zeros(engine.program.shape, np.bool_)
    engine.run(HostEvents.none(20), silent)
    def run():
        engine.run(HostEvents.none(n_ticks), silent)
        return engine.totals.spikes
    tell(f"one run, {n_cores} cores", n_ticks, run)

def mapped(path):
    return nm.map_rollout(nm.Rollout(nm.load_network(path), "streaming", "windowed"))

def with_memory(program, n_cores):
    # One unused neuron in each of some cores climbs to 5 and begins anew at 1, without ever being read.
    table, given = program.neurons, {"leak": 1, "threshold": 5, "reset": 1}
    changed = {name: getattr(table, name).copy() for name in given}
    for core in range(0, 3 * n_cores, 3):
        neuron = np.flatnonzero(program.neuron_node[core] < 0)[-1]
        for name, value in given.items():
            changed[name][core, neuron] = value
    return replace(program, neurons=replace(table, **changed))

on_chip = mapped("examples/on_chip/sr.toml")
batch("digits SR, 2 cores", mapped("examples/digits/sr.toml"), 3000, 6, 0.2)
batch("on-chip SR, 31 cores", on_chip, 512, 6, 0.2)
batch("on-chip SR, 8 of its cores with memory", with_memory(on_chip, 8), 512, 6, 0.2)
batch("on-chip SR, 10000 stimuli", on_chip, 10_000, 8, 0.2, times=1)
batch("64 cores", program_with_ports(), 64, 32, 0.05)
single(2, 50_000)
single(64, 5_000)
single(2048, 120)
print(json.dumps(found))
"""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, required=True, help="a checkout of the commit to compare with")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    pairs = [(_measure(options.before.resolve()), _measure(_HERE)) for _ in range(options.rounds)]
    rows = {}
    for name in pairs[0][0]:
        if any(before[name][2] != now[name][2] for before, now in pairs):
            raise SystemExit(f"{name}: spikes differ, so there is nothing to compare")
        cpu, wall = (sorted(before[name][k] / now[name][k] for before, now in pairs) for k in (0, 1))
        micro = [median(pair[k][name][0] for pair in pairs) * 1e6 for k in (0, 1)]
        rows[name] = {"cpu_us_before": micro[0], "cpu_us_now": micro[1], "cpu_ratios": cpu, "wall_ratios": wall}
        print(
            f"{name:50} CPU {micro[0]:8.2f} us -> {micro[1]:8.2f} us, {median(cpu):6.2f} times ({cpu[0]:.2f} to "
            f"{cpu[-1]:.2f}); wall {median(wall):6.2f} times ({wall[0]:.2f} to {wall[-1]:.2f})"
        )
    if options.write:
        _RESULTS.write_text(json.dumps(rows, indent=1) + "\n")


def _measure(checkout: Path) -> dict[str, list[float]]:
    """Microseconds of CPU and wall time per stimulus or tick, and spikes, in a process of its own."""
    variables = {**os.environ, "PYTHONPATH": str(checkout)}
    run = subprocess.run(
        [sys.executable, "-c", _MEASURE], cwd=checkout, env=variables, capture_output=True, text=True, check=True
    )
    found: dict[str, list[float]] = json.loads(run.stdout.splitlines()[-1])
    return found


if __name__ == "__main__":
    main()
