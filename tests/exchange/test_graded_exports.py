"""Graded networks as ONNX files: the reference of ONNX gives their values, and what is imported again does too."""

from pathlib import Path

import numpy as np
import pytest
from graded_networks import values_of
from quantised_graphs import FAMILIES, random_graph

import neuromap as nm
from neuromap.errors import NotSupportedError
from neuromap.network import Dense, GradedNeuron, build_network
from neuromap.simulation import random_frames

onnx = pytest.importorskip("onnx")


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("seed", range(4))
def test_an_exported_network_gives_its_values_and_comes_back(family, seed, tmp_path):
    from onnx.reference import ReferenceEvaluator

    graph, output = random_graph(family, seed)
    onnx.save(graph.model(output), tmp_path / "net.onnx")
    network = nm.from_onnx(tmp_path / "net.onnx").network
    notes = nm.to_onnx(network, tmp_path / "out.onnx")
    model = onnx.load(tmp_path / "out.onnx")
    onnx.checker.check_model(model, full_check=True)
    names = [operator.name for operator in model.graph.node]
    assert len(set(names)) == len(names)  # onnxruntime refuses two operators of one name
    again = nm.from_onnx(tmp_path / "out.onnx").network
    frames = random_frames(network, 4, seed=seed)
    values = values_of(network, frames)
    (name,), (end,) = network.inputs, network.outputs
    shapes = {key: node.shape for key, node in network.nodes.items()}
    if shapes == {key: node.shape for key, node in again.nodes.items()}:  # else neurons have ratios of their own
        assert (values_of(again, frames)[end] == values[end]).all() or notes
        for key, edge in network.edges.items():
            assert (edge.matrix() != again.edges[key].matrix()).nnz == 0
    else:
        assert (family, seed) == ("powers", 2)
    first, last = network.nodes[name], network.nodes[end]
    evaluator = ReferenceEvaluator(model)
    for k in range(4):
        rows, columns, features = first.shape
        image = frames[name][k].reshape(rows, columns, features).transpose(2, 0, 1)[None]
        (found,) = evaluator.run(None, {name: image.astype(np.float32) * np.float32(first.graded.scale)})
        found = found[0].transpose(1, 2, 0).ravel().astype(int) - last.graded.zero_point
        assert (found == values[end][k]).all() or notes


def small_network(**edges):
    nodes = {
        "I": (2, GradedNeuron(-128, 127)),
        "H": (2, GradedNeuron(0, 255, 3, 9)),
        "O": (1, GradedNeuron(-(2**20), 2**20)),
    }
    given = {("I", "H"): [[1, 2], [3, 4]], ("H", "O"): [[5, -6]]}
    return build_network(nodes, {**given, **{tuple(key.split("_")): value for key, value in edges.items()}})


def test_a_wide_output_is_written_as_numbers(tmp_path):
    network = small_network()
    assert nm.to_onnx(network, tmp_path / "out.onnx") == ()
    again = nm.from_onnx(tmp_path / "out.onnx").network
    frames = random_frames(network, 5, seed=0)
    assert (values_of(again, frames)["O"] == values_of(network, frames)["O"]).all()


def test_a_wide_output_keeps_its_bounds(tmp_path):
    from onnx.reference import ReferenceEvaluator

    nodes = {"I": (2, GradedNeuron(-128, 127)), "O": (2, GradedNeuron(-300, 2**20))}
    network = build_network(nodes, {("I", "O"): [[100, 0], [0, 3]]}, outputs=["O"])
    assert nm.to_onnx(network, tmp_path / "out.onnx") == ()
    shown = np.array([[-5, 7], [5, -7]])
    expected = values_of(network, {"I": shown})["O"]
    evaluator = ReferenceEvaluator(onnx.load(tmp_path / "out.onnx"))
    found = [evaluator.run(None, {"I": x.reshape(1, 2, 1, 1).astype(np.float32)})[0].ravel() for x in shown]
    assert np.array_equal(found, expected)
    assert expected.tolist() == [[-300, 21], [500, -21]]


def of_reference(path, shown):
    from onnx.reference import ReferenceEvaluator

    evaluator = ReferenceEvaluator(onnx.load(path))
    return [evaluator.run(None, {"I": x.reshape(1, -1, 1, 1).astype(np.float32)})[0].ravel() for x in shown]


