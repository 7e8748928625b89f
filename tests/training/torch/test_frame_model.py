"""Models in frame code: folding without a rest, weights of their kinds, gradients where sums are near thresholds."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import neuromap as nm
from neuromap.network.transforms import Conv, Dense, Pool

KINDS = {"ternary": {-1, 0, 1}, "sign-fixed": {-1, 0, 1}, "4-bit": set(range(-8, 8))}


@pytest.fixture(scope="module")
def torch(one_thread):
    return one_thread


@pytest.fixture(scope="module")
def frame_model(torch):
    from neuromap.training.torch.frame_model import FrameModel

    return FrameModel


def chain(kernel=(3, 3)):
    shapes = {"I": (6, 6, 2), "A": (3, 3, 4), "P": (2, 2, 4), "O": (1, 1, 6)}
    edges = {
        ("I", "A"): Conv(shapes["I"], shapes["A"], kernel=kernel, stride=(2, 2), groups=2),
        ("A", "P"): Pool(shapes["A"], shapes["P"], kernel=(2, 2), stride=(1, 1)),
        ("P", "O"): Dense(shapes["P"], shapes["O"], groups=2),
    }
    return nm.build_network({name: (shape, None) for name, shape in shapes.items()}, edges)


def test_folded_thresholds_leave_no_rest(torch, frame_model):
    network = nm.build_network({"I": (1, None), "O": (1, None)}, {("I", "O"): Dense((1, 1, 1), (1, 1, 1))})
    model = frame_model(network)
    named = dict(model.tensors())

    @settings(max_examples=200, deadline=None)
    @given(*3 * [st.floats(-300, 300, width=32)], st.integers(-400, 400))
    def check(offset, mean, deviation, s):
        for name, value in (("bias", offset), ("mean", mean), ("variance", deviation**2)):
            named[f"O.{name}"].data.fill_(value)
        mean, variance, offset = (float(named[f"O.{name}"].detach()) for name in ("mean", "variance", "bias"))
        is_over = s >= mean - offset * float(np.sqrt(variance + 0.01))
        assert is_over == (s >= float(model.threshold("O").item()))

    check()


@pytest.mark.parametrize("kind", KINDS)
def test_weights_are_of_their_kind_and_stay_so_when_trained(torch, frame_model, kind):
    network = chain()
    model = frame_model(network, dict.fromkeys(network.edges, kind)).train()
    frames = torch.randint(0, 2, (2, 20, 6, 6, 2), generator=torch.Generator().manual_seed(1)).float()
    before = model.weight(("I", "A")).detach().clone()
    for _ in range(4):
        model.window(nm.RolloutPattern.sequential(network), {"I": frames})["O"][..., :3].sum().backward()
        for _, parameter in model.tensors():
            if parameter.grad is not None:
                parameter.data -= 0.3 * parameter.grad.sign()
    for key in (("I", "A"), ("P", "O")):
        assert set(model.weight(key).detach().unique().int().tolist()) <= KINDS[kind]
    assert not torch.equal(before, model.weight(("I", "A")))
    if kind == "sign-fixed":
        signs = model.weight(("I", "A"))  # one source feature in each of two groups, two target features each
        assert set(signs[..., :2].sign().unique().int().tolist()) == {0, 1}
        assert set(signs[..., 2:].sign().unique().int().tolist()) == {-1, 0}


def test_no_gradient_where_no_spike_could_change(torch, one_thread):
    from neuromap.training.torch.frame_model import fire

    distance = torch.tensor([-3.0, -0.25, 0.0, 0.5, 3.0], requires_grad=True)
    spikes = fire(distance)
    spikes.sum().backward()
    assert spikes.tolist() == [0, 0, 1, 1, 1]
    assert distance.grad.tolist() == [0, 0.75, 1, 0.5, 0]


@pytest.mark.parametrize("kind", KINDS)
def test_weights_keep_their_bounds_after_the_last_step(torch, frame_model, kind):
    network = chain()
    model = frame_model(network, dict.fromkeys(network.edges, kind)).eval()
    for name, parameter in model.tensors():
        if "->" in name:
            parameter.data.mul_(9)  # as a step of a high learning rate leaves them
    weights = model.weight(("I", "A"))
    assert set(weights.unique().tolist()) <= KINDS[kind]


def test_a_batch_of_one_image_is_trained(torch, frame_model):
    network = chain()
    model = frame_model(network).train()
    before = {name: value.detach().clone() for name, value in model.tensors()}
    values = model.window(nm.RolloutPattern.sequential(network), {"I": torch.ones(2, 1, 6, 6, 2)})
    values["O"].sum().backward()
    after = dict(model.tensors())
    assert all(torch.isfinite(value).all() for value in after.values())
    for name in ("O.mean", "O.variance"):  # one sum says nothing about its spread
        assert torch.equal(after[name], before[name])


def test_thresholds_that_no_sum_reaches_are_whole_numbers(torch, frame_model):
    model = frame_model(chain()).eval()
    dict(model.tensors())["A.bias"].data.fill_(-1e30)
    assert model.threshold("A").tolist() == [2.0**24] * 4
