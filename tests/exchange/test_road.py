"""The road in: a saved PyTorch model and images of one's own become a network that a chip computes as trained."""

import io
import json
import pickle
import zipfile

import numpy as np
import pytest

import neuromap as nm
from neuromap.accuracy import accuracy_of_reference
from neuromap.datasets import image_sets
from neuromap.encoding import encode, input_encodings
from neuromap.errors import InputError, NeuromapError, NotSupportedError, StimulusError
from neuromap.exchange.from_graded import from_graded
from neuromap.exchange.layers.take_graph import from_torch_file

torch = pytest.importorskip("torch")


def small(seed=0):
    torch.manual_seed(seed)
    nn = torch.nn
    return nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(36, 3)
    ).eval()


def images(low, high, seed=0):
    x = np.random.default_rng(seed).uniform(low, high, (90, 6, 6)).astype(np.float32)
    return image_sets(x, np.arange(90) % 3)


def saved(model, path, example=None, **how):
    example = torch.zeros(2, 1, 6, 6) if example is None else example
    torch.export.save(torch.export.export(model, (example,), **how), path)
    return path


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return saved(small(), tmp_path_factory.mktemp("pt2") / "net.pt2", torch.zeros(1, 1, 6, 6))


def test_a_file_gives_what_its_module_gives(file):
    one, other = from_torch_file(file), nm.from_torch(small(), torch.zeros(1, 1, 6, 6))
    shapes = [[node.shape for node in found.network.nodes.values()] for found in (one, other)]
    assert shapes[0] == shapes[1]
    assert list(one.work.values()) == list(other.work.values())


def test_a_batch_of_any_size_is_one_frame(file, tmp_path):
    batch = {"dynamic_shapes": ({0: torch.export.Dim("n")},)}
    found = from_torch_file(saved(small(), tmp_path / "any.pt2", **batch))
    assert found.work == from_torch_file(file).work
    assert next(iter(found.network.nodes.values())).shape == (6, 6, 1)


@pytest.mark.parametrize(("low", "high"), [(0, 1), (-0.7, 2.3), (0, 16)])
def test_images_reach_the_network_as_the_float_model_saw_them(file, low, high):
    """Scores of the quantised network are those of the model, but for 8 bits, whatever the range of the images."""
    parts = images(low, high)
    network = from_torch_file(file, calibration=parts["train"]).network
    shown = parts["test"]
    scores = small()(torch.from_numpy(low_to_high(shown)).permute(0, 3, 1, 2)).detach().numpy()
    rollout = nm.Rollout(network, "sequential")
    encoding = input_encodings(network)[network.inputs[0]]
    frames = encode(encoding, shown.intensities(), 1).reshape(len(shown.images), -1)
    found = [nm.reference(rollout, {network.inputs[0]: np.stack([row, row])})[network.outputs[0]][-1] for row in frames]
    scale = network.nodes[network.outputs[0]].graded.scale
    assert np.abs(np.array(found) * scale - scores).max() < 0.05 * np.abs(scores).max()
    right = (scores.argmax(1) == shown.labels).mean()
    assert accuracy_of_reference(rollout, shown)[0] == pytest.approx(right, abs=2 / len(shown.images))


def test_other_images_of_a_file_change_nothing_of_what_the_network_reads(file, tmp_path):
    x = np.random.default_rng(0).uniform(-0.7, 2.3, (90, 6, 6)).astype(np.float32)
    labels = small()(torch.from_numpy(x)[:, None]).argmax(1).numpy()
    bright = x[:60].copy()
    bright[0, 0, 0] = 7
    one, other = (image_sets(train, labels[:60], x[60:], labels[60:])["test"] for train in (x[:60], bright))
    made = [
        from_torch_file(file, calibration=given).network for given in (x[:60, None], image_sets(x, labels)["train"])
    ]
    for network in made:
        network.save(tmp_path / "net.toml")
        rollout = nm.Rollout(nm.load_network(tmp_path / "net.toml"), "sequential")
        assert min(accuracy_of_reference(rollout, images)[0] for images in (one, other)) > 0.85
        pixels = image_sets((x * 60 + 60).astype(np.uint8), labels)["test"]
        with pytest.raises(StimulusError, match="give real numbers as the network saw them"):
            accuracy_of_reference(rollout, pixels)
    assert made[1].tables["training"]["classes"] == 3


