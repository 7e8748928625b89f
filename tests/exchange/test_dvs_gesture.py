"""A peer's network on stock loihi1: SANA-FE's DVS gesture net, made of its packaged arrays, fires as it does there."""

import os
import subprocess

import numpy as np
import pytest

import neuromap as nm
from neuromap.network.edge import Edge
from neuromap.network.network import Network
from neuromap.network.node import Node
from neuromap.network.spiking_neuron import CurrentNeuron
from neuromap.network.transforms import Conv, Dense

SANAFE = os.environ.get("NEUROMAP_SANAFE_PYTHON", "")
WHERE = "import sanafe.tutorial as t; print(t.get_dvs_data().name)"


@pytest.fixture(scope="module")
def arrays():
    """The packaged arrays, which are other people's data."""
    if not SANAFE:
        pytest.skip("sanafe is not installed: set NEUROMAP_SANAFE_PYTHON to a Python that has it")
    found = subprocess.run([SANAFE, "-c", WHERE], capture_output=True, text=True, timeout=60, check=True)
    with np.load(found.stdout.strip()) as archive:
        return {key: values.astype(int) for key, values in archive.items()}


@pytest.mark.slow
def test_the_gesture_net_fires_as_in_sanafe(arrays):
    shapes = [(32, 32, 1), (15, 15, 16), (13, 13, 32), (11, 11, 64), (9, 9, 11), (1, 1, 11)]
    own = {"voltage_decay": 0, "current_bits": 18, "voltage_bits": 18}
    neurons = [CurrentNeuron(threshold=t, bias=0, **own) for t in arrays["thresholds"]]
    neurons[0] = CurrentNeuron(threshold=arrays["thresholds"][0], bias=arrays["inputs"], **own)
    strides = [(2, 2), (1, 1), (1, 1), (1, 1)]
    dense = arrays["dense1"].T.reshape(11, 11, 9, 9).transpose(0, 2, 3, 1).reshape(11, 891)
    made = [Conv(*shapes[k : k + 2], (3, 3), strides[k], "valid", weights=arrays[f"conv{k + 1}"]) for k in range(4)]
    made.append(Dense(*shapes[4:], weights=dense))
    nodes = {f"L{k}": Node(f"L{k}", shapes[k], neuron=neurons[k]) for k in range(6)}
    edges = {(f"L{k}", f"L{k + 1}"): Edge(f"L{k}", f"L{k + 1}", made[k]) for k in range(5)}
    network = Network("gestures", nodes, edges)
    program = nm.map_rollout(nm.Rollout(network, "streaming"), "loihi1", keep="all", placer="row-major")
    assert program.n_cores < 51  # of the mapping that its authors give
    assert program.scales == dict.fromkeys(nodes, 6)
    trace = nm.simulate(program, nm.random_frames(network, 1001), record=nm.Recording(spikes="all"))
    counts = [int(trace.frames(name).sum()) for name in nodes]
    assert counts == [25_357, 27_875, 70_022, 191_921, 49_859, 243]  # 365,277 as SANA-FE's tutorial says
