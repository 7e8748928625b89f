"""Operators with several outputs in networks of today: attention, ShuffleNet's unit, YOLO's C2f, from both readers."""

import itertools
from math import prod

import numpy as np
import pytest
from frame_layers import spikes_of
from hypothesis import given, settings
from hypothesis import strategies as st

import neuromap as nm
from neuromap.errors import NotSupportedError

onnx = pytest.importorskip("onnx", reason="its files are read (the extra onnx)")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402

RNG = np.random.default_rng(5)


class Model:
    """An ONNX model while it is written."""

    def __init__(self, opset=18):
        self.nodes, self.stored, self.opset = [], [], opset

    def keep(self, array, name=""):
        name = name or f"stored{len(self.stored)}"
        self.stored.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def weights(self, *shape):
        return RNG.integers(-1, 2, shape).astype(np.float32)

    def add(self, op, *reads, gives=1, name="", **attributes):
        outputs = [f"{op.lower()}{len(self.nodes)}.{k}" for k in range(gives)]
        self.nodes.append(helper.make_node(op, reads, outputs, name=name, **attributes))
        return outputs[0] if gives == 1 else outputs

    def conv(self, name, read, shape, **attributes):
        pads = [(n - 1) // 2 for n in shape[2:]] * 2
        return self.add("Conv", read, self.keep(self.weights(*shape), f"{name}.weight"), pads=pads, **attributes)

    def split(self, read, sizes, axis):
        if self.opset < 13:
            return self.add("Split", read, gives=len(sizes), axis=axis, split=sizes)
        if self.opset >= 18 and len(set(sizes)) == 1:
            return self.add("Split", read, gives=len(sizes), axis=axis, num_outputs=len(sizes))
        return self.add("Split", read, self.keep(np.array(sizes, np.int64)), gives=len(sizes), axis=axis)

    def proto(self, output, *shape):
        ends = [helper.make_tensor_value_info(output, TensorProto.FLOAT, None)]
        source = [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)]
        graph = helper.make_graph(self.nodes, "net", source, ends, self.stored)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=9)

    def imported(self, folder, output, *shape):
        onnx.save(self.proto(output, *shape), folder / "net.onnx")
        return nm.from_onnx(folder / "net.onnx")


def edges_of(found):
    return set(found.network.edges)


ATTENTION = {("x", "qkv"), ("qkv", "scores"), ("qkv", "mixed"), ("scores", "mixed"), ("mixed", "proj")}


def test_attention_by_split_has_its_two_products(tmp_path):
    model = Model()
    qkv = model.add("MatMul", "x", model.keep(model.weights(8, 24), "qkv.weight"))
    q, k, v = model.split(qkv, [8, 8, 8], -1)
    scores = model.add("MatMul", q, model.add("Transpose", k, perm=[0, 2, 1]), name="scores")
    mixed = model.add("MatMul", model.add("Softmax", scores), v, name="mixed")
    found = model.imported(
        tmp_path, model.add("MatMul", mixed, model.keep(model.weights(8, 8), "proj.weight")), 1, 5, 8
    )
    assert edges_of(found) == ATTENTION
    assert found.work == {"qkv": 5 * 8 * 24, "scores": 5 * 5 * 8, "mixed": 5 * 5 * 8, "proj": 5 * 8 * 8}
    assert [node.shape for node in found.network.nodes.values()] == [
        (5, 1, 8), (5, 1, 24), (5, 1, 5), (5, 1, 8), (5, 1, 8),
    ]  # fmt: skip


