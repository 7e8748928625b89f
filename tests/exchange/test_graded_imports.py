"""Quantised graphs as graded networks: the same integers as the reference of ONNX, at every tensor of integers."""

import numpy as np
import pytest
from graded_networks import values_of
from hypothesis import given, settings
from hypothesis import strategies as st
from quantised_graphs import FAMILIES, Graph, mobilenet, random_graph, resnet, token_mlp, unet

import neuromap as nm
from neuromap.errors import InputError, NotSupportedError
from neuromap.exchange.layers.find_structure import find_structure
from neuromap.exchange.layers.requantise import Meaning, fitted, joined
from neuromap.exchange.layers.take_graded import take_graded
from neuromap.exchange.layers.take_graph import from_torch_file
from neuromap.formats.layers import simplified
from neuromap.network import GradedNeuron

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


def must_be_equal(graph, model, taken):
    """Integers are those of the reference everywhere, but after nodes that are said to miss some."""
    assert set(graph.tensors) <= {*taken.places, "x"}
    wrong = misses(taken, answers(model, taken.places, graph.shown()), graph.tensors[0])
    if not taken.differ:
        assert wrong == {}
    elif wrong:
        first = next(tensor for tensor in graph.tensors if tensor in wrong)
        assert taken.places[first].node in taken.differ


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


def hold_a_random_graph(family, seed, folder):
    graph, output = random_graph(family, seed)
    model = graph.model(output)
    taken = taken_of(model, folder)
    must_be_equal(graph, model, taken)
    if family == "powers":
        assert taken.differ == {}


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("seed", range(14))
def test_a_random_graph_gives_its_integers_at_every_node(family, seed, tmp_path):
    hold_a_random_graph(family, seed, tmp_path)


@pytest.mark.thorough
@pytest.mark.parametrize("family", FAMILIES)
def test_a_campaign_of_random_graphs(family, tmp_path):
    for seed in range(14, 170):
        hold_a_random_graph(family, seed, tmp_path)


@pytest.mark.parametrize("family", ["powers", "scales"])
@pytest.mark.parametrize(
    "make", [resnet, lambda *which: resnet(*which, bottleneck=True), mobilenet, unet, token_mlp],
    ids=["resnet-18", "resnet-50", "mobilenet", "unet", "token-mlp"],
)  # fmt: skip
def test_an_architecture_gives_its_integers_at_every_node(make, family, tmp_path):
    graph, output = make(family, 5)
    model = graph.model(output)
    taken = taken_of(model, tmp_path)
    must_be_equal(graph, model, taken)
    if family == "powers":
        assert taken.differ == taken.off == {}


# Parts that the random graphs do not hold.


def conv_integer(graph, x):
    w = graph.constant(graph.rng.integers(-9, 9, (4, 2, 3, 3)).astype(np.int8), "w")
    sums = graph.op("ConvInteger", [x, w, graph.constant(graph.known[x][2])], pads=[1, 1, 1, 1])
    real = graph.op("Mul", [graph.op("Cast", [sums], to=onnx.TensorProto.FLOAT), graph.constant(np.float32(2**-5))])
    bias = graph.constant(np.arange(4, dtype=np.float32).reshape(1, 4, 1, 1))
    return graph.integers(graph.op("Relu", [graph.op("Add", [real, bias])]), (1, 4, 6, 6), np.float32(0.25))


def sequence(graph, x):
    """Over sequences, whose features come before their rows."""
    w = graph.dequantised(*graph.weights((4, 3, 3)), 0)
    y = graph.integers(graph.op("Conv", [graph.real(x), w], pads=[1, 1], strides=[2]), (1, 4, 5), np.float32(4))
    pooled = graph.op("MaxPool", [graph.real(y)], kernel_shape=[2], strides=[2])
    y = graph.integers(pooled, (1, 4, 2), *graph.known[y][1:])
    return graph.integers(graph.op("GlobalAveragePool", [graph.real(y)]), (1, 4, 1), *graph.known[y][1:])


