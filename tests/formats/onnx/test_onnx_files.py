"""ONNX files as data: what they say is read, what is malformed gets one line, nothing beside their folder is opened."""

import numpy as np
import pytest
from frame_layers import onnx_model

import neuromap as nm
from neuromap.errors import InputError, NeuromapError

onnx = pytest.importorskip("onnx", reason="its files are read (the extra onnx)")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

from neuromap.formats.onnx import read_onnx  # noqa: E402

DESCRIPTION = {
    "layers": [
        {
            "kind": "conv", "reads": [0], "groups": 1, "stride": 2, "pad": 1, "signed": False, "strict": False,
            "norm": True, "weights": np.ones((4, 2, 3, 3), np.float32), "numbers": [np.ones(4, np.float32)] * 4,
        },
        {"kind": "pool", "reads": [1], "numbers": [], "signed": False, "strict": False, "norm": False},
    ],
    "shapes": [(2, 8, 8), (4, 4, 4), (4, 2, 2)],
}  # fmt: skip


@pytest.fixture(scope="module")
def model():
    return onnx_model(DESCRIPTION)


@pytest.fixture(scope="module")
def content(model):
    return model.SerializeToString()


@pytest.fixture
def write(tmp_path):
    def write(content, name="net.onnx"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.SerializeToString())
        return path

    return write


def graph_of(nodes, inputs=("x",), outputs=("y",), stored=(), shape=("N", 4), **more):
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, list(shape)) for name in inputs]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
    graph = helper.make_graph(list(nodes), "g", values, ends, list(stored), **more)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


def one_line(error):
    text = str(error)
    return "\n" not in text and "\0" not in text and len(text) < 1200


def refusal(path):
    """How a file is refused; nothing where it is not."""
    try:
        nm.from_onnx(path)
    except NeuromapError as error:
        return "one line" if one_line(error) else str(error)
    return ""


def test_shapes_work_and_names_are_read(write, model):
    graph = read_onnx(write(model))
    conv = graph.operators[0]
    assert (conv.kind, conv.name, conv.shape) == ("conv", "layer1", (1, 4, 4, 4))
    assert conv.work == 4 * 4 * 4 * 2 * 3 * 3
    assert graph.inputs == {"x": (1, 2, 8, 8)}


def test_a_batch_of_any_length_or_of_many_is_one_frame(write):
    weights = numpy_helper.from_array(np.ones((4, 3), np.float32), "fc.weight")
    for batch in ("N", 7):
        graph = read_onnx(
            write(graph_of([helper.make_node("MatMul", ["x", "fc.weight"], ["y"])], stored=[weights], shape=(batch, 4)))
        )
        (dense,) = graph.operators
        assert (dense.shape, dense.work, graph.inputs["x"]) == ((1, 3), 12, (1, 4))


