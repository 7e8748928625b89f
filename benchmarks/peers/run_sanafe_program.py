"""SANA-FE given a program: which neurons spike when, and how far.

    run_sanafe_program.py NETWORK.npz ANSWER.npz WORK

NETWORK is of :mod:`program_network`. ANSWER holds version, tick and neuron of every spike, hops per tick as SANA-FE's
performance counters have them, and tick, neuron and hops of every message that a neuron sends to another core or its
own, from SANA-FE's message trace. Traces are written into WORK.

Tiles are the program's cores at the program's coordinates, one core each. Neurons and buffers are of SANA-FE's
TrueNorth model, generators of its input model. What is sent in SANA-FE's time step s is integrated in step s + 1, so
the host's spikes of tick t are sent in step t + 1, and the spikes of tick t in step t + 2.
"""

from __future__ import annotations

import csv
import importlib.metadata
import sys
from pathlib import Path
from typing import Any

import numpy as np
import sanafe
from program_network import ProgramNetwork

_LEAD = 2
"""Step of tick 0."""
_DENDRITES = 1024
"""Neurons that one of SANA-FE's dendrite units holds; their number is not checked there."""
_RESETS = ("hard", "soft", "none")

_FREE = {
    "soma": ("energy_access_neuron", "latency_access_neuron", "energy_update_neuron", "latency_update_neuron",
             "energy_spike_out", "latency_spike_out"),
    "synapse": ("energy_process_spike", "latency_process_spike"),
    "dendrite": ("energy_update", "latency_update"),
}  # fmt: skip


def _unit(section: str, name: str, model: str) -> str:
    costs = ", ".join(f"{cost}: 0.0" for cost in _FREE[section])
    return f"          - {{name: '{name}', attributes: {{model: {model}, {costs}}}}}\n"


def _most(cores: np.ndarray) -> int:
    return int(np.bincount(cores).max(initial=0))


def _architecture(network: ProgramNetwork, path: Path) -> Any:
    """Describe a mesh with as many units per core as the fullest core takes."""
    width, height = (network.coordinates.max(axis=0) + 1).tolist()
    buffers, generators = _most(network.buffer_core), _most(network.generator_core)
    units = _units(network)
    # Input units read one spike train each, so every generator has its own.
    inputs = [_unit("soma", f"input[0..{generators - 1}]", "input")] if generators else []
    ways = ("north", "east", "south", "west")
    hops = ", ".join(f"{cost}_{way}_hop: 0.0" for cost in ("energy", "latency") for way in ways)
    neurons = _most(network.core) + buffers + generators
    path.write_text(
        "architecture:\n"
        "  name: program\n"
        f"  attributes: {{topology: mesh, width: {width}, height: {height}, link_buffer_size: 1, sync_model: fixed, "
        "latency_sync: 0.0}\n"
        "  tile:\n"
        f"    - name: tile[0..{width * height - 1}]\n"
        f"      attributes: {{{hops}}}\n"
        "      core:\n"
        "        - name: core\n"
        "          attributes: {buffer_position: soma, buffer_inside_unit: false, "
        f"max_neurons_supported: {neurons}}}\n"
        "          axon_in:\n"
        "          - {name: in, attributes: {energy_message_in: 0.0, latency_message_in: 0.0}}\n"
        "          synapse:\n"
        + _unit("synapse", "synapses", "current_based")
        + "          dendrite:\n"
        + "".join(_unit("dendrite", f"dendrites_{k}", "accumulator") for k in range(units + 2))
        + "          soma:\n"
        + "".join(_unit("soma", f"soma_{k}", "truenorth") for k in range(units + 1))
        + "".join(inputs)
        + "          axon_out:\n"
        "          - {name: out, attributes: {energy_message_out: 0.0, latency_message_out: 0.0}}\n"
    )
    return sanafe.load_arch(path)


