"""Graded networks on the stage: pictures become values, outputs show them, and a recording keeps them."""

import numpy as np
import pytest

import neuromap as nm
from neuromap.cli.printing.watch_screen import frame_line, output_seen
from neuromap.faults.edited_program import SilentCore, WeightEdit
from neuromap.network import GradedNeuron, build_network
from neuromap.simulation.engine.engine_choice import EngineChoice
from neuromap.studio.messages import look_at, raster_rows
from neuromap.studio.scene.player import Stage
from neuromap.studio.scene.scene import Scene, SceneRun, Shown
from neuromap.studio.scene.scene_file import read_scene, scene_bytes


@pytest.fixture
def stage():
    rng = np.random.default_rng(0)
    hidden = GradedNeuron(0, 255, shift=3, bias=rng.integers(-300, 300, 6))
    nodes = {
        "I": ((3, 3, 1), GradedNeuron(-9, 246, zero_point=9)),
        "H": ((1, 1, 6), hidden),
        "O": ((1, 1, 4), GradedNeuron(-(2**20), 2**20)),
    }
    edges = {("I", "H"): rng.integers(-9, 10, (6, 9)), ("H", "O"): rng.integers(-9, 10, (4, 6))}
    net = build_network(nodes, edges, name="small")
    runs = tuple(SceneRun(nm.RolloutPattern.from_values(net, v), "windowed") for v in ((1, 1), (0, 0)))
    frames = {"I": rng.integers(-9, 247, (8, 9)).astype(np.int32)}
    found = Stage(Scene(net, nm.load_chip("loihi2"), runs, stimulus=frames), EngineChoice("numpy"))
    assert found.map()
    return found


def test_a_picture_is_shown_as_pixels_less_the_zero_point(stage):
    pixels = np.random.default_rng(1).integers(0, 256, (3, 3, 1)).astype(np.uint8)
    stage.show(Shown("picture", {"I": pixels}))
    stage.advance(9)
    values = np.tile(pixels.reshape(1, 9).astype(int) - 9, (10, 1))
    for run, played in zip(stage.scene.runs, stage.runs, strict=True):
        expected = nm.reference(nm.Rollout(stage.scene.network, run.pattern), {"I": values})["O"][-1]
        out = played.live.outputs[-1]
        assert np.array_equal(out.spikes, expected)
        seen = look_at(played, raster_rows(played.program), 0, 4)["outputs"][-1]
        assert (seen["votes"], seen["named"], seen["values"]) == (expected.tolist(), int(expected.argmax()), True)
        line = frame_line(output_seen(out, 4))
        assert f"{np.count_nonzero(expected)} message" in line
        assert line.endswith(f"class {expected.argmax()} with value {expected.max()}")


def test_a_recording_of_values_comes_back_through_its_file(stage):
    stage.show(Shown("stimulus"))
    stage.advance(6)
    stage.edit(0, [WeightEdit("I", 4, "H", 0, 3)])
    stage.show(Shown("random", density=0.4, noise=0.3))
    stage.advance(5)
    stage.edit(1, [SilentCore(0)])
    stage.advance(4)
    again = Stage(read_scene(scene_bytes(stage.scene)), EngineChoice("numpy"))
    assert again.map()
    while not again.catch_up(4):
        pass
    assert again.verdict is True
    for one, other in zip(again.runs, stage.runs, strict=True):
        assert [out.spikes.tolist() for out in one.live.outputs] == [out.spikes.tolist() for out in other.live.outputs]
    assert len(stage.runs[0].live.outputs) > 9
