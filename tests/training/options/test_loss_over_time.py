"""The loss over time: shares of frames by definition, forms that are read, times that are refused."""

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import neuromap as nm
from neuromap.errors import InputError
from neuromap.training.options.loss_over_time import FORMS, LossOverTime

SKIP = nm.Network.from_edges([("I", "H1"), ("H1", "H2"), ("H2", "O"), ("H1", "O"), ("H1", "H1")], name="SR")


def known(rollout, n):
    return [rollout.first_response("O") + k * rollout.frame_period for k in range(n)]


@settings(deadline=None)
@given(
    st.lists(st.integers(0, 1), min_size=4, max_size=4),
    st.sampled_from(["windowed", "pipelined", "pipelined:2"]),
    st.integers(1, 12),
    st.integers(1, 5),
)
def test_shares_are_those_of_the_times_at_which_frames_are_known(values, execution, time, frames):
    rollout = nm.Rollout(SKIP, nm.RolloutPattern(SKIP, (*values, 1)), execution)
    by_then = [t for t in known(rollout, 20) if t <= time]
    for form in ("mean", "final", f"deadline={time}", f"area={time}", f"by={time}:0.5"):
        found = LossOverTime.read(form).shares(rollout, frames)
        assert sum(found.shares) + found.silent == pytest.approx(1)
        assert min(found.shares, default=0) >= 0
        kind = form.partition("=")[0]
        if kind == "deadline":
            assert list(found.shares) == [0] * (len(by_then) - 1) + [1] * bool(by_then)
        if kind == "area":  # in every update step the last answer that is there counts
            answers = [sum(t <= step for t in by_then) for step in range(time)]
            assert [found.silent * time, *(share * time for share in found.shares)] == pytest.approx(
                [answers.count(k) for k in range(len(by_then) + 1)]
            )
        if kind == "by":
            assert found.held == (len(by_then) - 1 if by_then else None)
            assert len(found.shares) == max(frames, len(by_then))
        if kind in ("mean", "final"):
            assert len(found.shares) == frames
        assert len(found.shares) <= LossOverTime.read(form).most_frames(SKIP, frames)


def test_times_are_update_steps_or_seconds_of_a_chip():
    chip = nm.load_chip("truenorth")
    read = LossOverTime.read("by=3ms:90%").on(chip)
    assert (read.kind, read.time, read.part) == ("by", 3, pytest.approx(0.9))
    assert LossOverTime.read("deadline=300us").on(replace(chip, tick_seconds=1e-4)).time == 3
    assert LossOverTime.read("area=2.5").on(None).time == 2.5
    with pytest.raises(InputError, match="give --for CHIP, or the time in update steps"):
        LossOverTime.read("deadline=3ms").on(None)
    with pytest.raises(InputError, match="ticks of loihi1 last as long as their work"):
        LossOverTime.read("deadline=3ms").on(nm.load_chip("loihi1"))
    with pytest.raises(InputError, match="the least delay of truenorth is 2 ticks"):
        LossOverTime.read("deadline=3ms").on(replace(chip, delay=(2, 15)))


@pytest.mark.parametrize(
    "text", ["", "men", "mean=3", "deadline", "deadline=", "deadline=x", "area=-1", "area=0", "by=3", "by=3:0",
             "by=3:2", "deadline=3:90%", "by=3m:90%", "deadline=nan", "by=:"],
)  # fmt: skip
def test_other_forms_are_refused_in_one_line(text):
    with pytest.raises(InputError) as caught:
        LossOverTime.read(text)
    assert "\n" not in str(caught.value)
    assert "loss_over_time" in str(caught.value)


@settings(max_examples=40)
@given(st.text(max_size=20) | st.sampled_from(FORMS).map(lambda form: form.replace("TIME", "7").replace("PART", "50%")))
def test_what_is_read_is_written_so(text):
    try:
        found = LossOverTime.read(text)
    except InputError:
        return
    assert LossOverTime.read(found.text) == found
    assert found.time >= 0
    assert math.isfinite(found.time)


def test_a_time_before_the_first_response_is_refused():
    sequential = nm.Rollout(SKIP, "sequential")
    with pytest.raises(InputError, match=r"pattern sequential \(windowed\) first answers after 3 update steps"):
        LossOverTime.read("deadline=2").require_in_time([sequential])
    LossOverTime.read("deadline=3").require_in_time([sequential])
    LossOverTime.read("deadline=2").require_answer(SKIP)
    with pytest.raises(InputError, match="no pattern of SR answers before 2 update steps"):
        LossOverTime.read("deadline=1").require_answer(SKIP)
    with pytest.raises(InputError, match="1,000 can be trained"):
        LossOverTime.read("deadline=5000").shares(nm.Rollout(SKIP, "streaming"), 1)
