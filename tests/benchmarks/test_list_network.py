"""The network of the list engine's benchmark: what its peers are given is what the program says."""

import numpy as np
import pytest

from neuromap.hardware.checker import check_program

network = pytest.importorskip(
    "benchmarks.list_engine.network", reason="benchmarks/ is not here: it is not part of the wheel"
)


@pytest.mark.parametrize("make", ["loihi_network", "one_tick_network"])
def test_the_network_breaks_no_rule_but_that_of_memory(make, tmp_path):
    program = getattr(network, make)(2)
    assert {violation.rule for violation in check_program(program)} == {"synapse-memory"}
    network.brian2_arrays(program, tmp_path)
    found = {path.stem: np.load(path) for path in tmp_path.glob("*.npy")}
    n_synapses, n = len(program.synapses.neuron), program.neurons.bias.size
    assert len(found["pre"]) == n_synapses == 128 * n
    assert np.bincount(found["pre"]).tolist() == [128] * n
    # every list has one source, so what a neuron is reached by does not depend on who tells it
    core = np.repeat(np.arange(2), np.diff(program.synapses.lists[program.synapses.axons]))
    reached = core * program.chip.neurons + program.synapses.neuron
    for weights in (None, program.synapses.weight):
        given = None if weights is None else found["weight"]
        assert np.bincount(found["post"], given).tolist() == np.bincount(reached, weights).tolist()
    assert np.bincount(found["delay"]).tolist() == [0, *np.bincount(program.synapses.delay).tolist()]


def test_no_current_or_delay_of_the_one_tick_network_outlasts_a_tick(tmp_path):
    network.brian2_arrays(network.one_tick_network(2), tmp_path)
    assert np.unique(np.load(tmp_path / "delay.npy")).tolist() == [1]
    assert np.load(tmp_path / "current_decay.npy").tolist() == [4096]
