"""Operators of ONNX with several outputs, with too few or too many tensors: all that ONNX itself lists."""

import subprocess
import sys

import numpy as np
import pytest

import neuromap as nm
from neuromap.errors import InputError, NeuromapError, NotSupportedError

onnx = pytest.importorskip("onnx", reason="its files are read (the extra onnx)")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

from neuromap.formats.onnx import read_onnx  # noqa: E402
from neuromap.formats.onnx.inferred_shapes import tensor_shapes, without_weights  # noqa: E402

SEVERAL = [
    schema for schema in onnx.defs.get_all_schemas_with_history() if schema.domain == "" and schema.max_output > 1
]
SCHEMAS = [schema for schema in onnx.defs.get_all_schemas() if schema.domain == ""]
SHAPE = (1, 4, 6, 6)


def write(folder, nodes, outputs, opset=18, stored=(), inputs=("x",), shape=SHAPE):
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in inputs]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
    graph = helper.make_graph(list(nodes), "g", values, ends, list(stored))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    (folder / "net.onnx").write_bytes(model.SerializeToString())
    return folder / "net.onnx"


def branch(name="r"):
    end = helper.make_tensor_value_info(name, TensorProto.FLOAT, None)
    return helper.make_graph([helper.make_node("Relu", ["x"], [name])], "inner", [], [end])


VALUES = {
    "INT": 1, "INTS": [1, 1], "FLOAT": 1.0, "FLOATS": [1.0], "STRING": "mean", "STRINGS": ["a"], "GRAPH": branch(),
    "TENSOR": numpy_helper.from_array(np.ones(1, np.float32)), "TYPE_PROTO": helper.make_tensor_type_proto(1, None),
}  # fmt: skip


def node_of(schema, outputs):
    attributes = {
        name: VALUES[attribute.type.name] for name, attribute in schema.attributes.items() if attribute.required
    }
    if schema.name == "Split":
        attributes["axis"] = 1
    return helper.make_node(schema.name, ["x"] * schema.min_input, outputs, name="several", **attributes)


@pytest.mark.parametrize("left_out", [(), (0,), (0, 1), (1,)], ids=str)
def test_every_output_of_every_operator_with_several_reaches_its_reader(left_out, tmp_path):
    for schema in SEVERAL:
        n = 2 if schema.name == "Split" else min(schema.max_output, 3)
        outputs = ["" if k in left_out else f"o{k}" for k in range(n)]
        used = [name for name in outputs if name]
        readers = [helper.make_node("Neg", [name], [f"read {name}"], name=f"read {name}") for name in used]
        nodes = [node_of(schema, outputs), *readers]
        if not used:
            continue
        graph = read_onnx(write(tmp_path, nodes, [f"read {name}" for name in used], schema.since_version))
        given = {one.gives: one for one in graph.operators}
        if schema.name == "Dropout" and outputs == ["o0", "o1"]:  # which, in evaluation, throws nothing away
            assert "read o1" not in given
            used.remove("o1")
        for name in used:
            reader, sources = given[f"read {name}"], set()
            assert reader.reads == (name,)
            while name in given:
                sources.add(given[name].kind)
                name = given[name].reads[0]
            assert name == "x", (schema.name, schema.since_version)
            assert sources, (schema.name, schema.since_version)


def test_several_outputs_are_one_node_whose_work_counts_once(tmp_path):
    shapes = {"W": (1, 12, 5), "R": (1, 12, 3), "a.weight": (3, 2), "b.weight": (3, 2)}
    stored = [numpy_helper.from_array(np.ones(shape, np.float32), name) for name, shape in shapes.items()]
    nodes = [
        helper.make_node("LSTM", ["x", "W", "R"], ["", "h", "c"], hidden_size=3, name="rnn"),
        helper.make_node("MatMul", ["h", "a.weight"], ["ya"]),
        helper.make_node("MatMul", ["c", "b.weight"], ["yb"]),
    ]
    found = nm.from_onnx(write(tmp_path, nodes, ["ya", "yb"], stored=stored, shape=(1, 1, 5)))
    assert set(found.network.edges) == {("x", "rnn"), ("rnn", "a"), ("rnn", "b")}
    assert {name: node.shape for name, node in found.network.nodes.items()} == {
        "x": (1, 1, 5), "rnn": (1, 1, 3), "a": (1, 1, 2), "b": (1, 1, 2),
    }  # fmt: skip
    assert found.work == {"rnn": 0, "a": 6, "b": 6}
    assert any("LSTM" in note.text for note in found.refused)


