"""Accuracy on the chip: the decision rule, chip equals reference for the same frames, times and costs of frames."""

import json
from dataclasses import replace

import jsonschema
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import neuromap as nm
from neuromap.accuracy import accuracy_of_reference, accuracy_on_chip, decide, votes_of
from neuromap.accuracy.forms import render_text
from neuromap.datasets.tracks import ImageSet
from neuromap.errors import InputError, NetworkError, StimulusError
from neuromap.network.network import Network

CHIP = nm.load_chip("truenorth")


@pytest.fixture(scope="module")
def images():
    """4 x 4 images of three classes: in which row most pixels are bright."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 24)
    pixels = rng.integers(0, 140, (24, 4, 4, 1))
    pixels[np.arange(24), labels] += 80
    return ImageSet("rows", "test", pixels.astype(np.uint8), labels.astype(np.int64), ("0", "1", "2"))


def network(code="threshold", skip=True, outputs=6):
    """Rows are summed; two neurons vote for each class, early through a skip edge and again with what it misses."""
    rng = np.random.default_rng(4)
    sums = np.zeros((outputs, 16), int)
    for n in range(outputs):
        sums[n, 4 * (n // 2) : 4 * (n // 2) + 4] = 1
    nodes = {"I": ((4, 4, 1), None), "H": (16, 1), "O": ((outputs, 1, 1), rng.integers(1, 4, outputs))}
    edges = {("I", "H"): np.eye(16, dtype=int), ("H", "O"): sums}
    if skip:
        edges["I", "O"] = sums - np.roll(sums, 4, axis=1)
    made = nm.build_network(nodes, edges, name="rows")
    return Network(made.name, made.nodes, made.edges, made.outputs, tables={"inputs": {"I": {"code": code}}})


@given(st.integers(1, 4), st.lists(st.lists(st.booleans(), min_size=12, max_size=12), min_size=1, max_size=4))
def test_most_votes_win_and_the_lowest_of_equals(per_class, frames):
    classes = 12 // per_class
    spikes = np.array(frames)[:, : classes * per_class]
    for row, votes, named in zip(spikes, votes_of(spikes, classes), decide(spikes, classes), strict=True):
        counted = [sum(bool(row[n]) for n in range(len(row)) if n // per_class == c) for c in range(classes)]
        assert votes.tolist() == counted
        assert named == counted.index(max(counted))


@pytest.mark.parametrize("code", ["threshold", "bernoulli"])
def test_the_chip_is_right_as_often_as_the_reference(images, code):
    net = network(code)

    @settings(max_examples=6, deadline=None)
    @given(
        st.lists(st.integers(0, 1), min_size=3, max_size=3),
        st.sampled_from(["windowed", "pipelined", "pipelined:3"]),
        st.integers(0, 5),
    )
    def check(values, execution, seed):
        rollout = nm.Rollout(net, nm.RolloutPattern.from_values(net, values), execution)
        found = accuracy_on_chip(rollout, nm.map_rollout(rollout, CHIP), images, 3, seed=seed, threads=1)
        assert tuple(frame.accuracy for frame in found.frames) == accuracy_of_reference(rollout, images, 3, seed=seed)
        assert 0.4 < found.frames[-1].accuracy < 1  # better than chance, and wrong at times: both can be seen
        steps = [frame.update_step for frame in found.frames]
        assert steps == [rollout.first_response("O") + k * rollout.frame_period for k in range(3)]
        assert [frame.tick for frame in found.frames] == steps
        assert found.first_response == steps[0]
        assert found.sampling_frequency == pytest.approx(1000 / rollout.frame_period)

    check()


def test_summed_frames_decide_together_on_chip_and_in_the_reference(images):
    rollout = nm.Rollout(network("rate"), "streaming")
    program = nm.map_rollout(rollout, CHIP)
    found = accuracy_on_chip(rollout, program, images, 12, summed=True, at=[1, 5, 12], threads=1)
    assert [frame.frame for frame in found.frames] == [1, 5, 12]
    wanted = accuracy_of_reference(rollout, images, 12, summed=True)
    assert tuple(frame.accuracy for frame in found.frames) == tuple(wanted[k - 1] for k in (1, 5, 12))
    alone = accuracy_of_reference(rollout, images, 12)
    assert alone[0] == wanted[0]
    assert wanted[-1] > max(alone)  # what single frames of few spikes do not tell, many do
    assert "in the frames up to it" in str(found)
    assert json.loads(found.to_json())["summed"] is True
    jsonschema.validate(json.loads(found.to_json()), nm.load_schema("accuracy"))
    for at in ([], [0], [13], [5, 5], [7, 2]):
        with pytest.raises(InputError, match="must be numbers of frames, 1 to 12, ascending"):
            accuracy_on_chip(rollout, program, images, 12, at=at)


def test_stretched_schedules_are_told_in_ticks(images, chip):
    net = network()
    rollout = nm.Rollout(net, "streaming")
    slow = nm.map_rollout(rollout, chip(axons=256, neurons=256, delay=(3, 15)))
    found = accuracy_on_chip(rollout, slow, images, 2, threads=1)
    assert slow.ticks_per_step == 3
    assert [(frame.update_step, frame.tick) for frame in found.frames] == [(1, 3), (2, 6)]
    jsonschema.validate(json.loads(found.to_json()), nm.load_schema("accuracy"))


def test_forms_hold_every_frame(images, tmp_path):
    rollout = nm.Rollout(network(), "streaming")
    found = accuracy_on_chip(rollout, nm.map_rollout(rollout, CHIP), images, 2, threads=1)
    found.save(tmp_path / "found.csv")
    lines = (tmp_path / "found.csv").read_text().splitlines()
    assert lines[0] == "frame,update_step,tick,correct,images,accuracy"
    assert len(lines) == 3
    found.save(tmp_path / "found.json")
    jsonschema.validate(json.loads((tmp_path / "found.json").read_text()), nm.load_schema("accuracy"))
    assert f"{100 * found.frames[1].accuracy:.2f} %" in str(found)
    assert replace(found, first_response=1).response_told == "1 tick"


def test_frames_have_their_seconds_where_ticks_last_as_long_as_their_work(images, tmp_path):
    """A barrier alone takes so long in every tick; work makes the same ticks longer."""
    rollout = nm.Rollout(network(), "streaming")
    found = {}
    for joined, timing in ((False, {}), (True, {"neuron_access_seconds": 1e-9, "synaptic_event_seconds": 3e-9})):
        chip = replace(CHIP, is_timed=True, barrier_seconds=((1, 2e-6),), timing=timing)
        found[joined] = accuracy_on_chip(rollout, nm.map_rollout(rollout, chip), images, 3)
    for frame, longer in zip(found[False].frames, found[True].frames, strict=True):
        assert frame.seconds == pytest.approx(frame.tick * 2e-6, rel=1e-12)
        assert longer.seconds > frame.seconds
        assert longer.accuracy == frame.accuracy
    assert found[False].sampling_frequency == pytest.approx(5e5, rel=1e-12)
    found[False].save(tmp_path / "found.json")
    document = json.loads((tmp_path / "found.json").read_text())
    jsonschema.validate(document, nm.load_schema("accuracy"))
    assert [frame["seconds"] for frame in document["frames"]] == [frame.seconds for frame in found[False].frames]
    found[False].save(tmp_path / "found.csv")
    assert (tmp_path / "found.csv").read_text().splitlines()[0].endswith(",accuracy,seconds")
    assert found[False].frames[0].tick == 1
    assert "first response 1 tick = 2 µs" in str(found[False])
    fixed = accuracy_on_chip(rollout, nm.map_rollout(rollout, CHIP), images)
    assert all(frame.seconds is None for frame in fixed.frames)


def test_what_gives_no_spikes_or_no_class_is_refused(images):
    rollout = nm.Rollout(network("real"), "streaming")
    program = nm.map_rollout(rollout, CHIP)
    with pytest.raises(NetworkError, match="a chip takes spikes"):
        accuracy_on_chip(rollout, program, images)
    with pytest.raises(NetworkError, match="4 neurons, which 3 classes cannot share"):
        accuracy_of_reference(nm.Rollout(network(outputs=4), "streaming"), images)
    for n_frames in (0, 10**9):
        with pytest.raises(InputError, match="must be 1 to 1000 frames"):
            accuracy_of_reference(nm.Rollout(network(), "streaming"), images, n_frames)
    with pytest.raises(InputError, match="seed = -1: must be 0 or more"):
        accuracy_of_reference(nm.Rollout(network(), "streaming"), images, seed=-1)
    wide = ImageSet("wide", "test", np.zeros((1, 4, 5, 1), np.uint8), np.zeros(1, np.int64), ("0", "1"))
    with pytest.raises(StimulusError, match="do not fit"):
        accuracy_of_reference(nm.Rollout(network(), "streaming"), wide)


def test_a_file_without_the_last_classes_does_not_share_their_neurons_among_the_others(images):
    """Six neurons are two for each of three classes, also where no image shows the last one."""
    net = network()
    few = replace(images, labels=images.labels % 2, classes=("0", "1"))
    rollout, known = (nm.Rollout(one, "streaming") for one in (net, knowing(net, 3)))
    all_named = replace(few, classes=images.classes)
    assert accuracy_of_reference(known, few, 3) == accuracy_of_reference(rollout, all_named, 3)
    found = accuracy_on_chip(known, nm.map_rollout(known, CHIP), few, 3, threads=1)
    assert tuple(frame.accuracy for frame in found.frames) == accuracy_of_reference(known, few, 3)
    assert (found.classes, found.voters) == (3, 2)
    assert "3 classes with 2 neurons each" in render_text(found)


@pytest.mark.parametrize(
    ("classes", "known", "said"),
    [
        (("0", "1", "2"), 2, r"rows: has 3 classes, network rows was made for 2 \(training.classes\)"),
        (("cat", "dog", "eel"), 6, "give images of the same classes"),
        (("0", "1", "2"), 4, "has 6 neurons, which 4 classes cannot share equally"),
        (("0", "1", "2"), 0, "training.classes: found 0; allowed is the number of classes"),
    ],
)
def test_images_of_other_classes_than_the_networks_are_refused(images, classes, known, said):
    with pytest.raises((InputError, NetworkError), match=said):
        accuracy_of_reference(nm.Rollout(knowing(network(), known), "streaming"), replace(images, classes=classes))


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"clases": 5}, r"training.clases: unknown key; .*; did you mean 'classes'\?"),
        *[({"frames": n}, f"training.frames: found {n!r}; allowed is the number of t") for n in ("x", -3, True, 1.5)],
    ],
)
def test_a_training_table_with_a_wrong_key_or_number_is_refused(images, table, said):
    net = replace(network(), tables={"training": table})
    with pytest.raises(NetworkError, match=said):
        accuracy_of_reference(nm.Rollout(net, "streaming"), images)


def knowing(net, classes):
    return replace(net, tables={**net.tables, "training": {"classes": classes}})
