"""Scenes of the digits, and of a small network."""

from pathlib import Path

import numpy as np
import pytest

import neuromap as nm
from neuromap.network.build import build_network
from neuromap.studio.scene.scene import Scene, SceneRun, Shown

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="session")
def small_network():
    """A skip edge and a recurrent one; three by three pixels."""
    rng = np.random.default_rng(7)
    shapes = {"I": (9, 6), "H": (6, 4)}
    nodes = {"I": ((3, 3, 1), None), "H": ((1, 1, 6), [1, 2, 1, 1, 2, 1]), "O": ((1, 1, 4), [1, 1, 2, 1])}
    draw = lambda n, m: rng.integers(-1, 3, (m, n))  # noqa: E731
    edges = {("I", "H"): draw(*shapes["I"]), ("H", "O"): draw(6, 4), ("I", "O"): draw(9, 4), ("H", "H"): draw(6, 6)}
    return build_network(nodes, edges, name="small", outputs=["O"])


@pytest.fixture(scope="session")
def scene(small_network):
    """Two rollouts of it side by side."""
    chip = nm.load_chip("truenorth")
    runs = tuple(
        SceneRun(nm.RolloutPattern.from_values(small_network, v), "windowed") for v in ((1, 1, 1, 1), (0, 0, 0, 1))
    )
    return Scene(small_network, chip, runs)


@pytest.fixture
def cross():
    """A picture, drawn."""
    pixels = np.zeros((3, 3, 1), np.uint8)
    pixels[1], pixels[:, 1] = 255, 160
    return Shown("picture", {"I": pixels}, noise=0.1, seed=5, label="drawn")


@pytest.fixture(scope="session")
def digits():
    return nm.load_network(EXAMPLES / "digits" / "sr.toml")
