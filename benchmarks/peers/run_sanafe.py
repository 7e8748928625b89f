"""SANA-FE on one thread, on its own TrueNorth description cut to the cores in use, with its simple timing model.

SANA-FE's TrueNorth neuron has no initial potential. The first tick runs with a bias of potential - V before it, which
is then taken away: the tick adds the same number. Spikes sent in a step are integrated in the next.
"""

from __future__ import annotations

import importlib.metadata
import re
import time
from importlib.resources import files
from pathlib import Path

import numpy as np
import sanafe
from measure import Stopwatch, arguments, report
from network import Network, read_network, synapses


def _architecture(n_cores: int, work: Path) -> object:
    """Their file for the whole chip, on a smaller mesh; the cores of the whole chip would take 2 GB by themselves."""
    width = next(w for w in range(int(n_cores**0.5), 0, -1) if n_cores % w == 0)
    text = (files("sanafe.examples") / "truenorth.yaml").read_text()
    text = re.sub(r"width: \d+", f"width: {width}", text)
    text = re.sub(r"height: \d+", f"height: {n_cores // width}", text)
    text = re.sub(r"truenorth_tile\[0\.\.\d+\]", f"truenorth_tile[0..{n_cores - 1}]", text)
    path = work / "truenorth.yaml"
    path.write_text(text)
    return sanafe.load_arch(path)


def _chip(network: Network, work: Path) -> object:
    architecture = _architecture(network.n_cores, work)
    cores = architecture.cores()
    net = sanafe.Network()
    group = net.create_neuron_group(
        "cells",
        network.n_neurons,
        model_attributes={
            "threshold": float(network.threshold),
            "reset": float(network.reset),
            "reset_mode": "hard",
            "reverse_threshold": -1e9,
            "leak": float(network.leak),
            "leak_towards_zero": False,
            "force_update": True,
        },
        default_synapse_hw_name="core_synapses",
        default_dendrite_hw_name="core_dendrites",
        soma_hw_name="core_soma",
    )
    potential = np.array(network.potential).reshape(-1)
    for number in range(network.n_neurons):
        group[number].map_to_core(cores[number // network.core_neurons])
        group[number].set_attributes(model_attributes={"bias": float(potential[number])})
    for pre, post, weights in synapses(network, cores_at_once=4):
        pairs = list(zip(pre.tolist(), post.tolist(), strict=True))
        group.connect_neurons_sparse(group, {"weight": weights.astype(float).tolist()}, pairs)
    chip = sanafe.SpikingChip(architecture)
    chip.load(net)
    return chip


def _run(chip: object, ticks: int) -> int:
    return chip.sim(ticks, timing_model="simple", processing_threads=1, scheduler_threads=0)["neurons_fired"]


def main() -> None:
    """Build, run, count."""
    asked = arguments()
    start = time.perf_counter()
    network = read_network(asked.network)
    chip = _chip(network, asked.work)
    build_s = time.perf_counter() - start
    spikes = []
    for tick in range(asked.warm):
        spikes.append(_run(chip, 1))
        if tick == 0:
            for neuron in chip.mapped_neuron_groups["cells"]:
                neuron.set_attributes(model_attributes={"bias": 0.0})
    with Stopwatch() as clock:
        spikes.append(_run(chip, asked.ticks))
    version = importlib.metadata.version("sanafe")
    report(asked, version=version, cpu_s=clock.cpu_s, wall_s=clock.wall_s, build_s=build_s, spikes=spikes)


if __name__ == "__main__":
    main()
