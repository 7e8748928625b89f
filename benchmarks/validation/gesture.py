"""SANA-FE's DVS gesture network (its tutorial 5) for both sides: ours, and theirs run in an environment of its own.

python gesture.py CASE.npz ANSWER.npz       under a Python that has SANA-FE: one mapping, timed by its detailed model
"""

from __future__ import annotations

import csv
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

LAYERS = {
    "in": (32, 32, 1),
    "c1": (15, 15, 16),
    "c2": (13, 13, 32),
    "c3": (11, 11, 64),
    "c4": (9, 9, 11),
    "out": (1, 1, 11),
}

_GROUPS = ("input_0", "conv2d_0", "conv2d_1", "conv2d_2", "conv2d_3", "dense_0")


def network(data: dict[str, np.ndarray]) -> Any:
    """Build it in its own integers: nothing is scaled by hand."""
    from neuromap.network.edge import Edge
    from neuromap.network.network import Network
    from neuromap.network.node import Node
    from neuromap.network.spiking_neuron import CurrentNeuron
    from neuromap.network.transforms import Conv, Dense

    widths = {"voltage_decay": 0, "current_bits": 18, "voltage_bits": 18}  # the chip's 24, less 6 of the weights' unit
    nodes = {
        name: Node(name, shape, neuron=CurrentNeuron(threshold=t, bias=data["inputs"] if name == "in" else 0, **widths))
        for (name, shape), t in zip(LAYERS.items(), data["thresholds"], strict=True)
    }
    edges, names = {}, list(LAYERS)
    for k, (u, v) in enumerate(pairwise(names[:-1]), 1):
        step = (2, 2) if k == 1 else (1, 1)
        edges[u, v] = Edge(u, v, Conv(LAYERS[u], LAYERS[v], (3, 3), step, "valid", weights=data[f"conv{k}"]))
    # neurons there run through channel, row, column; here through row, column, channel
    dense = data["dense1"].T.reshape(11, 11, 9, 9).transpose(0, 2, 3, 1).reshape(11, 891)
    edges["c4", "out"] = Edge("c4", "out", Dense(LAYERS["c4"], LAYERS["out"], weights=dense))
    return Network("dvs gesture", nodes, edges)


def in_their_order(name: str) -> np.ndarray:
    """Give our numbers of a layer's neurons in their order."""
    shape = LAYERS[name]
    return np.arange(np.prod(shape)).reshape(shape).transpose(2, 0, 1).ravel()


def _run(case: Path, answer: Path) -> None:
    """Run one mapping in SANA-FE: cores of all neurons, layer by layer, and the order in which each computes them."""
    import sanafe
    from sanafe import layers, tutorial

    given = np.load(case)
    with tutorial.get_dvs_data() as file:
        data = dict(np.load(file))
    chip, net = sanafe.load_loihi(), sanafe.Network()
    threshold = data["thresholds"]
    made = [layers.Input2D(net, 32, 32, threshold=threshold[0])]
    for k in range(1, 5):
        step = 2 if k == 1 else 1
        kernel = data[f"conv{k}"]
        made.append(layers.Conv2D(net, made[-1], kernel, stride_width=step, stride_height=step, threshold=threshold[k]))
    made.append(layers.Dense(net, made[-1], 11, data["dense1"], threshold=threshold[5]))
    for neuron, bias in zip(made[0], data["inputs"], strict=True):
        neuron.set_attributes(model_attributes={"bias": bias})
    cores, every = chip.cores(), [neuron for layer in made for neuron in layer]
    for neuron in every:
        neuron.set_attributes(log_spikes=not given["alone"])
    for k in np.lexsort((given["slot"], given["core"])):
        every[k].map_to_core(cores[int(given["core"][k])])
    run = sanafe.SpikingChip(chip)
    run.load(net)
    with tempfile.TemporaryDirectory() as folder:
        traces = {f"{name}_trace": f"{folder}/{name}.csv" for name in ("perf", "spike")}
        began = time.process_time()
        found = run.sim(
            int(given["steps"]), timing_model="detailed", processing_threads=1, scheduler_threads=0,
            **({} if given["alone"] else traces),
        )  # fmt: skip
        cpu = time.process_time() - began
        seconds = spikes = np.zeros(0)
        if not given["alone"]:
            with Path(traces["perf_trace"]).open(newline="") as file:
                seconds = np.array([float(row["sim_time"]) for row in csv.DictReader(file)])
            with Path(traces["spike_trace"]).open(newline="") as file:
                found_spikes = [(*row["neuron"].split("."), row["timestep"]) for row in csv.DictReader(file)]
            spikes = np.array([(_GROUPS.index(group), neuron, step) for group, neuron, step in found_spikes], np.int64)
    np.savez(
        answer, seconds=seconds, spikes=spikes, cpu=cpu, packets=found["packets_sent"],
        total=found["sim_time"], **{f"energy_{name}": joules for name, joules in found["energy"].items()},
    )  # fmt: skip


if __name__ == "__main__":
    _run(Path(sys.argv[1]), Path(sys.argv[2]))