def _units(network: ProgramNetwork) -> int:
    """Count the units that a core's buffers take; the neurons have unit 0, the generators the last one."""
    return -(-_most(network.buffer_core) // _DENDRITES)


def _ranks(cores: np.ndarray) -> np.ndarray:
    """Give every cell its number within its core, from 0."""
    ranks = np.empty(len(cores), dtype=np.int64)
    for core in np.unique(cores):
        mine = np.flatnonzero(cores == core)
        ranks[mine] = np.arange(len(mine))
    return ranks


def _group(net: Any, name: str, cores: np.ndarray, tiles: list[Any], soma: list[str], dendrite: list[str]) -> Any:
    group = net.create_neuron_group(name, len(cores), default_synapse_hw_name="synapses", log_spikes=name == "neurons")
    for k in range(len(cores)):
        group[k].map_to_core(tiles[cores[k]])
        group[k].set_attributes(soma_hw_name=soma[k], dendrite_hw_name=dendrite[k])
    return group


def _chip(network: ProgramNetwork, work: Path) -> Any:
    architecture = _architecture(network, work / "program.yaml")
    height = int(network.coordinates[:, 1].max()) + 1
    by_tile = architecture.cores()  # tiles run through a column first
    tiles = [by_tile[x * height + y] for x, y in network.coordinates.tolist()]
    net, groups = sanafe.Network(), []

    n_neurons, n_buffers, n_generators = len(network.core), len(network.buffer_core), len(network.generator_core)
    neurons = _group(net, "neurons", network.core, tiles, ["soma_0"] * n_neurons, ["dendrites_0"] * n_neurons)
    for k in range(n_neurons):
        attributes = {
            "threshold": float(network.threshold[k]),
            "leak": float(network.leak[k]),
            "leak_towards_zero": False,
            "reset": float(network.reset_to[k]),
            "reset_mode": _RESETS[network.reset[k]],
            "reverse_threshold": float(network.lower[k]),
            "reverse_reset": float(network.lower_reset_to[k]),
            "reverse_reset_mode": _RESETS[network.lower_reset[k]],
            "force_update": True,
        }
        neurons[k].set_attributes(model_attributes=attributes)
    groups.append((neurons, 0, n_neurons))
    if n_buffers:
        unit = (1 + _ranks(network.buffer_core) // _DENDRITES).tolist()
        somas, dendrites = [f"soma_{u}" for u in unit], [f"dendrites_{u}" for u in unit]
        buffers = _group(net, "buffers", network.buffer_core, tiles, somas, dendrites)
        repeat = {"threshold": 1.0, "reset": 0.0, "reset_mode": "hard", "leak": 0.0, "reverse_threshold": -1.0}
        for k in range(n_buffers):
            buffers[k].set_attributes(model_attributes=repeat)
        groups.append((buffers, n_neurons, n_neurons + n_buffers))
    if n_generators:
        somas = [f"input[{rank}]" for rank in _ranks(network.generator_core).tolist()]
        inputs = _group(
            net, "inputs", network.generator_core, tiles, somas, [f"dendrites_{_units(network) + 1}"] * n_generators
        )
        trains = np.zeros((n_generators, network.n_ticks), dtype=bool)
        trains[network.fed_generator, network.fed_tick] = True
        for k in range(n_generators):
            inputs[k].set_attributes(model_attributes={"spikes": trains[k].tolist()})
        groups.append((inputs, n_neurons + n_buffers, n_neurons + n_buffers + n_generators))

    for source, first, stop in groups:
        for target, begin, end in groups:
            mine = (network.pre >= first) & (network.pre < stop) & (network.post >= begin) & (network.post < end)
            pairs = list(zip((network.pre[mine] - first).tolist(), (network.post[mine] - begin).tolist(), strict=True))
            if pairs:
                source.connect_neurons_sparse(target, {"weight": network.weight[mine].astype(float).tolist()}, pairs)
    chip = sanafe.SpikingChip(architecture)
    chip.load(net)
    return chip


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def main() -> None:
    """Build, run, write what was traced."""
    given, answer, work = (Path(argument) for argument in sys.argv[1:])
    network = ProgramNetwork.load(given)
    chip = _chip(network, work)
    traces = {name: str(work / f"{name}.csv") for name in ("spike_trace", "perf_trace", "message_trace")}
    chip.sim(network.n_ticks + _LEAD - 1, timing_model="simple", processing_threads=1, scheduler_threads=0, **traces)

    fired = [(int(row["timestep"]) - _LEAD, row["neuron"].split(".")) for row in _rows(Path(traces["spike_trace"]))]
    performance = _rows(Path(traces["perf_trace"]))
    sent = [
        (int(row["timestep"]) - _LEAD, int(row["src_neuron"].split(".")[1]), int(row["hops"]))
        for row in _rows(Path(traces["message_trace"]))
        if row["src_neuron"].startswith("neurons.") and row["dest_hw"] != "x.x"
    ]
    np.savez(
        answer,
        version=importlib.metadata.version("sanafe"),
        tick=np.array([tick for tick, _ in fired], dtype=np.int64),
        neuron=np.array([int(name[1]) for _, name in fired], dtype=np.int64),
        step_hops=np.array([int(float(row["hops"])) for row in performance], dtype=np.int64),
        messages=np.array(sent, dtype=np.int64).reshape(-1, 3),
    )


if __name__ == "__main__":
    main()