def open_sums(graph, x):
    """Sums that a mean reads before they are integers: a node sends them whole."""
    real = graph.op("Conv", [graph.real(x), graph.dequantised(*graph.weights((4, 2, 3, 3)), 0)])
    mean = graph.op("GlobalAveragePool", [graph.op("Relu", [real])])
    return graph.integers(graph.op("Flatten", [mean]), (1, 4), np.float32(2))


def open_residual(graph, x):
    real = graph.op("Conv", [graph.real(x), graph.dequantised(*graph.weights((2, 2, 3, 3)), 0)], pads=[1] * 4)
    return graph.integers(graph.op("Relu", [graph.op("Add", [real, graph.real(x)])]), (1, 2, 6, 6), np.float32(4))


def padded(graph, x):
    real = graph.op("Pad", [graph.real(x), graph.constant(np.array([0, 0, 1, 2, 0, 0, 0, 1]))])
    made = graph.op("Conv", [real, graph.dequantised(*graph.weights((4, 2, 3, 3)), 0)])
    return graph.integers(made, (1, 4, 5, 7), np.float32(4))


def crossed_bounds(graph, x):
    """Of bounds in the wrong order the upper one holds."""
    real = graph.op("Conv", [graph.real(x), graph.dequantised(*graph.weights((2, 2, 3, 3)), 0)], pads=[1] * 4)
    one = graph.op("Clip", [real, graph.constant(np.float32(6)), graph.constant(np.float32(0))])
    held = graph.integers(one, (1, 2, 6, 6), np.float32(0.25))
    return graph.integers(graph.op("Add", [graph.real(held), graph.real(x)]), (1, 2, 6, 6), np.float32(0.5))


def shifted_mean(graph, x):
    """What is added to a mean is not divided by its cells."""
    mean = graph.op("AveragePool", [graph.real(x)], kernel_shape=[2, 2], strides=[2, 2])
    moved = graph.op("Add", [mean, graph.constant(np.float32(8 * graph.known[x][1]))])
    scale, shift = (graph.constant(np.float32(part)) for part in ([2, 1], [3, -5]))
    known = [graph.constant(np.zeros(2, np.float32)), graph.constant(np.ones(2, np.float32))]
    normal = graph.op("BatchNormalization", [moved, scale, shift, *known], epsilon=0.0)
    return graph.integers(normal, (1, 2, 3, 3), np.float32(0.25))


def pooled_sums(graph, x):
    """Maxima of sums that no integers are made of: a node of each."""
    found = graph.op("MaxPool", [graph.op("Relu", [graph.real(x)])], kernel_shape=[3, 3], pads=[1] * 4)
    moved = graph.op("Add", [found, graph.constant(np.float32(-3))])
    return graph.integers(moved, (1, 2, 6, 6), np.float32(0.25))


RARE = [conv_integer, sequence, open_sums, open_residual, padded, crossed_bounds, shifted_mean, pooled_sums]


@pytest.mark.parametrize("make", RARE)
def test_a_rarer_way_of_writing_gives_its_integers(make, tmp_path):
    graph = Graph("powers", 1, (1, 3, 9) if make is sequence else (1, 2, 6, 6))
    model = graph.model(make(graph, graph.input()))
    taken = taken_of(model, tmp_path)
    must_be_equal(graph, model, taken)
    assert taken.differ == taken.off == {}


def imported(graph, output, folder):
    onnx.save(graph.model(output), folder / "net.onnx")
    return nm.from_onnx(folder / "net.onnx")


def test_float_outputs_are_sums_in_one_unit(tmp_path):
    graph = Graph("powers", 1, (1, 5))
    x = graph.input()
    w = graph.rng.integers(-9, 9, (5, 3)).astype(np.int8)
    y = graph.op("MatMul", [graph.real(x), graph.dequantised(w, np.float32(0.5), np.int8(0), 1)])
    graph.known[y] = ((1, 3), None, None)
    model = graph.model(x)
    del model.graph.output[:]
    model.graph.output.append(onnx.helper.make_tensor_value_info(y, onnx.TensorProto.FLOAT, (1, 3)))
    taken = taken_of(model, tmp_path)
    node, elements, unit = taken.reals[y]
    (shown,) = answers(model, [x, y], graph.shown(1))
    zero = taken.network.nodes["x"].graded.zero_point
    frames = {"x": (shown[x].astype(int) - zero).astype(np.int32)}
    assert (values_of(taken.network, frames)[node][0][elements] * unit == shown[y].ravel()).all()


