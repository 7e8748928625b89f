"""Random networks in frame code: what is imported computes the spikes that ONNX and PyTorch compute."""

import numpy as np
import pytest
from frame_layers import descriptions, images, onnx_model, spikes_of, torch_module
from hypothesis import assume, given, settings

import neuromap as nm


def imported(found, description):
    """Spikes of the imported network, which has weights."""
    assert found.network.nodes[found.network.outputs[0]].threshold is not None, [n.text for n in found.refused]
    return spikes_of(found.network, images(description))


def must_be_exact(found):
    """Leave out draws in which some neuron lies so near a tie that rounding decides, as the import says."""
    assume(not any(note.unit == "neurons" for note in found.approximated))


@settings(deadline=None, max_examples=60)
@given(description=descriptions())
def test_an_onnx_model_and_its_network_give_the_same_spikes(description, tmp_path_factory):
    onnx = pytest.importorskip("onnx")
    from onnx.reference import ReferenceEvaluator

    model = onnx_model(description)
    path = tmp_path_factory.mktemp("onnx") / "random.onnx"
    onnx.save(model, path)
    found = nm.from_onnx(path)
    must_be_exact(found)
    expected = ReferenceEvaluator(onnx_model(description, 12)).run(None, {"x": images(description)})[0]
    assert np.array_equal(imported(found, description), expected > 0)


@settings(deadline=None, max_examples=6)
@given(description=descriptions())
def test_a_module_and_its_network_give_the_same_spikes(description):
    torch = pytest.importorskip("torch")
    shown = torch.from_numpy(images(description))
    module = torch_module(description)
    found = nm.from_torch(module, shown[:1])
    must_be_exact(found)
    with torch.no_grad():
        expected = module(shown).numpy()
    assert np.array_equal(imported(found, description), expected > 0)


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch")


class Weighted:
    """Makes a module of one dense layer with given weights, an activation and what follows."""

    def __init__(self, torch, weights, activation, after=lambda y: y):
        class Module(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.h = torch.nn.Linear(len(weights[0]), len(weights), bias=False)
                self.h.weight.data = torch.tensor(weights)

            def forward(self, x):
                return after(activation(self.h(x)))

        self.module, self.torch = Module(), torch

    def imported(self, n_inputs):
        return nm.from_torch(self.module, self.torch.zeros(1, n_inputs))


@pytest.mark.parametrize(
    ("activation", "theta"),
    [
        ("lambda y: (y >= 0).float()", 0),  # a tie spikes
        ("lambda y: (y > 0).float()", 1),  # a tie is silent
        ("lambda y: (y >= 1.5).float()", 2),
        ("lambda y: torch.clamp(y, 1, 2) - 1", 2),
        ("lambda y: y + ((y > 2).float() - y).detach()", 3),  # a straight-through gradient is no node
        ("lambda y: torch.floor(torch.sigmoid(y) + 0.5)", 0),
    ],
)
def test_the_threshold_is_the_least_sum_that_gives_the_greater_value(torch, activation, theta):
    step = eval(activation, {"torch": torch})
    if "clamp" in activation:
        found = Weighted(torch, [[1.0, 1.0]], step).imported(2)
    else:
        found = Weighted(torch, [[1.0, 1.0, 1.0, -1.0]], step).imported(4)
    network = found.network
    assert network.nodes["h"].threshold.tolist() == [theta]
    assert set(network.edges) == {("x", "h")}


def test_a_neuron_that_spikes_below_a_sum_has_weights_of_the_other_sign(torch):
    found = Weighted(torch, [[1.0, 2.0, -1.0]], lambda y: (y < 1).float()).imported(3)
    assert found.network.edges["x", "h"].matrix().toarray().tolist() == [[-1, -2, 1]]
    assert found.network.nodes["h"].threshold.tolist() == [0]


def test_votes_that_are_interleaved_are_put_in_the_order_of_classes(torch):
    weights = [[float(i == j) for j in range(6)] for i in range(6)]
    found = Weighted(torch, weights, lambda y: (y > 0).float(), lambda y: y.view(-1, 2, 3).sum(1)).imported(6)
    assert found.network.nodes["h"].shape == (3, 1, 2)
    assert found.network.edges["x", "h"].matrix().argmax(axis=1).tolist() == [0, 3, 1, 4, 2, 5]
    assert any("2 of 6 for each of 3 classes" in note.text for note in found.kept)


@pytest.mark.parametrize(
    ("activation", "words"),
    [
        ("torch.relu", "its value after relu is a number, no step makes it a spike"),
        ("lambda y: torch.sign(y)", "its neurons take more than two values"),
        ("lambda y: torch.nn.functional.gelu(y)", "gelu takes more than two values"),
    ],
)
def test_what_is_not_in_frame_code_is_structure_and_says_why(torch, activation, words):
    step = eval(activation, {"torch": torch})
    after = torch.nn.Linear(1, 2)
    found = Weighted(torch, [[1.0, 1.0, -1.0]], step, after).imported(3)
    assert len(found.network.nodes) == 3
    assert found.network.nodes["h"].threshold is None
    (note,) = [note for note in found.refused if note.about == "weights"]
    assert f"node h: {words}" in note.text
    assert note.remedy


def test_float_weights_are_refused_and_scaled_integers_are_not(torch):
    def step(y):
        return (y >= 0.3).float()

    scaled = Weighted(torch, [[0.5, -0.25, 0.0]], step).imported(3)
    assert scaled.network.edges["x", "h"].matrix().toarray().tolist() == [[2, -1, 0]]
    assert scaled.network.nodes["h"].threshold.tolist() == [2]  # 0.25 times 2 is the least sum of 0.3 or more
    found = Weighted(torch, [[0.5123, -0.2711, 0.7]], step).imported(3)
    assert any("not integers times a scale" in note.text for note in found.refused)
