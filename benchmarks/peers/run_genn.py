"""GeNN as generated C++ for one CPU thread: a neuron model of our own, sparse synapses of one weight per population.

GeNN hands the spikes of a step to the input of the next, in which the neuron adds input and leak and compares.
"""

from __future__ import annotations

import importlib.metadata
import os
import time

import numpy as np
from measure import Arguments, Stopwatch, arguments, report
from network import Network, read_network, synapses
from pygenn import GeNNModel, create_neuron_model, init_postsynaptic, init_weight_update

_CHIP_NEURON = create_neuron_model(
    "chip_neuron",
    params=["leak", "threshold", "reset"],
    vars=[("V", "scalar"), ("spikes", "uint32_t")],
    sim_code="V += Isyn + leak;",
    threshold_condition_code="V >= threshold",
    reset_code="V = reset; spikes += 1;",
    auto_refractory_required=False,
)


def _load(network: Network, asked: Arguments) -> tuple[GeNNModel, object]:
    model = GeNNModel("float", "compared", backend="single_threaded_cpu")
    model.dt = 1.0
    cells = model.add_neuron_population(
        "cells",
        network.n_neurons,
        _CHIP_NEURON,
        {"leak": network.leak, "threshold": network.threshold, "reset": network.reset},
        {"V": np.array(network.potential, np.float32).reshape(-1), "spikes": 0},
    )
    for weight in network.weight_values:
        pre, post = (np.concatenate(side) for side in zip(*(b[:2] for b in synapses(network, weight)), strict=True))
        joined = model.add_synapse_population(
            f"synapses_{'minus' if weight < 0 else 'plus'}_{abs(weight)}",
            "SPARSE",
            cells,
            cells,
            init_weight_update("StaticPulseConstantWeight", {"g": float(weight)}),
            init_postsynaptic("DeltaCurr"),
        )
        joined.set_sparse_connections(pre, post)
        joined.axonal_delay_steps = network.delay - 1
    os.chdir(asked.work)
    model.build()
    model.load()
    return model, cells.vars["spikes"]


def _count(spikes: object) -> int:
    spikes.pull_from_device()
    return int(spikes.current_values.sum())


def main() -> None:
    """Generate, compile, run, count."""
    asked = arguments()
    os.environ["CXXFLAGS"] = "-march=native"
    start = time.perf_counter()
    model, counter = _load(read_network(asked.network), asked)
    build_s = time.perf_counter() - start
    spikes, before = [], 0
    for _ in range(asked.warm):
        model.step_time()
        spikes.append(_count(counter) - before)
        before += spikes[-1]
    with Stopwatch() as clock:
        for _ in range(asked.ticks):
            model.step_time()
    spikes.append(_count(counter) - before)
    version = importlib.metadata.version("pygenn")
    report(asked, version=version, cpu_s=clock.cpu_s, wall_s=clock.wall_s, build_s=build_s, spikes=spikes)


if __name__ == "__main__":
    main()
