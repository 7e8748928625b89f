"""Frames of images: what each code means, that noise is drawn anew, and that batches do not matter."""

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import neuromap as nm
from neuromap.datasets import ImageSet
from neuromap.encoding import InputEncoding, encode, encode_set, input_encodings
from neuromap.errors import InputError, NetworkError, StimulusError


def images(n=5, shape=(4, 3, 2), seed=0):
    drawn = np.random.default_rng(seed).integers(0, 256, (n, *shape), np.uint8)
    return ImageSet("drawn", "train", drawn, np.zeros(n, np.int64), ("a",))


def network(table=None, shape=(4, 3, 2)):
    net = nm.build_network({"I": (shape, None), "O": (1, 1)}, {("I", "O"): np.ones((1, int(np.prod(shape))), int)})
    return net if table is None else replace(net, tables={"inputs": {"I": table}})


ENCODINGS = [
    InputEncoding("I", (4, 3, 2), noise=0.3),
    InputEncoding("I", (4, 3, 6), noise=0.3, code="threshold", levels=(0.2, 0.5, 0.9)),
    InputEncoding("I", (4, 3, 2), noise=0.3, code="bernoulli"),
    InputEncoding("I", (4, 3, 2), code="bernoulli"),
    InputEncoding("I", (2, 2, 5), 0.3, "layer", kernel=(3, 2), stride=(2, 2),
                  weights=np.random.default_rng(1).standard_normal((3, 2, 2, 5), np.float32),
                  thresholds=np.linspace(-1, 1, 5, dtype=np.float32)),
]  # fmt: skip
ENCODINGS += [replace(encoding, noise=0.0) for encoding in ENCODINGS]


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_frames_of_an_image_do_not_depend_on_the_batch(encoding):
    given = images(9)
    whole = encode_set(encoding, given, 4, seed=7)
    assert whole.shape == (9, 4, *encoding.shape)
    assert whole.dtype == (np.bool_ if encoding.is_binary else np.float32)
    order = np.random.default_rng(3).permutation(9)
    parts = [encode_set(encoding, given, 4, 7, which=order[k : k + 2]) for k in range(0, 9, 2)]
    np.testing.assert_array_equal(np.concatenate(parts), whole[order])
    assert encoding.is_drawn == bool((whole[:, 1:] != whole[:, :1]).any())
    assert encoding.is_drawn == bool((encode_set(encoding, given, 4, seed=8) != whole).any())


