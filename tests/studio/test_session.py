"""One session, asked without a server."""

import time
from dataclasses import replace

import numpy as np
import pytest

import neuromap as nm
from neuromap.datasets.tracks import ImageSet
from neuromap.errors import DoesNotFitError
from neuromap.studio.messages import Viewer
from neuromap.studio.scene.commands import Offer, Session, act, with_input
from neuromap.studio.scene.player import require_mappable
from neuromap.studio.scene.scene import Change, SceneRun, Shown
from neuromap.studio.scene.scene_file import Document


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


IMAGES = ImageSet("some", "test", np.full((4, 3, 3, 1), 200, np.uint8), np.zeros(4, np.int64), ("a", "b"))


@pytest.mark.parametrize("images", [IMAGES, replace(IMAGES, images=np.zeros((4, 5, 5, 1), np.uint8)), None])
def test_a_session_begins_with_something_to_see_that_plays(scene, begin, images):
    shown = with_input(scene, images).shown_at(0)
    if images is IMAGES:  # what no input takes is not shown
        assert shown.label == "some test image 0, label a"
        assert (shown.pictures["I"] == 200).all()
    else:
        assert shown.kind == "random"
    session = begin(with_input(scene, images), Offer({}, images, plays=True))
    deadline = time.monotonic() + 10
    while session.stage.now < 2:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    session.pause()
    assert not begin(scene, Offer({}, images)).is_playing


def test_a_session_that_was_kept_waits_where_it_was(scene, begin):
    first = begin(scene)
    first.step(3)
    session = begin(first.stage.scene, Offer({}, None, plays=True))
    assert (session.is_playing, session.stage.now) == (False, 3)


def test_what_cannot_be_mapped_is_refused_before_anything_is_served(scene):
    require_mappable(scene)
    small = nm.load_chip("truenorth", {"core.axons": 4})
    with pytest.raises(DoesNotFitError, match="axons") as refused:
        require_mappable(replace(scene, chip=small))
    assert refused.value.exit_code == 3
    invalid = SceneRun(nm.RolloutPattern.from_values(scene.network, (0, 0, 0, 0)), "windowed")
    require_mappable(replace(scene, chip=small, runs=(invalid,)))  # there to be edited
