"""Streams in real time: which frame an input sees, and that reference and chip see and answer the same."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import neuromap as nm
from neuromap.accuracy import accuracy_of_reference, accuracy_on_chip, decide
from neuromap.accuracy.measure import ImageFrames
from neuromap.datasets import load_images
from neuromap.encoding import InputEncoding, encode, encode_set
from neuromap.errors import InputError, NetworkError, StimulusError
from neuromap.network.network import Network
from neuromap.rollout.pattern import first_frame

CHIP = nm.load_chip("truenorth")
MOVING = "moving-digits:canvas=9,frames=7,flash=2,ticks=2"


def network(code):
    """A chain with a skip edge, of drawn weights, for frames of 9 x 9; two neurons vote for each digit."""
    rng = np.random.default_rng(3)
    drawn = {key: rng.integers(-1, 2, shape) for key, shape in (("IH", (40, 81)), ("HO", (20, 40)), ("IO", (20, 81)))}
    nodes = {"I": ((9, 9, 1), None), "H": (40, 2), "O": ((20, 1, 1), 1)}
    made = nm.build_network(nodes, {tuple(key): weights for key, weights in drawn.items()}, name="skip")
    return Network(made.name, made.nodes, made.edges, made.outputs, tables={"inputs": {"I": {"code": code}}})


@pytest.fixture(scope="module")
def images():
    return load_images(MOVING, "test", limit=60)


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_sample_times_are_those_of_the_chip_and_begin_where_its_answers_are_counted_from(networks, patterns, data):
    net = data.draw(networks())
    if len(net.inputs) > 1:
        with pytest.raises(NetworkError, match="each with an onset of its own"):
            nm.Rollout(net, "streaming").sample_ticks(net.outputs[0], 3)
        return
    pattern = data.draw(patterns(net))
    rollout = nm.Rollout(net, pattern, data.draw(st.sampled_from(["windowed", "pipelined", "pipelined:best"])))
    program = nm.map_rollout(rollout, CHIP, ticks_per_step=data.draw(st.integers(1, 2)))
    ports = {port.name: port for port in program.nodes}
    for output in net.outputs:
        ticks = rollout.sample_ticks(output, 6, program.ticks_per_step)
        onset = ticks.index(0)
        assert onset in (0, 1)
        at = [ports[net.inputs[0]].tick(program.period, frame) for frame in range(6)]
        assert [tick - at[onset] for tick in at] == list(ticks)
        answer = ports[output].tick(program.period, first_frame(pattern, output))
        assert answer - at[onset] == rollout.first_response(output) * program.ticks_per_step


def test_streaming_sees_every_tick_and_sequential_one_in_a_frame_period(images):
    net = network("threshold")
    for pattern, ticks in (("streaming", [0, 1, 2, 3]), ("sequential", [-2, 0, 2, 4])):
        found = ImageFrames.of(nm.Rollout(net, pattern), images, 3, 0)
        assert list(found.ticks) == ticks[: found.n_shown]
        frames = found.stimuli(np.array([3, 8]))["I"].reshape(2, -1, 9, 9)
        for k, tick in enumerate(found.ticks):
            wanted = images.images[[3, 8], tick // 2, ..., 0] >= 127.5 if tick >= 0 else 0
            assert (frames[:, k] == wanted).all()


@pytest.mark.parametrize("code", ["threshold", "bernoulli"])
def test_the_chip_names_of_every_stream_what_the_reference_names(images, code):
    net = network(code)

    @settings(deadline=None, max_examples=5)
    @given(
        st.lists(st.integers(0, 1), min_size=3, max_size=3),
        st.sampled_from(["windowed", "pipelined", "pipelined:3"]),
        st.integers(1, 3),
    )
    def check(values, execution, stretched):
        rollout = nm.Rollout(net, nm.RolloutPattern.from_values(net, values), execution)
        program = nm.map_rollout(rollout, CHIP, ticks_per_step=stretched)
        shown = ImageFrames.of(rollout, images, 4, 0, stretched)
        stimuli = shown.stimuli(slice(None))["I"]
        on_chip = nm.simulate_batch(program, {"I": stimuli}, threads=1).frames("O")[:, shown.first :]
        named = decide(on_chip, 10)
        for k in range(0, len(stimuli), 6):
            by_reference = nm.reference(rollout, {"I": stimuli[k]})["O"][shown.first :]
            assert (decide(by_reference, 10) == named[k]).all()
        right = (named == images.labels[:, None]).mean(axis=0)
        found = accuracy_on_chip(rollout, program, images, 4, threads=1)
        assert [frame.accuracy for frame in found.frames] == pytest.approx(right)
        assert accuracy_of_reference(rollout, images, 4, ticks_per_step=stretched) == pytest.approx(right)

    check()


def test_a_margin_is_chosen_on_streams_as_the_program_samples_them(images):
    rollout = nm.Rollout(network("threshold"), "streaming")
    program = nm.map_rollout(rollout, CHIP, ticks_per_step=3)
    training = load_images(MOVING, "train", limit=60)
    of_training = accuracy_on_chip(rollout, program, training, 4, sure="all", threads=1).sure
    curve = {one.margin: one.right_when_sure for one in of_training}
    wanted = 0.9 * max(right for right in curve.values() if right is not None)
    chosen = accuracy_on_chip(rollout, program, images, 4, sure=wanted, training=training, threads=1).chosen_margin
    assert chosen.right_when_sure == curve[chosen.margin]


def test_frames_of_streams_are_encoded_one_by_one(images):
    for encoding in (
        InputEncoding("I", (9, 9, 2), code="threshold", levels=(0.2, 0.6)),
        InputEncoding("I", (9, 9, 1), noise=0.3),
        InputEncoding("I", (9, 9, 1), code="bernoulli"),
        InputEncoding("I", (9, 9, 1), code="value", values=(0, 255)),
    ):
        whole = encode_set(encoding, images, 5, seed=2, ticks=[-1, 0, 1, 4, 99])
        assert whole.shape == (60, 5, *encoding.shape)
        part = encode_set(encoding, images, 5, 2, which=np.array([7]), ticks=[-1, 0, 1, 4, 99])
        np.testing.assert_array_equal(part[0], whole[7])
        if not encoding.is_drawn:
            assert not whole[:, [0, 4]].any()
            stills = encode(encoding, images.images[:, 0].astype(np.float32) / 255, 1)[:, 0]
            np.testing.assert_array_equal(whole[:, 1], stills)
            np.testing.assert_array_equal(whole[:, 2], stills)


def test_what_cannot_be_done_with_streams_is_told(images):
    rate = InputEncoding("I", (9, 9, 1), code="rate")
    with pytest.raises(NetworkError, match='code = "rate" spreads the spikes of a still'):
        encode_set(rate, images, 3, 0)
    with pytest.raises(StimulusError, match="found streams of 7 frames; n_frames asks for 3"):
        encode(InputEncoding("I", (9, 9, 1)), images.intensities(), 3)
    with pytest.raises(InputError, match="ticks: found 2; give one for each of the 3 frames"):
        encode_set(InputEncoding("I", (9, 9, 1)), images, 3, 0, ticks=[0, 1])
