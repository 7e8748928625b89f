"""The hand-written C kernel of ``benchmarks/engine/c_kernel`` on one thread, in neuromap's own environment."""

from __future__ import annotations

import time

from measure import Stopwatch, arguments, report

from benchmarks.engine.c_kernel.c_kernel import CKernel
from neuromap.hardware.program_file import load_program


def main() -> None:
    """Run the program file beside the arrays."""
    asked = arguments()
    start = time.perf_counter()
    kernel = CKernel(load_program(asked.network / "program.safetensors"), threads=1)
    build_s = time.perf_counter() - start
    kernel.run(asked.warm)
    with Stopwatch() as clock:
        kernel.run(asked.ticks)
    counts = kernel.spike_counts.tolist()
    report(
        asked,
        version="here",
        cpu_s=clock.cpu_s,
        wall_s=clock.wall_s,
        build_s=build_s,
        spikes=[*counts[: asked.warm], sum(counts[asked.warm :])],
    )


if __name__ == "__main__":
    main()
