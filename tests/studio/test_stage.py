"""The stage: what runs there is what the library computes, and what was recorded comes back spike by spike."""

from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import neuromap as nm
from neuromap.errors import InputError, NeuromapError, StimulusError
from neuromap.faults.edited_program import SilentCore, ThresholdEdit, WeightEdit
from neuromap.simulation.engine.engine_choice import EngineChoice
from neuromap.studio.messages import CHIP_TICKS, figure_texts, look_at, raster_rows
from neuromap.studio.scene.player import Stage
from neuromap.studio.scene.scene import Change, SceneRun, Shown, World, world_source
from neuromap.studio.scene.scene_file import read_scene, scene_bytes

NUMPY = EngineChoice("numpy")


def staged(scene):
    stage = Stage(scene, NUMPY)
    assert stage.map()
    return stage


def spikes(stage):
    return [[(s.tick, s.cores.tolist(), s.neurons.tolist()) for s in run.live.history] for run in stage.runs]


def test_runs_side_by_side_are_runs_of_the_library_on_the_same_input(scene, cross):
    stage = staged(scene)
    stage.show(cross)
    stage.advance(13)
    world = World(scene.network)
    for run, played in zip(scene.runs, stage.runs, strict=True):
        program = nm.map_rollout(nm.Rollout(scene.network, run.pattern), scene.chip)
        assert np.array_equal(program.crossbar, played.program.crossbar)
        source = world_source(world, program, lambda: cross)
        frames = {"I": np.stack([source(i)["I"] for i in range(30)])}
        trace = nm.simulate(program, frames, engine="numpy")
        found = [(out.frame, out.spikes.tolist()) for out in played.live.outputs]
        assert found == [(i, trace.frames("O")[i].tolist()) for i, _ in found]
        assert len(found) > 1
    period = [run.program.period for run in stage.runs]
    assert period[0] < period[1]
    ticks = [{t: world.bits(cross, "I", t, 0).tolist() for t in range(0, 9, int(p))} for p in period]
    assert all(ticks[0][t] == bits for t, bits in ticks[1].items() if t in ticks[0])


@given(data=st.data())
@settings(deadline=None, max_examples=25)
def test_a_recording_comes_back_spike_by_spike_through_its_file(data, scene):
    stage = staged(scene)
    edits = [ThresholdEdit("H", 1), ThresholdEdit("O", 1, 2), WeightEdit("I", 4, "H", 0, 0), SilentCore(0)]
    for _ in range(data.draw(st.integers(1, 6))):
        what = data.draw(st.sampled_from(["show", "edit", "random", "run"]))
        if what == "edit":
            run, some = data.draw(st.integers(0, 1)), data.draw(st.lists(st.sampled_from(edits), unique=True))
            with suppress(InputError):  # a chip may be unable to hold that weight
                stage.edit(run, some)
        elif what == "run":
            stage.advance(data.draw(st.integers(1, 9)))
        else:
            pixels = np.array(data.draw(st.lists(st.integers(0, 255), min_size=9, max_size=9)), np.uint8)
            shown = Shown("random", density=0.4) if what == "random" else Shown(pictures={"I": pixels.reshape(3, 3, 1)})
            stage.show(shown)
    stage.advance(3)
    seen, saved = spikes(stage), stage.scene
    again = staged(read_scene(scene_bytes(saved)))
    while not again.catch_up(4):
        pass
    assert spikes(again) == seen
    assert again.verdict is True
    assert again.scene.checksums == saved.checksums
    for other in (stage, again):  # and both go on alike
        other.advance(5)
    assert spikes(again) == spikes(stage)
    stage.replay()
    assert stage.now == 0
    assert stage.is_replaying
    assert stage.advance(10**6) == stage.recorded
    assert stage.verdict is True
    forged = replace(saved, checksums=tuple(k ^ 1 for k in saved.checksums))
    again = staged(forged)
    again.catch_up(10**6)
    assert again.verdict is False


def test_who_changes_something_in_a_replay_goes_on_from_there(scene, cross):
    stage = staged(scene)
    stage.show(cross)
    stage.advance(20)
    stage.replay()
    stage.advance(8)
    stage.edit(0, [SilentCore(0)])
    assert not stage.is_replaying
    assert (stage.now, stage.recorded, stage.scene.ticks) == (8, 8, 8)
    stage.advance(4)
    assert not any(len(s.cores) for s in stage.runs[0].live.history[-4:])
    assert any(len(s.cores) for s in stage.runs[1].live.history[-4:])
    stage.restart()
    assert (stage.now, stage.recorded) == (0, 0)
    assert stage.runs[0].edits == (SilentCore(0),)
    assert stage.shown is cross