def test_outputs_whose_features_have_scales_of_their_own_are_compared_in_one_unit(tmp_path):
    graph = Graph("scales", 1, (1, 5))
    x = graph.input()
    w = graph.constant(graph.rng.integers(-90, 90, (5, 3)).astype(np.int8), "w")
    scales, zeros = graph.constant(np.float32([0.01, 0.3, 0.05])), graph.constant(np.zeros(3, np.int8))
    y = graph.op("MatMul", [graph.real(x), graph.op("DequantizeLinear", [w, scales, zeros], axis=1)])
    model = graph.model(x)
    del model.graph.output[:]
    model.graph.output.append(onnx.helper.make_tensor_value_info(y, onnx.TensorProto.FLOAT, (1, 3)))
    taken = taken_of(model, tmp_path)
    node, elements, unit = taken.reals[y]
    assert len(np.unique(unit)) == 1
    assert taken.network.nodes[node].graded.scale == unit[0]
    shown = answers(model, [x, y], graph.shown(20))
    zero = taken.network.nodes["x"].graded.zero_point
    values = values_of(taken.network, {"x": np.stack([(a[x].astype(int) - zero).ravel() for a in shown])})[node]
    theirs = np.stack([a[y].ravel() for a in shown])
    assert np.abs(values[:, elements] * unit - theirs).max() < 1e-3 * np.abs(theirs).max()
    assert (values[:, elements].argmax(1) == theirs.argmax(1)).all()


def test_a_shape_that_was_not_believed_is_named(tmp_path):
    graph = Graph("powers", 1, (1, 5))
    y = graph.dense(graph.input(), 3)
    model = graph.model(y)
    model.graph.output[0].type.tensor_type.shape.dim[1].dim_value = 4
    onnx.save(model, tmp_path / "net.onnx")
    found = nm.from_onnx(tmp_path / "net.onnx")
    (output,) = found.network.outputs
    assert found.network.nodes[output].size == 3
    assert found.network.nodes[output].graded is not None
    (note,) = [note for note in found.refused if note.about == "shapes"]
    assert note.text == f"the file says (1, 4) of {y}; its operators give (1, 3), used"


def test_sums_of_two_scales_that_leave_the_network_are_nearly_exact(tmp_path):
    graph = Graph("scales", 1, (1, 6))
    x = graph.input()
    w = graph.dequantised(graph.rng.integers(-9, 9, (6, 6)).astype(np.int8), np.float32(0.5), np.int8(0), 1)
    y = graph.integers(graph.op("MatMul", [graph.real(x), w]), (1, 6), np.float32(graph.known[x][1] * 1.5))
    total = graph.op("Add", [graph.real(x), graph.real(y)])
    model = graph.model(x)
    del model.graph.output[:]
    model.graph.output.append(onnx.helper.make_tensor_value_info(total, onnx.TensorProto.FLOAT, (1, 6)))
    taken = taken_of(model, tmp_path)
    node, elements, unit = taken.reals[total]
    (shown,) = answers(model, [x, total], graph.shown(1))
    frames = {"x": (shown[x].astype(int) - taken.network.nodes["x"].graded.zero_point).astype(np.int32)}
    reals = values_of(taken.network, frames)[node][0][elements] * unit
    assert np.allclose(reals, shown[total].ravel(), rtol=1e-4, atol=0.01 * float(graph.known[x][1]))


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("Sigmoid", "is not a bound, factor or shift, which graded neurons have"),
        ("Softmax", "is not a bound, factor or shift, which graded neurons have"),
        ("Sqrt", "is not a bound, factor or shift, which graded neurons have"),
    ],
)
def test_what_graded_neurons_do_not_compute_is_left_at_structure_in_one_line(kind, said, tmp_path):
    graph = Graph("scales", 0, (1, 2, 6, 6))
    x = graph.conv(graph.input())
    x = graph.integers(graph.op(kind, [graph.real(x)]), graph.known[x][0])
    found = imported(graph, graph.conv(x), tmp_path)
    (note,) = [note for note in found.refused if note.about == "weights"]
    assert said in note.text
    assert "quantise it again" in note.remedy
    assert not found.network.is_graded


