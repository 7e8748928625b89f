"""Graded neurons: one definition of rounding, and networks of them as files and as a reference."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import neuromap as nm
from neuromap.errors import NetworkError, StimulusError
from neuromap.network import Conv, GradedNeuron, Pool, build_network, load_network
from neuromap.simulation import check_frames, random_frames, reference
from neuromap.simulation.reference_frames import reference_batch


@given(
    st.lists(st.integers(-(2**31) + 1, 2**31 - 1), min_size=1, max_size=20),
    st.integers(0, 2**31 - 1),
    st.integers(0, 62),
    st.integers(-(2**24) + 1, 0),
    st.integers(0, 2**24 - 1),
)
def test_a_value_is_the_exact_quotient_rounded_to_the_nearest_even(totals, multiplier, shift, low, high):
    neuron = GradedNeuron(low, high, multiplier, shift)
    # Python's round of a Fraction takes the nearest integer, of two the even one.
    expected = [min(max(round(Fraction(total * multiplier, 2**shift)), low), high) for total in totals]
    assert neuron.respond(np.array(totals)).tolist() == expected


def network():
    image = GradedNeuron(-128, 127, zero_point=128, scale=0.5)
    hidden = GradedNeuron(0, 255, multiplier=np.array([3, 5]), shift=np.array([2, 3]), bias=np.array([7, -4]))
    conv = Conv((4, 4, 1), (4, 4, 2), (3, 3), weights=np.arange(-9, 9).reshape(3, 3, 1, 2))
    pool = Pool((4, 4, 2), (2, 2, 2), (2, 2))
    nodes = {
        "I": ((4, 4, 1), image),
        "H": ((4, 4, 2), hidden),
        "P": ((2, 2, 2), GradedNeuron(0, 255, maximum=1)),
        "O": (3, GradedNeuron(-(2**20), 2**20, bias=np.array([5, 0, -5]))),
    }
    weights = np.random.default_rng(0).integers(-128, 128, (3, 8))
    return build_network(
        nodes, {("I", "H"): conv, ("H", "P"): pool, ("P", "O"): weights, ("O", "O"): -np.eye(3, dtype=int)}
    )


def test_the_reference_computes_the_layers_one_by_one():
    net = network()
    frames = random_frames(net, 6, seed=3)
    assert frames["I"].dtype == np.int32
    assert frames["I"].min() < -60
    assert frames["I"].max() > 60
    x = reference(nm.Rollout(net, "sequential"), frames)
    kernel = np.arange(-9, 9).reshape(3, 3, 2)
    for i in range(1, 6):
        padded = np.pad(frames["I"][i].reshape(4, 4).astype(int), 1)
        total = np.array(
            [[(padded[r : r + 3, c : c + 3, None] * kernel).sum((0, 1)) for c in range(4)] for r in range(4)]
        ) + [7, -4]
        hidden = [
            [[round(Fraction(int(t) * m, 2**s)) for t, m, s in zip(cell, (3, 5), (2, 3), strict=False)] for cell in row]
            for row in total
        ]
        hidden = np.clip(hidden, 0, 255)
        assert (x["H"][i].reshape(4, 4, 2) == hidden).all()
        assert (x["P"][i].reshape(2, 2, 2) == hidden.reshape(2, 2, 2, 2, 2).max((1, 3))).all()
    assert not x["H"][0].any()
    assert x["H"].max() > 0


def test_a_missing_value_counts_as_0_among_the_greatest():
    least = GradedNeuron(-100, 100)
    net = build_network({"I": (2, least), "O": (1, GradedNeuron(-100, 100, maximum=1))}, {("I", "O"): [[1, 1]]})
    frames = {"I": np.array([[0, 0], [-5, -3], [-5, 0], [-1, 4]])}
    assert reference(nm.Rollout(net, "sequential"), frames)["O"].ravel().tolist() == [0, -3, 0, 4]


@pytest.mark.parametrize(
    ("n_inputs", "value", "weight", "maximum"),
    [(1, 2**23, 2**20, 1), (2048, 2**23, 2**30, 0)],  # times the multiplier, or summed, 0 in 64 bits
)
def test_sums_beyond_31_bits_are_refused_and_never_wrap(n_inputs, value, weight, maximum):
    made = GradedNeuron(-5, 2**24 - 1, 2**31 - 2**11 if maximum else 1, maximum=maximum)
    weights = np.full((1, n_inputs), weight)
    net = build_network({"I": (n_inputs, GradedNeuron(0, 2**24 - 1)), "O": (1, made)}, {("I", "O"): weights})
    frames = {"I": np.full((2, n_inputs), value)}
    with pytest.raises(NetworkError, match=r"node O: a sum of .* is reached; at most 2147483647"):
        reference(nm.Rollout(net, "sequential"), frames)
    with pytest.raises(NetworkError, match=r"node O: a sum of .* is reached; at most 2147483647"):
        reference_batch(nm.Rollout(net, "sequential"), {"I": frames["I"][None]}, ["O"])


def test_a_graded_network_survives_its_file(tmp_path):
    net = network()
    net.save(tmp_path / "net.toml")
    again = load_network(tmp_path / "net.toml")
    text = (tmp_path / "net.toml").read_text()
    assert 'model = "graded"' in text
    assert "scale = 0.5" in text
    for name, node in net.nodes.items():
        assert node.graded is not None
        assert again.nodes[name].graded.arrays.keys() == node.graded.arrays.keys()
        assert all((again.nodes[name].graded.arrays[key] == value).all() for key, value in node.graded.arrays.items())
        assert again.nodes[name].graded.stated == node.graded.stated
    assert again.inputs == ("I",)
    frames = random_frames(net, 4)
    first, second = (reference(nm.Rollout(n, "streaming"), frames) for n in (net, again))
    assert all((first[name] == second[name]).all() for name in first)


@pytest.mark.parametrize(
    ("make", "error", "said"),
    [
        (lambda: GradedNeuron(1, 5), NetworkError, "low: found 1; allowed are -16777215 to 0"),
        (lambda: GradedNeuron(0, 5, maximum=1, bias=3), NetworkError, "bias: a node that takes the greatest input"),
        (lambda: GradedNeuron(0, 5, scale=-1.0), NetworkError, "scale: found -1.0; allowed is a positive number"),
        (
            lambda: build_network({"I": (1, None), "O": (1, GradedNeuron(0, 1))}, {("I", "O"): [[1]]}),
            NetworkError,
            "node I: is not graded, while others are",
        ),
        (lambda: check_frames({"I": np.full((2, 16), 128)}, network()), StimulusError, "must be -128 to 127"),
        (
            lambda: check_frames({"I": np.full((2, 16), 0.5)}, network()),
            StimulusError,
            "must be integer; give integers",
        ),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(make, error, said):
    with pytest.raises(error, match=said.replace("(", r"\(")) as caught:
        make()
    assert "\n" not in str(caught.value)
