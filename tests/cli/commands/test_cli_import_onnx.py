"""neuromap import onnx: a file to a network file that maps and verifies, or to its structure, or one line."""

import sys

import numpy as np
import pytest
from frame_layers import onnx_model

import neuromap as nm

onnx = pytest.importorskip("onnx", reason="its files are read (the extra onnx)")

DENSE = {
    "layers": [
        {
            "kind": "conv", "reads": [0], "groups": 1, "stride": 1, "pad": 0, "signed": True, "strict": True,
            "norm": False, "weights": np.array([[[[1, -1], [1, 1]]], [[[0, 1], [-1, 1]]]], np.float32),
            "numbers": [np.zeros(2, np.float32)] * 4,
        }
    ],
    "shapes": [(1, 4, 4), (2, 3, 3)],
}  # fmt: skip


@pytest.fixture
def file(tmp_path):
    onnx.save(onnx_model(DENSE), tmp_path / "net.onnx")
    return tmp_path / "net.onnx"


def test_a_network_in_frame_code_is_mapped_and_verified(file, neuromap, tmp_path):
    written = tmp_path / "net.toml"
    found = neuromap("import", "onnx", file, "-o", written, "--json").json
    assert [node["name"] for node in found["nodes"]] == ["x", "layer1"]
    assert found["nodes"][1]["work"] == 2 * 9 * 4
    assert found["approximated"] == found["refused"] == []
    assert nm.load_network(written).tables["work"] == {"layer1": 72}
    assert neuromap("verify", written).code == 0


def test_the_summary_says_what_stands_for_silence(file, neuromap):
    text = " ".join(neuromap("import", "onnx", file, "--all").out.split())
    assert "layer1: silence stands for -1 and a spike for 1" in text


def test_a_structure_gets_an_estimate_that_says_so(tmp_path, neuromap):
    model = onnx_model(DENSE)
    for node in model.graph.node:
        if node.op_type == "Greater":
            node.op_type, node.output[0] = "Relu", "r"
            del node.input[1:]
    del model.graph.node[-1]
    model.graph.output[0].name = "r"
    onnx.save(model, tmp_path / "net.onnx")
    found = neuromap("import", "onnx", tmp_path / "net.onnx", "--chip", "truenorth", "--json").json
    (note,) = [note for note in found["approximated"] if note["about"] == "cores of truenorth"]
    assert note["text"].startswith("an estimate, nothing is mapped: 1 core")
    assert any(note["about"] == "weights" and note["remedy"] for note in found["refused"])


def test_what_is_wrong_leaves_no_file(file, neuromap, tmp_path):
    file.write_bytes(file.read_bytes()[:-7])
    found = neuromap("import", "onnx", file, "-o", tmp_path / "net.toml")
    assert found.code == 2
    assert found.err.count("\n") == 1
    assert not (tmp_path / "net.toml").exists()
    found = neuromap("import", "onnx", tmp_path / "missing.onnx")
    assert (found.code, "does not exist" in found.err) == (2, True)


def test_without_the_extra_there_is_a_hint(file, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises((nm.errors.NotSupportedError, ValueError), match="onnx"):
        nm.from_onnx(file)


def test_a_float_file_is_quantised_by_a_calibration_set_and_goes_out_again(neuromap, tmp_path):
    weights = np.random.default_rng(0).normal(size=(6, 4)).astype(np.float32)
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"], name="dense")],
        "net",
        [helper.make_tensor_value_info("x", kind, (1, 6))],
        [helper.make_tensor_value_info("y", kind, (1, 4))],
        [onnx.numpy_helper.from_array(weights, "w")],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), tmp_path / "net.onnx")
    shown = np.random.default_rng(1).normal(size=(50, 6)).astype(np.float32)
    np.savez(tmp_path / "shown.npz", x=shown, labels=(shown @ weights).argmax(1))
    given = ("import", "onnx", tmp_path / "net.onnx", "--calibrate", tmp_path / "shown.npz")
    found = neuromap(*given, "-o", tmp_path / "net.toml", "--json").json
    assert any("accuracy" in note["text"] for note in found["approximated"])
    assert nm.load_network(tmp_path / "net.toml").is_graded
    neuromap("export", tmp_path / "net.toml", "--to", "onnx", "-o", tmp_path / "out.onnx")
    assert nm.from_onnx(tmp_path / "out.onnx").network.is_graded
