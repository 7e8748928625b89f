"""SANA-FE on one thread, on the Loihi description that its wheel holds, unchanged, with its simple timing model.

    run_sanafe.py ARRAYS WORK --warm 5 --ticks 10

Its neuron counts in 64ths and cuts toward zero to them, as Loihi does, so what the arrays count is divided by 64. It
does not decay in its first time step: the voltages it begins with have been decayed here. Its count of refractory steps
goes down in the step of the spike itself, and so is one more.
"""

from __future__ import annotations

import importlib.metadata
import sys
import time
from importlib.resources import files
from pathlib import Path

import numpy as np
import sanafe

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "peers"))

from measure import Stopwatch, arguments, report

_CORE = 1024
"""Neurons of a core."""
_UNIT = 64
"""What the arrays call 64 is 1 in SANA-FE."""
_AT_ONCE = 1 << 17
"""Synapses that are lists of Python at one time."""


def _neurons(net: object, value: dict[str, np.ndarray], cores: list[object]) -> object:
    first = {name: int(value[name][0]) for name in ("current_decay", "voltage_decay", "threshold", "refractory")}
    start = np.trunc(value["voltage"] * (4096 - first["voltage_decay"]) / 4096) / _UNIT
    attributes = {
        "threshold": first["threshold"] / _UNIT,
        "reset": 0.0,
        "reset_mode": "hard",
        "leak_decay": 1 - first["voltage_decay"] / 4096,
        "input_decay": 1 - first["current_decay"] / 4096,
        "refractory_delay": first["refractory"] + 1,
    }
    group = net.create_neuron_group(
        "cells",
        len(start),
        model_attributes=attributes,
        default_synapse_hw_name="loihi_sparse_synapse",
        default_dendrite_hw_name="loihi_dendrites",
        soma_hw_name="loihi_lif",
    )
    for number, (potential, bias) in enumerate(zip(start.tolist(), (value["bias"] / _UNIT).tolist(), strict=True)):
        group[number].map_to_core(cores[number // _CORE])
        group[number].set_attributes(model_attributes={"potential": potential, "bias": bias})
    return group


def _chip(folder: Path) -> object:
    value = {path.stem: np.load(path) for path in folder.glob("*.npy")}
    if np.any(value["delay"] != 1):
        raise SystemExit("delays must be 1: in SANA-FE's file for Loihi, sums wait for the soma, no longer")
    architecture = sanafe.load_arch(files("sanafe.examples") / "loihi.yaml")
    net = sanafe.Network()
    group = _neurons(net, value, architecture.cores())
    for k in range(0, len(value["pre"]), _AT_ONCE):
        pre, post, weight = (value[name][k : k + _AT_ONCE] for name in ("pre", "post", "weight"))
        pairs = list(zip(pre.tolist(), post.tolist(), strict=True))
        group.connect_neurons_sparse(group, {"weight": (weight / _UNIT).tolist()}, pairs)
    chip = sanafe.SpikingChip(architecture)
    chip.load(net)
    return chip


def _run(chip: object, ticks: int) -> int:
    return chip.sim(ticks, timing_model="simple", processing_threads=1, scheduler_threads=0)["neurons_fired"]


def main() -> None:
    """Build, run, count."""
    asked = arguments()
    start = time.perf_counter()
    chip = _chip(asked.network)
    build_s = time.perf_counter() - start
    spikes = [_run(chip, 1) for _ in range(asked.warm)]
    with Stopwatch() as clock:
        spikes.append(_run(chip, asked.ticks))
    version = importlib.metadata.version("sanafe")
    report(asked, version=version, cpu_s=clock.cpu_s, wall_s=clock.wall_s, build_s=build_s, spikes=spikes)


if __name__ == "__main__":
    main()