def test_indices_of_a_maximum_are_no_spikes_and_the_refusal_names_them(tmp_path):
    nodes = [
        helper.make_node("MaxPool", ["x"], ["m", "places"], kernel_shape=[2, 2], strides=[2, 2], name="pool"),
        helper.make_node("Cast", ["places"], ["p"], to=TensorProto.FLOAT),
        helper.make_node("Greater", ["p", "zero"], ["s"]),
        helper.make_node("Cast", ["s"], ["first"], to=TensorProto.FLOAT),
        helper.make_node("MaxPool", ["first"], ["y"], kernel_shape=[1, 1], name="after"),
    ]
    zero = numpy_helper.from_array(np.float32(0), "zero")
    found = nm.from_onnx(write(tmp_path, nodes, ["y"], stored=[zero]))
    assert set(found.network.edges) == {("x", "pool"), ("pool", "after")}
    assert any("output 2 of MaxPool" in note.text for note in found.refused)


@pytest.mark.parametrize(
    ("op", "opset", "inputs", "outputs", "attributes"),
    [
        ("BatchNormalization", 14, ["x", "b", "b", "b", "b"], ["n", "mean", "variance"], {"training_mode": 1}),
        ("BatchNormalization", 9, ["x", "b", "b", "b", "b"], ["n", "m", "v", "sm", "sv"], {}),
        ("Dropout", 13, ["x", "half", "yes"], ["n", "mask"], {}),
    ],
)
def test_what_only_training_computes_is_not_taken_for_what_evaluation_computes(
    op, opset, inputs, outputs, attributes, tmp_path
):
    stored = [numpy_helper.from_array(array, name) for name, array in (
        ("b", np.ones(4, np.float32)), ("half", np.float32(0.5)), ("yes", np.array(True)), ("zero", np.float32(0)),
        ("w", np.ones((2, 4, 1, 1), np.float32)),
    )]  # fmt: skip
    nodes = [
        helper.make_node(op, inputs, outputs, **attributes),
        helper.make_node("Conv", ["n", "w"], ["c"]),
        helper.make_node("Greater", ["c", "zero"], ["s"]),
        helper.make_node("Cast", ["s"], ["y"], to=TensorProto.FLOAT),
    ]
    found = nm.from_onnx(write(tmp_path, nodes, ["y"], opset, stored))
    assert all(node.threshold is None for node in found.network.nodes.values())
    assert any(f"{op} takes more than two values" in note.text for note in found.refused)


def test_a_clip_of_constants_without_a_least_value_has_a_greatest(tmp_path):
    stored = [
        numpy_helper.from_array(np.asarray(a, np.float32), n)
        for n, a in (("w", [[3, -2], [-5, 4]]), ("most", 1), ("z", 0))
    ]
    nodes = [
        helper.make_node("Clip", ["w", "", "most"], ["v"]),
        helper.make_node("MatMul", ["x", "v"], ["h"], name="fc"),
        helper.make_node("Greater", ["h", "z"], ["s"]),
        helper.make_node("Cast", ["s"], ["y"], to=TensorProto.FLOAT),
    ]
    found = nm.from_onnx(write(tmp_path, nodes, ["y"], stored=stored, shape=(1, 2)))
    (edge,) = found.network.edges.values()
    assert edge.matrix().toarray().tolist() == [[1, -5], [-2, 1]]


def refused(path):
    with pytest.raises(NeuromapError) as caught:
        nm.from_onnx(path)
    assert "\n" not in str(caught.value)
    assert isinstance(caught.value, InputError | NotSupportedError)
    return str(caught.value)


@pytest.mark.parametrize("which", ["none", "one too few", "one too many", "left out"])
def test_the_number_of_tensors_is_held_against_onnx_itself(which, tmp_path):
    for schema in SCHEMAS:
        least, most = schema.min_input, schema.max_input
        inputs = {
            "none": [], "one too few": ["x"] * (least - 1), "one too many": ["x"] * min(most + 1, 50),
            "left out": [*["x"] * (least - 1), ""],
        }[which]  # fmt: skip
        is_needed = least and schema.inputs[min(least, len(schema.inputs)) - 1].option.name != "Optional"
        if least <= len(inputs) <= most and (which != "left out" or not is_needed):
            continue
        node = node_of(schema, ["y"] * max(1, schema.min_output))
        del node.input[:]
        node.input.extend(inputs)
        del node.output[:]
        node.output.extend(f"y{k}" for k in range(max(1, schema.min_output)))
        text = refused(write(tmp_path, [node], ["y0"], schema.since_version))
        assert f"operator several: {schema.name} " in text
        assert f"takes {len(inputs)} tensor" in text or "is given no tensor" in text


