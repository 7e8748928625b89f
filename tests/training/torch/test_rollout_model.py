"""Deep windows, the window of size 1 and the definition give the same values; so do patterns that should."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import neuromap as nm
from neuromap.errors import NotSupportedError
from neuromap.network.edge import Edge
from neuromap.network.network import Network
from neuromap.network.node import Node
from neuromap.network.transforms import Conv, Dense, Identity, Pool
from neuromap.rollout.behaviour import equivalent

STRUCTURES = Path(__file__).parents[3] / "examples" / "structures"


@pytest.fixture(scope="module")
def torch(one_thread):
    return one_thread


@pytest.fixture(scope="module")
def model_of(torch):
    from neuromap.training.torch.rollout_model import RolloutModel

    def make(network, seed=0):
        model = RolloutModel(network, seed).double()
        generator = torch.Generator().manual_seed(seed)
        for name, parameter in model.tensors():
            if name.endswith(".bias"):
                parameter.data.uniform_(-1, 1, generator=generator)
        return model

    return make


def frames_of(torch, network, n_frames, batch=2, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return {
        name: torch.rand((n_frames, batch, *network.nodes[name].shape), generator=generator, dtype=torch.float64)
        for name in network.inputs
    }


def test_window_stream_and_definition_agree(torch, model_of, rolled, by_matrices):
    @settings(max_examples=45, deadline=None)
    @given(rolled, st.integers(0, 100))
    def check(drawn, seed):
        network, pattern = drawn
        model, inputs = model_of(network, seed), frames_of(torch, network, 4, seed=seed)
        window = model.window(pattern, inputs)
        state = model.blank({name: x[0] for name, x in inputs.items()})
        for i in range(1, 4):
            state = model.step(pattern, state, {name: x[i] for name, x in inputs.items()})
            for name in network.nodes:
                torch.testing.assert_close(state[name], window[name][i])
        tensors = {name: value.detach().numpy() for name, value in model.tensors()}
        activate = np.tanh if model.settings[network.outputs[0]].activation == "tanh" else lambda x: np.maximum(x, 0)
        expected = by_matrices(
            pattern,
            {key: tensors[edge.label] for key, edge in network.edges.items()},
            {name: tensors[f"{name}.bias"].ravel() for name in model.settings},
            activate,
            {name: x[:, 1].flatten(1).numpy() for name, x in inputs.items()},
        )
        for name in network.nodes:
            np.testing.assert_allclose(window[name][:, 1].flatten(1).detach().numpy(), expected[name], atol=1e-12)

    check()


@settings(max_examples=45, deadline=None)
@given(data=st.data())
def test_edges_do_what_their_matrices_do(torch, data):
    from neuromap.training.torch.rollout_model import apply_edge, weight_shape

    rows, columns = data.draw(st.tuples(st.integers(1, 6), st.integers(1, 6)))
    groups = data.draw(st.integers(1, 2))
    features, out = groups * data.draw(st.integers(1, 2)), groups * data.draw(st.integers(1, 3))
    kernel = data.draw(st.tuples(st.integers(1, 4), st.integers(1, 4)))
    stride = data.draw(st.tuples(st.integers(1, 3), st.integers(1, 3)))
    source = (rows, columns, features)
    padding = data.draw(st.just("same") | st.tuples(*[st.integers(0, 2)] * 4))
    same = (-(-rows // stride[0]), -(-columns // stride[1]))
    if padding != "same":
        whole = (rows + padding[0] + padding[2], columns + padding[1] + padding[3])
        kernel = (min(kernel[0], whole[0]), min(kernel[1], whole[1]))
        same = tuple((n - k) // s + 1 for n, k, s in zip(whole, kernel, stride, strict=True))
    kind = data.draw(st.sampled_from(["conv", "dense", "pool", "identity"]))
    if kind == "conv":
        transform = Conv(source, (*same, out), kernel, stride, padding, groups)
    elif kind == "dense":
        transform = Dense(source, (2, 1, out), groups)
    elif kind == "pool":
        transform = Pool(source, (*same, features), kernel, stride, padding)
    else:
        transform = Identity(source, source)
    shape = weight_shape(Edge("A", "B", transform))
    weights = None
    if shape is not None:
        weights = np.random.default_rng(data.draw(st.integers(0, 99))).integers(-3, 4, shape)
        transform = type(transform)(**{**vars(transform), "weights": weights})
    x = torch.randint(-4, 5, (3, *source), dtype=torch.float64)
    given_weights = None if weights is None else torch.from_numpy(weights).double()
    found = apply_edge(Edge("A", "B", transform), given_weights, x)
    expected = transform.matrix() @ x.flatten(1).numpy().T
    assert np.array_equal(found.flatten(1).numpy(), expected.T)
    assert found.shape == (3, *transform.target_shape)


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("ff", 102570), ("s", 110410), ("sr", 112714), ("dsr0", 407498), ("dsr1", 435178), ("dsr2", 767018),
        ("dsr3", 803914), ("dsr4", 1172618), ("dsr5", 1218730), ("dsr6", 1624298), ("dsr4_gtsrb", 1433771),
    ],
)  # fmt: skip
def test_parameters_of_the_papers_networks(name, parameters, model_of):
    model = model_of(nm.load_network(STRUCTURES / f"{name}.toml"))
    assert sum(parameter.numel() for _, parameter in model.tensors()) == parameters


def test_gradient_of_a_deep_window_is_that_of_a_network_written_out_by_hand(torch, model_of, real):
    nodes = {n: Node(n, (1, 1, k)) for n, k in (("I", 3), ("A", 2), ("O", 2))}
    edges = {key: Edge(*key) for key in (("I", "A"), ("A", "A"), ("A", "O"), ("I", "O"))}
    network = real(Network("net", nodes, edges), "tanh")
    model = model_of(network, 3)
    pattern = nm.RolloutPattern(network, (0, 1, 1, 0))
    x = frames_of(torch, network, 4)["I"]
    model.window(pattern, {"I": x})["O"][3].square().sum().backward()
    w = {name: value.detach().clone().requires_grad_() for name, value in model.tensors()}
    flat = x.flatten(2)
    a1 = torch.tanh(flat[1] @ w["I -> A"].T + w["A.bias"].ravel())
    a2 = torch.tanh(flat[2] @ w["I -> A"].T + a1 @ w["A -> A"].T + w["A.bias"].ravel())
    o3 = torch.tanh(a2 @ w["A -> O"].T + flat[3] @ w["I -> O"].T + w["O.bias"].ravel())
    o3.square().sum().backward()
    for name, parameter in model.tensors():
        torch.testing.assert_close(parameter.grad, w[name].grad, msg=name)


def test_patterns_of_one_class_agree_up_to_whole_frames(torch, model_of, rolled, patterns):
    """Retiming (docs/time.md): x'_v[i] = x_v[i - rho(v)], from histories that are alike: here without biases."""

    @settings(max_examples=45, deadline=None)
    @given(rolled, st.data())
    def check(drawn, data):
        network, pattern = drawn
        other = data.draw(patterns(network))
        shifts = equivalent(pattern, other)
        assume(shifts is not None)
        model = model_of(network)
        for name, parameter in model.tensors():
            if name.endswith(".bias"):
                parameter.data.zero_()
        inputs = frames_of(torch, network, 9)
        for x in inputs.values():
            x[:2] = 0  # frame 0 goes over R = 1 only: blank, it makes no difference
        one, two = model.window(pattern, inputs), model.window(other, inputs)
        for name, shift in shifts.items():
            if name in network.inputs:
                continue
            early, late = (one, two) if shift >= 0 else (two, one)
            torch.testing.assert_close(late[name][abs(shift) :], early[name][: 9 - abs(shift)])

    check()


