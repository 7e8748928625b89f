"""The C kernel against neuromap's engine on the characterisation network, in turn, in one run.

Run from the repository root: ``python -m benchmarks.engine.c_kernel.compare_engine [--cores 4096] [--rate 20] ...``.
Prints, for equal parameters and for parameters of each neuron's own, medians of milliseconds per tick, the CPU time,
the ratio C / neuromap (1 is as fast as C), and how far both are from what memory alone would take.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

from benchmarks.engine.c_kernel.bandwidth import least_tick_seconds, measure_bandwidth
from benchmarks.engine.c_kernel.c_kernel import CKernel
from neuromap.bench.characterisation import characterisation_program
from neuromap.cores.crossbar.program import Program
from neuromap.simulation.engine.engine import HostEvents, make_engine
from neuromap.simulation.engine.engine_choice import EngineChoice

__all__ = ["compare", "interleaved"]

_SECONDS_OF_A_RUN = 0.02
"""Long enough for clocks, short enough that a disturbance meets few runs."""


def interleaved(runs: dict[str, Callable[[int], object]], repeats: int) -> dict[str, tuple[float, float]]:
    """Time runs in turn, each for as many ticks as fit a short time: then each warms the caches for itself alike.

    Parameters
    ----------
    runs : dict of str to callable
        Called with a number of ticks.
    repeats : int
        Calls of each.

    Returns
    -------
    dict of str to (float, float)
        Medians of seconds and of CPU seconds (all threads) per tick.
    """
    wall: dict[str, list[float]] = {name: [] for name in runs}
    cpu: dict[str, list[float]] = {name: [] for name in runs}
    ticks = {name: _ticks_of_a_run(run) for name, run in runs.items()}
    for _ in range(repeats):
        for name, run in runs.items():
            before = time.perf_counter(), time.process_time()
            run(ticks[name])
            wall[name].append((time.perf_counter() - before[0]) / ticks[name])
            cpu[name].append((time.process_time() - before[1]) / ticks[name])
    return {name: (float(np.median(wall[name])), float(np.median(cpu[name]))) for name in runs}


def _ticks_of_a_run(run: Callable[[int], object]) -> int:
    """Find how many ticks take about the time of a run."""
    n_ticks = 1
    while True:
        start = time.perf_counter()
        run(n_ticks)
        took = time.perf_counter() - start
        if took >= _SECONDS_OF_A_RUN / 2:
            return max(1, round(n_ticks * _SECONDS_OF_A_RUN / took))
        n_ticks *= 2


def compare(program: Program, threads: int, repeats: int, engine_name: str) -> None:
    """Check that both fire alike, time them in turn, and print the figures.

    Parameters
    ----------
    program : Program
        Of the kernel's class.
    threads : int
        Of both.
    repeats : int
        Runs of each.
    engine_name : str
        neuromap's engine.
    """
    kernel = CKernel(program, threads)
    engine = make_engine(program, EngineChoice(engine_name, threads))
    nobody = np.zeros(program.neurons.threshold.shape, np.bool_)

    def run_engine(n_ticks: int) -> None:
        engine.run(HostEvents.none(n_ticks), nobody)

    runs: dict[str, Callable[[int], object]] = {"C": kernel.run, "neuromap": run_engine}
    for run in runs.values():
        run(64)  # compiles, and lets the delays fill
    if not np.array_equal(kernel.potentials, engine.potentials) or kernel.spike_counts.sum() != engine.totals.spikes:
        print("  THE TWO DIFFER: potentials or spike counts are not the same")

    events, ticks = kernel.axon_events, kernel.tick
    before = measure_bandwidth(threads)
    times = interleaved(runs, repeats)
    after = measure_bandwidth(threads)
    bandwidth = {name: max(before[name], after[name]) for name in before}  # what else runs here only takes away
    print("  " + ", ".join(f"{name} {figure / 1e9:.1f} GB/s" for name, figure in bandwidth.items()))
    spikes = float(kernel.spike_counts[ticks:].mean())
    n_bytes, limit = least_tick_seconds(
        program.n_cores, (kernel.axon_events - events) / (kernel.tick - ticks), spikes, bandwidth
    )
    print(f"  {spikes:.0f} spikes and {n_bytes / 1e6:.1f} MB a tick: {limit * 1e3:.3f} ms of memory")
    for name, (wall, cpu) in times.items():
        ms, cpu_ms = wall * 1e3, cpu * 1e3
        print(f"  {name:9s} {ms:8.4f} ms a tick, CPU {cpu_ms:8.4f} ms, {wall / limit:5.2f} x the memory limit")
    print(f"  C / neuromap: {times['C'][0] / times['neuromap'][0]:.3f}, CPU {times['C'][1] / times['neuromap'][1]:.3f}")


def main() -> None:
    """Read the arguments, measure, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--cores", type=int, default=4096)
    parser.add_argument("--rate", type=float, default=20.0, help="Hz")
    parser.add_argument("--synapses", type=int, default=128, help="per axon")
    parser.add_argument("--delay", type=int, default=1, help="greatest delay; the least is 1")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=50)
    parser.add_argument("--engine", default="fast")
    given = parser.parse_args()
    for heterogeneous in (False, True):
        program = characterisation_program(
            given.cores,
            rate_hz=given.rate,
            synapses=given.synapses,
            delay=(1, given.delay),
            heterogeneous=heterogeneous,
        )
        print(f"{program.name}, {given.threads} threads, {'own' if heterogeneous else 'equal'} parameters")
        compare(program, given.threads, given.repeats, given.engine)


if __name__ == "__main__":
    main()
