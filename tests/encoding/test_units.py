"""Images of real numbers are read in the units of the network, whatever else their file holds; pixels are not mixed."""

from dataclasses import replace

import numpy as np
import pytest

import neuromap as nm
from neuromap.datasets import image_sets
from neuromap.encoding import InputEncoding, encode_set, input_encodings
from neuromap.errors import NetworkError, StimulusError
from neuromap.network.spiking_neuron import GradedNeuron

REALS = np.random.default_rng(0).uniform(-0.8, 1.9, (40, 3, 4)).astype(np.float32)
PIXELS = np.random.default_rng(1).integers(0, 256, (40, 3, 4), np.uint8)
LABELS = np.arange(40) % 2
SEEN = (-0.8, 1.9)


def shown(reals, *beside):
    """The test part of a file whose training part holds numbers beside those of the images."""
    train = np.resize(np.array([*beside, 0.0], np.float32), (40, 3, 4))
    return image_sets(train if beside else reals, LABELS, reals, LABELS)["test"]


@pytest.mark.parametrize(("brightest", "darkest"), [(1.0, -0.5), (1.9, -0.8), (6.0, -0.8), (1.9, -9.0)])
def test_equal_numbers_give_equal_frames_whatever_the_range_of_their_file(brightest, darkest):
    images = shown(REALS.clip(-0.5, 1.0), brightest, darkest)
    assert images.seen == pytest.approx((darkest, brightest))
    reals = images.intensities()[..., 0] * (images.seen[1] - images.seen[0]) + images.seen[0]
    level = (0.4 + 0.8) / 2.7
    bits = encode_set(InputEncoding("I", (3, 4, 1), code="threshold", levels=(level,), seen=SEEN), images, 1, 0)
    assert np.array_equal(bits[:, 0, ..., 0], reals >= 0.4)
    values = InputEncoding("I", (3, 4, 1), code="value", values=(-80, 190), mean=(0.8 / 2.7,), step=(0.01 / 2.7,))
    for one in (replace(values, seen=SEEN), replace(values, scale=0.01)):  # the scale says the same
        assert np.abs(encode_set(one, images, 1, 0)[:, 0, ..., 0] - reals / 0.01).max() < 0.51


def test_numbers_beyond_black_and_white_are_clipped_as_values_are():
    images = shown(np.where(np.arange(40)[:, None, None] % 2, REALS, REALS + 5))
    frames = encode_set(InputEncoding("I", (3, 4, 1), seen=SEEN), images, 1, 0)
    assert (frames[::2] == 1).all()
    assert frames.min() >= 0


def graded(**neuron):
    net = nm.build_network({"I": ((3, 4, 1), None), "O": (2, 1)}, {("I", "O"): np.ones((2, 12), int)})
    neurons = (GradedNeuron(**neuron), GradedNeuron(low=-(2**20), high=2**20))
    nodes = {k: replace(v, threshold=None, neuron=n) for (k, v), n in zip(net.nodes.items(), neurons, strict=True)}
    return replace(net, nodes=nodes)


def test_a_graded_input_without_a_table_takes_reals_by_its_scale_and_pixels_as_its_integers():
    encoding = input_encodings(graded(low=-100, high=155, zero_point=100, scale=0.011))["I"]
    images = shown(REALS)
    reals = images.intensities()[..., 0] * (images.seen[1] - images.seen[0]) + images.seen[0]
    found = encode_set(encoding, images, 1, 0)[:, 0, ..., 0]
    assert np.abs(found - np.rint(reals / 0.011).clip(-100, 155)).max() <= 1
    pixels = image_sets(PIXELS, LABELS, PIXELS, LABELS)["test"]
    assert np.array_equal(encode_set(encoding, pixels, 1, 0)[:, 0, ..., 0], PIXELS.astype(int) - 100)


def test_pixels_are_not_taken_as_normalised_numbers_nor_these_as_pixels():
    pixels, reals = image_sets(PIXELS, LABELS, PIXELS, LABELS)["test"], shown(REALS)
    made_for_reals = InputEncoding("I", (3, 4, 1), seen=SEEN)
    with pytest.raises(StimulusError, match=r"are 0 to 1, the network was made for -0.8 to 1.9; give real numbers"):
        encode_set(made_for_reals, pixels, 1, 0)
    with pytest.raises(StimulusError, match=r"was made for 0 to 1; if it was made for these, write seen = \[-0.79"):
        encode_set(replace(made_for_reals, seen=None), reals, 1, 0)
    dim = shown(REALS.clip(0, 0.5))
    frames = encode_set(replace(made_for_reals, seen=None), dim, 1, 0)
    assert frames.max() == pytest.approx(0.5)  # within 0 to 1 both are one


@pytest.mark.parametrize("seen", [[1.0], [1.0, 1.0], [2, 1], "0 to 1", [0, float("inf")], [True, 2]])
def test_a_range_is_two_ascending_numbers(seen):
    net = graded(low=0, high=255)
    net = replace(net, tables={"inputs": {"I": {"seen": seen}}})
    with pytest.raises(NetworkError, match=r"inputs.I.seen: found .*; allowed are two numbers"):
        input_encodings(net)