def test_an_attribute_of_another_type_or_none_that_is_needed_is_named(tmp_path):
    for attributes, words in (
        ({"axis": "1"}, "has attribute axis of type STRING, ONNX says INT"),
        ({}, "has no attribute axis, which it needs"),
        ({"axis": [1]}, "has attribute axis of type INTS, ONNX says INT"),
    ):
        node = helper.make_node("Concat", ["x", "x"], ["y"], name="joined", **attributes)
        assert f"operator joined: Concat {words}" in refused(write(tmp_path, [node], ["y"]))


@pytest.mark.parametrize(
    ("sizes", "attributes", "opset"),
    [([1, 1], {}, 13), ([5, -1], {}, 13), ([2, 1, 1], {}, 13), (None, {"num_outputs": 3}, 18), (None, {"axis": 9}, 13)],
)
def test_parts_that_are_not_those_of_the_axis_are_refused(sizes, attributes, opset, tmp_path):
    stored = [] if sizes is None else [numpy_helper.from_array(np.array(sizes, np.int64), "sizes")]
    inputs = ["x"] if sizes is None else ["x", "sizes"]
    node = helper.make_node("Split", inputs, ["a", "b"], name="cut", **{"axis": 1, **attributes})
    assert "operator cut: is not a Split of ONNX" in refused(write(tmp_path, [node], ["a"], opset, stored))


def test_what_ends_shape_inference_costs_the_shapes_and_not_the_session(tmp_path):
    inner = helper.make_graph(
        [helper.make_node("Split", ["x"], ["r", "q"], num_outputs=1)], "inner", [],
        [helper.make_tensor_value_info("r", TensorProto.FLOAT, None)],
    )  # fmt: skip
    nodes = [
        helper.make_node("ReduceMax", ["x"], ["m"], keepdims=0),
        helper.make_node("Cast", ["m"], ["b"], to=TensorProto.BOOL),
        helper.make_node("If", ["b"], ["y"], then_branch=inner, else_branch=inner, name="choice"),
    ]
    path = write(tmp_path, nodes, ["y"])
    code = "import onnx, sys; onnx.shape_inference.infer_shapes(onnx.load(sys.argv[1]), data_prop=True)"
    ended = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, check=False)
    if ended.returncode >= 0:
        pytest.skip("this onnx finds what is wrong with the file")
    found = nm.from_onnx(path)
    assert ("x", "choice") in found.network.edges
    assert any(note.about == "shapes" and "the graph cannot be read" in note.text for note in found.refused)


def test_shapes_are_found_without_the_weights():
    """What is sent of 8 MB are a few hundred bytes; constants of the graph may be weights, too."""
    big = np.zeros((4, 10**6), np.float32)
    nodes = [
        helper.make_node("Constant", [], ["w"], value=numpy_helper.from_array(big[:, :250000])),
        helper.make_node("MatMul", ["x", "w"], ["h"]),
        helper.make_node("MatMul", ["x", "v"], ["g"]),
        helper.make_node("Reshape", ["g", "shape"], ["r"]),
        helper.make_node("Concat", ["h", "r"], ["y"], axis=0),
    ]
    stored = [numpy_helper.from_array(big, "v"), numpy_helper.from_array(np.array([4, -1], np.int64), "shape")]
    values = [helper.make_tensor_value_info("x", TensorProto.FLOAT, (1, 4))]
    ends = [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
    model = helper.make_model(helper.make_graph(nodes, "g", values, ends, stored))
    assert without_weights(model).ByteSize() < 1000
    shapes, _, unread = tensor_shapes(model)
    assert (shapes["h"], shapes["r"], shapes["y"]) == ((1, 250000), (4, 250000), (5, 250000))
    assert not unread


def test_what_operators_give_goes_before_what_the_file_says():
    """A shape that contradicts them is named; behind an operator that nobody knows it is taken."""
    shaped = lambda name, shape: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)  # noqa: E731
    nodes = [
        helper.make_node("Relu", ["x"], ["r"]),
        helper.make_node("Own", ["r"], ["o"], domain="some.where"),
        helper.make_node("Relu", ["o"], ["y"]),
    ]
    graph = helper.make_graph(nodes, "g", [shaped("x", (1, 4))], [shaped("y", None)])
    graph.value_info.extend([shaped("r", (1, 5)), shaped("o", (1, 7))])
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid("some.where", 1)]
    shapes, _, unread = tensor_shapes(helper.make_model(graph, opset_imports=opsets))
    assert {name: shapes[name] for name in "xroy"} == {"x": (1, 4), "r": (1, 4), "o": (1, 7), "y": (1, 7)}
    (note,) = unread
    assert note == "shapes: the file says (1, 5) of r; its operators give (1, 4), used"
