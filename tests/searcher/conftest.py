"""A network with a skip edge for images of bars, small enough to be searched in a second."""

import numpy as np
import pytest

import neuromap as nm
from neuromap.datasets.tracks import ImageSet
from neuromap.network.network import Network
from neuromap.network.transforms import Conv, Dense


@pytest.fixture(autouse=True, scope="session")
def one_thread():
    torch = pytest.importorskip("torch", reason="training needs PyTorch (the extra training)")
    torch.set_num_threads(1)


def _bars(n_images, seed, part):
    """4 x 4 images of three classes: where a bright row stands, between grey ones."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(3, size=n_images)
    images = rng.integers(0, 110, (n_images, 4, 4, 1))
    images[np.arange(n_images), labels] += 100
    return ImageSet("bars", part, images.astype(np.uint8), labels.astype(np.int64), ("0", "1", "2"), 255)


@pytest.fixture(scope="session")
def bars():
    """Parts of a set of images."""
    return {"train": _bars(96, 0, "train"), "validation": _bars(60, 1, "validation"), "test": _bars(50, 2, "test")}


@pytest.fixture(scope="session")
def skip():
    """I -> H -> G -> O with H -> O: four behaviour classes, without weights."""

    def made(code="threshold"):
        shapes = {"I": (4, 4, 1), "H": (2, 2, 6), "G": (1, 1, 8), "O": (3, 1, 2)}
        edges = {
            ("I", "H"): Conv(shapes["I"], shapes["H"], kernel=(3, 3), stride=(2, 2)),
            ("H", "G"): Dense(shapes["H"], shapes["G"]),
            ("G", "O"): Dense(shapes["G"], shapes["O"]),
            ("H", "O"): Dense(shapes["H"], shapes["O"]),
        }
        net = nm.build_network({name: (shape, None) for name, shape in shapes.items()}, edges, name="skip")
        return Network(net.name, net.nodes, net.edges, net.outputs, tables={"inputs": {"I": {"code": code}}})

    return made
