"""Sure answers: the rule by definition, the curve between first and last frame, margins chosen on training images."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import neuromap as nm
from neuromap.accuracy import accuracy_of_reference, accuracy_on_chip, decide, frames_of_answers, leads_of
from neuromap.accuracy.forms import render_text
from neuromap.accuracy.measure import ImageFrames, _chosen_margin
from neuromap.datasets.tracks import ImageSet
from neuromap.errors import InputError
from neuromap.network.network import Network
from neuromap.simulation.reference_frames import reference_batch

CHIP = nm.load_chip("truenorth")


def rows(n, seed, part="test"):
    """4 x 4 images of three classes: in which row most pixels are bright."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, n)
    pixels = rng.integers(0, 140, (n, 4, 4, 1))
    pixels[np.arange(n), labels] += 80
    return ImageSet("rows", part, pixels.astype(np.uint8), labels.astype(np.int64), ("0", "1", "2"))


@pytest.fixture(scope="module")
def rollout():
    """Four neurons vote for each class, for what Bernoulli draws of each pixel in each frame."""
    sums = np.repeat(np.kron(np.eye(4, dtype=int)[:3], np.ones(4, int)), 4, axis=0)
    nodes = {"I": ((4, 4, 1), None), "O": ((12, 1, 1), np.tile([1, 2, 3, 4], 3))}
    made = nm.build_network(nodes, {("I", "O"): sums}, name="rows")
    table = {"inputs": {"I": {"code": "bernoulli"}}}
    return nm.Rollout(Network(made.name, made.nodes, made.edges, made.outputs, tables=table), "streaming", "pipelined")


@pytest.fixture(scope="module")
def measured(rollout):
    def measure(images, **asked):
        return accuracy_on_chip(rollout, nm.map_rollout(rollout, CHIP), images, 4, threads=1, **asked)

    return measure


@settings(deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 4), st.sampled_from([1, 2, 3]), st.integers(0, 12))
def test_an_image_is_answered_where_one_class_first_leads_by_the_margin(seed, images, classes, margin):
    spikes = np.random.default_rng(seed).integers(0, 6, (images, 3, 6))
    frames, is_sure = frames_of_answers(leads_of(spikes, classes), margin)
    for image, frame, sure in zip(spikes, frames, is_sure, strict=True):
        totals, reached = np.zeros(classes, int), None
        for k, row in enumerate(image):
            totals = totals + row.reshape(classes, -1).sum(1)
            first, *others = sorted(totals.tolist(), reverse=True)
            if reached is None and first - (others[0] if others else 0) >= margin:
                reached = k
        assert sure == (reached is not None)
        assert frame == (len(image) - 1 if reached is None else reached)


def test_answers_of_the_chip_are_those_of_the_reference_image_by_image(rollout, measured):
    images = rows(40, 1)
    shown = ImageFrames.of(rollout, images, 4, 0)
    (portion,) = shown.portions()
    spikes = reference_batch(rollout, portion, ["O"])["O"][:, shown.first :]
    named, leads = decide(spikes, 3, summed=True), leads_of(spikes, 3)
    found = measured(images, sure="all")
    assert len(found.sure) > 4
    for one in found.sure:
        frames, is_sure = frames_of_answers(leads, one.margin)
        right = named[np.arange(40), frames] == images.labels
        assert one.accuracy == pytest.approx(right.mean())
        assert one.sure == pytest.approx(is_sure.mean())
        assert one.tick == pytest.approx(np.mean([found.frames[k].tick for k in frames]))
        assert one.update_step == pytest.approx(np.mean([found.frames[k].update_step for k in frames]))
        if is_sure.any():
            assert one.right_when_sure == pytest.approx(right[is_sure].mean())


