"""Training for a chip: it learns, goes on where it was stopped, and the chip is right as often as the model."""

from dataclasses import replace

import numpy as np
import pytest

import neuromap as nm
from neuromap.accuracy import accuracy_of_reference, accuracy_on_chip
from neuromap.datasets import image_sets
from neuromap.encoding import input_encodings
from neuromap.errors import InputError, NetworkError, StimulusError
from neuromap.network.network import Network
from neuromap.network.transforms import Conv, Dense
from neuromap.training import HardwareOptions, TrainingOptions, train_for_chip

CHIP = nm.load_chip("truenorth")
QUICK = TrainingOptions(
    epochs=3, batch=20, frames=2, optimiser="adam", learning_rate=0.05, schedule="cosine", threads=1
)
LAYER = {"code": "layer", "kernel": [3, 3], "noise": 0.05}
STILL = {"code": "layer", "kernel": [2, 3]}


def network(code="threshold", self_edge=False):
    shapes = {"I": (4, 4, 1), "H": (2, 2, 16), "O": (3, 1, 4)}
    edges = {
        ("I", "H"): Conv(shapes["I"], shapes["H"], kernel=(3, 3), stride=(2, 2)),
        ("H", "O"): Dense(shapes["H"], shapes["O"]),
    }
    if self_edge:
        edges["H", "H"] = Conv(shapes["H"], shapes["H"], kernel=(1, 1), groups=4)
    made = nm.build_network({name: (shape, None) for name, shape in shapes.items()}, edges, name="bars")
    table = code if isinstance(code, dict) else LAYER if code == "layer" else {"code": code}
    return Network(made.name, made.nodes, made.edges, made.outputs, tables={"inputs": {"I": table}})


@pytest.fixture(scope="module")
def images(bars):
    return {"train": bars(300, 0), "validation": bars(60, 1)}


@pytest.mark.parametrize(("code", "self_edge"), [("threshold", False), ("threshold", True), (STILL, True)])
def test_the_chip_is_right_as_often_as_the_model(images, code, self_edge):
    rollout = nm.Rollout(network(code, self_edge), "streaming")
    made = train_for_chip(rollout, CHIP, images, QUICK)
    assert made.result.accuracy[-1] > 0.8
    assert any("one frame is trained" in line for line in made.lines) != self_edge
    exported = nm.Rollout(made.network, "streaming")
    found = accuracy_on_chip(exported, nm.map_rollout(exported, CHIP), images["validation"], 2, threads=1)
    assert [frame.accuracy for frame in found.frames] == pytest.approx(made.result.accuracy, abs=1e-6)
    assert made.result.history[-1].accuracy[-1] == made.result.accuracy[-1]


def test_the_chip_is_right_as_often_as_the_model_under_every_pattern_that_was_trained(images):
    net = network("threshold", self_edge=True)
    rollouts = [nm.Rollout(net, pattern) for pattern in ("streaming", "sequential")]
    made = train_for_chip(rollouts, CHIP, images, QUICK, HardwareOptions(no_bias=True))
    assert any("thresholds stay between 1 and 255" in line for line in made.lines)
    assert [found.pattern for found in made.result.by_pattern] == ["streaming", "sequential"]
    for found in made.result.by_pattern:
        exported = nm.Rollout(made.network, found.pattern)
        on_chip = accuracy_on_chip(exported, nm.map_rollout(exported, CHIP), images["validation"], 2, threads=1)
        assert [frame.accuracy for frame in on_chip.frames] == pytest.approx(found.accuracy, abs=1e-6)
    mean = np.mean([found.accuracy for found in made.result.by_pattern], axis=0)
    assert made.result.history[-1].accuracy == pytest.approx(mean, abs=1e-5)


def test_frames_that_are_all_alike_are_trained_once_for_all_patterns(images):
    net = network()
    rollouts = [nm.Rollout(net, pattern) for pattern in ("streaming", "sequential")]
    made = train_for_chip(rollouts, CHIP, images, replace(QUICK, epochs=1))
    assert any("one frame is trained" in line for line in made.lines)
    one, two = made.result.by_pattern
    assert one.accuracy == two.accuracy == (one.accuracy[0],) * QUICK.frames
    assert one.times != two.times


@pytest.mark.parametrize("no_bias", [False, True])
def test_thresholds_stay_within_the_leak_where_that_is_asked_for(images, no_bias):
    """With so high a rate offsets leave every bound in a few steps."""
    options = replace(QUICK, epochs=1, learning_rate=3.0, schedule="decay")
    rollout = nm.Rollout(network(self_edge=True), "streaming")
    made = train_for_chip(rollout, CHIP, images, options, HardwareOptions(no_bias=no_bias))
    found = [node.threshold for node in made.network.nodes.values() if node.threshold is not None]
    assert all(t.min() >= 1 and t.max() <= 255 for t in found) == no_bias