@settings(deadline=None, max_examples=20)
@given(st.data())
def test_a_layer_is_the_convolution_of_networks_and_a_step(data):
    rows, columns, kernel, stride = (data.draw(st.integers(1, 5)) for _ in range(4))
    shape, kernel = (rows, columns, 2), (kernel, data.draw(st.integers(1, 4)))
    stride = (stride, data.draw(st.integers(1, 3)))
    target = (-(-rows // stride[0]), -(-columns // stride[1]), 3)
    weights = np.random.default_rng(data.draw(st.integers(0, 99))).integers(-3, 4, (*kernel, 2, 3))
    pixels = np.random.default_rng(1).integers(0, 2, (2, *shape))  # sums of ones are exact in float32
    conv = nm.Conv(shape, target, kernel, stride, "same", weights=weights)
    thresholds = np.array([-1, 0, 2])
    layer = InputEncoding("I", target, code="layer", kernel=kernel, stride=stride, weights=weights.astype(np.float32),
                          thresholds=thresholds.astype(np.float32))  # fmt: skip
    frames = encode(layer, pixels.astype(np.float32), 1)
    sums = (conv.matrix() @ pixels.reshape(2, -1).T).T.reshape(2, 1, *target)
    np.testing.assert_array_equal(frames, sums >= thresholds)


def test_a_thermometer_is_feature_major_and_reaching_a_level_counts():
    encoding = InputEncoding("I", (1, 1, 4), code="threshold", levels=(0.2, 0.6))
    frames = encode(encoding, np.array([[[[0.2, 0.59]]]], np.float32), 1)
    assert frames[0, 0, 0, 0].tolist() == [True, False, True, False]


@given(seed=st.integers(0, 2**32 - 1), n_frames=st.integers(1, 40))
@settings(max_examples=30, deadline=None)
def test_rates_are_kept_to_a_spike_at_every_time(seed, n_frames):
    shown = images(seed=seed)
    spikes = encode_set(InputEncoding("I", (4, 3, 2), code="rate"), shown, n_frames, 0)
    assert spikes.shape == (5, n_frames, 4, 3, 2)
    assert not spikes[:, 0].any()
    wanted = shown.intensities()[:, None] * np.arange(n_frames)[:, None, None, None]
    assert (np.abs(spikes.cumsum(axis=1) - wanted) < 1).all()
    assert (encode_set(InputEncoding("I", (4, 3, 2), code="rate"), shown, n_frames, 0, [3])[0] == spikes[3]).all()


def test_equal_rates_do_not_spike_together():
    grey = np.full((1, 8, 8, 1), 0.25, np.float32)
    spikes = encode(InputEncoding("I", (8, 8, 1), code="rate"), grey, 101)[0, 1:].reshape(100, 64).sum(axis=1)
    assert spikes.sum() == 25 * 64
    assert spikes.min() >= 14
    assert spikes.max() <= 18


def test_noise_has_its_deviation_and_is_clipped():
    gray = np.full((1, 100, 100, 1), 0.5, np.float32)
    frames = encode(InputEncoding("I", (100, 100, 1), noise=0.05), gray, 20, np.random.default_rng(1))
    assert frames.mean() == pytest.approx(0.5, abs=0.001)
    assert frames.std() == pytest.approx(0.05, abs=0.001)
    loud = encode(InputEncoding("I", (100, 100, 1), noise=2.0), gray, 2, np.random.default_rng(1))
    assert (loud.min(), loud.max()) == (0.0, 1.0)
    assert np.mean(loud == 0) == pytest.approx(0.4013, abs=0.01)  # the normal distribution below -0.25
    spikes = encode(InputEncoding("I", (100, 100, 1), code="bernoulli"), gray * 0.5, 20, np.random.default_rng(1))
    assert spikes.mean() == pytest.approx(0.25, abs=0.004)


def test_a_mean_is_subtracted_after_noise_and_clipping_and_written_back(tmp_path):
    network({"noise": 0.3, "mean": [0.5, 0.25]}).save(tmp_path / "net.toml")
    encoding = input_encodings(nm.load_network(tmp_path / "net.toml"))["I"]
    assert encoding.mean == (0.5, 0.25)
    for noise in (0.3, 0.0):
        shown, plain = (encode_set(replace(encoding, noise=noise, mean=m), images(), 3, 1) for m in (encoding.mean, ()))
        np.testing.assert_array_equal(shown, plain - np.array([0.5, 0.25], np.float32))
    np.testing.assert_array_equal(
        encode_set(replace(encoding, mean=(0.5,)), images(), 3, 1),
        encode_set(replace(encoding, mean=()), images(), 3, 1) - np.float32(0.5),
    )


def test_tables_of_the_network_file_become_encodings(tmp_path):
    assert repr(input_encodings(network())["I"]) == "InputEncoding(node='I', shape=(4, 3, 2))"
    table = {"noise": 2, "code": "threshold", "levels": [0.25, 0.5]}
    encoding = input_encodings(network(table))["I"]
    assert (encoding.noise, encoding.code, encoding.levels) == (2.0, "threshold", (0.25, 0.5))
    layer = ENCODINGS[4]
    table = {"code": "layer", "noise": 0.3, "kernel": [3, 2], "stride": [2, 2], "encoder": layer.weights,
             "encoder.threshold": layer.thresholds}  # fmt: skip
    network(table, (2, 2, 5)).save(tmp_path / "net.toml")
    again = input_encodings(nm.load_network(tmp_path / "net.toml"))["I"]
    np.testing.assert_array_equal(encode_set(again, images(), 3, 1), encode_set(layer, images(), 3, 1))


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"nois": 1}, "inputs.I.nois: unknown key with code = \"real\"; allowed are noise, code, seen, mean, frames"),
        ({"noise": -1}, "inputs.I.noise: found -1; allowed are numbers from 0 to 100"),
        ({"noise": "2"}, "inputs.I.noise: found '2'; allowed are numbers from 0 to 100"),
        ({"mean": []}, "inputs.I.mean: found []; allowed are one number from 0 to 1, or one for each"),
        ({"mean": [0.1, 0.2, 0.3]}, "inputs.I.mean: found [0.1, 0.2, 0.3]; allowed are one number from 0 to 1, or 2"),
        ({"mean": [0.1, 1.5]}, "inputs.I.mean: found [0.1, 1.5]; allowed are one number from 0 to 1, or 2"),
        ({"mean": float("nan")}, "inputs.I.mean: found [nan]; allowed are one number from 0 to 1, or 2"),
        ({"mean": 0.5, "code": "bernoulli"}, 'inputs.I.mean: unknown key with code = "bernoulli"'),
        ({"frames": "movie"}, 'inputs.I.frames: found \'movie\'; allowed are "still", "track"'),
        ({"code": "bernouli"}, "inputs.I.code: found 'bernouli'; allowed are \"real\", \"threshold\", \"bernoulli\""),
        ({"noise": 0.1, "code": "rate"}, 'inputs.I.noise: unknown key with code = "rate"; allowed are code'),
        ({"levels": [0.5]}, 'inputs.I.levels: unknown key with code = "real"'),
        ({"code": "threshold", "levels": [0.5, 0.5]}, "inputs.I.levels: found [0.5, 0.5]; allowed are 1 to 256 number"),
        ({"code": "threshold", "levels": 0.5}, "inputs.I.levels: found 0.5; allowed are 1 to 256 numbers from 0 to 1"),
        ({"code": "threshold", "levels": [0.1, 0.2, 0.3]}, "allowed are as many as divide the 2 features of the node"),
        ({"code": "layer"}, "inputs.I.kernel: missing; allowed are two integers [rows, columns]"),
        ({"code": "layer", "kernel": [3]}, "inputs.I.kernel: found [3]; allowed are two integers [rows, columns]"),
        ({"code": "layer", "kernel": [3, 3], "stride": [0, 1]}, "inputs.I.stride: found [0, 1]; allowed are two"),
        ({"code": "layer", "kernel": [1, 1], "encoder": [1]}, "inputs.I.encoder: found [1]; allowed are arrays of the"),
        (
            {"code": "layer", "kernel": [3, 3], "encoder": np.ones((2, 3, 1, 2)), "encoder.threshold": np.ones(2)},
            "inputs.I: tensor I.encoder: found float32 [2, 3, 1, 2]; kernel and node allow float32 [3, 3, image feat",
        ),
    ],
)  # fmt: skip
def test_wrong_tables_are_told_in_one_line(table, message):
    with pytest.raises(NetworkError, match=re.escape(message)) as caught:
        input_encodings(network(table))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("encoding", "shape", "needed"),
    [
        (ENCODINGS[0], (4, 3, 1), '"real" takes images of [4, 3, 2]'),
        (ENCODINGS[1], (4, 3, 6), '"threshold" takes images of [4, 3, 2]'),
        (ENCODINGS[4], (5, 3, 2), '"layer" takes images of 3 to 4 rows, 3 to 4 columns, 2 features'),
        (ENCODINGS[4], (4, 3, 1), '"layer" takes images of 3 to 4 rows, 3 to 4 columns, 2 features'),
    ],
)
def test_images_that_do_not_fit_are_told_which_do(encoding, shape, needed):
    with pytest.raises(StimulusError, match=re.escape(needed)):
        encode_set(encoding, images(2, shape), 1, 0)


def test_what_is_no_intensity_or_has_no_generator_is_refused():
    encoding, good = ENCODINGS[0], np.zeros((1, 4, 3, 2), np.float32)
    rng = np.random.default_rng(0)
    for wrong in (images().images, good + 2, good * np.nan, [[0.5]]):
        with pytest.raises(StimulusError, match=r"input I: found .*; allowed are"):
            encode(encoding, wrong, 1, rng)
    with pytest.raises(InputError, match=r"rng = None: input I is drawn; give numpy.random.default_rng\(seed\)"):
        encode(encoding, good, 1)
    with pytest.raises(InputError, match="n_frames = 0: must be 1 or more"):
        encode(encoding, good, 0, rng)
    with pytest.raises(InputError, match=r"which = .*: allowed are numbers of images, 0 to 4"):
        encode_set(encoding, images(), 1, 0, which=np.array([5]))
    with pytest.raises(NetworkError, match=r'inputs\.I\.frames: "track" is shown in training only'):
        encode(replace(encoding, frames="track"), good, 1, rng)
    with pytest.raises(NetworkError, match=r"inputs\.I: its layer has no weights yet"):
        encode(InputEncoding("I", (4, 3, 1), code="layer", kernel=(3, 3)), good, 1)