def test_a_shufflenet_unit_joins_the_half_that_passes_with_the_half_that_is_computed(tmp_path):
    model = Model()
    stem = model.conv("stem", "x", (8, 3, 3, 3))
    left, right = model.split(stem, [4, 4], 1)
    b1 = model.add("Relu", model.conv("b1", right, (4, 4, 1, 1)))
    b3 = model.conv("b3", model.conv("b2", b1, (4, 1, 3, 3), group=4), (4, 4, 1, 1))
    joined = model.add("Concat", left, b3, axis=1)
    groups = model.add("Reshape", joined, model.keep(np.array([1, 2, 4, 6, 6])))
    back = model.keep(np.array([1, 8, 6, 6]))
    shuffled = model.add("Reshape", model.add("Transpose", groups, perm=[0, 2, 1, 3, 4]), back)
    found = model.imported(tmp_path, model.conv("head", shuffled, (2, 8, 1, 1)), 1, 3, 6, 6)
    assert edges_of(found) == {
        ("x", "stem"), ("stem", "b1"), ("b1", "b2"), ("b2", "b3"), ("stem", "head"), ("b3", "head"),
    }  # fmt: skip
    assert found.work["b1"] == 36 * 4 * 4
    assert found.network.nodes["b1"].shape == (6, 6, 4)


def test_a_c2f_block_reads_both_halves_and_every_bottleneck(tmp_path):
    model = Model()
    first, second = model.split(model.conv("cv1", "x", (8, 3, 1, 1)), [4, 4], 1)
    parts = [first, second]
    for k in range(2):
        inner = model.conv(f"m{k}.a", parts[-1], (4, 4, 3, 3))
        parts.append(model.add("Add", parts[-1], model.conv(f"m{k}.b", inner, (4, 4, 3, 3)), name=f"m{k}.add"))
    found = model.imported(tmp_path, model.conv("cv2", model.add("Concat", *parts, axis=1), (8, 16, 1, 1)), 1, 3, 6, 6)
    names = ["x", "cv1", "m0.a", "m0.add", "m1.a", "m1.add", "cv2"]
    assert list(found.network.nodes) == names
    assert edges_of(found) == {
        ("x", "cv1"), ("cv1", "m0.a"), ("m0.a", "m0.add"), ("cv1", "m0.add"), ("m0.add", "m1.a"), ("m1.a", "m1.add"),
        ("m0.add", "m1.add"), ("cv1", "cv2"), ("m0.add", "cv2"), ("m1.add", "cv2"),
    }  # fmt: skip
    assert sum(found.work.values()) == 36 * (8 * 3 + 4 * 4 * 4 * 9 + 16 * 8)


@st.composite
def moves(draw):
    """Splits along any axis whose parts are put together in another order, some of them left out or taken twice."""
    shape, steps = [draw(st.integers(1, 4)), draw(st.integers(1, 4)), draw(st.integers(1, 4))], []
    first = tuple(shape)
    for _ in range(draw(st.integers(1, 3))):
        axis = draw(st.integers(0, 2))
        cuts = sorted(draw(st.sets(st.integers(1, shape[axis] - 1), max_size=3))) if shape[axis] > 1 else []
        sizes = [int(n) for n in np.diff([0, *cuts, shape[axis]])]
        order = draw(st.lists(st.integers(0, len(sizes) - 1), min_size=1, max_size=4))
        shape[axis] = sum(sizes[k] for k in order)
        sign = draw(st.sampled_from([1, -3]))  # the axis, or the same counted from the end
        steps.append((axis + 1 if sign == 1 else axis - 3, sizes, order))
    return first, steps, draw(st.sampled_from([11, 13, 18])), draw(st.integers(0, 2**20))


def step_of(model, read):
    return model.add("Cast", model.add("Greater", read, model.keep(np.float32(0))), to=TensorProto.FLOAT)


