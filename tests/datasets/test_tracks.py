"""Tracks: which consecutive pictures can be shown, from which start index on."""

import numpy as np
import pytest

from neuromap.datasets import ImageSet
from neuromap.datasets.tracks import cut_tracks, starts_of_runs
from neuromap.errors import InputError

LENGTHS = (3, 1, 4)
TRACKS = np.repeat([7, 2, 5], LENGTHS)


def images(tracks=TRACKS):
    """Picture k has the intensity k."""
    n = sum(LENGTHS)
    pixels = np.arange(n, dtype=np.uint8).reshape(n, 1, 1, 1)
    return ImageSet("mine", "test", pixels, np.zeros(n, np.int64), ("a",), tracks=tracks)


@pytest.mark.parametrize(("length", "starts"), [(1, range(8)), (2, [0, 1, 4, 5, 6]), (3, [0, 4, 5]), (4, [4])])
def test_a_run_stays_within_its_track(length, starts):
    assert starts_of_runs(images(), length).tolist() == list(starts)


def test_tracks_are_cut_from_a_start_index_on_and_short_ones_left_out():
    found = cut_tracks(images(), 1, 2)
    assert found.images.ravel().tolist() == [1, 2, 5, 6]
    assert found.tracks.tolist() == [7, 7, 5, 5]
    assert starts_of_runs(found, 2).tolist() == [0, 2]
    assert cut_tracks(images(), 3, 1).images.ravel().tolist() == [7]


def test_what_has_no_tracks_or_none_long_enough_is_told():
    with pytest.raises(InputError, match=r'mine: has no tracks, so frames = "track" cannot be shown'):
        starts_of_runs(images(None), 1)
    with pytest.raises(InputError, match="mine: part test has no track with 5 consecutive pictures"):
        cut_tracks(images(), 3, 2)
    with pytest.raises(InputError, match=r"tracks: found int64\[2\]; allowed is one of int64 for each of the 8 images"):
        images(np.array([0, 0]))
    with pytest.raises(InputError, match="tracks: one is torn apart"):
        images(np.array([0, 1, 0, 0, 0, 0, 0, 0]))
