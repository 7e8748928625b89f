"""List programs for SANA-FE: its soma on the exported cells fires like the chip; so do they in SANA-FE."""

import json
import os
import subprocess
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import neuromap as nm
from neuromap.errors import NotSupportedError
from neuromap.exchange.to_sanafe import export_sanafe
from neuromap.files.whole_file import write_folder
from neuromap.formats.sanafe.list_program import list_cells, tiles_of
from neuromap.hardware.program.chip_program import host_spikes
from neuromap.mapping.options.options import Pins
from neuromap.network.edge import Edge
from neuromap.network.network import Network
from neuromap.network.node import Node
from neuromap.network.spiking_neuron import CurrentNeuron
from neuromap.network.transforms import Dense

SANAFE = os.environ.get("NEUROMAP_SANAFE_PYTHON", "")
needs_sanafe = pytest.mark.skipif(
    not SANAFE, reason="set NEUROMAP_SANAFE_PYTHON to a Python that has it (benchmarks/peers/install.sh sanafe)"
)


@st.composite
def runs(draw):
    """A source, perhaps an input, delays, decays, states before the first tick; on cores of a few neurons."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    fed, resets = draw(st.booleans()), draw(st.sampled_from(["hard", "value", "soft"]))

    def neuron(size, most):
        decay, threshold = rng.choice([0, 1, 700, 4096], size), rng.integers(1, 20, size) * 64
        return CurrentNeuron(
            threshold=threshold, voltage_decay=decay, bias=rng.integers(0, most, size),
            refractory=rng.integers(0, 4, size) * (resets == "hard"), voltage=rng.integers(-600, threshold),
            reset=rng.integers(-600, 60, size) * (resets == "value"), subtract=int(resets == "soft"),
            **({"floor": 800} if resets != "hard" else {}),
        )  # fmt: skip

    nodes = {"S": Node("S", (1, 1, 6), neuron=neuron(6, 600)), "A": Node("A", (1, 1, 7), neuron=neuron(7, 90))}
    nodes |= {"I": Node("I", (1, 1, 3))} if fed else {}
    pairs = [
        ("S", "A", int(rng.integers(1, 5))),
        ("A", "A", int(rng.integers(1, 4))),
        *([("I", "A", 2)] if fed else []),
    ]

    def edge(u, v, delay):
        shape = nodes[v].size, nodes[u].size
        weights = rng.integers(-300, 400, shape) * (rng.random(shape) < 0.7)
        return Edge(u, v, Dense(nodes[u].shape, nodes[v].shape, weights=weights), delay=delay)

    network = Network("n", nodes, {(u, v): edge(u, v, delay) for u, v, delay in pairs}, outputs=("A",))
    figures = {"core.neurons": 5, "core.soft_reset": True, "core.reset_values": True, "core.floors": "any"}
    chip = nm.load_chip("loihi1", figures)
    program = nm.map_rollout(nm.Rollout(network, "streaming"), chip, placer="row-major", keep="all")
    return program, nm.random_frames(network, 30, seed=1)


def run_cells(cells, steps):
    """SANA-FE's order of things, in its doubles; spikes as (step, neuron)."""
    n, n_buffers = cells.n_neurons, len(cells.buffer_core)
    n_cells = n + n_buffers + len(cells.generator_core)
    potential, rest, spiking, found = cells.potential.copy(), np.zeros(n, int), np.zeros(n_cells, bool), []
    for step in range(1, steps + 1):
        active = spiking[cells.pre]
        heard = np.bincount(cells.post[active], cells.weight[active], n_cells)
        potential = np.trunc(potential * (cells.leak_decay if step > 1 else 1.0) * 64.0) / 64.0
        free = rest == 0
        potential = np.where(free, potential + cells.bias + heard[:n], potential)
        fires = free & (potential > cells.threshold)
        after = np.where(cells.subtract == 1, potential - cells.threshold, cells.reset)
        potential = np.maximum(np.where(fires, after, potential), -cells.floor)  # SANA-FE saturates after a spike
        rest = np.maximum(np.where(fires, cells.refractory, rest) - 1, 0)
        spiking = np.concatenate([fires, heard[n : n + n_buffers] > 0, np.zeros(n_cells - n - n_buffers, bool)])
        spiking[n + n_buffers + cells.fed_generator[cells.fed_tick == step - 1]] = True
        found += [(step, neuron) for neuron in np.flatnonzero(fires).tolist()]
    return found


