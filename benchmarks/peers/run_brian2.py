"""Brian2 as generated C++ (cpp_standalone), one thread, Brian2's own flags (-O3 -ffast-math -march=native).

A spike is handed on after the reset of its own step, without delay; the next step leaks and compares. That is
the same as integrating it first in the next tick, and the cheapest form that Brian2 offers: synapses in groups of one
constant weight, one delay for all, spikes counted by a population rate monitor.
"""

from __future__ import annotations

import time

import brian2
import numpy as np
from measure import Arguments, arguments, report
from network import Network, read_network, synapses

READ_CLOCKS = r"""
{ timespec cpu, wall; clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu); clock_gettime(CLOCK_MONOTONIC, &wall);
  FILE *file = fopen("clocks.txt", "a");
  fprintf(file, "%.9f %.9f\n", cpu.tv_sec + 1e-9 * cpu.tv_nsec, wall.tv_sec + 1e-9 * wall.tv_nsec);
  fclose(file); }
"""


def _model(network: Network) -> tuple[brian2.Network, brian2.PopulationRateMonitor]:
    scope = {"leak": network.leak, "threshold": network.threshold, "reset_to": network.reset}
    group = brian2.NeuronGroup(
        network.n_neurons, "v : 1", threshold="v >= threshold", reset="v = reset_to", namespace=scope
    )
    leak = group.run_regularly("v += leak", when="groups")
    group.v = np.array(network.potential).reshape(-1)
    rates = brian2.PopulationRateMonitor(group)
    net = brian2.Network(group, leak, rates)
    for weight in network.weight_values:
        pre, post = (np.concatenate(side) for side in zip(*(b[:2] for b in synapses(network, weight)), strict=True))
        joined = brian2.Synapses(group, group, on_pre=f"v_post += {weight}", delay=(network.delay - 1) * brian2.ms)
        joined.connect(i=pre, j=post)
        net.add(joined)
    net.schedule = ["start", "groups", "thresholds", "resets", "synapses", "end"]
    return net, rates


def _run(network: Network, asked: Arguments) -> tuple[list[int], float, float]:
    """Spikes, CPU and wall seconds of the measured ticks."""
    project = asked.work.resolve() / "project"
    brian2.set_device("cpp_standalone", build_on_run=False, directory=str(project))
    brian2.prefs.devices.cpp_standalone.openmp_threads = 0
    brian2.defaultclock.dt = 1 * brian2.ms
    net, rates = _model(network)
    net.run(asked.warm * brian2.ms)
    brian2.device.insert_code("main", READ_CLOCKS)
    net.run(asked.ticks * brian2.ms)
    brian2.device.insert_code("main", READ_CLOCKS)
    brian2.device.build(directory=str(project), compile=True, run=True, with_output=False)
    counts = np.rint(np.asarray(rates.rate / brian2.Hz) * 1e-3 * network.n_neurons).astype(int)
    assert len(counts) == asked.warm + asked.ticks
    before, after = np.loadtxt(project / "clocks.txt")
    return [*counts[: asked.warm], counts[asked.warm :].sum()], *(after - before)


def main() -> None:
    """Generate, compile, run, read what the binary has written."""
    asked = arguments()
    start = time.perf_counter()
    spikes, cpu_s, wall_s = _run(read_network(asked.network), asked)
    build_s = time.perf_counter() - start - wall_s
    report(asked, version=brian2.__version__, cpu_s=cpu_s, wall_s=wall_s, build_s=build_s, spikes=spikes)


if __name__ == "__main__":
    main()