def test_a_file_that_ends_early_is_refused_or_another_network(write, content):
    for end in range(0, len(content), max(1, len(content) // 50)):
        assert refusal(write(content[:end])) in ("", "one line")


def test_flipped_bytes_give_one_line_or_another_network(write, content):
    rng = np.random.default_rng(3)
    refused = 0
    for _ in range(120):
        changed = bytearray(content)
        for place in rng.integers(0, len(content), 3):
            changed[place] ^= 1 << int(rng.integers(8))
        found = refusal(write(bytes(changed)))
        assert found in ("", "one line")
        refused += found != ""
    assert refused


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: b"", "holds no operators"),
        (lambda: b"not a model at all", "is not an ONNX model"),
        (lambda: graph_of([helper.make_node("Relu", ["z"], ["y"])]), "reads z, which no input or earlier operator"),
        (
            lambda: graph_of(
                [helper.make_node("Add", ["x", "b"], ["a"]), helper.make_node("Relu", ["a"], ["b"])], outputs=("b",)
            ),
            "form no cycle",
        ),
        (
            lambda: graph_of([helper.make_node("Relu", ["x"], ["y"]), helper.make_node("Relu", ["x"], ["y"])]),
            "gives y, which is there already",
        ),
        (lambda: graph_of([helper.make_node("Relu", ["x"], ["y"])], outputs=("nowhere",)), "no operator gives it"),
        (lambda: graph_of([helper.make_node("Relu", ["a\n\0/../b"], ["y"])]), r"'a\n\x00/../b'"),
        (
            lambda: graph_of(
                [helper.make_node("MatMul", ["x", "w"], ["y"])],
                stored=[TensorProto(name="w", dims=[2**40, 2**20], data_type=1, raw_data=b"1234")],
            ),
            "do not fit its shape",
        ),
        (
            lambda: graph_of(
                [helper.make_node("MatMul", ["x", "w"], ["y"])],
                stored=[TensorProto(name="w", dims=[-3, 4], data_type=1, raw_data=b"1234")],
            ),
            "lengths are 0 or more",
        ),
        (lambda: graph_of([helper.make_node("Relu", ["x"], ["y"])], inputs=("x", "x")), "is given twice"),
        (
            lambda: graph_of([helper.make_node("Conv", ["x", "w"], ["y"], pads=[-1, 0, 0, 0], kernel_shape=[1, 1])],
                             stored=[numpy_helper.from_array(np.ones((1,) * 4, np.float32), "w")], shape=(1, 1, 4, 4)),
            "expected 4 integers of 0 or more",
        ),
        (
            lambda: graph_of([helper.make_node("Conv", ["x", "w"], ["y"], kernel_shape=[2, 1])],
                             stored=[numpy_helper.from_array(np.ones((1, 1, 1, 2), np.float32), "w")]),
            "operator conv: kernel_shape: found [2, 1], beside weights of [1, 2]; make them agree",
        ),
        (
            lambda: graph_of([helper.make_node("MaxPool", ["x"], ["y"], kernel_shape=[2, 3], dilations=[4, 1])],
                             shape=(1, 1, 4, 4)),
            "kernel: a window of [5, 3] does not fit into [4, 4], what is read and its padding",
        ),
        (
            lambda: graph_of([helper.make_node("DequantizeLinear", ["w", "s"], ["y"])],
                             stored=[TensorProto(name="w", data_type=3, raw_data=b"1"),
                                     TensorProto(name="s", data_type=12, raw_data=b"1234")]),
            "operator dequantizelinear: its scale is of the type uint32; a scale is a float",
        ),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_in_one_line(make, words, write):
    with pytest.raises(InputError) as refused:
        nm.from_onnx(write(make()))
    assert words in str(refused.value)
    assert "net.onnx" in str(refused.value)
    assert one_line(refused.value)


def test_constants_and_shapes_that_are_huge_are_not_made(write):
    stored = [numpy_helper.from_array(np.array([2**40, 2**20], np.int64), "s"),
              numpy_helper.from_array(np.ones((2**16, 1), np.float32), "c"),
              numpy_helper.from_array(np.ones((1, 2**16), np.float32), "r")]  # fmt: skip
    nodes = [
        helper.make_node("ConstantOfShape", ["s"], ["z"]),
        helper.make_node("Add", ["c", "r"], ["big"]),
        helper.make_node("MatMul", ["x", "big"], ["h"]),
        helper.make_node("Add", ["h", "z"], ["y"]),
    ]
    found = nm.from_onnx(write(graph_of(nodes, stored=stored, shape=(1, 2**16))))
    assert len(found.network.edges) == 1


def external(location, folder, **entries):
    tensor = TensorProto(name="fc.weight", dims=[4, 2], data_type=1, data_location=TensorProto.EXTERNAL)
    for key, value in {"location": location, **entries}.items():
        tensor.external_data.add(key=key, value=value)
    nodes = [
        helper.make_node("MatMul", ["x", "fc.weight"], ["h"]),
        helper.make_node("GreaterOrEqual", ["h", "zero"], ["s"]),
        helper.make_node("Cast", ["s"], ["y"], to=TensorProto.FLOAT),
    ]
    zero = numpy_helper.from_array(np.float32(2), "zero")
    return graph_of(nodes, stored=[tensor, zero])


def test_weights_beside_the_file_are_read(write, tmp_path):
    weights = np.array([[1, -1], [1, 0], [0, 1], [1, 1]], np.float32)
    (tmp_path / "net.onnx.data").write_bytes(b"head" + weights.tobytes())
    found = nm.from_onnx(write(external("net.onnx.data", tmp_path, offset="4", length="32")))
    assert found.network.edges["x", "fc"].matrix().toarray().tolist() == weights.T.astype(int).tolist()
    assert found.network.nodes["fc"].threshold.tolist() == [2, 2]


@pytest.mark.parametrize(
    ("location", "entries"),
    [
        ("../outside.data", {}),
        ("/etc/passwd", {}),
        ("..", {}),
        ("", {}),
        ("link.data", {}),
        ("missing.data", {}),
        ("net.onnx.data", {"offset": "8"}),
        ("net.onnx.data", {"length": "9000000000"}),
        ("net.onnx.data", {"offset": "-4"}),
        ("net.onnx.data", {"offset": "many"}),
        ("a\0b", {}),
    ],
)
def test_weights_anywhere_else_are_not_read_and_the_structure_is_kept(location, entries, write, tmp_path):
    (tmp_path.parent / "outside.data").write_bytes(bytes(32))
    (tmp_path / "net.onnx.data").write_bytes(bytes(32))
    (tmp_path / "link.data").symlink_to(tmp_path.parent / "outside.data")
    found = nm.from_onnx(write(external(location, tmp_path, **entries)))
    assert list(found.network.nodes) == ["x", "fc"]
    assert found.network.nodes["fc"].threshold is None
    assert any("fc.weight" in note.text for note in found.refused)


def test_subgraphs_functions_and_unknown_operators_are_nodes_that_are_not_entered(write):
    inner = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["r"])], "inner", [], [helper.make_tensor_value_info("r", 1, None)]
    )
    nodes = [
        helper.make_node("Mystery", ["x"], ["m"], domain="com.example", name="mystery"),
        helper.make_node("If", ["m"], ["y"], then_branch=inner, else_branch=inner, name="choice"),
    ]
    found = nm.from_onnx(write(graph_of(nodes)))
    # its branches read x of the graph around them
    assert set(found.network.edges) == {("x", "mystery"), ("mystery", "choice"), ("x", "choice")}
    assert any("Mystery of domain com.example" in note.text for note in found.refused)