def expected(found):
    rows = [line.split(",") for line in found.contents["expected_spikes.csv"].splitlines()[1:]]
    return [(int(step), int(neuron.removeprefix("neurons."))) for neuron, step in rows]


@given(run=runs())
@settings(deadline=None, max_examples=25)
def test_the_cells_fire_like_the_chip(run):
    program, frames = run
    found = export_sanafe(program, frames=frames)
    cells = list_cells(program, host_spikes(program, frames, found.figures["steps to run"] - 1))
    wanted = [(step, neuron) for step, neuron in expected(found) if step <= cells.n_ticks]
    assert run_cells(cells, cells.n_ticks) == wanted


@needs_sanafe
@given(run=runs())
@settings(deadline=None, max_examples=8)
def test_sanafe_fires_as_expected(run, tmp_path_factory):
    program, frames = run
    found, folder = export_sanafe(program, frames=frames), tmp_path_factory.mktemp("sanafe")
    write_folder(folder, found.contents)
    done = subprocess.run([SANAFE, folder / "run.py", folder], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout[-500:] + done.stderr[-500:]
    assert json.loads((folder / "answer.json").read_text())["spikes"] == len(expected(found))


def test_tiles_hold_cores_as_the_chip_says():
    nodes = {"S": Node("S", (1, 1, 9), neuron=CurrentNeuron(threshold=0, bias=64))}
    nodes["O"] = Node("O", (1, 1, 1), neuron=CurrentNeuron(threshold=64))
    edges = {("S", "O"): Edge("S", "O", Dense((1, 1, 9), (1, 1, 1), weights=np.full((1, 9), 64)))}
    table = {"S": [0, 1, 2, 16, 17, 33, 112, 15, 127], "O": [0]}
    pins = Pins(neurons=table)
    program = nm.map_rollout(nm.Rollout(Network("t", nodes, edges), "streaming"), "loihi1", pins=pins)
    tile, inside = tiles_of(program)
    number = program.coordinates[:, 1] * 16 + program.coordinates[:, 0]
    found = dict(zip(number.tolist(), zip(tile.tolist(), inside.tolist(), strict=True), strict=True))
    wanted = {
        0: (0, 0),
        1: (0, 2),
        2: (4, 0),
        16: (0, 1),
        17: (0, 3),
        33: (1, 2),
        112: (3, 1),
        15: (28, 2),
        127: (31, 3),
    }
    assert found == wanted


def test_updates_of_every_neuron_are_accesses_there():
    whole, net = nm.load_chip("loihi1"), nm.load_network("examples/digits/sr.toml")
    energy = {k: v for k, v in whole.energy.items() if "access" not in k and "hop" not in k} | {"hop_joules": 3e-12}
    timing = {k: v for k, v in whole.timing.items() if "access" not in k}
    chip = replace(whole, energy=energy, timing=timing, router={"hop_seconds": 4e-9})
    program = nm.map_rollout(nm.Rollout(net, "streaming"), chip)
    yaml = pytest.importorskip("yaml", reason="pyyaml is not installed")
    tile = yaml.safe_load(export_sanafe(program).contents["arch.yaml"])["architecture"]["tile"][0]
    soma = tile["core"][0]["soma"][0]["attributes"]
    of_neuron = [
        float(soma[f"{what}_{when}_neuron"]) for when in ("access", "update") for what in ("energy", "latency")
    ]
    assert of_neuron == [whole.energy["neuron_update_joules"], whole.timing["neuron_update_seconds"], 0, 0]
    for way in ("north", "east", "south", "west"):
        assert [float(tile["attributes"][f"{what}_{way}_hop"]) for what in ("energy", "latency")] == [3e-12, 4e-9]


def test_what_its_soma_has_not_is_refused_in_one_line():
    nodes = {"S": Node("S", (1, 1, 1), neuron=CurrentNeuron(threshold=64, bias=64, current_decay=100))}
    nodes["O"] = Node("O", (1, 1, 1), neuron=CurrentNeuron(threshold=64))
    edges = {("S", "O"): Edge("S", "O", Dense((1, 1, 1), (1, 1, 1), weights=[[64]]))}
    program = nm.map_rollout(nm.Rollout(Network("t", nodes, edges), "streaming"), "loihi1")
    with pytest.raises(NotSupportedError, match="a current that outlasts its tick; SANA-FE has not that") as refused:
        export_sanafe(program)
    assert "\n" not in str(refused.value)
