"""The fast engine on one thread.

python -m benchmarks.list_engine.run_neuromap CORES --warm 20 --ticks 200
"""

from __future__ import annotations

import argparse
import json
import time

import numpy as np

from benchmarks.list_engine.network import loihi_network, one_tick_network
from neuromap.cores.synapse_list.list_fast_engine import ListFastEngine
from neuromap.simulation.engine.engine import HostEvents
from neuromap.version import __version__


def main() -> None:
    """Run, and print one line of JSON, as the peers of :mod:`benchmarks.peers.measure` do."""
    parser = argparse.ArgumentParser()
    parser.add_argument("cores", type=int)
    parser.add_argument("--warm", type=int, required=True)
    parser.add_argument("--ticks", type=int, required=True)
    parser.add_argument("--one-tick", action="store_true", help="currents and delays of one tick")
    asked = parser.parse_args()
    program = (one_tick_network if asked.one_tick else loihi_network)(asked.cores)
    nothing = np.zeros(program.shape, np.bool_)
    began = time.perf_counter()
    engine = ListFastEngine(program)
    engine.run(HostEvents.none(1), nothing)
    build_s = time.perf_counter() - began
    engine.reset()
    counts = []
    for _ in range(asked.warm):
        before = engine.totals.spikes
        engine.run(HostEvents.none(1), nothing)
        counts.append(engine.totals.spikes - before)
    before = engine.totals
    clocks = time.process_time(), time.perf_counter()
    engine.run(HostEvents.none(asked.ticks), nothing)
    cpu_s, wall_s = time.process_time() - clocks[0], time.perf_counter() - clocks[1]
    after = engine.totals
    answer = {
        "version": __version__,
        "cpu_ms_per_tick": cpu_s * 1e3 / asked.ticks,
        "wall_ms_per_tick": wall_s * 1e3 / asked.ticks,
        "build_s": build_s,
        "spikes": [*counts, after.spikes - before.spikes],
        "synaptic_events": after.synaptic_events - before.synaptic_events,
    }
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