def test_rates_keep_the_units_and_classes_of_the_values_that_they_stand_for(tmp_path):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(36, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))
    x, labels = np.random.default_rng(0).uniform(-0.7, 2.3, (90, 6, 6)).astype(np.float32), np.arange(90) % 3
    made = nm.from_torch(model, torch.zeros(1, 1, 6, 6), calibration=image_sets(x, labels)["train"]).network
    made.save(tmp_path / "net.toml")
    np.savez(tmp_path / "images.npz", x=x, y=labels)
    rates = from_graded(tmp_path / "net.toml", chip="loihi1", data=f"npz:{tmp_path / 'images.npz'}").network
    (encoding,) = input_encodings(rates).values()
    assert (encoding.code, encoding.seen) == ("rate", (float(x.min()), float(x.max())))
    assert rates.tables["training"]["classes"] == 3


def low_to_high(shown):
    low, high = shown.seen
    return (shown.intensities() * (high - low) + low).astype(np.float32)


def test_calibration_by_a_source_on_the_command_line(file, tmp_path):
    parts = images(0, 1)
    np.savez(tmp_path / "a.npz", x=low_to_high(parts["train"]), y=parts["train"].labels)
    found = from_torch_file(file, calibration=f"npz:{tmp_path / 'a.npz'}")
    assert found.network.is_graded
    assert "accuracy" in found.approximated[2].text
    with pytest.raises(InputError, match="give a set of labelled images, such as npz:FILE"):
        from_torch_file(file, calibration=tmp_path / "a.npz")