def test_what_does_not_fit_changes_nothing(scene, cross):
    stage = Stage(scene, NUMPY)
    with pytest.raises(InputError, match="wait until the network is mapped"):
        stage.edit(0, [SilentCore(0)])
    assert stage.advance(3) == 0
    stage.map()
    stage.show(cross)
    before = stage.scene
    for wrong in (
        Shown(pictures={"I": np.zeros((2, 3, 1), np.uint8)}),
        Shown(pictures={"J": np.zeros((3, 3, 1), np.uint8)}),
        Shown("stimulus"),
    ):
        with pytest.raises(StimulusError):
            stage.show(wrong)
    with pytest.raises(InputError, match="core 99"):
        stage.edit(1, [SilentCore(99)])
    with pytest.raises(InputError, match="nothing is recorded"):
        stage.replay()
    assert stage.scene.changes == before.changes
    assert stage.shown is cross


@pytest.mark.parametrize("n_before", [0, 1, 2])
def test_a_recording_is_cut_at_the_change_that_does_not_fit(scene, n_before):
    before = tuple(Change(0, shown=Shown("random", seed=k)) for k in range(n_before))
    stage = Stage(replace(scene, changes=(*before, Change(0, edits=(SilentCore(9999),)), Change(2, edits=()))), NUMPY)
    with pytest.raises(NeuromapError, match="core 9999"):
        stage.map()
    assert stage.cut()
    assert stage.map()
    assert stage.scene.changes == before


def test_a_pattern_that_is_invalid_or_does_not_fit_says_why(scene, small_network):
    ring = SceneRun(nm.RolloutPattern.from_values(small_network, (0, 0, 0, 0)))
    stage = staged(replace(scene, runs=(ring,)))
    assert not stage.is_ready
    assert "H" in stage.mapped[0, "windowed"].problem
    texts, is_scheduled = figure_texts(ring.pattern, "windowed", stage.mapped[0, "windowed"])
    assert not is_scheduled
    assert texts["first"] == texts["cores"] == "–"
    stale = Stage(scene, NUMPY)
    stale.set_scene(replace(scene, runs=(scene.runs[1],)))
    assert stale.map()
    assert set(stale.mapped) == {(0, "windowed"), (0, "pipelined")}


def test_figures_are_those_of_the_rollout(scene):
    stage = staged(scene)
    for k, run in enumerate(scene.runs):
        for execution in ("windowed", "pipelined"):
            rollout = nm.Rollout(scene.network, run.pattern, execution)
            program = nm.map_rollout(rollout, scene.chip)
            found, is_scheduled = figure_texts(run.pattern, execution, stage.mapped[k, execution])
            steps = (rollout.frame_period, rollout.first_response("O"), rollout.full_response("O"))
            assert is_scheduled
            assert tuple(found[key] for key in ("period", "first", "full")) == tuple(map(str, steps))
            for key, number in zip(("period_ticks", "first_ticks", "full_ticks"), steps, strict=True):
                assert found[key].startswith(f"{number * program.ticks_per_step} (")
            assert found["cores"] == str(program.n_cores)


def test_a_look_tells_cores_nodes_rasters_and_votes(scene, cross):
    stage = staged(scene)
    stage.show(cross)
    stage.advance(9)
    run = stage.runs[0]
    rows = raster_rows(run.program)
    first = look_at(run, rows, 0, 2)
    stage.advance(12)
    second = look_at(run, rows, first["now"], 2)
    history = run.live.history
    total = sum(np.bincount(s.cores, minlength=run.program.n_cores) for s in history[-CHIP_TICKS:])
    assert second["cores"] == tuple(np.round(total / CHIP_TICKS, 2).tolist())
    assert [tick for tick, _ in first["columns"] + second["columns"]] == list(range(21))
    outs = list(first["outputs"] + second["outputs"])
    assert [out["frame"] for out in outs] == [out.frame for out in run.live.outputs]
    for shown, out in zip(outs, run.live.outputs, strict=True):
        assert shown["votes"] == [int(out.spikes[:2].sum()), int(out.spikes[2:].sum())]
        assert shown["sent"] == int(out.spikes.sum())
        named = int(np.argmax(shown["votes"])) if out.spikes.any() else None
        assert shown["named"] == named
        rows_of_o = [
            r for t, column in first["columns"] + second["columns"] for r in column if t == out.tick and r >= 6
        ]
        assert sorted(rows_of_o) == (6 + np.flatnonzero(out.spikes)).tolist()