@settings(deadline=None, max_examples=60)
@given(drawn=moves())
def test_what_is_split_and_put_together_computes_what_onnx_computes(drawn, tmp_path_factory):
    (features, *sides), steps, opset, seed = drawn
    rng = np.random.default_rng(seed)
    model = Model(opset)

    def conv(read, n_source, n_target):
        weights = rng.integers(-1, 2, (n_target, n_source, 1, 1)).astype(np.float32)
        return step_of(model, model.add("Conv", read, model.keep(weights)))

    tensor = conv("x", features, features)
    for axis, sizes, order in steps:
        parts = model.split(tensor, sizes, axis)
        parts = [parts] if len(sizes) == 1 else parts
        tensor = model.add("Concat", *(parts[k] for k in order), axis=axis)
        if axis % 4 == 1:
            features = sum(sizes[k] for k in order)
    end = conv(tensor, features, 2)
    found = model.imported(tmp_path_factory.mktemp("onnx"), end, 1, drawn[0][0], *sides)
    assert found.network.nodes[found.network.outputs[0]].threshold is not None, [n.text for n in found.refused]
    frames = (rng.random((6, *drawn[0])) < 0.5).astype(np.float32)
    expected = ReferenceEvaluator(model.proto(end, 6, *drawn[0])).run(None, {"x": frames})[0]
    assert np.array_equal(spikes_of(found.network, frames), expected > 0)


def test_a_constant_that_is_split_is_a_constant(tmp_path):
    weights = RNG.integers(-1, 2, (4, 6)).astype(np.float32)
    model = Model()
    first, second = model.split(model.keep(weights, "both.weight"), [2, 4], 1)
    del first
    found = model.imported(tmp_path, step_of(model, model.add("MatMul", "x", second, name="fc")), 1, 4)
    (edge,) = found.network.edges.values()
    assert edge.matrix().toarray().tolist() == weights[:, 2:].T.astype(int).tolist()


def test_a_split_of_the_batch_is_no_split_of_a_frame(tmp_path):
    model = Model()
    first, second = model.split("x", [1, 1], 0)
    found = model.imported(tmp_path, step_of(model, model.add("Sub", first, second)), 2, 3)
    assert all(node.threshold is None for node in found.network.nodes.values())
    assert any("where its Split puts elements is not known" in note.text for note in found.refused)


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch")


def module_of(torch, forward, **layers):
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            for name, layer in layers.items():
                setattr(self, name, layer)

        def forward(self, x):
            return forward(self, x)

    return Net()


def all_inputs(n):
    return np.array(list(itertools.product([0, 1], repeat=n)), np.float32)


REARRANGED = {
    "chunk": lambda torch, y: torch.cat(torch.chunk(y, 3, 1)[::-1], 1),
    "split": lambda torch, y: torch.cat(torch.split(y, [1, 3, 2], -1)[::-1], 1),
    "tensor_split": lambda torch, y: torch.cat(torch.tensor_split(y, 4, 1)[::-1], 1),
    "unbind of rows": lambda torch, y: torch.cat(y.view(-1, 2, 3).unbind(1)[::-1], 1),
    "unbind of columns": lambda torch, y: torch.stack(y.view(-1, 2, 3).unbind(-1), 1).flatten(1),
    "stack at the end": lambda torch, y: torch.stack(y.chunk(2, 1), -1).flatten(1),
    "stack before the end": lambda torch, y: torch.stack(y.view(-1, 2, 3).unbind(1), 2).flatten(1),
}


@pytest.mark.parametrize("name", REARRANGED)
def test_parts_of_a_tensor_in_pytorch_are_those_elements(torch, name):
    first, second = torch.nn.Linear(6, 6, bias=False), torch.nn.Linear(6, 5, bias=False)
    first.weight.data = torch.eye(6) - torch.eye(6).roll(2, 0)
    second.weight.data = torch.from_numpy(np.random.default_rng(1).integers(-1, 2, (5, 6)).astype(np.float32))
    module = module_of(
        torch,
        lambda m, x: (m.h(REARRANGED[name](torch, (m.g(x) > 0).float())) > 0).float(),
        g=first,
        h=second,
    )
    network = nm.from_torch(module, torch.zeros(1, 6)).network
    assert network.nodes["h"].threshold is not None
    shown = all_inputs(6)
    given = {network.inputs[0]: np.concatenate([np.zeros((1, 6)), shown]).astype(bool)}
    spikes = nm.reference(nm.Rollout(network, "sequential"), given)["h"][1:]
    with torch.no_grad():
        assert np.array_equal(spikes, module(torch.from_numpy(shown)).numpy() > 0)


