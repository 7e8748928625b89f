"""A small network in a file, and sweep files beside it."""

import numpy as np
import pytest

import neuromap as nm

SPEC = """\
format = 1
networks = ["small.toml"]
patterns = ["streaming", "H -> H, H -> O"]
executions = ["windowed", "pipelined"]
seeds = {{first = 5, count = {seeds}}}
[set]
core.axons = [4, 256]
[stimulus]
frames = 3
density = 0.5
[mapping]
placer = "row-major"
[simulation]
engine = "numpy"
"""


@pytest.fixture
def network():
    draw = np.random.default_rng(0)
    edges = {(u, v): draw.integers(-1, 2, (6, 6)) for u, v in ("IH", "HH", "HO")}
    return nm.build_network({"I": (6, None), "H": (6, 1), "O": (6, 1)}, edges, name="small")


@pytest.fixture
def write_spec(tmp_path, network):
    """Write a sweep file with some lines changed; 8 runs for every seed, half of which do not fit."""
    network.save(tmp_path / "small.toml")

    def write(*changes, seeds=2):
        text = SPEC.format(seeds=seeds)
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        path = tmp_path / "spec.toml"
        path.write_text(text)
        return path

    return write
