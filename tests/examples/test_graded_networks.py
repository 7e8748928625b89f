"""The graded example networks: PyTorch computes what the reference does, sums fit the chip, and stated accuracies."""

import os
import re
from pathlib import Path

import numpy as np
import pytest

import neuromap as nm
from neuromap.datasets import load_images

GRADED = Path(__file__).parents[2] / "examples" / "graded"
DATA = Path(os.environ.get("NEUROMAP_DATA", Path(__file__).resolve().parents[2] / ".." / "shared" / "data"))
SOURCES = {"mnist": DATA / "mnist", "cifar": DATA / "cifar10" / "cifar10_jpg_q75.tar.xz"}
SCHEMES = {"mnist": "mnist", "cifar": "cifar10"}
NAMES = ("mnist", "cifar")


@pytest.fixture(scope="module")
def network():
    return {name: nm.load_network(GRADED / f"{name}.toml") for name in NAMES}


@pytest.fixture(scope="module")
def values_of():
    """Values of all nodes by PyTorch, for images shown in all frames: (frames, images, ...)."""
    torch = pytest.importorskip("torch", reason="training needs PyTorch (the extra training)")
    from neuromap.training.torch.rollout_model import NetworkModel

    def compute(network, images, n_frames, pattern="sequential"):
        shown = torch.from_numpy(images.astype(np.float32)).expand(n_frames, *images.shape)
        with torch.no_grad():
            return NetworkModel(network).eval().window(nm.Rollout(network, pattern).pattern, {"I": shown})

    return compute


@pytest.mark.parametrize("name", NAMES)
def test_pytorch_computes_what_the_reference_does(network, values_of, name):
    net = network[name]
    image = np.random.default_rng(0).integers(0, 256, (1, *net.nodes["I"].shape))
    pattern, n_frames = ("streaming", 8) if name == "mnist" else ("sequential", 2)
    found = values_of(net, image, n_frames, pattern)
    meant = nm.reference(nm.Rollout(net, pattern), {"I": np.tile(image.reshape(1, -1), (n_frames, 1))})
    for node, values in found.items():
        np.testing.assert_array_equal(values[:, 0].flatten(1).numpy(), meant[node], err_msg=node)
        assert len(np.unique(meant[node])) > 9


@pytest.mark.parametrize("name", NAMES)
def test_weights_have_8_bits_and_no_input_takes_a_sum_beyond_24(network, name):
    net = network[name]
    for node in net.nodes.values():
        if node.name in net.inputs:
            continue
        reach = np.abs(node.graded.bias)
        for (source, target), edge in net.edges.items():
            if target == node.name:
                assert abs(edge.matrix()).max() <= 127
                reach = reach + abs(edge.matrix()).sum(axis=1) * net.nodes[source].graded.high
        assert reach.max() < 2**23


def stated(name):
    """Test accuracy that the page of the examples states, in percent."""
    (found,) = re.findall(rf"\| `{name}.toml` .*\| ([\d.]+) % \|", (GRADED / "README.md").read_text())
    return float(found)


@pytest.mark.parametrize("name", ["mnist", pytest.param("cifar", marks=pytest.mark.thorough)])
def test_stated_accuracy_is_that_of_all_10000_test_images(network, values_of, name):
    if not SOURCES[name].exists():
        pytest.skip(f"{SOURCES[name].name} is not there; NEUROMAP_DATA names the folder of the sets")
    images = load_images(f"{SCHEMES[name]}:{SOURCES[name]}", "test")
    right = 0
    for start in range(0, len(images.images), 500):
        part = slice(start, start + 500)
        output = values_of(network[name], images.images[part], 2)["O"][1].flatten(1).numpy()
        right += int((output.argmax(1) == images.labels[part]).sum())
    assert 100 * right / len(images.images) == pytest.approx(stated(name), abs=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_untrained_networks_are_those_that_were_trained(network, name):
    untrained = nm.load_network(GRADED / f"{name}_untrained.toml")
    assert list(untrained.edges) == list(network[name].edges)
    for key, edge in untrained.edges.items():
        assert edge.transform.weights is None
        assert edge.transform.weight_shape == network[name].edges[key].transform.weight_shape
    for node, other in untrained.nodes.items():
        assert other.graded.value_range == network[name].nodes[node].graded.value_range
