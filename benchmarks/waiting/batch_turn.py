"""One batch in a process of its own, compiled code loaded before.

python -m benchmarks.waiting.batch_turn FILE STIMULI FRAMES THREADS        one line of JSON
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np

import neuromap as nm

__all__ = ["main"]


def main() -> int:
    """Measure what is asked for on the command line; print seconds of clock and processor, and spikes."""
    file, (n, frames, threads) = sys.argv[1], map(int, sys.argv[2:])
    program = nm.map_rollout(nm.Rollout(nm.load_network(file), "streaming"))
    draw = np.random.default_rng(0)
    sizes = {port.name: port.size for port in program.nodes if port.kind == "input"}
    stimuli = {name: draw.random((n, frames, size)) < 0.2 for name, size in sizes.items()}
    nm.simulate_batch(program, {name: some[:8] for name, some in stimuli.items()}, threads=threads)
    taken = []
    for _ in range(3):
        wall, cpu = time.perf_counter(), time.process_time()
        spikes = int(nm.simulate_batch(program, stimuli, threads=threads).spike_counts.sum())
        taken.append((time.perf_counter() - wall, time.process_time() - cpu))
    wall_s, cpu_s = (min(some) for some in zip(*taken, strict=True))
    print(json.dumps({"wall_s": wall_s, "cpu_s": cpu_s, "spikes": spikes}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