def test_flipping_all_edges_of_the_sole_input_shifts_its_frames_by_one(torch, model_of, rolled):
    @settings(max_examples=40, deadline=None)
    @given(rolled)
    def check(drawn):
        network, pattern = drawn
        assume(len(network.inputs) == 1)
        mine = [key for key in network.edges if key[0] == network.inputs[0]]
        r_of = dict(zip(network.edges, pattern.values, strict=True))
        other = nm.RolloutPattern(network, tuple(1 if key in mine else r for key, r in r_of.items()))
        first = nm.RolloutPattern(network, tuple(0 if key in mine else r for key, r in r_of.items()))
        model, x = model_of(network), frames_of(torch, network, 6)[network.inputs[0]]
        earlier = torch.cat([x[1:], x[:1]])  # what is in frame i of x is in frame i - 1 here
        one, two = model.window(first, {network.inputs[0]: x}), model.window(other, {network.inputs[0]: earlier})
        for name in model.settings:
            torch.testing.assert_close(one[name], two[name])

    check()


def test_dropout_is_for_training_only(torch, model_of, real):
    network = real(Network("n", {"I": Node("I", (1, 1, 50)), "O": Node("O", (1, 1, 50))}, {("I", "O"): Edge("I", "O")}))
    dropping = replace(network, tables={"training": {"nodes": {"O": {"activation": "linear", "dropout": 0.5}}}})
    model, pattern = model_of(dropping), nm.RolloutPattern.streaming(dropping)
    x = frames_of(torch, dropping, 3)
    kept = model.eval().window(pattern, x)["O"]
    dropped = model.train().window(pattern, x)["O"]
    zero = (dropped[1:] == 0).double().mean()
    assert 0.3 < float(zero) < 0.7
    torch.testing.assert_close(dropped[dropped != 0], 2 * kept[dropped != 0])


