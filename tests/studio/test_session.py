"""One session, asked without a server."""

import time
from dataclasses import replace

import numpy as np
import pytest

from neuromap.datasets.tracks import ImageSet
from neuromap.studio.messages import Viewer
from neuromap.studio.scene.commands import Offer, Session, act
from neuromap.studio.scene.scene import Change
from neuromap.studio.scene.scene_file import Document
from neuromap.studio.scene.shown import Shown


@pytest.fixture
def begin():
    """Begin a session and wait until it is mapped."""
    every = []

    def begun(scene, offer=None):
        session = Session("one", scene, offer)
        every.append(session)
        while session.is_mapping:
            time.sleep(0.01)
        return session

    yield begun
    for session in every:
        session.close()


def test_who_changes_the_pattern_in_a_replay_keeps_what_is_shown_then(scene, cross, begin):
    session = begin(scene)
    session.stage.show(cross)
    session.step(4)
    session.stage.show(Shown("random"))
    session.step(4)
    session.stage.replay()
    session.step(2)
    act(session, Document({"do": "toggle", "run": 0, "source": "I", "target": "H"}, "command"))
    assert session.stage.scene.shown_at(0) is cross


def test_who_starts_again_while_a_saved_run_is_caught_up_with_is_at_tick_0(scene, begin):
    stage = begin(scene).stage
    stage.advance(50)
    stage.replay()
    stage.catch_up(20)
    stage.restart()
    assert stage.catch_up(20)
    assert (stage.now, stage.recorded) == (0, 0)


def test_a_slow_program_is_paused_after_the_tick_that_runs(scene, begin):
    stage = begin(scene).stage
    assert stage.advance(50, seconds=0.0) == 1
    assert stage.advance(3) == 3
    stage.replay()
    assert not stage.catch_up(50, seconds=0.0)
    assert stage.now == 1
    assert stage.catch_up(50)
    assert stage.verdict is True


@pytest.mark.parametrize(
    ("label", "number"), [("x image 2, label a", 2), ("x image ²,", 0), ("x image 99999999999,", 3), ("x image -1,", 0)]
)
def test_a_label_of_a_scene_is_only_a_label(scene, begin, label, number):
    images = ImageSet("some", "test", np.zeros((4, 3, 3, 1), np.uint8), np.zeros(4, np.int64), ("a", "b"))
    session = begin(replace(scene, changes=(Change(0, shown=Shown(label=label)),)), Offer({}, images))
    parts = next(message["parts"] for message in Viewer(session).news() if message["kind"] == "parts")
    assert f'value="{number}" data-do="image"' in parts["input"]


def test_ticks_as_long_as_their_work_have_no_time_that_nobody_measured(scene, begin):
    session = begin(replace(scene, chip=replace(scene.chip, is_timed=True, barrier_seconds=((1, 1e-6),))))
    session.step(2)
    told = Viewer(session).news()
    (head,) = (one for one in told if one["kind"] == "parts")
    (look,) = (one for one in told if one["kind"] == "look")
    assert head["tick"] == look["time"] == "as long as its work"
    assert " ms" not in head["parts"]["figures-0"]
    (look,) = (one for one in Viewer(begin(scene)).news() if one["kind"] == "look")
    assert look["time"] == "0 s"
