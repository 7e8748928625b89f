"""Rates stand for values: exactly where spikes take thresholds off, without bias where they set potentials to 0."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import neuromap as nm
from neuromap.arrays.even_spikes import even_spikes
from neuromap.datasets import load_images
from neuromap.encoding import encode, input_encodings
from neuromap.errors import InputError, NetworkError, NotSupportedError
from neuromap.network import GradedNeuron, build_network
from neuromap.quantise import to_rates

TICKS = 100
EXAMPLES = Path(__file__).parents[2] / "examples"


def one_layer(rng, least=-20, n_in=12, n_out=9):
    weights = rng.integers(least, 21, (n_out, n_in))
    neuron = GradedNeuron(0, 2**20, multiplier=1, shift=3, bias=rng.integers(-200, 400, n_out))
    return build_network({"I": (n_in, GradedNeuron(0, 255)), "O": (n_out, neuron)}, {("I", "O"): weights})


def counts(program, intensities, ticks=TICKS):
    """Spikes of the output in all ticks, shape (rows, size)."""
    spikes = even_spikes(intensities.astype(np.float64), ticks + 1).swapaxes(0, 1)
    return nm.simulate_batch(program, {"I": spikes}, threads=1).frames("O").sum(axis=1)


def mapped(made):
    return nm.map_rollout(nm.Rollout(made.network, "streaming"), made.chip)


def values_of(network, rows):
    return nm.reference(nm.Rollout(network, "sequential"), {"I": np.vstack([rows[:1], rows])})["O"][1:]


@pytest.mark.law
@given(seed=st.integers(0, 2**32 - 1), chip=st.sampled_from(["loihi1", "truenorth"]))
@settings(max_examples=8, deadline=None)
def test_soft_resets_lose_nothing(seed, chip):
    rng = np.random.default_rng(seed)
    network, rows = one_layer(rng), rng.integers(0, 256, (40, 12))
    made = to_rates(network, {"I": rows}, chip, percentile=100)
    neuron, full = made.network.nodes["O"].neuron, made.full["O"]
    if chip == "truenorth" and not neuron.subtract:
        return  # a tick may add more than twice the threshold
    (edge,) = (edge for key, edge in made.network.edges.items() if key == ("I", "O"))
    # half a spike of every input is still to come or came early; weights are rounded; a threshold is kept or begun
    relative = edge.matrix().toarray() / neuron.threshold.reshape(-1, 1)
    wanted = np.array(network.edges["I", "O"].matrix().toarray()) * 255 / 8 / full
    bound = 1.5 + np.abs(relative).sum(axis=1) + TICKS * (np.abs(relative - wanted).sum(axis=1) + 2e-3)
    ideal = (rows @ network.edges["I", "O"].matrix().toarray().T + network.nodes["O"].graded.bias) / 8 / full
    found = counts(mapped(made), rows / 255)
    assert (np.abs(found - (TICKS - 1) * ideal.clip(0, 1)) <= bound + (ideal < 0) * 3).all()


def test_what_hard_resets_lose_is_in_the_thresholds():
    rng = np.random.default_rng(5)
    network, rows = one_layer(rng, n_in=40, n_out=30), rng.integers(0, 120, (200, 40))
    made = to_rates(network, {"I": rows}, "truenorth")
    assert not made.network.nodes["O"].neuron.subtract
    found = counts(mapped(made), rows[:60] / 255).sum()
    wanted = ((TICKS - 1) * values_of(network, rows[:60]) / made.full["O"]).sum()
    assert abs(found / wanted - 1) < 0.08


@pytest.mark.parametrize(
    ("chip", "ticks", "cores"), [pytest.param("truenorth", 96, 40, marks=pytest.mark.thorough), ("loihi1", 48, 1)]
)
def test_shipped_digits_are_as_good_as_told(chip, ticks, cores):
    network = nm.load_network(EXAMPLES / "graded" / "digits.toml")
    train, test = load_images("digits", "train", limit=1000), load_images("digits", "test")
    pixels = np.rint(train.intensities() * 255).astype(int)
    made = to_rates(network, {"I": pixels}, chip)
    rollout = nm.Rollout(made.network, "streaming")
    program = nm.map_rollout(rollout, chip)
    assert program.n_cores <= cores
    assert nm.verify(rollout, program, nm.random_frames(made.network, 20, seed=1)).verified
    found = counts(program, test.intensities().reshape(len(test.labels), -1), ticks).argmax(axis=1)
    graded = values_of(network, np.rint(test.intensities() * 255).astype(int).reshape(len(test.labels), -1)).argmax(
        axis=1
    )
    assert (found == test.labels).mean() >= (graded == test.labels).mean() - 0.01


def test_linear_units_and_offsets_are_folded():
    rng = np.random.default_rng(2)
    inner, outer = rng.integers(-9, 10, (8, 6)), rng.integers(-9, 10, (5, 8))
    whole = (outer @ inner).astype(int)
    ends = {"I": (6, GradedNeuron(-128, 127, zero_point=128)), "O": (5, GradedNeuron(0, 2**20, bias=500))}
    linear = {**ends, "L": (8, GradedNeuron(-(2**20), 2**20))}
    two = build_network(linear, {("I", "L"): inner, ("L", "O"): outer}, outputs=["O"])
    one = build_network(ends, {("I", "O"): whole})
    rows = {"I": rng.integers(-128, 128, (30, 6))}
    both = [to_rates(network, rows, "loihi1").network for network in (two, one)]
    assert "L" not in both[0].nodes
    assert (both[0].edges["I", "O"].matrix() != both[1].edges["I", "O"].matrix()).nnz == 0
    assert (both[0].edges["clock", "O"].matrix() != both[1].edges["clock", "O"].matrix()).nnz == 0


@pytest.mark.parametrize(("low", "high", "zero", "table"), [
    (0, 255, 0, {}), (-128, 127, 128, {}), (0, 1000, 0, {}), (-200, 200, 0, {"step": [0.005], "mean": [0.5]}),
])  # fmt: skip
def test_an_intensity_stands_for_the_value_that_the_encoding_gives(low, high, zero, table):
    """The first and the only node answers with the value: as many spikes as it says, by intensity."""
    nodes = {"I": ((4, 4, 1), GradedNeuron(low, high, zero_point=zero)), "O": (16, GradedNeuron(0, 4000, bias=300))}
    network = build_network(nodes, {("I", "O"): np.eye(16, dtype=int) * 3})
    network = replace(network, tables={"inputs": {"I": table}})
    (encoding,) = input_encodings(network).values()
    images = np.random.default_rng(4).random((30, 4, 4, 1)).astype(np.float32)
    values = encode(encoding, images, 1).reshape(30, 16)
    made = to_rates(network, {"I": values}, "loihi1", percentile=100)
    found = counts(mapped(made), images.reshape(30, 16))
    assert np.abs(found - (TICKS - 1) * values_of(network, values) / made.full["O"]).max() <= 2.5


def test_currents_stay_in_their_width_as_long_as_told():
    weights = np.array([[-40, -40], [30, 3]])
    nodes = {"I": (2, GradedNeuron(0, 255)), "O": (2, GradedNeuron(0, 10**6))}
    made = to_rates(build_network(nodes, {("I", "O"): weights}), {"I": np.array([[0, 9], [255, 255]])}, "loihi1")
    edge = made.network.edges["I", "O"].matrix().toarray()
    fall = -edge[0].sum()
    assert made.bounded_ticks * fall <= 2**23 < (made.bounded_ticks + 2) * fall + 2048
    assert (
        to_rates(build_network(nodes, {("I", "O"): weights}), {"I": np.array([[9, 0], [9, 9]])}).bounded_ticks is None
    )


def refused(nodes, edges, chip="truenorth", error=NotSupportedError, match="", rows=None, **given_):
    network = build_network(nodes, edges, outputs=["O"])
    rows = {"I": np.arange(12).reshape(3, 4)} if rows is None else rows
    with pytest.raises(error, match=match):
        to_rates(network, rows, chip, **given_)


@pytest.mark.parametrize("chip", ["loihi1", "truenorth"])
def test_an_input_that_is_always_silent_never_spikes(chip):
    nodes = {"I": (3, GradedNeuron(0, 255)), "J": (2, GradedNeuron(0, 0)), "O": (2, GradedNeuron(0, 255))}
    network = build_network(nodes, {("I", "O"): np.ones((2, 3), int), ("J", "O"): np.ones((2, 2), int)})
    with np.errstate(all="raise"):
        made = to_rates(network, {"I": np.arange(12).reshape(4, 3), "J": np.zeros((4, 2), int)}, chip)
    assert made.full["O"] > 0


def test_what_is_no_rate_is_refused():
    graded = GradedNeuron(0, 255)
    nodes = {"I": (4, graded), "O": (4, graded)}
    ones = np.ones((4, 4), int)
    edges = {("I", "O"): ones}
    refused(nodes, edges | {("O", "O"): ones}, match="closes a cycle.*loihi2")
    refused(nodes | {"O": (4, GradedNeuron(0, 255, maximum=1))}, edges, match="takes the greatest input")
    refused({"I": (4, None), "O": (4, 1)}, edges, match="is not graded")
    refused(nodes, edges, "loihi2", match="no neurons that integrate")
    wide = {"I": (129, graded), "O": (1, graded)}
    rows = {"I": np.arange(258).reshape(2, 129) % 256}
    refused(wide, {("I", "O"): np.ones((1, 129), int)}, match="takes 129 inputs.*256 axons", rows=rows)
    silent = nodes | {"O": (4, GradedNeuron(0, 255, bias=-9999))}
    refused(silent, edges, error=NetworkError, match="no value above 0")
    refused(nodes, edges, error=InputError, match="2 rows or more", rows={"I": np.ones((1, 4), int)})
    refused(nodes, edges, error=InputError, match="allows 0 to 255", rows={"I": np.full((2, 4), 300)})
    refused(nodes, edges, error=InputError, match="give values of the inputs I", rows={})
    refused(nodes, edges, error=InputError, match="percentile", percentile=20)


def test_sums_that_are_not_exact_are_refused_on_the_data_too():
    neuron = GradedNeuron(0, 255, multiplier=1, shift=20)
    network = build_network({"I": (2, GradedNeuron(0, 2**20)), "O": (1, neuron)}, {("I", "O"): [[2000, 2000]]})
    with pytest.raises(NetworkError, match=r"node O: a sum of 4194304000 is reached; at most 2147483647 \(31 bits\)"):
        to_rates(network, {"I": np.full((2, 2), 2**20)}, "loihi1")
