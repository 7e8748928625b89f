"""Graded networks in training: integers of the model are those of the reference, image by image, frame by frame."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import neuromap as nm
from neuromap.errors import NotSupportedError
from neuromap.network import GradedNeuron, build_network
from neuromap.network.transforms import Conv, Dense, Identity, Pool
from neuromap.training.options.node_settings import Widths

NARROW, WIDE = Widths(7, 2**15 - 1), Widths(127, 2**23 - 1)
SHAPES = {"I": (5, 4, 2), "A": (3, 2, 4), "B": (3, 2, 4), "P": (1, 1, 4), "M": (2, 1, 4), "O": (2, 1, 4)}
NEURONS = {
    "I": GradedNeuron(-128, 127),
    "A": GradedNeuron(0, 255),
    "B": GradedNeuron(-20, 127),
    "P": GradedNeuron(0, 255, multiplier=3, shift=2),
    "M": GradedNeuron(-128, 255, maximum=1),
    "O": GradedNeuron(-(2**15) + 1, 2**15 - 1),
}
EDGES = {
    ("I", "A"): Conv(SHAPES["I"], SHAPES["A"], kernel=(3, 3), stride=(2, 2)),
    ("A", "A"): Conv(SHAPES["A"], SHAPES["A"], kernel=(2, 1), groups=2),
    ("A", "B"): Identity(SHAPES["A"], SHAPES["B"]),
    ("I", "B"): Dense(SHAPES["I"], SHAPES["B"], groups=2),
    ("B", "P"): Pool(SHAPES["B"], SHAPES["P"], kernel=(2, 2)),
    ("B", "M"): Pool(SHAPES["B"], SHAPES["M"], kernel=(2, 2), padding="same"),
    ("A", "O"): Dense(SHAPES["A"], SHAPES["O"], groups=2),
    ("P", "O"): Dense(SHAPES["P"], SHAPES["O"]),
    ("M", "O"): Dense(SHAPES["M"], SHAPES["O"]),
}
NETWORK = build_network({name: (SHAPES[name], neuron) for name, neuron in NEURONS.items()}, EDGES, outputs=["O"])


@pytest.fixture(scope="module")
def torch(one_thread):
    return one_thread


@pytest.fixture(scope="module")
def trained(torch):
    """A model after a few steps that pull everything about, and the frames that it saw."""
    from neuromap.training.torch.graded_model import GradedModel

    def make(network, pattern, widths, seed, steps=3):
        low, high = network.nodes["I"].graded.value_range
        frames = np.random.default_rng(seed).integers(low, high + 1, (4, 6, *network.nodes["I"].shape))
        shown = {"I": torch.from_numpy(frames.astype(np.float32))}
        model = GradedModel(network, widths, seed)
        model.look_at(pattern, shown)
        optimiser = torch.optim.Adam([p for _, p in model.tensors() if p.requires_grad], 0.03)
        for _ in range(steps):
            optimiser.zero_grad()
            (model.train().window(pattern, shown)["O"] - 1).abs().mean().backward()
            optimiser.step()
        with torch.no_grad():
            found = model.eval().window(pattern, shown)
        return model, frames, {name: values.flatten(2).numpy() for name, values in found.items()}

    return make


def by_reference(network, pattern, frames):
    """Values of all nodes, shape (frames, images, neurons)."""
    rollout = nm.Rollout(network, nm.rollout.RolloutPattern(network, pattern.values, pattern.name))
    found = [nm.reference(rollout, {"I": image.reshape(len(image), -1)}) for image in frames.swapaxes(0, 1)]
    return {name: np.stack([values[name] for values in found], 1) for name in network.nodes}


@pytest.mark.law
def test_values_of_the_model_are_those_of_the_reference(trained, torch, patterns):
    from neuromap.training.torch.graded_model import to_graded_network
    from neuromap.training.torch.rollout_model import NetworkModel

    @settings(max_examples=8, deadline=None)
    @given(patterns(NETWORK), st.sampled_from([NARROW, WIDE]), st.integers(0, 2**31))
    def check(pattern, widths, seed):
        model, frames, found = trained(NETWORK, pattern, widths, seed)
        written = to_graded_network(model)
        meant = by_reference(written, pattern, frames)
        for name in NETWORK.nodes:
            np.testing.assert_array_equal(found[name], meant[name], err_msg=name)
        assert len(np.unique(meant["O"])) > 9
        by_file = NetworkModel(written).eval().window(pattern, {"I": torch.from_numpy(frames.astype(np.float32))})
        np.testing.assert_array_equal(by_file["O"].detach().flatten(2).numpy(), meant["O"])
        assert_sums_stay_within(written, widths)

    check()


def assert_sums_stay_within(network, widths):
    for name in ("A", "B", "O"):
        reach = np.abs(network.nodes[name].graded.bias)
        for (source, target), edge in network.edges.items():
            if target == name:
                reach = reach + abs(edge.matrix()).sum(axis=1) * max(map(abs, network.nodes[source].graded.value_range))
                if not isinstance(edge.transform, Identity):
                    assert abs(edge.matrix()).max() <= widths.weight
        assert reach.max() <= widths.total


def test_the_written_network_survives_its_file(trained, tmp_path):
    from neuromap.training.torch.graded_model import to_graded_network

    pattern = nm.Rollout(NETWORK, "streaming").pattern
    model, frames, found = trained(NETWORK, pattern, WIDE, 1)
    to_graded_network(model).save(tmp_path / "net.toml")
    meant = by_reference(nm.load_network(tmp_path / "net.toml"), pattern, frames)
    np.testing.assert_array_equal(found["O"], meant["O"])


def test_wide_sums_get_coarser_weights(trained):
    """With 4,096 inputs of up to 255, weights of seven bits would reach 2**27."""
    from neuromap.training.torch.graded_model import to_graded_network

    shape = (32, 32, 4)
    nodes = {"I": (shape, NEURONS["A"]), "O": ((1, 1, 3), NEURONS["O"])}
    net = build_network(nodes, {("I", "O"): Dense(shape, (1, 1, 3))})
    model, _, _ = trained(net, nm.Rollout(net, "streaming").pattern, WIDE, 0, steps=0)
    written = to_graded_network(model)
    again, _, _ = trained(written, nm.Rollout(net, "streaming").pattern, WIDE, 0, steps=0)
    assert (again.weight(("I", "O")) == model.weight(("I", "O"))).all()
    weights = abs(written.edges["I", "O"].matrix())
    reach = weights.sum(axis=1).max() * 255
    assert WIDE.products * 0.8 < reach <= WIDE.products
    assert weights.max() < 30


def test_training_starts_with_the_values_of_a_network_that_has_integers(trained, torch):
    from neuromap.training.torch.graded_model import GradedModel, to_graded_network

    pattern = nm.Rollout(NETWORK, "streaming").pattern
    model, frames, found = trained(NETWORK, pattern, WIDE, 2)
    again, _, values = trained(to_graded_network(model), pattern, WIDE, 2, steps=0)
    assert again.knows_weights
    for key in EDGES:
        if model.weight(key) is not None:
            assert torch.equal(model.weight(key), again.weight(key))
    for name in NETWORK.nodes:  # multipliers of other deviations are rounded otherwise
        assert np.abs(values[name] - found[name]).max() <= 1 + 1e-4 * np.abs(found[name]).max()
    # weights that are too wide are scaled to the chip's, with bias and multiplier
    narrow = GradedModel(to_graded_network(model), Widths(31, 2**23 - 1))
    shown = {"I": torch.from_numpy(frames.astype(np.float32))}
    narrow.look_at(pattern, shown)
    assert max(narrow.weight(key).detach().abs().max() for key in EDGES if narrow.weight(key) is not None) == 31
    values = narrow.eval().window(pattern, shown)["O"].detach().flatten(2).numpy()
    assert np.corrcoef(values.ravel(), found["O"].ravel())[0, 1] > 0.99


def test_gradients_reach_everything_that_is_trained(trained):
    model, _, _ = trained(NETWORK, nm.Rollout(NETWORK, "streaming").pattern, WIDE, 3, steps=1)
    moved = {name for name, p in model.tensors() if p.grad is not None and p.grad.abs().sum() > 0}
    edges = {edge.label for key, edge in NETWORK.edges.items() if isinstance(EDGES[key], Conv | Dense)}
    assert moved == edges | {"A.bias", "B.bias", "O.bias", "scores.scale"}


IMAGE, CELLS = (4, 4, 1), (2, 2, 1)


@pytest.mark.parametrize(
    ("node", "edges", "said"),
    [
        (
            GradedNeuron(0, 255, maximum=1),
            {("I", "H"): Conv(IMAGE, CELLS, kernel=(2, 2), stride=(2, 2))},
            "node H: takes the greatest input and has weights to train",
        ),
        (
            GradedNeuron(0, 255, maximum=1),
            {("I", "H"): Pool(IMAGE, CELLS, kernel=(2, 2)), ("H", "H"): Identity(CELLS, CELLS)},
            "node H: takes the greatest input and lies on a cycle",
        ),
        (
            GradedNeuron(0, 255, multiplier=2**31 - 1),
            {("I", "H"): Pool(IMAGE, CELLS, kernel=(2, 2))},
            r"node H: its sums reach 1020, its multiplier 2147483647; .* scale them down",
        ),
        (
            GradedNeuron(0, 255),
            {
                ("I", "H"): Dense(IMAGE, CELLS),
                ("H", "H"): Pool(CELLS, CELLS, kernel=(20, 20), stride=(1, 1), padding="same"),
            },
            "node H: its neurons have so many inputs",
        ),
        (
            GradedNeuron(0, 255, bias=2**15),
            {("I", "H"): Pool(IMAGE, CELLS, kernel=(2, 2))},
            "node H: its sums reach 33788",
        ),
        (GradedNeuron(0, 0), {("I", "H"): Dense(IMAGE, CELLS)}, "node H: its only value is 0"),
    ],
)
def test_what_is_not_trained_is_refused_in_one_line(torch, node, edges, said):
    from neuromap.training.torch.graded_model import GradedModel

    net = build_network({"I": (IMAGE, NEURONS["A"]), "H": (CELLS, node)}, edges)
    with pytest.raises(NotSupportedError, match=said) as caught:
        GradedModel(net, NARROW)
    assert "\n" not in str(caught.value)
