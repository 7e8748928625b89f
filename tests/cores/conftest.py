"""A kind of core that is not ours: its folder is on the path, its one line names it."""

import sys
from pathlib import Path

import pytest

import neuromap as nm

PLUGIN = Path(__file__).parent / "plugin"
CHIP = """
format = 1
name = "dense"
grid = { cores = [8, 8] }
time = { tick_seconds = 1e-3, delay = [1, 6] }
core = { model = "dense", axons = 40, neurons = 12, weight_bits = 8, threshold_bits = 10, potential_bits = 14 }
"""


@pytest.fixture(scope="module", autouse=True)
def _dense_is_installed():
    sys.path.insert(0, str(PLUGIN))
    yield
    sys.path.remove(str(PLUGIN))


@pytest.fixture(scope="session")
def dense_file(tmp_path_factory):
    """A chip file of dense cores."""
    path = tmp_path_factory.mktemp("dense") / "dense.toml"
    path.write_text(CHIP, encoding="utf-8")
    return path


@pytest.fixture
def dense_chip(dense_file):
    """A chip of dense cores."""
    return nm.load_chip(dense_file)