def test_names_are_letters_of_network_files_and_each_is_there_once(write, tmp_path):
    nodes = [
        helper.make_node("Mystery", ["x" if k == 0 else f"h{k - 1}"], [f"h{k}"], name="Ä" * 500 + "/../b c\n")
        for k in range(3)
    ]
    found = nm.from_onnx(write(graph_of(nodes, outputs=("h2",))))
    found.network.save(tmp_path / "net.toml")
    assert len(nm.load_network(tmp_path / "net.toml").nodes) == 4


def test_sizes_that_are_not_fixed_leave_structure_without_shapes(write):
    weights = numpy_helper.from_array(np.ones((2, 1, 3, 3), np.float32), "c.weight")
    found = nm.from_onnx(
        write(
            graph_of([helper.make_node("Conv", ["x", "c.weight"], ["y"])], stored=[weights], shape=("N", 1, "h", "w"))
        )
    )
    assert [node.shape for node in found.network.nodes.values()] == [None, None]
    assert not found.work
    assert any("fixed sizes" in note.remedy for note in found.refused)


@pytest.mark.parametrize(
    ("opset", "op", "attributes", "arrays", "expected"),
    [
        (13, "DequantizeLinear", {"axis": 0}, [np.int8([[1, 2], [3, 4]]), np.float32([0.5, 2]), np.int8([1, 0])],
         [[0, 0.5], [6, 8]]),
        (11, "Unsqueeze", {"axes": [-2, -1]}, [np.float32([1, 2])], [[[1]], [[2]]]),
        (11, "Squeeze", {"axes": [2, 0]}, [np.float32([[[1], [2]]])], [1, 2]),
        (8, "Clip", {"min": 0.0}, [np.float32([-1, 2])], [0, 2]),
        (17, "Div", {}, [np.int64([-7, 7]), np.int64([2, -2])], [-3, -3]),
        (17, "Reshape", {}, [np.float32([[1, 2]]), np.int64([0, -1, 1])], [[[1], [2]]]),
        (9, "Slice", {"starts": [-1], "ends": [2**31]}, [np.float32([1, 2])], [2]),
        (17, "Cast", {"to": TensorProto.STRING}, [np.float32([1, 2])], None),
        (13, "Split", {}, [np.float32([1, 2]), np.int64([1])], None),
        (17, "ConstantOfShape", {}, [np.int64([2])], None),
    ],
)  # fmt: skip
def test_constants_are_computed_as_onnx_says_in_any_opset(opset, op, attributes, arrays, expected, write):
    stored = [numpy_helper.from_array(array, f"c{place}") for place, array in enumerate(arrays)]
    made = helper.make_node(op, [tensor.name for tensor in stored], ["c"], **attributes)
    graph = graph_of([made, helper.make_node("Mul", ["x", "c"], ["y"])], stored=stored, shape=(2, 2, 2))
    graph.opset_import[0].version = opset
    (product,) = read_onnx(write(graph)).operators
    assert [array.tolist() for array in product.constants] == ([] if expected is None else [expected])


def test_no_file_is_opened_for_an_attribute_that_an_operator_does_not_have(write, monkeypatch, tmp_path):
    (tmp_path / "numbers").write_bytes(np.float32([1, 2]).tobytes())
    monkeypatch.chdir(tmp_path)
    elsewhere = TensorProto(dims=[2], data_type=1, data_location=TensorProto.EXTERNAL)
    elsewhere.external_data.add(key="location", value="numbers")
    node = helper.make_node("Neg", ["c"], ["n"], more=elsewhere)
    stored = [numpy_helper.from_array(np.float32([1, 2, 3, 4]), "c")]
    opened = []
    monkeypatch.setattr("onnx.external_data_helper.load_external_data_for_tensor", lambda *a, **k: opened.append(a))
    read_onnx(write(graph_of([node, helper.make_node("Mul", ["x", "n"], ["y"])], stored=stored)))
    assert not opened


@pytest.mark.parametrize("batch", [1, 7])
@pytest.mark.parametrize("order", [(), (0, 0), (1, 2), (0, 1, 2)])
def test_an_order_that_is_none_of_the_axes_is_refused(order, batch, write):
    node = helper.make_node("Transpose", ["x"], ["y"], name="turn")
    node.attribute.append(helper.make_attribute("perm", list(order), attr_type=onnx.AttributeProto.INTS))
    with pytest.raises(InputError, match="operator turn: is not a Transpose of ONNX"):
        read_onnx(write(graph_of([node], shape=(batch, 4))))


def test_frames_that_change_places_with_something_else_leave_no_order(write):
    (moved,) = read_onnx(write(graph_of([helper.make_node("Transpose", ["x"], ["y"])], shape=(7, 4)))).operators
    assert "order" not in moved.settings