@pytest.mark.parametrize("how", ["chunk", "unbind"])
def test_attention_in_pytorch_is_that_of_onnx(torch, how):
    def forward(m, x):
        q, k, v = m.qkv(x).chunk(3, -1) if how == "chunk" else m.qkv(x).view(1, 5, 3, 8).unbind(2)
        return m.proj(torch.softmax(q @ k.transpose(1, 2), -1) @ v)

    layers = {"qkv": torch.nn.Linear(8, 24), "proj": torch.nn.Linear(8, 8)}
    found = nm.from_torch(module_of(torch, forward, **layers), torch.zeros(1, 5, 8))
    names = {"matmul": "scores", "matmul-2": "mixed"}
    assert {tuple(names.get(end, end) for end in edge) for edge in found.network.edges} == ATTENTION
    assert found.work == {"qkv": 5 * 8 * 24, "matmul": 5 * 5 * 8, "matmul-2": 5 * 5 * 8, "proj": 5 * 8 * 8}


@pytest.mark.filterwarnings("ignore:The tensor attributes:UserWarning")
def test_every_result_of_a_call_with_several_reaches_its_readers(torch):
    layers = {"rnn": torch.nn.LSTM(4, 3, batch_first=True), "out": torch.nn.Linear(3, 2)}

    def forward(m, x):
        _, (_, last) = m.rnn(x)
        values, places = torch.topk(x, 2)
        return m.out(last), places * 2, values

    found = nm.from_torch(module_of(torch, forward, **layers), torch.zeros(1, 5, 4))
    assert edges_of(found) == {("x", "rnn"), ("rnn", "out"), ("x", "topk")}


@pytest.mark.parametrize(("at_zero", "theta"), [(0.0, 1), (1.0, 0)])
def test_a_heaviside_step_spikes_where_it_gives_one(torch, at_zero, theta):
    layer = torch.nn.Linear(4, 2, bias=False)
    layer.weight.data = torch.tensor([[1.0, 1.0, -1.0, -1.0], [1.0, 0.0, -1.0, 0.0]])
    found = nm.from_torch(
        module_of(torch, lambda m, x: torch.heaviside(m.h(x), torch.tensor(at_zero)), h=layer), torch.zeros(1, 4)
    )
    assert found.network.nodes["h"].threshold.tolist() == [theta] * 2
    assert found.network.edges["x", "h"].matrix().toarray().tolist() == layer.weight.tolist()


def test_a_heaviside_step_of_three_values_is_structure(torch):
    layer = torch.nn.Linear(4, 2, bias=False)
    layer.weight.data = torch.ones(2, 4)
    for at_zero in (0.5, 2.0):
        module = module_of(torch, lambda m, x, at=at_zero: torch.heaviside(m.h(x) - 2, torch.tensor(at)), h=layer)
        found = nm.from_torch(module, torch.zeros(1, 4))
        assert found.network.nodes["h"].threshold is None
        assert edges_of(found) == {("x", "h")}


def test_constants_of_a_call_that_is_not_known_are_no_inputs_of_the_network(torch):
    found = nm.from_torch(
        module_of(torch, lambda m, x: torch.hypot(m.h(x), torch.tensor(3.0)), h=torch.nn.Linear(4, 2)),
        torch.zeros(1, 4),
    )
    assert edges_of(found) == {("x", "h"), ("h", "hypot")}


def test_an_error_in_forward_is_named_with_its_class(torch):
    def forward(m, x):
        return m.missing["key"] if prod(x.shape) else x

    with pytest.raises(NotSupportedError, match=r"module Net: .*AttributeError: .*missing") as refused:
        nm.from_torch(module_of(torch, forward), torch.zeros(1, 4))
    assert "\n" not in str(refused.value)
    assert refused.value.__cause__ is not None
