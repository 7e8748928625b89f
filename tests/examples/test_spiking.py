"""The spiking examples: the chip computes them, and they are alive."""

from pathlib import Path

import pytest

import neuromap as nm

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "spiking"


@pytest.mark.parametrize(("name", "chip"), [("current", "loihi1"), ("leak", "truenorth")])
def test_the_chip_computes_what_the_file_says(name, chip):
    network = nm.load_network(FOLDER / f"{name}.toml")
    rollout = nm.Rollout(network, "streaming")
    frames = nm.random_frames(network, 300, seed=0)
    found = nm.verify(rollout, nm.map_rollout(rollout, chip=chip), frames, threads=1)
    assert found.verified, found.message
    rates = {node: spikes[1:].mean() for node, spikes in nm.reference(rollout, frames).items()}
    assert all(0.005 < rates[node] < 0.3 for node in ("A", "O")), rates
