"""Quantised graphs as graded networks: the same integers as the reference of ONNX, at every tensor of integers."""

import numpy as np
import pytest
from quantised_graphs import FAMILIES, random_graph

import neuromap as nm
from neuromap.exchange.layers.find_structure import find_structure
from neuromap.exchange.layers.take_graded import take_graded
from neuromap.formats.layers.operator_graph import simplified
from neuromap.simulation import reference

onnx = pytest.importorskip("onnx")


def taken_of(model, folder):
    from neuromap.formats.onnx import read_onnx

    onnx.save(model, folder / "net.onnx")
    graph = read_onnx(folder / "net.onnx")
    return take_graded(graph, find_structure(simplified(graph)), "net")


def answers(model, tensors, shown):
    """What the reference of ONNX gives at tensors, one dictionary for everything shown."""
    from onnx.reference import ReferenceEvaluator

    whole = onnx.ModelProto()
    whole.CopyFrom(model)
    known = {info.name for info in whole.graph.output}
    for tensor in tensors:
        if tensor not in known and tensor != "x":
            whole.graph.output.append(onnx.helper.make_empty_tensor_value_info(tensor))
    evaluator = ReferenceEvaluator(whole)
    names = [info.name for info in whole.graph.output]
    return [{"x": x, **dict(zip(names, evaluator.run(None, {"x": x}), strict=True))} for x in shown]


def values_of(network, frames):
    """Values of all nodes, whatever is shown in the first frame being an input of its own."""
    padded = {name: np.concatenate([np.zeros((1, part.shape[1]), part.dtype), part]) for name, part in frames.items()}
    found = reference(nm.Rollout(network, "sequential"), padded)
    return {name: part[1:] for name, part in found.items()}


def misses(taken, expected, first):
    """Tensors of integers at which the network gives other ones, with how many."""
    network = taken.network
    (name,) = network.inputs
    held = taken.places[first]
    frames = np.zeros((len(expected), network.nodes[name].size), np.int32)
    for k, one in enumerate(expected):
        frames[k, held.elements] = one[first].ravel().astype(np.int64) - network.nodes[name].graded.zero_point
    values = values_of(network, {name: frames})
    found = {}
    for tensor, place in taken.places.items():
        zero = network.nodes[place.node].graded.zero_point
        wrong = sum(
            int((values[place.node][k][place.elements] + zero != one[tensor].ravel().astype(np.int64)).sum())
            for k, one in enumerate(expected)
        )
        if wrong:
            found[tensor] = wrong
    return found


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("seed", range(14))
def test_a_random_graph_gives_its_integers_at_every_node(family, seed, tmp_path):
    graph, output = random_graph(family, seed)
    model = graph.model(output)
    taken = taken_of(model, tmp_path)
    assert set(graph.tensors) <= {*taken.places, "x"}
    wrong = misses(taken, answers(model, taken.places, graph.shown()), graph.tensors[0])
    # Ties to an odd zero point, and float32 that rounds a tie away, are told; where nothing is told nothing is missed.
    if not taken.differ:
        assert wrong == {}
    elif wrong:
        first = next(tensor for tensor in graph.tensors if tensor in wrong)
        assert taken.places[first].node in taken.differ
    if family == "powers":
        assert taken.differ == {}
