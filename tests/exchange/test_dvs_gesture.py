"""A peer's network on stock loihi1: SANA-FE's DVS gesture net, made of its packaged arrays, fires as it does there."""

import importlib
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

import neuromap as nm

ROOT = Path(__file__).resolve().parents[2]
SANAFE = os.environ.get("NEUROMAP_SANAFE_PYTHON", "")
WHERE = "import sanafe.tutorial as t; print(t.get_dvs_data().name)"


@pytest.fixture(scope="module")
def arrays():
    """The packaged arrays, which are other people's data."""
    if not SANAFE:
        pytest.skip("sanafe is not installed: set NEUROMAP_SANAFE_PYTHON to a Python that has it")
    found = subprocess.run([SANAFE, "-c", WHERE], capture_output=True, text=True, timeout=60, check=True)
    with np.load(found.stdout.strip()) as archive:
        return {key: values.astype(int) for key, values in archive.items()}


@pytest.fixture
def gesture(monkeypatch):
    """Who builds the network: benchmarks/, which is no part of the wheel."""
    if not (ROOT / "benchmarks").is_dir():
        pytest.skip("benchmarks/ is not here: it is not part of the wheel")
    monkeypatch.syspath_prepend(str(ROOT))
    return importlib.import_module("benchmarks.validation.gesture")


@pytest.mark.slow
def test_the_gesture_net_fires_as_in_sanafe(arrays, gesture):
    net = gesture.network(arrays)
    program = nm.map_rollout(nm.Rollout(net, "streaming"), "loihi1", keep="all", placer="row-major")
    assert program.n_cores < 42  # of the mapping in its tutorial
    assert program.scales == dict.fromkeys(net.nodes, 6)
    trace = nm.simulate(program, nm.random_frames(net, 1001), record=nm.Recording(spikes="all"))
    counts = [int(trace.frames(name).sum()) for name in net.nodes]
    assert counts == [25_357, 27_875, 70_022, 191_921, 49_859, 243]  # 365,277 as SANA-FE's tutorial says