def sum_with_a_constant(graph, x):
    return graph.op("Sum", [graph.real(x), graph.real(x), graph.constant(np.float32(20))])


def quotient_of_integers(graph, x):
    w = graph.constant(graph.rng.integers(-9, 9, (2, 2, 3, 3)).astype(np.int8), "w")
    sums = graph.op("ConvInteger", [x, w, graph.constant(graph.known[x][2])], pads=[1] * 4)
    return graph.op("Cast", [graph.op("Div", [sums, graph.constant(np.int32(64))])], to=onnx.TensorProto.FLOAT)


def mean_of_integers(graph, x):
    w = graph.constant(graph.rng.integers(-9, 9, (2, 2, 3, 3)).astype(np.int8), "w")
    sums = graph.op("ConvInteger", [x, w, graph.constant(graph.known[x][2])], pads=[1] * 4)
    means = graph.op("ReduceMean", [sums, graph.constant(np.array([2, 3]))], keepdims=1)
    return graph.op("Cast", [means], to=onnx.TensorProto.FLOAT)


def pad_by_what_is_not_known(graph, x):
    pads = graph.constant(np.array([0, 0, 1, 1, 0, 0, 1, 1]))
    return graph.op("Pad", [graph.real(x), pads, graph.op("Exp", [graph.constant(np.float32(1.6))])])


def sum_over_frames(graph, x):
    return graph.op("ReduceSum", [graph.real(x), graph.constant(np.array([0]))], keepdims=1)


@pytest.mark.parametrize(
    "make",
    [sum_with_a_constant, quotient_of_integers, mean_of_integers, pad_by_what_is_not_known, sum_over_frames],
)
def test_what_would_be_read_as_something_else_is_left_at_structure(make, tmp_path):
    n_frames = 2 if make is sum_over_frames else 1
    graph = Graph("powers", 1, (n_frames, 2, 6, 6))
    wide = {pad_by_what_is_not_known: (1, 2, 8, 8), mean_of_integers: (1, 2, 1, 1)}.get(make, (1, 2, 6, 6))
    y = graph.integers(make(graph, graph.input()), wide, np.float32(0.5))
    found = imported(graph, y, tmp_path)
    assert [note.about for note in found.refused] == ["weights"]
    assert not found.network.is_graded


@pytest.mark.parametrize("place", ["input", "middle", "end"])
@pytest.mark.parametrize(
    ("scale", "said"), [(0, "is 0"), (np.nan, "is nan"), (np.inf, "is inf"), ([1, -2], "at 1 is -2")]
)
def test_a_scale_that_is_no_divisor_is_refused_wherever_it_is(place, scale, said, tmp_path):
    """At the end of a graph too, where other functions are left to the host."""
    graph = Graph("powers", 1, (1, 2, 6, 6))
    scale = np.asarray(scale, np.float32)
    wrong = {"scale": scale, "zero": np.zeros(scale.shape, np.uint8)}
    graph.kind = np.uint8

    def quantised(real, shape, at):
        return graph.integers(real, shape, *(wrong.values() if at == place else (np.float32(0.5), np.uint8(0))))

    x = quantised("x", graph.shape, "input")
    for at in ("middle", "end"):
        kernel = graph.dequantised(*graph.weights((2, 2, 1, 1)), 0)
        x = quantised(graph.op("Conv", [graph.real(x), kernel]), graph.shape, at)
    with pytest.raises(
        InputError, match=rf"node \S+: its scale {said}; a scale is a positive number, quantise"
    ) as caught:
        imported(graph, x, tmp_path)
    assert "\n" not in str(caught.value)


