"""Training on streams: models see what chips see, and are right as often."""

from dataclasses import replace

import numpy as np
import pytest

import neuromap as nm
from neuromap.accuracy import accuracy_on_chip
from neuromap.datasets import load_images
from neuromap.encoding import input_encodings
from neuromap.errors import InputError
from neuromap.network.network import Network
from neuromap.network.transforms import Conv, Dense
from neuromap.training import LearnedPattern, TrainingOptions, train_for_chip, train_network

CHIP = nm.load_chip("truenorth")
MOVING = "moving-digits:canvas=9,frames=7,flash=2,ticks=2"
QUICK = TrainingOptions(epochs=1, batch=50, frames=3, optimiser="adam", learning_rate=0.05, threads=1)


def network(table=None, weights=None):
    """A chain with a skip edge, for frames of 9 x 9."""
    shapes = {"I": (9, 9, 1), "H": (4, 4, 8), "O": (10, 1, 2)}
    edges = {
        ("I", "H"): Conv(shapes["I"], shapes["H"], kernel=(3, 3), stride=(2, 2), padding="valid"),
        ("H", "O"): Dense(shapes["H"], shapes["O"]),
        ("I", "O"): Dense(shapes["I"], shapes["O"]),
    }
    made = nm.build_network({name: (shape, None) for name, shape in shapes.items()}, edges, name="skip")
    return Network(made.name, made.nodes, made.edges, made.outputs, tables={"inputs": {"I": table or {}}})


@pytest.fixture(scope="module")
def images():
    return {part: load_images(MOVING, part, limit=100) for part in ("train", "validation")}


@pytest.mark.parametrize(
    ("pattern", "execution"), [("streaming", "windowed"), ("sequential", "windowed"), ("sequential", "pipelined")]
)
def test_the_chip_is_right_as_often_as_the_model_that_was_trained_on_streams(images, pattern, execution):
    made = train_for_chip(nm.Rollout(network({"code": "threshold"}), pattern, execution), CHIP, images, QUICK)
    assert not any("one frame is trained" in line for line in made.lines)
    rollout = nm.Rollout(made.network, pattern, execution)
    found = accuracy_on_chip(rollout, nm.map_rollout(rollout, CHIP), images["validation"], 3, threads=1)
    assert [frame.accuracy for frame in found.frames] == pytest.approx(made.result.accuracy, abs=1e-6)
    assert [frame.update_step for frame in found.frames] == list(made.result.times.executed)


def test_real_networks_see_streams_as_chips_do(images):
    """Patterns that take turns see frames of their own, in training and where they are measured."""
    from neuromap.training.torch.train import Batches

    net = network()
    rollouts = [nm.Rollout(net, "streaming"), nm.Rollout(net, "sequential")]
    batches = Batches(images["train"], input_encodings(net)["I"], 25, 0)
    batches.begin_at(*rollouts)
    for epoch in (0, 1):
        for number, (frames, labels) in enumerate(batches.epoch(epoch, 4)):
            rollout = rollouts[(4 * epoch + number) % 2]
            ticks = rollout.sample_ticks("O", 4)
            every = images["train"].shown(ticks, slice(None)).swapaxes(0, 1) / np.float32(255)
            same = (frames.numpy()[:, :, None] == every[:, None]).all(axis=(0, 3, 4, 5))
            assert (same.any(axis=1)).all()
            assert (images["train"].labels[same.argmax(axis=1)] == labels.numpy()).all()
    found = train_network(rollouts, images, QUICK)
    assert [one.times.windowed for one in found.by_pattern] == [(1, 2, 3), (2, 4, 6)]


def test_patterns_that_are_drawn_see_what_their_rollouts_see(images):
    """Every image of a batch draws a pattern, and sees its stream when that pattern samples."""
    import torch

    from neuromap.training.options.loss_over_time import MEAN
    from neuromap.training.torch.gates import Learning, Objective

    net = network()
    objective = Objective([nm.Rollout(net, "streaming")], MEAN, 3, 10, Learning("windowed", 4))
    assert objective.begin(0)
    draw = objective.gates.draw(40, 1.0, torch.Generator().manual_seed(3))
    n_ticks = images["train"].n_stream_frames * images["train"].frame_ticks + 1
    by_tick = torch.arange(n_ticks)[:, None].expand(-1, 40)
    found = objective._sampled(by_tick, draw).T.tolist()
    assert len({tuple(row) for row in found}) > 1
    for values, row in zip(draw.values, found, strict=True):
        drawn = nm.Rollout(net, nm.RolloutPattern(net, tuple(values.tolist())))
        best = objective.rollout_of(drawn.pattern).frame_period
        ticks = [tick // drawn.frame_period * best for tick in drawn.sample_ticks("O", len(row))]
        assert row == [tick if 0 <= tick < n_ticks else n_ticks - 1 for tick in ticks]
    learned = train_network(LearnedPattern(net), images, replace(QUICK, epochs=2))
    assert learned.learned is not None


def test_a_checkpoint_goes_on_only_where_frames_are_sampled_and_known_at_the_same_times(images, tmp_path):
    still = {"frame_ticks": 1, "frame_labels": None}
    stills = {part: replace(found, images=found.images[:, 2], **still) for part, found in images.items()}
    for name, shown, loss in (("stream", images, "mean"), ("still", stills, "deadline=6"), ("mean", stills, "mean")):
        file, options = tmp_path / name, replace(QUICK, loss_over_time=loss)
        train_network(nm.Rollout(network(), "sequential"), shown, options, file)
        other = nm.Rollout(network(), "sequential", "pipelined")
        if name == "mean":
            train_network(other, shown, options, file)
            continue
        with pytest.raises(InputError, match=r"is of another run: execution 'windowed' \(now 'pipelined'\)"):
            train_network(other, shown, options, file)


def test_streams_begin_at_their_onset_and_take_no_image_before_them(images):
    with pytest.raises(InputError, match=r"preceding 2: moving-digits.* are streams, which begin at their onset"):
        train_network(nm.Rollout(network(), "streaming"), images, TrainingOptions(preceding=2))
