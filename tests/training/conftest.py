"""Real-valued networks for the tests of training, and an oracle that uses none of its code."""

import numpy as np
import pytest
from hypothesis import strategies as st

from neuromap.datasets.tracks import ImageSet
from neuromap.network.edge import Edge
from neuromap.network.network import Network
from neuromap.network.node import Node
from neuromap.network.transforms import Dense

LINEAR = {"activation": "linear"}


@pytest.fixture(autouse=True, scope="session")
def one_thread():
    torch = pytest.importorskip("torch", reason="training needs PyTorch (the extra training)")
    torch.set_num_threads(1)
    return torch


def _real(network, activation="relu"):
    """The same graph with dense edges and real values."""
    nodes = {name: Node(name, node.shape) for name, node in network.nodes.items()}
    edges = {
        (u, v): Edge(u, v, Dense(source_shape=nodes[u].shape, target_shape=nodes[v].shape)) for u, v in network.edges
    }
    inner = {name: {"activation": activation} for name in nodes if name not in network.inputs}
    return Network("real", nodes, edges, network.outputs, tables={"training": {"nodes": inner}})


@pytest.fixture(scope="session")
def real():
    return _real


@st.composite
def _rolled(draw, networks, patterns):
    network = _real(draw(networks()), draw(st.sampled_from(["relu", "tanh"])))
    return network, draw(patterns(network))


@pytest.fixture(scope="session")
def rolled(networks, patterns):
    """Networks with dense edges, and a valid pattern of each."""
    return _rolled(networks, patterns)


@pytest.fixture(scope="session")
def by_matrices():
    """Frames of all nodes, by a recursion over explicit matrices: what the rollout defines."""

    def compute(pattern, matrices, biases, activate, inputs):
        network = pattern.network
        n_frames = len(next(iter(inputs.values())))
        r_of = dict(zip(network.edges, pattern.values, strict=True))
        x = {name: np.zeros((n_frames, *(b.shape)), float) for name, b in biases.items()} | inputs

        def value(name, i):
            if name in inputs or i == 0:
                return x[name][i]
            total = biases[name].astype(float)
            for (u, v), r in r_of.items():
                if v == name:
                    total = total + matrices[u, v] @ (value(u, i) if r == 0 else x[u][i - 1])
            return activate(total)

        for i in range(1, n_frames):
            now = {name: value(name, i) for name in biases}
            for name, row in now.items():
                x[name][i] = row
        return x

    return compute


@pytest.fixture(scope="session")
def bars():
    """4 x 4 images of three classes: where a bright row stands."""

    def make(n, seed):
        rng = np.random.default_rng(seed)
        labels = rng.integers(0, 3, n)
        images = rng.integers(0, 60, (n, 4, 4, 1))
        images[np.arange(n), labels] += 150
        return ImageSet("bars", "train", images.astype(np.uint8), labels.astype(np.int64), ("0", "1", "2"))

    return make