def test_attention_is_left_at_structure_in_one_line(tmp_path):
    graph = Graph("scales", 0, (1, 4, 6))
    x = graph.input()
    q, k = graph.dense(x, 5), graph.dense(x, 5)
    turned = graph.op("Transpose", [graph.real(k)], perm=[0, 2, 1])
    scores = graph.integers(graph.op("MatMul", [graph.real(q), turned]), (1, 4, 4))
    (note,) = [note for note in imported(graph, scores, tmp_path).refused if note.about == "weights"]
    assert "MatMul is not a sum of values" in note.text


def test_sums_beyond_31_bits_are_refused_with_the_bound(tmp_path):
    graph = Graph("scales", 0, (1, 70000))
    graph.kind = np.uint8
    x = graph.input()
    w = np.full((70000, 1), 127, np.int8)
    y = graph.op("MatMul", [graph.real(x), graph.dequantised(w, np.float32(0.5), np.int8(0), 1)])
    y = graph.integers(y, (1, 1))
    (note,) = [note for note in imported(graph, y, tmp_path).refused if note.about == "weights"]
    assert "graded neurons add up to 2**31 - 1 = 2147483647" in note.text


def test_float_graphs_name_the_calibration_set(tmp_path):
    graph = Graph("scales", 0, (1, 5))
    w = graph.constant(np.ones((5, 2), np.float32))
    real = graph.op("Relu", [graph.op("MatMul", ["x", w])])
    graph.known[real] = ((1, 2), None, None)
    model = graph.model(real)
    model.graph.output[0].type.tensor_type.elem_type = onnx.TensorProto.FLOAT
    onnx.save(model, tmp_path / "net.onnx")
    found = nm.from_onnx(tmp_path / "net.onnx")
    assert "quantise it by images (--calibrate SOURCE; in Python calibration=)" in found.refused[-1].remedy


# Rounding, by brute force.


@settings(deadline=None)
@given(
    unit=st.floats(1e-6, 1e-1),
    scale=st.floats(1e-3, 1.0),
    zero=st.integers(-128, 127),
    reach=st.integers(1, 3000),
    fused=st.booleans(),
    rest=st.sampled_from([0.0, 0.01]),
)
def test_a_ratio_rounds_as_the_graph_does_or_says_at_how_many_sums_not(unit, scale, zero, reach, fused, rest):
    unit, scale = np.float64(np.float32(unit)), np.float64(np.float32(scale))
    one = np.ones(1)
    reals = one * unit, one * scale
    meaning = Meaning(*reals, zero, -128 - zero, 127 - zero, fused, rest=one * rest * (not fused))
    found = fitted(meaning, np.array([-reach]), np.array([reach]))
    sums = np.arange(-reach, reach + 1)
    expected = meaning.values(sums[None])[0]
    rounded = GradedNeuron(-128 - zero, 127 - zero, int(found.multiplier[0]), int(found.shift[0])).respond(sums)
    assert np.abs(rounded - expected).sum() == found.differ[0]


@given(st.data())
def test_a_power_of_two_is_taken_as_it_is(data):
    shift = data.draw(st.integers(0, 12))
    one = np.ones(1)
    meaning = Meaning(one * 2.0**-shift, one, 0, -128, 127)
    found = fitted(meaning, np.array([-(2**shift) * 99]), np.array([2**shift * 99]))
    assert (found.multiplier[0], found.shift[0], found.differ[0]) == (1, shift, 0)


@settings(deadline=None, max_examples=45)
@given(scales=st.tuples(*[st.floats(0.01, 0.2)] * 3), zeros=st.tuples(*[st.integers(0, 255)] * 3))
def test_a_sum_of_two_scales_is_proven_for_all_pairs(scales, zeros):
    first, second, scale = (np.float32(part) for part in scales)
    values = tuple(np.arange(256) - zero for zero in zeros[:2])
    reals = values[0].astype(np.float32)[:, None] * first + values[1].astype(np.float32)[None] * second
    bounds = -zeros[2], 255 - zeros[2]
    made = np.clip(np.rint(reals / scale), *bounds).astype(np.int64)
    found = joined(made, values, (float(first), float(second)), float(scale), bounds)
    total = found.weights[0] * values[0][:, None] + found.weights[1] * values[1][None]
    neuron = GradedNeuron(*bounds, *found.ratio)
    assert np.count_nonzero(neuron.respond(total.ravel()) != made.ravel()) == found.differ
    exact = (values[0][:, None] * np.float64(first) + values[1][None] * np.float64(second)) / np.float64(scale)
    assert found.differ <= np.count_nonzero(np.abs(exact % 1 - 0.5) < 1e-4)  # where float32 decides a tie