@pytest.mark.parametrize("code", ["bernoulli", "layer"])
def test_a_run_that_was_stopped_ends_with_the_same_network(images, tmp_path, code):
    rollout, hardware = nm.Rollout(network(code), "streaming"), HardwareOptions(shift=1)
    whole = train_for_chip(rollout, CHIP, images, QUICK, hardware)

    class Stopped(BaseException):
        pass

    def stop(_, done, total):
        if done == 1:
            raise Stopped

    with pytest.raises(Stopped):
        train_for_chip(rollout, CHIP, images, QUICK, hardware, tmp_path / "c.safetensors", stop)
    resumed = train_for_chip(rollout, CHIP, images, QUICK, hardware, tmp_path / "c.safetensors")
    for key, edge in whole.network.edges.items():
        np.testing.assert_array_equal(edge.matrix().toarray(), resumed.network.edges[key].matrix().toarray())
    assert resumed.result.accuracy == whole.result.accuracy
    if code == "layer":
        for part in ("weights", "thresholds"):
            found, meant = (getattr(input_encodings(m.network)["I"], part) for m in (resumed, whole))
            np.testing.assert_array_equal(found, meant)
        other = network({**LAYER, "stride": [1, 1], "kernel": [2, 3]})
        with pytest.raises(InputError, match=r"is of another run: layer \[\[3, 3\], .*\(now \[\[2, 3\]"):
            train_for_chip(nm.Rollout(other, "streaming"), CHIP, images, QUICK, hardware, tmp_path / "c.safetensors")


def test_a_checkpoint_of_other_frames_is_refused(images, tmp_path):
    path, short = tmp_path / "c.safetensors", replace(QUICK, epochs=1)

    def train(**table):
        rollout = nm.Rollout(network({"code": "threshold", **table}), "streaming")
        return train_for_chip(rollout, CHIP, images, short, checkpoint=path)

    train(levels=[0.5])
    with pytest.raises(InputError, match=r"is of another run: code \['threshold', \[0.5\], ''\] .*\[0.9\]"):
        train(levels=[0.9])


def test_a_layer_with_weights_keeps_them(images):
    table = LAYER | {"encoder": np.ones((3, 3, 1, 1), np.float32), "encoder.threshold": np.ones(1, np.float32)}
    made = train_for_chip(nm.Rollout(network(table), "streaming"), CHIP, images, replace(QUICK, epochs=1))
    encoding = input_encodings(made.network)["I"]
    assert (encoding.weights.tolist(), encoding.thresholds.tolist()) == (np.ones((3, 3, 1, 1)).tolist(), [1])
    assert "I: code layer, as the network file says; its weights are given and stay as they are" in made.lines


@pytest.mark.parametrize(
    ("table", "shape", "error", "said"),
    [
        (
            {"kernel": [3, 3], "stride": [2, 2]},
            (4, 4, 1),
            StimulusError,
            "images of shape .* takes images of 7 to 8 rows",
        ),
        ({"kernel": [2**20, 2**20]}, (4, 4, 1), NetworkError, r"inputs\.I: conv: .* weights in its matrix; at most"),
        ({"kernel": [3, 3]}, (4, 4, 2), InputError, "input I: validation images have the shape .* of one shape"),
    ],
)
def test_layers_that_cannot_be_learned_are_told_in_one_line(images, table, shape, error, said):
    held = images["validation"]
    given = {"train": images["train"], "validation": replace(held, images=np.zeros((60, *shape), np.uint8))}
    with pytest.raises(error, match=said) as caught:
        train_for_chip(nm.Rollout(network({"code": "layer", **table}), "streaming"), CHIP, given, QUICK)
    assert "\n" not in str(caught.value)


def test_a_network_keeps_the_range_and_the_classes_that_it_was_trained_on(bars, tmp_path):
    """On images in the same units it is as right, whatever else their file holds."""
    parts = {"train": bars(300, 0), "validation": bars(60, 1)}
    reals = {part: (found.intensities()[..., 0] - 0.4) / 0.3 for part, found in parts.items()}
    labels = {part: found.labels for part, found in parts.items()}
    beside = np.where(np.arange(16).reshape(4, 4) == 3, np.float32(5), reals["train"])  # one brighter pixel
    normal, brighter = (
        image_sets(train, labels["train"], reals["validation"], labels["validation"])["test"]
        for train in (reals["train"], beside)
    )
    given = {"train": image_sets(reals["train"], labels["train"], reals["validation"], labels["validation"])["train"]}
    made = train_for_chip(nm.Rollout(network(), "streaming"), CHIP, given | {"validation": normal}, QUICK)
    made.network.save(tmp_path / "net.toml")
    found = nm.load_network(tmp_path / "net.toml")
    assert input_encodings(found)["I"].seen == given["train"].seen == normal.seen
    assert found.tables["training"]["classes"] == 3
    rollout = nm.Rollout(found, "streaming")
    (right,) = accuracy_of_reference(rollout, normal)
    assert accuracy_of_reference(rollout, brighter)[0] == pytest.approx(right, abs=0.05)
    assert right == pytest.approx(made.result.accuracy[0])
    with pytest.raises(StimulusError, match="give real numbers as the network saw them"):
        accuracy_of_reference(rollout, parts["validation"])
