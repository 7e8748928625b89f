"""What other simulators are given is the program: its synapse list, run by a little NumPy, fires like the chip."""

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from neuromap.bench.characterisation import characterisation_program
from neuromap.simulation.engine.numpy_engine import NumpyEngine

FILE = Path(__file__).resolve().parents[2] / "benchmarks" / "peers" / "network.py"


@pytest.fixture(scope="module")
def network_file():
    if not FILE.exists():
        pytest.skip("benchmarks/ is not here: it is not part of the wheel")
    spec = importlib.util.spec_from_file_location("peers_network", FILE)
    module = importlib.util.module_from_spec(spec)
    sys.modules["peers_network"] = module
    spec.loader.exec_module(module)
    return module


def spikes_of_synapse_list(network, blocks, n_ticks):
    """Integrate, leak, compare, reset on a list of synapses; spikes as (tick, neuron)."""
    pre, post, weight = (np.concatenate(column) for column in zip(*blocks, strict=True))
    potential = network.potential.reshape(-1).astype(np.int64)
    history = [np.zeros(potential.size, bool)] * network.delay
    for _ in range(n_ticks):
        arriving = history[-network.delay]
        active = arriving[pre]
        potential += np.bincount(post[active], weight[active], potential.size).astype(np.int64) + network.leak
        history.append(potential >= network.threshold)
        potential[history[-1]] = network.reset
    return np.argwhere(np.array(history[network.delay :]))


@pytest.mark.parametrize(("delay", "synapses"), [(1, 128), (3, 40)])
def test_the_synapse_list_fires_like_the_chip(network_file, tmp_path, delay, synapses):
    program = characterisation_program(5, rate_hz=100, delay=delay, synapses=synapses, seed=3)
    network_file.write_network(program, tmp_path / "net")
    network = network_file.read_network(tmp_path / "net")
    blocks = list(network_file.synapses(network, cores_at_once=2))
    assert sum(len(pre) for pre, _, _ in blocks) == 5 * 256 * synapses

    engine = NumpyEngine(program)
    expected = [(tick, core * 256 + neuron) for tick in range(60) for core, neuron in zip(*engine.step(), strict=True)]
    assert len(expected) > 1000
    assert spikes_of_synapse_list(network, blocks, 60).tolist() == [list(map(int, pair)) for pair in expected]


def test_synapses_split_by_weight_are_all_of_them(network_file, tmp_path):
    program = characterisation_program(2, synapses=77)
    weights = program.neurons.weights.copy()
    weights[0, 3] *= 2  # no longer one weight per axon type
    for table in (program.neurons, replace(program.neurons, weights=weights)):
        network_file.write_network(replace(program, neurons=table), tmp_path / "net")
        network = network_file.read_network(tmp_path / "net")
        whole = np.concatenate([np.stack(block) for block in network_file.synapses(network)], axis=1)
        for weight in np.unique(whole[2]):
            part = np.concatenate([np.stack(b) for b in network_file.synapses(network, int(weight))], axis=1)
            assert np.array_equal(part, whole[:, whole[2] == weight])


def changed(program, name):
    """Make one property of a program one that not every peer has."""
    neurons = program.neurons
    if name == "reset":
        return replace(program, neurons=replace(neurons, reset_mode=np.ones_like(neurons.reset_mode)))
    if name == "threshold":
        threshold = neurons.threshold.copy()
        threshold[1, 7] += 1
        return replace(program, neurons=replace(neurons, threshold=threshold))
    target = program.target_axon.copy()
    target[0, 1] = target[0, 0]
    core = program.target_core.copy()
    core[0, 1] = core[0, 0]
    return replace(program, target_axon=target, target_core=core)


@pytest.mark.parametrize(
    ("name", "message"),
    [("reset", "reset modes"), ("threshold", "threshold: differs"), ("target", "two neurons feed one axon")],
)
def test_programs_that_peers_cannot_run_are_refused(network_file, tmp_path, name, message):
    program = changed(characterisation_program(2), name)
    with pytest.raises(network_file.Unsuitable, match=message):
        network_file.write_network(program, tmp_path / "net")
    assert not (tmp_path / "net").exists()
