"""Tracks: pictures of one thing, one after the other, of which consecutive ones can be shown as frames."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from neuromap.datasets.image_set import ImageSet
from neuromap.errors import InputError

__all__ = ["cut_tracks", "starts_of_runs"]


def starts_of_runs(images: ImageSet, length: int) -> NDArray[np.int64]:
    """Find the pictures from which so many consecutive ones of the same track are there."""
    # gives numbers of pictures, ascending
    if images.tracks is None:
        raise InputError(f'{images.name}: has no tracks, so frames = "track" cannot be shown; take gtsrb, or drop it')
    tracks = images.tracks
    starts = np.arange(max(0, len(tracks) - length + 1))
    found: NDArray[np.int64] = starts[tracks[starts] == tracks[starts + length - 1]]
    if not len(found):
        raise InputError(
            f"{images.name}: part {images.part} has no track with {length} consecutive pictures; ask for fewer frames, "
            "for an earlier start index, or for more images"
        )
    return found


def cut_tracks(images: ImageSet, start: int, length: int) -> ImageSet:
    """Cut every track down to so many pictures from a start index on; tracks that have fewer are left out."""
    first = starts_of_runs(images, start + length)
    assert images.tracks is not None
    _, of_track = np.unique(images.tracks[first], return_index=True)
    chosen = (np.sort(first[of_track])[:, np.newaxis] + start + np.arange(length)).ravel()
    return replace(images, images=images.images[chosen], labels=images.labels[chosen], tracks=images.tracks[chosen])
