"""neuromap's engine "fast" on one thread, in neuromap's own environment; the reference of all spike counts."""

from __future__ import annotations

import time

import numpy as np
from measure import Stopwatch, arguments, report

import neuromap
from neuromap.hardware.program_file import load_program
from neuromap.simulation.engine.engine import HostEvents, make_engine
from neuromap.simulation.engine.engine_choice import EngineChoice
from neuromap.simulation.engine.fast_engine import FastEngine


def main() -> None:
    """Run the program file beside the arrays."""
    asked = arguments()
    start = time.perf_counter()
    engine = make_engine(load_program(asked.network / "program.safetensors"), EngineChoice("fast", threads=1))
    assert isinstance(engine, FastEngine)
    nobody = np.zeros(engine.program.target_core.shape, np.bool_)
    build_s, spikes, before = 0.0, [], 0
    for _ in range(asked.warm):
        engine.run(HostEvents.none(1), nobody)
        build_s = build_s or time.perf_counter() - start  # the first tick loads the compiled kernels
        spikes.append(engine.totals.spikes - before)
        before = engine.totals.spikes
    first = _moved(engine)
    with Stopwatch() as clock:
        engine.run(HostEvents.none(asked.ticks), nobody)
    spikes.append(engine.totals.spikes - before)
    report(
        asked,
        version=neuromap.__version__,
        cpu_s=clock.cpu_s,
        wall_s=clock.wall_s,
        build_s=build_s,
        spikes=spikes,
        bytes_per_tick=(_moved(engine) - first) / asked.ticks,
        hot_bytes=engine.footprint.hot_bytes,
    )


def _moved(engine: FastEngine) -> int:
    """Bytes moved through memory since tick 0, as the engine's footprint says."""
    each, totals = engine.footprint, engine.totals
    return engine.visits * each.visit_bytes + totals.axon_events * each.event_bytes + totals.spikes * each.spike_bytes


if __name__ == "__main__":
    main()
