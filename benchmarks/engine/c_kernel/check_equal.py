"""Hold the C kernel to the NumPy engine: spikes, potentials and spikes under way, after every tick.

Run from the repository root: ``python -m benchmarks.engine.c_kernel.check_equal``. Prints one line per program.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from itertools import product

import numpy as np

from benchmarks.engine.c_kernel.build import Instructions
from benchmarks.engine.c_kernel.c_kernel import CKernel
from neuromap.bench.characterisation import characterisation_program
from neuromap.cores.crossbar.program import Program
from neuromap.errors import NotSupportedError
from neuromap.simulation.engine.numpy_engine import NumpyEngine

__all__ = ["first_difference", "torture_program"]


def torture_program(n_cores: int, seed: int) -> Program:
    """Make a program of the kernel's class with all widths at their ends.

    Parameters
    ----------
    n_cores : int
        Cores.
    seed : int
        Of all random choices.

    Returns
    -------
    Program
        Random synapses, axon types, weights, leaks, thresholds, both resets, targets and delays 1 to 15; in every
        third core no leak, in some neurons no target.
    """
    rng = np.random.default_rng(seed)
    base = characterisation_program(n_cores, seed=seed)
    shape = (n_cores, 256)
    largest = (1, 5, 127)[seed % 3]  # small weights fire again and again, large ones use the width
    # Every neuron has pairs +w, -w among its types: its potential takes large steps, but does not run away.
    half = rng.integers(-largest, largest + 1, (*shape, 2))
    weights = rng.permuted(np.concatenate([half, -half], axis=2), axis=2)
    leak = rng.integers(-2, largest // 4 + 3, shape)
    leak[rng.integers(3) :: 3] = 0
    threshold = rng.integers(0, rng.choice([5, 50, 500]), shape)
    neurons = replace(
        base.neurons,
        weights=weights.astype(np.int16),
        leak=leak.astype(np.int16),
        threshold=threshold.astype(np.int32),
        reset=np.minimum(rng.integers(-largest * 4, largest * 4 + 1, shape), threshold + 1).astype(np.int32),
        reset_mode=rng.integers(0, 2, shape).astype(np.uint8),
        potential=rng.integers(-200, 200, shape).astype(np.int32),
    )
    has_target = rng.random(shape) < (0.9, 0.8, 0.02)[seed % 3]
    return replace(
        base,
        axon_types=rng.integers(0, 4, shape).astype(np.uint8),
        crossbar=np.packbits(rng.random((*shape, 256)) < rng.choice([0.05, 0.5]), axis=2, bitorder="little"),
        neurons=neurons,
        target_core=np.where(has_target, rng.integers(0, n_cores, shape), -1).astype(np.int32),
        target_axon=np.where(has_target, rng.integers(0, 256, shape), 0).astype(np.int32),
        delay=np.where(has_target, rng.integers(1, 16, shape), 0).astype(np.uint8),
    )


def first_difference(
    program: Program, threads: int, instructions: Instructions, n_ticks: int, seed: int = 0
) -> tuple[str, int]:
    """Run both side by side with random host events, and compare after every tick.

    Parameters
    ----------
    program : Program
        Of the kernel's class.
    threads : int
        Of the C kernel.
    instructions : {"native", "avx2"}
        Of the C kernel.
    n_ticks : int
        Ticks to run.
    seed : int
        Of the host events.

    Returns
    -------
    difference : str
        Where the two differ first; empty if nowhere.
    spikes : int
        Spikes that were compared.
    """
    rng = np.random.default_rng(seed)
    numpy, kernel = NumpyEngine(program), CKernel(program, threads, instructions=instructions)
    for tick in range(n_ticks):
        n_events = int(rng.choice([0, 0, 20]))
        cores, axons = rng.integers(0, program.n_cores, n_events), rng.integers(0, 256, n_events)
        kernel.feed(cores, axons)
        recorded = kernel.run(1, record=True)
        fired = np.stack(numpy.step(cores, axons))
        assert recorded is not None
        of_kernel = np.stack(np.nonzero(np.unpackbits(recorded[0], axis=1, bitorder="little")))
        if not np.array_equal(fired, of_kernel) or kernel.spike_counts[-1] != fired.shape[1]:
            return f"spikes of tick {tick}", 0
        if not np.array_equal(numpy.potentials, kernel.potentials):
            return f"potentials after tick {tick}", 0
        if not np.array_equal(numpy.pending, kernel.pending):
            return f"spikes under way after tick {tick}", 0
    return "", int(kernel.spike_counts.sum())


def _in_one_run(program: Program, n_ticks: int) -> str:
    """Compare many ticks in one call, where threads meet at the barrier, for 1 to 3 threads."""
    numpy = NumpyEngine(program)
    counts = [len(numpy.step()[0]) for _ in range(n_ticks)]
    for threads in (1, 2, 3):
        kernel = CKernel(program, threads)
        kernel.run(n_ticks)
        same = np.array_equal(counts, kernel.spike_counts) and np.array_equal(numpy.potentials, kernel.potentials)
        if not same or not np.array_equal(numpy.pending, kernel.pending):
            return f"{threads} threads, {n_ticks} ticks in one run"
    return ""


def _runs_away() -> str:
    """Check that the kernel refuses, then and not before: a leak of -127 leaves 16 bits in a known tick."""
    base = characterisation_program(2)
    leak = np.full(base.neurons.leak.shape, -127, np.int16)
    program = replace(base, neurons=replace(base.neurons, leak=leak, weights=np.zeros_like(base.neurons.weights)))
    lowest = int((base.neurons.potential - base.neurons.threshold).min())
    n_ticks = (lowest + 32767) // 127
    kernel = CKernel(program)
    kernel.run(n_ticks)
    try:
        kernel.run(1)
    except NotSupportedError:
        return ""
    return f"not refused in tick {n_ticks}"


def main() -> int:
    """Compare on all programs; the exit code is the number of those that differ."""
    wrong = 0
    programs = {f"torture {seed}": torture_program(4 + seed % 3, seed) for seed in range(12)}
    delays: tuple[int | tuple[int, int], ...] = (1, (1, 15))
    for heterogeneous, delay in product((False, True), delays):
        name = f"characterisation, {'own' if heterogeneous else 'equal'} parameters, delay {delay}"
        programs[name] = characterisation_program(8, delay=delay, heterogeneous=heterogeneous, at_rest=0.25)
    builds: tuple[Instructions, ...] = ("native", "avx2")
    for name, program in programs.items():
        results = [
            first_difference(program, threads, instructions, 60) for threads, instructions in product((1, 2, 3), builds)
        ]
        difference = next((d for d, _ in results if d), "") or _in_one_run(program, 80)
        wrong += bool(difference)
        print(f"{name}: {difference or f'equal, {results[0][1]} spikes'}", flush=True)
    difference = _runs_away()
    wrong += bool(difference)
    print(f"a potential that leaves 16 bits: {difference or 'refused in its tick'}")
    return wrong


if __name__ == "__main__":
    sys.exit(main())
