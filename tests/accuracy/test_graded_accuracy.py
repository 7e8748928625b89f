"""Accuracy of graded networks: pixels less the zero point, the greatest value names the class, chip as defined."""

from dataclasses import replace

import numpy as np
import pytest
from graded_networks import CLASSES, SIDE, graded_network, small_graded_chip
from hypothesis import given
from hypothesis import strategies as st

import neuromap as nm
from neuromap.accuracy import accuracy_of_reference, accuracy_on_chip, decide
from neuromap.accuracy.forms import render_text
from neuromap.datasets.tracks import ImageSet
from neuromap.encoding import InputEncoding, encode, encode_set, input_encodings
from neuromap.errors import NetworkError
from neuromap.mapping.map_rollout import map_with_stages
from neuromap.render.numbers import seconds
from neuromap.simulation.reference_frames import reference


@pytest.fixture(scope="module")
def images():
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (30, SIDE, SIDE, 1)).astype(np.uint8)
    return ImageSet("noise", "test", pixels, rng.integers(0, CLASSES, 30), tuple("0123"))


def with_input(network, **changes):
    """The network with another input neuron and table."""
    neuron = replace(network.nodes["I"].neuron, **{k: v for k, v in changes.items() if k != "table"})
    nodes = {**network.nodes, "I": replace(network.nodes["I"], neuron=neuron)}
    return replace(network, nodes=nodes, tables={"inputs": {"I": changes.get("table", {})}})


def test_values_are_pixels_less_the_zero_point(images):
    network = graded_network(3)
    encoding = input_encodings(network)["I"]
    zero_point = network.nodes["I"].graded.zero_point
    assert (encoding.code, encoding.is_for_chip, encoding.is_binary) == ("value", True, False)
    frames = encode_set(encoding, images, 2, seed=0)
    assert frames.dtype == np.int32
    assert np.array_equal(frames[:, 1], images.images.astype(int) - zero_point)
    assert zero_point > 0


def test_values_by_mean_and_step_are_those_of_a_quantiser():
    encoding = InputEncoding("I", (2, 2, 3), code="value", mean=(0.5, 0.25, 0.0), step=(1 / 64,), values=(-20, 20))
    intensities = np.random.default_rng(1).random((5, 2, 2, 3), np.float32)
    found = encode(encoding, intensities, 1)[:, 0]
    exact = (intensities.astype(float) - [0.5, 0.25, 0.0]) * 64
    assert np.array_equal(found, np.clip(np.rint(exact), -20, 20))
    assert {-20, 20} <= set(found.ravel().tolist())
    one = replace(encoding, mean=(0.1,), step=())
    assert np.array_equal(encode(one, intensities, 1)[:, 0], np.clip(np.rint((intensities - 0.1) * 255), -20, 20))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"low": -128, "high": 127, "zero_point": 0},
            "pixels less the zero point are 0 to 255, the node has values -128",
        ),
        ({"table": {"step": 0.0}}, "step: found"),
        ({"table": {"code": "real"}}, 'code = "real" gives intensities, a chip takes values; give code = "value"'),
        ({"table": {"levels": [0.5]}}, "levels"),
    ],
)
def test_what_no_values_are_made_of_is_refused(images, changes, said):
    with pytest.raises(NetworkError, match=said) as caught:
        accuracy_of_reference(nm.Rollout(with_input(graded_network(3), **changes), "streaming"), images)
    assert "\n" not in str(caught.value)


def test_only_graded_nodes_have_values():
    net = nm.build_network({"I": ((1, 1, 1), None), "O": (1, 1)}, {("I", "O"): [[1]]})
    with pytest.raises(NetworkError, match=r"inputs.I.code: found .value.; allowed are codes of spikes"):
        input_encodings(replace(net, tables={"inputs": {"I": {"code": "value"}}}))


@given(st.lists(st.lists(st.integers(-50, 50), min_size=4, max_size=4), min_size=1, max_size=6))
def test_the_greatest_value_names_the_class_the_first_of_equals(values):
    assert decide(np.array(values), 4).tolist() == np.argmax(values, axis=1).tolist()


@pytest.mark.parametrize(("pattern", "execution"), [("sequential", "windowed"), ("streaming", "pipelined")])
def test_the_chip_is_right_as_often_as_the_argmax_of_the_reference(images, pattern, execution):
    network = graded_network(3)
    rollout = nm.Rollout(network, pattern, execution)
    mapping = map_with_stages(rollout, small_graded_chip())
    found = accuracy_on_chip(mapping.rollout, mapping.program, images, 3, engine="numpy", threads=1)
    values = images.images.reshape(30, -1).astype(int) - network.nodes["I"].graded.zero_point
    outputs = np.stack([reference(rollout, {"I": np.tile(row, (4, 1))})["O"] for row in values])
    assert tuple(frame.accuracy for frame in found.frames) == accuracy_of_reference(rollout, images, 3)
    right = [(outputs[:, frame].argmax(axis=1) == images.labels).sum() for frame in (1, 2, 3)]
    assert [frame.correct for frame in found.frames] == right
    assert found.is_graded
    assert found.spikes > 0
    text = render_text(found)
    assert "messages" in text
    assert "the class with the greatest value of O" in text


def test_the_response_and_the_last_frame_do_not_depend_on_the_frames_that_are_told(images):
    """Ticks of Loihi 2 last as long as their work, so the seconds of a response are those of its own frame."""
    rollout = nm.Rollout(graded_network(3), "streaming")
    program = nm.map_rollout(rollout, nm.load_chip("loihi2"))
    whole, some = (accuracy_on_chip(rollout, program, images, 4, at=at, sure=10**6) for at in (None, [2, 3]))
    assert whole.frames[1:3] == some.frames
    assert whole.first_response == 1
    assert some.response_told == whole.response_told == f"1 tick = {seconds(whole.frames[0].seconds)}"
    for found in (whole, some):
        text = " ".join(render_text(found).split())
        assert f"first response {whole.response_told};" in text
        assert "else at frame 4" in text
