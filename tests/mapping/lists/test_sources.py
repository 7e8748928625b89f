"""Nodes that no edge feeds: their bias drives them from tick 1 on, in the definition and on both kinds of cores."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import neuromap as nm
from neuromap.network.edge import Edge
from neuromap.network.network import Network
from neuromap.network.node import Node
from neuromap.network.spiking_neuron import CurrentNeuron, LeakNeuron
from neuromap.network.transforms import Dense
from neuromap.simulation.reference_frames import reference
from neuromap.simulation.stimulus import check_frames, random_frames


def network(kind, seed, *, fed=False):
    """A source of four neurons, two layers after it, and perhaps an input."""
    rng = np.random.default_rng(seed)
    unit = 64 if kind == "current" else 1

    def neuron(size, most):
        bias = rng.integers(0, most, size) * unit
        if kind == "current":
            return CurrentNeuron(threshold=3 * unit, voltage_decay=rng.integers(0, 4097), bias=bias)
        return LeakNeuron(threshold=3, leak=bias, floor=20)

    nodes = {"S": Node("S", (1, 1, 4), neuron=neuron(4, 3)), "A": Node("A", (1, 1, 5), neuron=neuron(5, 1))}
    nodes |= {"O": Node("O", (1, 1, 2), neuron=neuron(2, 1)), **({"I": Node("I", (1, 1, 3))} if fed else {})}
    pairs = [("S", "A", 2), ("A", "O", 1), *([("I", "A", 3)] if fed else [])]

    def edge(u, v, delay):
        weights = rng.integers(-1, 4, (nodes[v].size, nodes[u].size)) * unit
        return Edge(u, v, Dense(nodes[u].shape, nodes[v].shape, weights=weights), delay=delay)

    return Network("sources", nodes, {(u, v): edge(u, v, delay) for u, v, delay in pairs})


def has_bias(net):
    arrays = net.nodes["S"].neuron.arrays
    return any(arrays[name].any() for name in ("bias", "leak") if name in arrays)


@pytest.mark.parametrize(("kind", "chip"), [("current", "loihi1"), ("leak", "truenorth")])
@given(seed=st.integers(0, 2**32 - 1), fed=st.booleans())
@settings(deadline=None, max_examples=12)
def test_chips_compute_sources_as_defined(kind, chip, seed, fed):
    net = network(kind, seed, fed=fed)
    if has_bias(net):
        rollout = nm.Rollout(net, "streaming")
        found = nm.verify(rollout, nm.map_rollout(rollout, chip, placer="row-major"), n_frames=40, threads=1)
        assert found.verified, found.message
        assert found.n_frames == 40


def test_a_source_computes_from_frame_1_on_and_responses_count_from_it():
    nodes = {"S": Node("S", (1, 1, 1), neuron=CurrentNeuron(threshold=64, voltage_decay=0, bias=65))}
    nodes["O"] = Node("O", (1, 1, 1), neuron=CurrentNeuron(threshold=0))
    edges = {("S", "O"): Edge("S", "O", Dense((1, 1, 1), (1, 1, 1), weights=[[64]]), delay=3)}
    net = Network("one", nodes, edges)
    assert (net.roots, net.inputs, net.sources) == (("S",), (), ("S",))
    rollout = nm.Rollout(net, "streaming")
    frames = reference(rollout, random_frames(net, 6))
    assert frames["S"][:, 0].tolist() == [False, True, True, True, True, True]
    assert np.flatnonzero(frames["O"][:, 0]).tolist() == [4, 5]
    assert rollout.first_response("O") == rollout.full_response("O") == 3


def test_frames_without_an_input_are_rows_of_no_values():
    net = network("current", 0)
    frames = random_frames(net, 7)
    assert {name: rows.shape for name, rows in frames.items()} == {"S": (7, 0)}
    assert check_frames({}, net) == {}
    program = nm.map_rollout(nm.Rollout(net, "streaming"), "loihi1")
    assert nm.simulate(program, frames).n_frames == 7


def test_a_source_comes_back_from_its_file(tmp_path):
    net = network("current", 1)
    net.save(tmp_path / "net.toml")
    again = nm.load_network(tmp_path / "net.toml")
    assert again.sources == ("S",)
    assert np.array_equal(again.nodes["S"].neuron.bias, net.nodes["S"].neuron.bias)