def test_edges_that_cannot_be_trained_are_named(model_of):
    network = nm.build_network({"I": (2, None), "O": (2, 1)}, {("I", "O"): [[1, 0], [0, 1]]})
    with pytest.raises(NotSupportedError, match="edge I -> O: is an explicit matrix; training takes conv, dense"):
        model_of(network)


def test_edges_of_structure_only_are_told_what_to_do(tmp_path):
    from neuromap.training.torch.rollout_model import weight_shape

    text = 'format = 1\noutputs = ["O"]\nnodes.I.shape = [2, 2, 1]\nnodes.O.shape = [1, 1, 2]\n'
    (tmp_path / "net.toml").write_text(text + 'edges."I -> O".transform = "other"\n')
    edge = nm.load_network(tmp_path / "net.toml").edges["I", "O"]
    with pytest.raises(NotSupportedError, match=r"edge I -> O: has structure only, .*--calibrate .*--for loihi2"):
        weight_shape(edge)


def test_sums_over_edges_have_32_bits_where_products_are_in_bfloat16(torch, real):
    """Of two edges, or of one from outside a cycle and one within it; a sum in bfloat16 would have 8 bits."""
    from neuromap.training.torch.rollout_model import RolloutModel

    shapes = {"I": (1, 1, 9), "A": (1, 1, 9), "O": (1, 1, 9)}
    keys = (("I", "A"), ("A", "A"), ("A", "O"), ("I", "O"))
    model = RolloutModel(real(Network("two", {n: Node(n, s) for n, s in shapes.items()}, {k: Edge(*k) for k in keys})))
    model.in_bfloat16 = True
    shown = {"I": torch.rand(5, 3, 1, 1, 9, generator=torch.Generator().manual_seed(0))}
    found = model.train().window(nm.RolloutPattern.streaming(model.network), shown)
    for name in ("A", "O"):
        assert found[name].dtype == torch.float32
        assert (found[name] != found[name].bfloat16().float()).any()
