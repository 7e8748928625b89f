"""Layers on the host that are learned: gradients reach them, and what is measured is what the host computes."""

from dataclasses import replace

import numpy as np
import pytest

import neuromap as nm
from neuromap.datasets.tracks import ImageSet
from neuromap.encoding import InputEncoding, encode, input_encodings
from neuromap.errors import NetworkError, TrainingError
from neuromap.training import TrainingOptions, train_for_chip

CHIP = nm.load_chip("truenorth")
LAYER = InputEncoding("I", (3, 2, 4), code="layer", kernel=(3, 2), stride=(2, 2))


@pytest.fixture(scope="module")
def torch(one_thread):
    return one_thread


@pytest.fixture(scope="module")
def layer(torch):
    from neuromap.training.torch.frame_model import HostLayer

    return HostLayer(LAYER, (5, 4, 2), torch.Generator().manual_seed(1))


@pytest.fixture(scope="module")
def intensities(torch):
    return torch.rand((2, 30, 5, 4, 2), generator=torch.Generator().manual_seed(2))


def test_what_fires_while_training_fires_on_the_host(torch, layer, intensities):
    layer.train()(intensities)  # running means and variances are any
    named = dict(layer.tensors())
    named["I.encoder.bias"].data.copy_(torch.tensor([-1.0, -0.1, 0.2, 1.5]))
    sums = torch.nn.functional.conv2d(
        torch.nn.functional.pad(intensities.flatten(0, 1).permute(0, 3, 1, 2), (0, 0, 1, 1)),
        named["I.encoder"].permute(3, 2, 0, 1),
        stride=(2, 2),
    ).permute(0, 2, 3, 1)
    learned = layer(intensities)
    flat = sums.detach().reshape(-1, 4)
    named["I.encoder.mean"].data.copy_(flat.mean(0))
    named["I.encoder.variance"].data.copy_(flat.var(0, unbiased=False))
    found = layer.eval()(intensities)
    encoding = layer.encoding()
    far = (sums - torch.tensor(encoding.thresholds)).abs().unflatten(0, (2, 30)) > 1e-4
    assert far.float().mean() > 0.99
    assert torch.equal(found[far], learned[far])
    on_host = encode(encoding, intensities.flatten(0, 1).numpy(), 1)[:, 0]
    np.testing.assert_array_equal(found.flatten(0, 1).numpy() != 0, on_host)
    assert 0.05 < on_host.mean((0, 1, 2)).min() < on_host.mean((0, 1, 2)).max() < 0.98


@pytest.mark.parametrize("training", [True, False])
def test_views_of_one_frame_give_what_frames_would(torch, layer, intensities, training):
    still = intensities[:1].expand(3, *intensities.shape[1:])
    layer.train(training)
    assert torch.equal(layer(still), layer(still.clone()))


def test_numbers_beyond_float32_are_told(torch, layer):
    variance = dict(layer.tensors())["I.encoder.variance"]
    before = variance.data.clone()
    variance.data.fill_(np.inf)
    with pytest.raises(TrainingError, match=r"inputs\.I: its layer has weights or thresholds beyond"):
        layer.encoding()
    variance.data.copy_(before)


def test_layers_that_do_not_fit_are_told(torch):
    from neuromap.training.torch.frame_model import HostLayer

    for shape, kernel in (((5, 5, 2), (3, 2)), ((5, 4, 2), (2**14, 2**14))):
        with pytest.raises(NetworkError, match=r"^inputs\.I: conv: [^\n]*$"):
            HostLayer(replace(LAYER, kernel=kernel), shape, torch.Generator())


def hidden(n, seed):
    """Images whose second feature tells the class, always far above half the intensity, and whose first is noise."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, n)
    images = np.stack([rng.integers(0, 256, (n, 3, 3)), np.broadcast_to(labels[:, None, None], (n, 3, 3))], -1)
    images[..., 1] = 165 + 20 * images[..., 1]
    return ImageSet("hidden", "train", images.astype(np.uint8), labels.astype(np.int64), ("low", "high"))


def trained(table, features):
    shapes = {"I": (3, 3, features), "O": (1, 1, 4)}
    net = nm.build_network(
        {name: (shape, None) for name, shape in shapes.items()}, {("I", "O"): nm.Dense(shapes["I"], shapes["O"])}
    )
    net = replace(net, tables={"inputs": {"I": table}})
    images = {"train": hidden(200, 1), "validation": hidden(100, 2)}
    options = TrainingOptions(
        epochs=15, batch=10, frames=1, optimiser="adam", learning_rate=0.05, schedule="cosine", threads=1
    )
    return train_for_chip(nm.Rollout(net, "streaming"), CHIP, images, options)


def test_a_layer_learns_what_no_fixed_threshold_shows(torch):
    assert trained({"code": "threshold"}, 2).result.accuracy[0] < 0.7
    made = trained({"code": "layer", "kernel": [1, 1]}, 1)
    assert made.result.accuracy[0] > 0.97
    noise, signal = np.abs(input_encodings(made.network)["I"].weights[0, 0, :, 0])
    assert signal > 4 * noise
    assert made.result.parameters == 2 + 1 + 9 * 4 + 4
