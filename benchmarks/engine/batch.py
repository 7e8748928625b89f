"""What a batch costs beside its bare ticks: thousands of stimuli through one program of 64 cores.

    python -m benchmarks.engine.batch [--stimuli 10000] [--ticks 64] [--threads 1,2]

The program is the characterisation network with an input of 784 neurons and an output of 40. A stimulus
is one input frame per tick at density 0.05. Bare ticks are those of one engine that is fed nothing and records
nothing, measured in turn with the batches.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from statistics import median

import numpy as np

from neuromap.bench.characterisation import characterisation_program
from neuromap.cores.crossbar.program import Program
from neuromap.hardware.program.ports import HostTable, NodePort, OutputTable
from neuromap.simulation.engine.engine import HostEvents, make_engine
from neuromap.simulation.engine.engine_choice import EngineChoice
from neuromap.simulation.run.simulate_batch import simulate_batch

_CORES, _INPUTS, _OUTPUTS = 64, 784, 40


def program_with_ports(seed: int = 0) -> Program:
    """Make the characterisation network of 64 cores with an input and an output node."""
    program = characterisation_program(_CORES, seed=seed)
    rng = np.random.default_rng(seed)
    core = rng.permutation(_CORES)[:_OUTPUTS].astype(np.int32)
    neuron = rng.integers(0, 256, _OUTPUTS).astype(np.int32)
    target_core, target_axon, delay = program.target_core.copy(), program.target_axon.copy(), program.delay.copy()
    target_core[core, neuron], target_axon[core, neuron], delay[core, neuron] = -1, 0, 0  # read out instead
    node, index = np.full_like(program.neuron_node, -1), np.zeros_like(program.neuron_index)
    node[core, neuron], index[core, neuron] = 1, np.arange(_OUTPUTS)
    return replace(
        program,
        nodes=(NodePort("I", _INPUTS, "input", 0), NodePort("O", _OUTPUTS, "output", 0)),
        host=HostTable(
            node=np.zeros(_INPUTS, np.int32),
            index=np.arange(_INPUTS, dtype=np.int32),
            core=rng.integers(0, _CORES, _INPUTS).astype(np.int32),
            axon=rng.integers(0, 256, _INPUTS).astype(np.int32),
            arrival=np.zeros(_INPUTS, np.int64),
            first_frame=np.ones(_INPUTS, np.int8),
        ),
        outputs=OutputTable(np.ones(_OUTPUTS, np.int32), np.arange(_OUTPUTS, dtype=np.int32), core, neuron),
        target_core=target_core,
        target_axon=target_axon,
        delay=delay,
        neuron_node=node,
        neuron_index=index,
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stimuli", type=int, default=10_000)
    parser.add_argument("--ticks", type=int, default=64)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()

    program = program_with_ports()
    stimuli = {"I": np.random.default_rng(1).random((options.stimuli, options.ticks, _INPUTS)) < 0.05}
    engine = make_engine(program, EngineChoice(threads=1))
    nothing, silent = HostEvents.none(options.ticks), np.zeros(program.target_core.shape, np.bool_)
    engine.run(nothing, silent)
    bare: list[float] = []
    seconds: dict[int, list[float]] = {int(n): [] for n in options.threads.split(",")}
    for _ in range(options.rounds):
        for _ in range(20):
            engine.reset()
            start = time.perf_counter()
            engine.run(nothing, silent)
            bare.append(time.perf_counter() - start)
        for threads, taken in seconds.items():
            start = time.perf_counter()
            simulate_batch(program, stimuli, threads=threads, progress=_show)
            taken.append((time.perf_counter() - start) / options.stimuli)
    unit = median(bare)
    print(f"bare run of {options.ticks} ticks on {_CORES} cores, one thread: {unit * 1e3:.2f} ms")
    for threads, taken in seconds.items():
        each = median(taken)
        print(
            f"batch of {options.stimuli}, {threads} threads: {each * 1e3:.2f} ms a stimulus, {each / unit:.1f} x bare"
        )


def _show(done: int, total: int) -> None:
    print(f"\r{done} of {total} stimuli", end="\n" if done == total else "", flush=True)


if __name__ == "__main__":
    main()