@pytest.mark.parametrize(("low", "high"), [(-128, 127), (0, 255), (-(2**15), 2**15 - 1)])
def test_sums_beyond_32_bits_saturate_as_they_do_here(low, high, tmp_path):
    """Whose bounds are those of the type: ONNX's reference wrapped them before it saturated."""
    nodes = {"I": (2, GradedNeuron(0, 255)), "O": (2, GradedNeuron(low, high, multiplier=2**20))}
    network = build_network(nodes, {("I", "O"): [[100, 100], [-100, -100]]}, outputs=["O"])
    assert nm.to_onnx(network, tmp_path / "out.onnx") == ()
    shown = np.array([[255, 255], [1, 1], [0, 0]])
    assert np.array_equal(of_reference(tmp_path / "out.onnx", shown), values_of(network, {"I": shown})["O"])


def test_groups_of_a_matrix_are_exported(tmp_path):
    groups = Dense((1, 1, 4), (1, 1, 4), weights=np.arange(8).reshape(2, 2, 2), groups=2)
    nodes = {"I": ((1, 1, 4), GradedNeuron(0, 255)), "O": ((1, 1, 4), GradedNeuron(0, 255, 1, 3))}
    network = build_network(nodes, {("I", "O"): groups}, outputs=["O"])
    nm.to_onnx(network, tmp_path / "out.onnx")
    shown = np.random.default_rng(0).integers(0, 256, (5, 4))
    assert np.array_equal(of_reference(tmp_path / "out.onnx", shown), values_of(network, {"I": shown})["O"])


@pytest.mark.parametrize("features", [False, True])
def test_an_output_of_17_bits_is_rounded_exactly(features, tmp_path):
    """For every sum, those at ties too; digits.toml and its like are such networks."""
    from onnx.reference import ReferenceEvaluator

    unit = GradedNeuron(-(2**15), 2**15, [3, 12345] if features else 3, [1, 9] if features else 1, zero_point=7)
    nodes = {"I": ((1, 1, 1), GradedNeuron(-(2**15), 2**15 - 1, scale=1.0)), "O": ((1, 1, 2), unit)}
    network = build_network(nodes, {("I", "O"): [[1], [-2]]}, outputs=["O"])
    assert nm.to_onnx(network, tmp_path / "out.onnx") == ()
    model = onnx.load(tmp_path / "out.onnx")
    onnx.checker.check_model(model, full_check=True)
    values = np.r_[-(2**15), -22000:-21000:7, -9:10, 21000:22000:7, 2**15 - 1]
    expected = values_of(network, {"I": values[:, None]})["O"]
    evaluator = ReferenceEvaluator(model)
    for value, wanted in zip(values, expected, strict=True):
        (found,) = evaluator.run(None, {"I": np.full((1, 1, 1, 1), value, np.float32)})
        assert found.dtype == np.int32
        assert (found.ravel() - 7).tolist() == wanted.tolist()
    again = nm.from_onnx(tmp_path / "out.onnx")
    assert [note.about for note in again.refused] == ["output O.integers"]
    sums = values_of(again.network, {"I": values[:, None]})[again.network.outputs[0]]
    assert (sums == values[:, None] * [1, -2]).all()


def test_the_digits_are_exported_with_the_values_of_the_network(tmp_path):
    from onnx.reference import ReferenceEvaluator

    network = nm.load_network(Path(__file__).parents[2] / "examples" / "graded" / "digits.toml")
    nm.to_onnx(network, tmp_path / "digits.onnx")
    image = random_frames(network, 2, seed=3)["I"][1]
    (found,) = ReferenceEvaluator(onnx.load(tmp_path / "digits.onnx")).run(
        None, {"I": image.reshape(1, 1, 8, 8).astype(np.float32) * np.float32(network.nodes["I"].graded.scale)}
    )
    wanted = nm.reference(nm.Rollout(network, "sequential"), {"I": np.stack([image, image])})["O"][1]
    assert found.ravel().tolist() == wanted.tolist()


@pytest.mark.parametrize(
    ("network", "said"),
    [
        (
            lambda: small_network(H_H=[[1, 0], [0, 1]]),
            "has the cycle H -> H; an ONNX graph is one frame",
        ),
        (lambda: small_network(I_O=[[2**20, 2**20]]), "float32 of ONNX holds integers below"),
        (lambda: build_network({"I": (1, None), "O": (1, 1)}, {("I", "O"): [[1]]}), "is not graded"),
    ],
)
def test_what_onnx_does_not_say_is_refused_in_one_line(network, said, tmp_path):
    with pytest.raises(NotSupportedError, match=said) as caught:
        nm.to_onnx(network(), tmp_path / "out.onnx")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "out.onnx").exists()