def test_images_in_another_layout_than_the_networks_are_turned_or_refused():
    """Numbers alone are not enough: 2 x 6 x 8 and 6 x 8 x 2 hold as many."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Conv2d(2, 3, (3, 5)), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(48, 3)
    )
    x = np.random.default_rng(0).random((60, 2, 6, 8), np.float32)
    example = torch.zeros(1, 2, 6, 8)
    scores = model(torch.from_numpy(x)).detach().numpy()
    for given in (x, np.moveaxis(x, 1, -1), x.reshape(60, -1)):
        parts = image_sets(given, scores.argmax(1))
        found = nm.from_torch(model, example, calibration=parts["train"])
        assert "float 1.0000" in found.approximated[2].text
    with pytest.raises(
        InputError, match=r"have 8 x 6 pixels and 2 features; .* is 2 x 6 x 8; give images of that size"
    ):
        nm.from_torch(model, example, calibration=image_sets(np.swapaxes(x, 2, 3), np.arange(60) % 3)["train"])


def test_the_console_names_the_code_of_what_came_in(file):
    """Graded values are not frame code, whose neurons are binary."""
    from neuromap.exchange.page import findings

    network = from_torch_file(file, calibration=images(0, 1)["train"])
    assert "became a graded network, with integer weights" in str(findings(network))


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_what_cannot_be_calibrated_is_named_with_the_way_out():
    nn = torch.nn
    shown, example = images(0, 1)["train"], torch.zeros(1, 1, 6, 6)
    diverged = small()
    with torch.no_grad():
        diverged[5].weight[0, 0] = torch.nan
    with pytest.raises(InputError, match="NaN or infinity; its training diverged"):
        nm.from_torch(diverged, example, calibration=shown)
    mirrored = nn.Sequential(nn.Conv2d(1, 2, 3, padding=1, padding_mode="reflect"), nn.Flatten(), nn.Linear(72, 3))
    with pytest.raises(NotSupportedError, match="puts elements is not known; write the model without it"):
        nm.from_torch(mirrored.eval(), example, calibration=shown)
    attention = nn.Sequential(nn.Flatten(1, 2), nn.TransformerEncoderLayer(6, 2, 8), nn.Flatten(), nn.Linear(36, 3))
    with pytest.raises(NotSupportedError, match="import the structure without calibration"):
        nm.from_torch(attention.eval(), example, calibration=shown)


# Files that could run something: none of it is.


class Harm:
    def __reduce__(self):
        return (pytest.fail, ("a pickle was run",))


def changed(file, path, change):
    """Copy an archive, with some of its files changed."""
    path.parent.mkdir(exist_ok=True)
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            inner = name.partition("/")[2]
            new.writestr(name, change(inner, old.read(name)))
    return path


def test_pickles_in_a_file_are_never_run(file, tmp_path):
    harm = pickle.dumps(Harm())

    def change(name, data):
        if name == "data/sample_inputs/model.pt":
            return harm
        return data

    assert from_torch_file(changed(file, tmp_path / "a.pt2", change)).work == from_torch_file(file).work

    def weights(name, data):
        if name.endswith("weights_config.json"):
            return data.replace(b'"use_pickle": false', b'"use_pickle": true')
        return harm if name.startswith("data/weights/weight") else data

    with pytest.raises(NotSupportedError, match="stored as a pickle, which is not read"):
        from_torch_file(changed(file, tmp_path / "b.pt2", weights))


def test_only_operators_of_tensors_are_called(file, tmp_path):
    def change(name, data):
        return data.replace(b"torch.ops.aten.relu.default", b"torch.hub.load") if name.endswith("model.json") else data

    with pytest.raises(NotSupportedError, match=r"calls 'torch\.hub\.load'"):
        from_torch_file(changed(file, tmp_path / "a.pt2", change))


def test_sizes_are_numbers_and_no_expressions(file, tmp_path):
    def change(name, data):
        if not name.endswith("model.json"):
            return data
        model = json.loads(data)
        sizes = model["graph_module"]["graph"]["tensor_values"]["input"]["sizes"]
        sizes[0] = {"as_expr": {"expr_str": "__import__('pytest').fail('evaluated')", "hint": {"as_int": 1}}}
        model["guards_code"] = ["__import__('pytest').fail('evaluated')"]
        return json.dumps(model).encode()

    assert from_torch_file(changed(file, tmp_path / "a.pt2", change)).work == from_torch_file(file).work


class Counting(torch.nn.Module):
    def forward(self, x):
        return x + torch.arange(5).sum()


def test_what_a_file_computes_takes_no_more_memory_than_it_may(tmp_path):
    """A file of a few kilobytes asks for 2^29 numbers of 8 bytes."""

    def change(name, data):
        if not name.endswith("model.json"):
            return data
        model = json.loads(data)
        graph = model["graph_module"]["graph"]
        (counts,) = [node for node in graph["nodes"] if node["target"] == "torch.ops.aten.arange.default"]
        counts["inputs"][0]["arg"] = {"as_int": 2**29}
        return json.dumps(model).encode()

    file = saved(Counting(), tmp_path / "net.pt2", torch.zeros(1, 4))
    with pytest.raises(InputError, match=r"net\.pt2: cannot be read as a PyTorch program .* can't allocate memory"):
        from_torch_file(changed(file, tmp_path / "a" / "net.pt2", change))


def of_pickle(save):
    stream = io.BytesIO()
    save(stream)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("content", "held"),
    [
        (of_pickle(lambda s: torch.save(small().state_dict(), s)), "the pickle of a module or its weights"),
        (of_pickle(lambda s: torch.save(small().state_dict(), s, _use_new_zipfile_serialization=False)), "a pickle"),
        (b"nothing", "no archive of torch.export"),
    ],
    ids=["zip", "pickle", "bytes"],
)
def test_other_files_of_pytorch_are_told_how_to_save(tmp_path, content, held):
    (tmp_path / "net.pt").write_bytes(content)
    with pytest.raises(NeuromapError, match=r"save the trained model by torch\.export\.save") as caught:
        from_torch_file(tmp_path / "net.pt")
    assert held in str(caught.value)
    assert "\n" not in str(caught.value)


def test_sizes_that_an_onnx_file_leaves_open_lose_nothing_else(tmp_path):
    """The batch is one frame; where the width is open, what does not depend on it keeps shape and work."""
    onnx = pytest.importorskip("onnx")
    make, array = onnx.helper, onnx.numpy_helper.from_array
    nodes = [
        make.make_node("Conv", ["x", "w"], ["c"], name="c", pads=[1, 1, 1, 1]),
        make.make_node("GlobalAveragePool", ["c"], ["p"], name="p"),
        make.make_node("Flatten", ["p"], ["f"], name="f"),
        make.make_node("Gemm", ["f", "v"], ["y"], name="y"),
    ]
    stored = [array(np.ones((4, 1, 3, 3), np.float32), "w"), array(np.ones((4, 5), np.float32), "v")]
    real = onnx.TensorProto.FLOAT
    found = {}
    for width in (6, "width"):
        ends = (make.make_tensor_value_info(*end) for end in (("x", real, ["n", 1, 6, width]), ("y", real, ["n", 5])))
        graph = make.make_graph(nodes, "net", [next(ends)], [next(ends)], stored)
        onnx.save(
            make.make_model(graph, opset_imports=[make.make_opsetid("", 17)], ir_version=9), tmp_path / "net.onnx"
        )
        found[width] = nm.from_onnx(tmp_path / "net.onnx")
        found[width].network.save(tmp_path / "net.toml")
        assert nm.load_network(tmp_path / "net.toml").edges.keys() == found[width].network.edges.keys()
    assert None not in {node.shape for node in found[6].network.nodes.values()}
    assert found["width"].network.nodes["y"].shape == (1, 1, 5)
    assert found["width"].work["y"] == found[6].work["y"] == 20
