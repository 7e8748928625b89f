"""What was trained is what runs: torch model, reference of the exported network, and chip, frame by frame."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import neuromap as nm
from neuromap.encoding import InputEncoding, encode, input_encodings
from neuromap.errors import NotSupportedError
from neuromap.network.transforms import Conv, Dense, Identity, Pool
from neuromap.training.options.node_settings import WEIGHT_KINDS

CHIP = nm.load_chip("truenorth")


@pytest.fixture(scope="module")
def torch(one_thread):
    return one_thread


@pytest.fixture(scope="module")
def model_of(torch):
    """A model whose statistics and offsets are drawn too, as if it had been trained."""
    from neuromap.training.torch.frame_model import FrameModel

    def make(network, kinds, seed, image_shape=None):
        model = FrameModel(network, kinds, seed, image_shape).eval()
        generator = torch.Generator().manual_seed(seed)
        for name, parameter in model.tensors():
            if name.endswith((".bias", ".mean")):
                parameter.data.uniform_(-2, 2, generator=generator)
            if name.endswith(".variance"):
                parameter.data.uniform_(0, 9, generator=generator)
        return model

    return make


def pictures():
    shapes = {"I": (5, 4, 2), "A": (3, 2, 4), "B": (3, 2, 4), "P": (1, 1, 4), "O": (2, 1, 4)}
    edges = {
        ("I", "A"): Conv(shapes["I"], shapes["A"], kernel=(3, 3), stride=(2, 2)),
        ("A", "A"): Conv(shapes["A"], shapes["A"], kernel=(2, 1), groups=2),
        ("A", "B"): Identity(shapes["A"], shapes["B"]),
        ("B", "P"): Pool(shapes["B"], shapes["P"], kernel=(2, 2)),
        ("A", "O"): Dense(shapes["A"], shapes["O"], groups=2),
        ("P", "O"): Dense(shapes["P"], shapes["O"]),
    }
    return nm.build_network({name: (shape, None) for name, shape in shapes.items()}, edges, outputs=["O", "P"])


@st.composite
def layers(draw):
    """A table of an input whose layer is learned, and the shapes of images and node."""
    images = (draw(st.integers(1, 6)), draw(st.integers(1, 5)), draw(st.integers(1, 3)))
    kernel, stride = ([draw(st.integers(1, 4)), draw(st.integers(1, 3))] for _ in range(2))
    node = (-(-images[0] // stride[0]), -(-images[1] // stride[1]), draw(st.integers(1, 4)))
    noise = draw(st.sampled_from([0.0, 0.3, 2.0]))
    return {"code": "layer", "noise": noise, "kernel": kernel, "stride": stride}, images, node


@st.composite
def drawn_networks(draw, rolled, patterns):
    network, pattern = draw(rolled)
    if draw(st.booleans()):
        network = pictures()
        pattern = draw(patterns(network))
    kinds = {key: draw(st.sampled_from(sorted(WEIGHT_KINDS))) for key in network.edges}
    return network, pattern, kinds


@pytest.mark.law
def test_model_reference_and_chip_agree_frame_by_frame(torch, model_of, rolled, patterns):
    from neuromap.training.torch.frame_model import to_network
    from neuromap.training.torch.rollout_model import NetworkModel

    @settings(max_examples=8, deadline=None)
    @given(drawn_networks(rolled, patterns), st.integers(0, 1000), st.sampled_from(["windowed", "pipelined"]))
    def check(drawn, seed, execution):
        network, pattern, kinds = drawn
        model = model_of(network, kinds, seed)
        made = to_network(model)
        rollout = nm.Rollout(made, nm.RolloutPattern.from_values(made, pattern.values), execution)
        rng = np.random.default_rng(seed)
        frames = {name: rng.random((5, made.nodes[name].size)) < 0.5 for name in made.inputs}
        shaped = {n: torch.from_numpy(x.reshape(5, 1, *made.nodes[n].shape)).float() for n, x in frames.items()}
        with torch.no_grad():
            window = model.window(pattern, shaped)
            again = NetworkModel(made).window(pattern, shaped)
        meant = nm.reference(rollout, frames)
        for name in made.nodes:
            np.testing.assert_array_equal(window[name].flatten(1).numpy() != 0, meant[name])
            np.testing.assert_array_equal(again[name].numpy(), window[name].numpy())
        assert nm.verify(rollout, nm.map_rollout(rollout, CHIP), frames).verified

    check()


@pytest.mark.law
def test_layers_that_are_learned_are_what_the_host_computes(torch, model_of, tmp_path):
    from neuromap.training.torch.frame_model import to_network

    @settings(max_examples=6, deadline=None)
    @given(layers(), st.integers(0, 1000), st.sampled_from(["streaming", "sequential"]))
    def check(drawn, seed, pattern):
        table, shape, node = drawn
        edges = {("I", "O"): Dense(node, (2, 1, 3)), ("O", "O"): Identity((2, 1, 3), (2, 1, 3))}
        network = nm.build_network({"I": (node, None), "O": ((2, 1, 3), None)}, edges)
        model = model_of(replace(network, tables={"inputs": {"I": table}}), {}, seed, shape)
        to_network(model).save(tmp_path / "net.toml")
        made = nm.load_network(tmp_path / "net.toml")
        rollout = nm.Rollout(made, pattern if pattern == "streaming" else nm.RolloutPattern.sequential(made))
        images = np.random.default_rng(seed).random((2, *shape), np.float32)
        shown = encode(InputEncoding("I", shape, table["noise"]), images, 5, np.random.default_rng(seed))
        coded = encode(input_encodings(made)["I"], images, 5, np.random.default_rng(seed))
        with torch.no_grad():
            window = model.window(rollout.pattern, {"I": torch.from_numpy(shown.swapaxes(0, 1).copy())})
        np.testing.assert_array_equal(window["I"].numpy() != 0, coded.swapaxes(0, 1))
        for k, frames in enumerate(coded):
            meant = nm.reference(rollout, {"I": frames.reshape(5, -1)})
            np.testing.assert_array_equal(window["O"][:, k].flatten(1).numpy() != 0, meant["O"])
        assert nm.verify(rollout, nm.map_rollout(rollout, CHIP), {"I": coded[0].reshape(5, -1)}).verified

    check()


def test_exported_networks_come_back_from_their_files(torch, model_of, tmp_path):
    from neuromap.training.torch.frame_model import to_network

    made = to_network(model_of(pictures(), {("I", "A"): "4-bit"}, 3))
    made.save(tmp_path / "net.toml")
    back = nm.load_network(tmp_path / "net.toml")
    for key, edge in made.edges.items():
        np.testing.assert_array_equal(edge.matrix().toarray(), back.edges[key].matrix().toarray())
    for name, node in made.nodes.items():
        if node.threshold is not None:
            np.testing.assert_array_equal(node.threshold, back.nodes[name].threshold)


def test_a_network_from_a_file_is_a_model_with_any_thresholds(torch):
    from neuromap.training.torch.rollout_model import NetworkModel

    net = nm.build_network(
        {"I": ((1, 3, 1), None), "O": ((1, 1, 2), [2**31 - 1, 1])},
        {("I", "O"): Dense((1, 3, 1), (1, 1, 2), weights=[[1, 1, 1]] * 2)},
    )
    with torch.no_grad():
        window = NetworkModel(net).window(nm.RolloutPattern.streaming(net), {"I": torch.ones(3, 1, 1, 3, 1)})
    assert window["O"][:, 0, 0, 0].tolist() == [[0, 0], [0, 1], [0, 1]]


def test_sums_beyond_float32_are_refused(torch):
    from neuromap.training.torch.rollout_model import NetworkModel

    shape = (1, 1, 1)
    net = nm.build_network({"I": (shape, None), "O": (shape, 1)}, {("I", "O"): Dense(shape, shape, weights=[[2**24]])})
    with pytest.raises(NotSupportedError, match=r"node O: sums may reach 16777216"):
        NetworkModel(net)