def test_the_curve_goes_from_the_first_frame_to_all_frames_together(rollout, measured):
    images = rows(40, 2)
    found = measured(images, sure="all")
    summed = accuracy_of_reference(rollout, images, 4, summed=True)
    first, last = found.sure[0], found.sure[-1]
    assert (first.accuracy, first.tick, first.sure) == (summed[0], found.frames[0].tick, 1.0)
    assert (last.accuracy, last.tick) == (summed[-1], found.frames[-1].tick)
    assert [one.tick for one in found.sure] == sorted(one.tick for one in found.sure)
    assert [one.sure for one in found.sure] == sorted((one.sure for one in found.sure), reverse=True)
    assert measured(images, sure=first.margin).sure == (first,)
    assert "answered at" in render_text(found)
    assert found.to_dict()["sure"][0]["margin"] == 0
    plain = measured(images)
    assert plain.frames == found.frames
    assert "sure" not in plain.to_dict()


def test_a_margin_is_chosen_on_training_images_alone(measured):
    training, images = rows(200, 3, "train"), rows(40, 4)
    found = measured(images, sure=0.9, training=training)
    curve = {one.margin: one.right_when_sure for one in measured(training, sure="all").sure}
    enough = [margin for margin, right in curve.items() if right is not None and right >= 0.9]
    assert found.chosen_margin.margin == min(enough) > 0
    assert found.chosen_margin.right_when_sure == pytest.approx(curve[min(enough)])
    assert [one.margin for one in found.sure] == [min(enough)]
    wrong = replace(images, labels=(images.labels + 1) % 3)  # what is measured changes nothing of the choice
    assert measured(wrong, sure=0.9, training=training).chosen_margin == found.chosen_margin
    assert "200 training images" in render_text(found)


@pytest.mark.parametrize("seed", range(40))
def test_no_lesser_margin_than_the_chosen_one_is_right_so_often(seed):
    """Also where only the last frame tells two margins apart."""
    rng = np.random.default_rng(seed)
    labels, frames = rng.integers(0, 3, 30), int(rng.integers(2, 5))
    chance = np.full((30, frames, 3, 6), 0.35)
    chance[np.arange(30), :, labels] += 0.2
    spikes = (rng.random(chance.shape) < chance).reshape(30, frames, 18)
    images = ImageSet("drawn", "train", np.zeros((30, 1, 1, 1), np.uint8), labels, ("0", "1", "2"))
    leads, named = leads_of(spikes, 3), decide(spikes, 3, summed=True)
    right = {}
    for margin in range(int(leads.max()) + 1):
        at, is_sure = frames_of_answers(leads, margin)
        right[margin] = (named[np.arange(30), at] == labels)[is_sure].mean()
    for wanted in (0.7, 0.8, 0.9, 0.95, 0.99):
        least = next((margin for margin, part in right.items() if part >= wanted), None)
        if least is None:
            with pytest.raises(InputError, match="no lead makes sure answers"):
                _chosen_margin(wanted, spikes, images)
        else:
            found = _chosen_margin(wanted, spikes, images)
            assert (found.margin, found.right_when_sure) == (least, right[least])


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"sure": 0.9}, "on training images, and none are given"),
        ({"sure": 0.9, "training": rows(40, 1)}, "part test is what is measured"),
        ({"sure": -1}, "sure -1: must be votes, 0 or more"),
        ({"sure": "most"}, "sure 'most': must be votes"),
        ({"sure": 0.9999, "training": rows(30, 9, "train")}, "no lead makes sure answers to the 30 train images"),
    ],
)
def test_what_is_no_margin_is_refused(measured, asked, words):
    images = rows(40, 1)
    if "no lead" in words:
        training = asked["training"]
        asked = {**asked, "training": replace(training, labels=(training.labels + 1) % 3)}
    with pytest.raises(InputError, match=words):
        measured(images, **asked)


def test_one_frame_has_nothing_to_be_sure_of(rollout):
    with pytest.raises(InputError, match="of 1 frame every answer is the first"):
        accuracy_on_chip(rollout, nm.map_rollout(rollout, CHIP), rows(5, 1), 1, sure=2)