# Float networks, by a calibration set.


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch")


def float_module(torch):
    nn = torch.nn
    torch.manual_seed(3)
    module = nn.Sequential(
        nn.Conv2d(1, 6, 3, padding=1), nn.BatchNorm2d(6), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(6, 8, 3, stride=2, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 5),
    )  # fmt: skip
    shown = torch.randn(80, 1, 12, 12)
    module.train()
    module(shown)
    return module.eval(), shown


def test_a_float_module_is_quantised_by_a_calibration_set(torch):
    module, shown = float_module(torch)
    with torch.no_grad():
        expected = module(shown).numpy()
    labels = expected.argmax(1)
    found = nm.from_torch(module, shown[:1], calibration=shown.numpy(), labels=labels)
    network = found.network
    assert network.is_graded
    errors = [note.error for note in found.approximated if note.unit == "of its greatest"]
    (note,) = [note for note in found.approximated if "accuracy" in note.text]
    assert errors[0] < 0.01
    assert errors[1] < 0.03
    assert note.text.endswith("float 1.0000")
    neuron = network.nodes[network.inputs[0]].graded
    frames = np.clip(np.rint(shown.numpy().reshape(80, -1) / np.float32(neuron.scale)), neuron.low, neuron.high)
    values = values_of(network, {network.inputs[0]: frames.astype(np.int32)})[network.outputs[0]]
    assert (values.argmax(1) == labels).mean() > 0.95
    (unit,) = [float(part.text.split()[-1]) for part in found.kept if part.text.startswith("is the sums of")]
    assert np.abs(values * unit - expected).max() < (errors[1] + 1e-4) * np.abs(expected).max()  # the price is its own
    assert all(np.abs(edge.matrix().data).max() <= 127 for edge in network.edges.values())


@pytest.mark.parametrize(
    ("given_set", "said"),
    [
        (np.zeros((3, 7)), r"found shape \[3, 7\]; allowed is \[n, 1, 12, 12\]"),
        (np.full((3, 1, 12, 12), np.nan), "found nan; give finite numbers"),
        (np.full((3, 1, 12, 12), 1e300), "give finite numbers"),  # no float32
        (np.zeros((0, 1, 12, 12)), r"found float64\[0, 1, 12, 12\]; give finite numbers"),
        ([[1.0, 2.0], [3.0]], "give finite numbers"),
        (np.zeros((3, 1, 12, 12)), "found zeros only"),
        ({}, "found nothing"),
    ],
)
def test_a_calibration_set_that_does_not_fit_is_refused(torch, given_set, said):
    module, shown = float_module(torch)
    with pytest.raises(InputError, match=said) as caught:
        nm.from_torch(module, shown[:1], calibration=given_set)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("label", [-1, 1000])
def test_labels_that_are_no_classes_are_refused(torch, label):
    module, shown = float_module(torch)
    with pytest.raises(InputError, match=f"labels: found {label}; .* classes"):
        nm.from_torch(module, shown[:1], calibration=shown[:8], labels=np.full(8, label))


@pytest.mark.parametrize(
    ("stride", "said"), [(1, "3600240004 values; at most 16777216"), (30_000, "3600360009 values in its windows")]
)
def test_more_values_than_may_be_are_not_computed(torch, stride, said):
    module = torch.nn.Sequential(torch.nn.Conv2d(1, 1, 3, stride, padding=30_000), torch.nn.ReLU()).eval()
    with pytest.raises(NotSupportedError, match=said):
        nm.from_torch(module, torch.zeros(1, 1, 4, 4), calibration=np.ones((2, 1, 4, 4)))


