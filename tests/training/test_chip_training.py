"""Training for a chip: it learns, goes on where it was stopped, and the chip is right as often as the model."""

from dataclasses import replace

import numpy as np
import pytest

import neuromap as nm
from neuromap.accuracy import accuracy_on_chip
from neuromap.errors import NotSupportedError
from neuromap.network.network import Network
from neuromap.network.transforms.kinds import Conv, Dense
from neuromap.training import HardwareOptions, TrainingOptions, train_for_chip

CHIP = nm.load_chip("truenorth")
QUICK = TrainingOptions(
    epochs=3, batch=20, frames=2, optimiser="adam", learning_rate=0.05, schedule="cosine", threads=1
)


def network(code="threshold", self_edge=False):
    shapes = {"I": (4, 4, 1), "H": (2, 2, 16), "O": (3, 1, 4)}
    edges = {
        ("I", "H"): Conv(shapes["I"], shapes["H"], kernel=(3, 3), stride=(2, 2)),
        ("H", "O"): Dense(shapes["H"], shapes["O"]),
    }
    if self_edge:
        edges["H", "H"] = Conv(shapes["H"], shapes["H"], kernel=(1, 1), groups=4)
    made = nm.build_network({name: (shape, None) for name, shape in shapes.items()}, edges, name="bars")
    return Network(made.name, made.nodes, made.edges, made.outputs, tables={"inputs": {"I": {"code": code}}})


@pytest.fixture(scope="module")
def images(bars):
    return {"train": bars(300, 0), "validation": bars(60, 1)}


@pytest.mark.parametrize("self_edge", [False, True])
def test_the_chip_is_right_as_often_as_the_model(images, self_edge):
    rollout = nm.Rollout(network(self_edge=self_edge), "streaming")
    made = train_for_chip(rollout, CHIP, images, QUICK)
    assert made.result.accuracy[-1] > 0.8
    assert any("one frame is trained" in line for line in made.lines) != self_edge
    exported = nm.Rollout(made.network, "streaming")
    found = accuracy_on_chip(exported, nm.map_rollout(exported, CHIP), images["validation"], 2, threads=1)
    assert [frame.accuracy for frame in found.frames] == pytest.approx(made.result.accuracy, abs=1e-6)


def test_a_run_that_was_stopped_ends_with_the_same_network(images, tmp_path):
    rollout, hardware = nm.Rollout(network("bernoulli"), "streaming"), HardwareOptions(shift=1)
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


def test_encoders_that_would_have_to_be_learned_are_refused(images):
    layered = network()
    tables = {"inputs": {"I": {"code": "layer", "kernel": [3, 3]}}}
    with pytest.raises(NotSupportedError, match="training for a chip learns none"):
        train_for_chip(nm.Rollout(replace(layered, tables=tables), "streaming"), CHIP, images, QUICK)
