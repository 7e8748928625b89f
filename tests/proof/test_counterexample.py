"""Counterexamples: found where a random input shows nothing, short, the same every time; or why there is none."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import neuromap as nm
from neuromap.network.edge import Edge
from neuromap.network.network import Network
from neuromap.network.node import Node
from neuromap.network.spiking_neuron import CurrentNeuron
from neuromap.network.transforms import Dense
from neuromap.network.weights import StoredWeights
from neuromap.proof.counterexample import Trial, draw, find_counterexample
from neuromap.proof.explanations import explain
from neuromap.simulation.reference_frames import reference_batch


def rollout_of(nodes, edges, pattern="streaming"):
    nodes = {name: ((1, 1, size), theta) for name, (size, theta) in nodes.items()}
    return nm.Rollout(nm.build_network(nodes, edges), pattern)


def with_threshold(rollout, program, node, index, by):
    """Raise the threshold of all copies of a neuron."""
    names = [port.name for port in program.nodes]
    mine = (program.neuron_node == names.index(node)) & (program.neuron_index == index)
    threshold = program.neurons.threshold + np.where(mine, np.int32(by), np.int32(0))
    broken = replace(program, neurons=replace(program.neurons, threshold=threshold.astype(np.int32)))
    return broken, nm.prove(rollout, broken)


def locks(*keys):
    """Two neurons, each 1 for one key only; and one that asks for both."""
    width = len(keys[0])
    weights = np.array([[1 if bit else -1 for bit in key] for key in keys])
    nodes = {"I": (width, None), "H": (len(keys), [sum(key) for key in keys]), "O": (2, [2, 1])}
    return rollout_of(nodes, {("I", "H"): weights, ("H", "O"): np.array([[1, 1], [1, 0]])})


def test_inner_neurons_are_set_by_an_integer_programme():
    """O asks for two keys of 28 bits in one frame, which nobody finds by chance."""
    rollout = rollout_of(
        {"I": (56, None), "H": (2, [14, 14]), "O": (1, 2)},
        {("I", "H"): np.kron(np.eye(2, dtype=int), np.resize([1, -1], 28)), ("H", "O"): np.ones((1, 2), int)},
    )
    program = nm.map_rollout(rollout, "truenorth")
    broken, proof = with_threshold(rollout, program, "O", 0, 1)
    assert explain(broken, proof) == [
        "core 0, neuron 2 (copy of O[0]): compares with another threshold: spikes from a sum of 3 on, O[0] from 2 on"
    ]
    found = find_counterexample(rollout, broken, proof, n_sequences=64).counterexample
    assert (found.node, found.index, found.chip, found.network) == ("O", 0, False, True)
    assert (found.core, found.neuron) == (0, 2)
    assert found.frames["I"].sum() == 28
    assert found.n_frames == found.frame + 1
    assert "chip 0, network 1" in found.message


def test_a_fault_that_no_input_shows_is_said_to_be_none():
    """Of two neurons one is always 0, so it does not matter whether two or three of them are asked for."""
    nodes = {"I": (1, None), "H": (2, [1, 0]), "O": (2, [2, 1])}
    rollout = rollout_of(nodes, {("I", "H"): [[1], [-1]], ("H", "O"): [[1, 1], [1, 0]]}, "sequential")
    program = nm.map_rollout(rollout, "truenorth")
    broken, proof = with_threshold(rollout, program, "O", 0, 1)
    assert not proof.proven
    searched = find_counterexample(rollout, broken, proof, n_sequences=64)
    assert searched.counterexample is None
    assert searched.all_of == 12
    assert "among them all of 12 frames; nor does any of 6 frames, by integer programming" in searched.why


def test_the_same_seed_finds_the_same_frames():
    rollout = locks([1, 1, 0, 0, 1], [0, 1, 1, 0, 1])
    broken, proof = with_threshold(rollout, nm.map_rollout(rollout, "truenorth"), "O", 1, 1)
    one, other = (find_counterexample(rollout, broken, proof).counterexample for _ in range(2))
    assert one.message == other.message
    np.testing.assert_array_equal(one.frames["I"], other.frames["I"])
    assert one.frames["I"].sum() == 3


def test_what_is_found_loses_its_difference_with_any_frame_or_spike_less():
    rollout = locks([1, 1, 0, 0, 1], [0, 1, 1, 0, 1])
    broken, proof = with_threshold(rollout, nm.map_rollout(rollout, "truenorth"), "O", 1, 1)
    frames = find_counterexample(rollout, broken, proof).counterexample.frames["I"]
    trial = Trial(rollout, broken)
    assert trial.differs(frames[None]).all()
    assert not trial.differs(frames[None, :-1]).any()
    for at in zip(*frames.nonzero(), strict=True):
        less = frames.copy()
        less[at] = False
        assert not trial.differs(less[None]).any()


def test_a_network_without_inputs_is_run_as_it_is():
    one = (1, 1, 1)
    clock, gate = CurrentNeuron(threshold=640, bias=64, voltage_decay=0), CurrentNeuron(threshold=640)
    nodes = {name: Node(name, one, neuron=neuron) for name, neuron in (("A", clock), ("B", gate))}
    edges = {("A", "B"): Edge("A", "B", Dense(one, one, weights=StoredWeights(np.array([[6400]]))))}
    rollout = nm.Rollout(Network("clock", nodes, edges, outputs=("B",)), "streaming")
    program = nm.map_rollout(rollout, "loihi1")
    assert nm.prove(rollout, program).proven
    bias = np.where(program.neurons.bias > 0, program.neurons.bias + 64, program.neurons.bias)
    broken = replace(program, neurons=replace(program.neurons, bias=bias))
    proof = nm.prove(rollout, broken)
    assert any("bias 128 for 64" in line for line in explain(broken, proof))
    assert find_counterexample(rollout, broken, proof).counterexample.chip
    assert "64 frames show no difference" in find_counterexample(rollout, program).why


@given(st.data())
@settings(max_examples=20, deadline=None)
def test_many_sequences_side_by_side_mean_what_each_alone_does(networks, patterns, data):
    network = data.draw(networks(weights=st.integers(-3, 3), thresholds=st.integers(-2, 4)))
    rollout = nm.Rollout(network, data.draw(patterns(network)))
    frames = {n: draw(np.random.default_rng(1), 3, 6, network.nodes[n].size) for n in network.inputs}
    together = reference_batch(rollout, frames, network.nodes)
    for s in range(3):
        for name, alone in nm.reference(rollout, {n: rows[s] for n, rows in frames.items()}).items():
            np.testing.assert_array_equal(together[name][s], alone)


@pytest.mark.parametrize(("most", "lines"), [(20, 10), (4, 5)])
def test_faults_are_told_in_so_many_lines(most, lines):
    rollout = rollout_of({"I": (4, None), "O": (10, [1] * 10)}, {("I", "O"): np.ones((10, 4), int)})
    program = nm.map_rollout(rollout, "truenorth")
    weights = np.where(program.neurons.weights > 0, -program.neurons.weights, program.neurons.weights)
    broken = replace(program, neurons=replace(program.neurons, weights=weights))
    told = explain(broken, nm.prove(rollout, broken), most)
    assert len(told) == lines
    assert "weight -1 for 1 from I[0], 1 frame before" in told[0]
    assert told[-1].startswith("and 6 more") == (most == 4)