def test_what_no_sum_is_is_refused_with_a_calibration_set(torch):
    module = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.GELU(), torch.nn.Linear(3, 2))
    with pytest.raises(NotSupportedError, match="gelu is not a sum, bound, factor or shift"):
        nm.from_torch(module, torch.zeros(1, 4), calibration=np.ones((2, 4)))


def test_a_module_quantised_by_pytorch_gives_its_integers(torch, tmp_path):
    """From the module, and from a file, whose reader knows nothing of what was imported here."""
    import torch.ao.quantization.fx._decomposed

    ops = torch.ops.quantized_decomposed

    class Module(torch.nn.Module):
        def __init__(self):
            super().__init__()
            generator = torch.Generator().manual_seed(0)
            self.register_buffer(
                "weight", torch.randint(-127, 128, (6, 2, 3, 3), dtype=torch.int8, generator=generator)
            )
            self.register_buffer("scales", torch.rand(6, generator=generator) * 0.01 + 0.001)
            self.register_buffer("zeros", torch.zeros(6, dtype=torch.int64))

        def forward(self, x):
            q = ops.quantize_per_tensor(x, 0.05, 3, -128, 127, torch.int8)
            x = ops.dequantize_per_tensor(q, 0.05, 3, -128, 127, torch.int8)
            w = ops.dequantize_per_channel(self.weight, self.scales, self.zeros, 0, -127, 127, torch.int8)
            y = torch.relu(torch.nn.functional.conv2d(x, w, None, 1, 1))
            return ops.quantize_per_tensor(y, 0.07, -128, -128, 127, torch.int8)

    module, shown = Module(), torch.randn(4, 2, 5, 5, generator=torch.Generator().manual_seed(1)) * 3
    torch.export.save(torch.export.export(module, (shown[:1],)), tmp_path / "net.pt2")
    network, of_file = (
        found.network for found in (nm.from_torch(module, shown[:1]), from_torch_file(tmp_path / "net.pt2"))
    )
    (name,), (output,) = network.inputs, network.outputs
    neuron = network.nodes[name].graded
    q = ops.quantize_per_tensor(shown, 0.05, 3, -128, 127, torch.int8).numpy().astype(int) - neuron.zero_point
    frames = q.transpose(0, 2, 3, 1).reshape(4, -1).astype(np.int32)
    expected = module(shown).numpy().astype(int).transpose(0, 2, 3, 1).reshape(4, -1)
    values = values_of(network, {name: frames})[output] + network.nodes[output].graded.zero_point
    assert np.abs(values - expected).sum() <= 2  # float32 sums, in an order of PyTorch's own
    again = values_of(of_file, {of_file.inputs[0]: frames})[of_file.outputs[0]]
    assert np.array_equal(again + of_file.nodes[of_file.outputs[0]].graded.zero_point, values)


@pytest.mark.parametrize("zero", ["x", "w", "y"])
def test_zero_points_of_a_type_that_an_operator_does_not_have_give_no_integers(zero, tmp_path):
    from onnx import helper, numpy_helper

    types = {"x": np.uint8, "w": np.int8, "y": np.uint8}
    held = {"w": np.arange(-8, 8, dtype=np.int8).reshape(2, 2, 2, 2)}
    held |= {f"{name}s": np.float32(0.5) for name in types}

    def read(of):
        stored = held | {f"{name}z": np.zeros((), of.get(name, kind)) for name, kind in types.items()}
        reads = ["x", "xs", "xz", "w", "ws", "wz", "ys", "yz"]
        graph = helper.make_graph(
            [helper.make_node("QLinearConv", reads, ["y"])], "g",
            [helper.make_tensor_value_info("x", onnx.TensorProto.UINT8, [1, 2, 4, 4])],
            [helper.make_empty_tensor_value_info("y")],
            [numpy_helper.from_array(np.asarray(value), name) for name, value in stored.items()],
        )  # fmt: skip
        return taken_of(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)]), tmp_path)

    assert read({}).places
    with pytest.raises((InputError, NotSupportedError)) as refused:
        read({zero: np.int16})
    assert "\n" not in str(refused.value)
