"""Streams that are made here: what moves, hides and flashes, the events of it, and what is on show at which tick."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuromap.datasets import ImageSet, load_images
from neuromap.errors import InputError


def stream(n=3, frames=4, ticks=2):
    """Frame k of stream n is bright by 10 n + k + 1 everywhere."""
    pixels = 10 * np.arange(n)[:, None] + np.arange(frames) + 1
    images = np.broadcast_to(pixels[..., None, None, None], (n, frames, 2, 3, 1)).astype(np.uint8)
    return ImageSet("mine", "test", images, np.zeros(n, np.int64), ("a",), frame_ticks=ticks)


@given(st.lists(st.integers(-5, 20), max_size=9), st.integers(1, 4))
def test_a_frame_is_on_show_for_its_ticks_and_nothing_before_the_onset_and_after_the_end(ticks, lasts):
    found = stream(ticks=lasts).shown(ticks, np.array([2, 0]))
    assert found.shape == (2, len(ticks), 2, 3, 1)
    for tick, of_two, of_first in zip(ticks, found[0, :, 0, 0, 0], found[1, :, 1, 2, 0], strict=True):
        is_on = 0 <= tick < 4 * lasts
        assert of_two == (21 + tick // lasts if is_on else 0)
        assert of_first == (1 + tick // lasts if is_on else 0)


def test_a_still_is_on_show_at_all_times_and_frames_are_stills_of_their_own():
    still = replace(stream().stills(), name="still")
    assert len(still.images) == len(still.labels) == 12
    assert not still.is_stream
    assert still.stills() is still
    assert still.shown([-3, 0, 99], slice(4, 5)).ravel().tolist() == [11] * 18
    assert stream().joined(stream()).images.shape == (6, 4, 2, 3, 1)
    with pytest.raises(InputError, match="cannot be joined"):
        stream().joined(stream(frames=5))


@pytest.mark.parametrize("source", ["moving-digits", "events:noise=0.02,counts=2"])
def test_streams_depend_on_nothing_but_settings_part_and_number(source):
    whole, few = load_images(source, "test"), load_images(source, "test", limit=30)
    assert len(whole.images) == 4 * 400
    for name in ("images", "labels", "frame_labels"):
        assert (getattr(whole, name)[:30] == getattr(few, name)).all()
    again = load_images(source, "test", limit=30)
    assert (again.images == few.images).all()
    other = load_images(f"{source}{',' if ':' in source else ':'}seed=1", "test", limit=30)
    assert (other.images != few.images).any()
    assert other.name != few.name
    assert (load_images(source, "train", limit=30).images != few.images).any()


def test_a_digit_drifts_whole_over_the_canvas_as_fast_as_it_is_asked_to():
    plain = load_images("digits", "test", limit=40)
    for speed in (0.0, 0.7, 3.0):
        moving = load_images(f"moving-digits:speed={speed},frames=9,copies=1", "test", limit=40)
        assert moving.shape == (16, 16, 1)
        assert moving.images.sum(axis=(2, 3, 4)) == pytest.approx(
            np.repeat(np.rint(plain.images / 16 * 255).sum(axis=(1, 2, 3))[:, None], 9, axis=1)
        )  # every frame has all of the digit
        rows, columns = (moving.images.any(axis=axes).argmax(-1) for axes in ((3, 4), (2, 4)))
        step = np.hypot(np.diff(rows), np.diff(columns))
        assert step.max() <= speed + 2**0.5
        assert (step.max() > 0) == (speed > 0)
        assert (moving.labels == plain.labels).all()
        assert (moving.frame_labels == moving.labels[:, None]).all()


def test_a_fence_hides_columns_for_good_and_a_flash_shows_one_frame_in_so_many():
    free = load_images("moving-digits", "test", limit=50).images
    fenced = load_images("moving-digits:bars=2", "test", limit=50)
    hidden = free != fenced.images
    assert not fenced.images[hidden].any()
    is_gap = ~hidden.any(axis=(1, 2, 4))  # (streams, columns): whatever is seen there is seen whole
    assert (is_gap.sum(axis=1) >= 7).all()
    assert (fenced.images.any(axis=(1, 2, 4)) <= is_gap).all()
    flashed = load_images("moving-digits:flash=3,frames=9", "test", limit=50)
    seen = flashed.images.any(axis=(2, 3, 4))
    assert (seen.sum(axis=1) == 3).all()
    assert (np.diff(np.nonzero(seen)[1].reshape(50, 3), axis=1) == 3).all()
    assert ((flashed.frame_labels >= 0) == seen).all()
    assert len({*seen.argmax(axis=1)}) == 3


@settings(deadline=None, max_examples=10)
@given(st.sampled_from([0.1, 0.25, 0.5, 1.0]), st.sampled_from(["", ",flash=2", ",bars=3"]))
def test_events_add_up_to_the_film_but_for_less_than_a_threshold(threshold, how):
    film = load_images(f"moving-digits:frames=7{how}", "validation", limit=20).images / 255
    seen = load_images(f"events:frames=6,counts=255,threshold={threshold}{how}", "validation", limit=20)
    assert seen.shape == (16, 16, 2)
    assert seen.white == 255
    change = np.cumsum(seen.images[..., 0].astype(int) - seen.images[..., 1], axis=1) * threshold
    rest = film[:, 1:, ..., 0] - film[:, :1, ..., 0] - change
    assert np.abs(rest).max() < threshold + 1e-6
    assert not (seen.images.min(axis=-1) > 0).any()  # no pixel is brighter and darker at once
    clipped = load_images(f"events:frames=6,threshold={threshold}{how}", "validation", limit=20)
    assert (clipped.images == np.minimum(seen.images, 1)).all()
    assert clipped.white == 1


def test_events_out_of_nothing_show_no_digit():
    scene = "events:flash=4,frames=8,speed=0"
    plain, noisy = (load_images(f"{scene}{more}", "test", limit=40) for more in ("", ",noise=0.05"))
    assert noisy.images.any(axis=(2, 3, 4)).all()
    assert (plain.frame_labels < 0).any()
    assert (noisy.frame_labels == plain.frame_labels).all()


def test_digits_of_another_set_may_move_and_be_made_smaller(tmp_path):
    pixels = np.arange(10 * 6 * 4, dtype=np.uint8).reshape(10, 6, 4)
    np.savez(tmp_path / "a.npz", x_test=pixels, y_test=np.arange(10) % 3)
    found = load_images(f"moving-digits:of=npz:{tmp_path / 'a.npz'},shrink=2,copies=2,frames=3,ticks=4", "test")
    assert found.name == "moving-digits:of=npz,shrink=2,frames=3,ticks=4,copies=2"
    assert (len(found.images), found.shape, found.frame_ticks) == (20, (6, 6, 1), 4)
    assert found.labels.tolist() == [*(np.arange(10) % 3), *(np.arange(10) % 3)]
    means = pixels.reshape(10, 3, 2, 2, 2).mean(axis=(2, 4))
    assert found.images[:10, 0].sum(axis=(1, 2, 3)).tolist() == np.rint(means).sum(axis=(1, 2)).astype(int).tolist()


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("moving-digits:flush=2", "flush=2 is no setting of moving-digits; there are of, .*did you mean 'flash'"),
        ("moving-digits:flash", "flash: has no value; write flash=N"),
        ("moving-digits:flash=0", "flash=0: must be 1 to 10000"),
        ("moving-digits:flash=2,flash=3", "flash is given twice"),
        ("moving-digits:speed=nan", "speed=nan: must be 0 to 256"),
        ("moving-digits:frames=many", "frames=many: must be a whole number from 1 to 10000"),
        ("moving-digits:threshold=1", "threshold=1 is no setting of moving-digits"),
        ("events:threshold=0", "threshold=0.0: must be above 0"),
        ("moving-digits:canvas=7", "canvas=7: must be 8 or more, the pixels of a digit; leave it out for 16"),
        ("moving-digits:shrink=9", "shrink=9: leaves no pixel of 8 x 8"),
        ("moving-digits:of=moving-digits", "of=moving-digits: holds streams; allowed are grey stills"),
        ("moving-digits:of=mnist:/nowhere", "mnist:/nowhere: folder /nowhere: does not exist"),
        ("moving-digits:canvas=256,copies=1000", r"take 400,000 MiB; allowed are 1,024: take .*--limit 1024"),
    ],
)
def test_settings_that_are_none_are_told_in_one_line(source, told):
    with pytest.raises(InputError, match=told) as found:
        load_images(source, "test")
    assert "\n" not in str(found.value)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"frame_ticks": 0}, "frame_ticks = 0: must be 1 to 10000 ticks"),
        ({"frame_labels": np.zeros((3, 3), np.int64)}, r"frame_labels: found int64\[3, 3\]"),
        ({"frame_labels": np.full((3, 4), 1)}, "frame_labels: allowed are -1 to 0"),
        ({"images": np.zeros((3, 0, 2, 3, 1), np.uint8)}, "streams have no frames"),
        ({"images": np.zeros((3, 2, 3, 1), np.uint8)}, "frame_ticks = 2: must be 1: a still is no stream"),
    ],
)
def test_arrays_that_are_no_streams_are_told(changes, told):
    with pytest.raises(InputError, match=told):
        replace(stream(), **changes)
