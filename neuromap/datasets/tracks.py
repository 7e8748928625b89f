"""``ImageSet``, rules for splitting sets into parts, and tracks of pictures."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import freeze_arrays
from neuromap.errors import InputError
from neuromap.render.value import Card

# Splitting of sets by fixed rules, equal on every machine. The validation part is always taken from the original
# training images, so the test part is the original one, if there is one.

# Seed of random splits.
SPLIT_SEED = 2018


def slice_of_part(n_images: int, share: int, part: str, limit: int | None = None) -> slice:
    """Select the images of a part: of equal shares of the training images, the last is for validation.

    Parameters
    ----------
    n_images : int
        Number of training images, or of images of the test part.
    share : int
        Number of shares: with 6, the first 50,000 of 60,000 images are ``train``, the last 10,000 ``validation``.
    part : {"train", "validation", "test"}
        Part to select; the test part has all images.
    limit : int, optional
        Number of images to select, the first of the part.

    Returns
    -------
    slice
        Slice of the images.

    Examples
    --------
    >>> slice_of_part(60_000, 6, "validation")
    slice(50000, 60000, None)
    """
    cut = n_images - n_images // share
    first, last = {"train": (0, cut), "validation": (cut, n_images), "test": (0, n_images)}[part]
    return slice(first, last if limit is None else min(last, first + limit))


def part_of_tracks(n_tracks: int, part: str) -> NDArray[np.int64]:
    """Split tracks in random order: the first tenth is ``test``, the last ``validation``, the others ``train``."""
    # Pictures of one track show the same object within a second, so they belong to one part.
    order = np.argsort(uniform((n_tracks,), SPLIT_SEED), kind="stable")
    tenth = n_tracks // 10
    ends = {
        "test": slice(0, tenth),
        "train": slice(tenth, n_tracks - tenth),
        "validation": slice(n_tracks - tenth, None),
    }
    return order[ends[part]]


def uniform(shape: tuple[int, ...], seed: int | np.random.PCG64) -> NDArray[np.float64]:
    """Draw numbers from 0 to 1, equal for every version of NumPy, which only guarantees the raw output of PCG64."""
    bits = seed if isinstance(seed, np.random.PCG64) else np.random.PCG64(seed)
    raw = np.asarray(bits.random_raw(math.prod(shape)), dtype=np.uint64)
    return ((raw >> np.uint64(11)) * np.float64(2.0**-53)).reshape(shape)


# Tracks: consecutive pictures of one object, which can be shown as frames.


def starts_of_runs(images: ImageSet, length: int) -> NDArray[np.int64]:
    """Find the pictures that begin a run of ``length`` consecutive ones of the same track."""
    # returns indices of pictures, ascending
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
    """Cut every track to ``length`` pictures from a start index on; shorter tracks are left out."""
    first = starts_of_runs(images, start + length)
    assert images.tracks is not None
    _, of_track = np.unique(images.tracks[first], return_index=True)
    chosen = (np.sort(first[of_track])[:, np.newaxis] + start + np.arange(length)).ravel()
    return replace(images, images=images.images[chosen], labels=images.labels[chosen], tracks=images.tracks[chosen])


# Labelled images of a set.


# Parts of every set; the last is read only if requested by name.
PARTS = ("train", "validation", "test")
# Black and white of pixels, and of networks that name no others.
PIXELS = (0.0, 1.0)
# Most ticks that a frame of a stream lasts.
MOST_TICKS = 10_000


@dataclass(frozen=True, eq=False)
class ImageSet(Card):
    """One part of a set of labelled images.

    Attributes
    ----------
    name : str
        Name of the set, such as ``mnist``.
    part : {"train", "validation", "test"}
        Which part of it.
    images : ndarray of uint8, shape (n_images, rows, columns, features) or (n_images, frames, rows, columns, features)
        Intensities from 0 to ``white``, read-only. Features of colour pictures are red, green and blue, those of events
        brighter and darker. With an axis of frames, every image is a *stream* of frames in time.
    labels : ndarray of int64, shape (n_images,)
        Numbers of classes, read-only.
    classes : tuple of str
        Names of the classes, by number.
    white : int
        The greatest intensity, 1 to 255.
    notes : tuple of str
        Notes on the origin of the images, for readers of results.
    tracks : ndarray of int64, shape (n_images,), or None
        Track of every picture, read-only; pictures of one track are contiguous, in the order of time. ``None`` if
        pictures are unrelated.
    seen : tuple of two float
        Values of black and white for a network with real values: least and greatest number for user images, 0 and 1
        for all others.
    frame_ticks : int
        Ticks of the chip that every frame of a stream lasts, 1 or more; update steps without a chip.
    frame_labels : ndarray of int64, shape (n_images, frames), or None
        For streams, the class that every frame shows, -1 if nothing is visible; read-only. ``None`` if unknown.

    Raises
    ------
    InputError
        If the arrays do not match, a label is not a class, an intensity exceeds ``white``, or a track is split.
    """

    name: str
    part: str
    images: NDArray[np.uint8]
    labels: NDArray[np.int64]
    classes: tuple[str, ...]
    white: int = 255
    notes: tuple[str, ...] = ()
    tracks: NDArray[np.int64] | None = None
    seen: tuple[float, float] = PIXELS
    frame_ticks: int = 1
    frame_labels: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        freeze_arrays(self)
        if self.images.dtype != np.uint8 or self.images.ndim not in (4, 5):
            told = f"{self.images.dtype}{list(self.images.shape)}"
            raise InputError(
                f"{self.name}: images: found {told}; allowed is uint8 [images, rows, columns, features], of streams "
                "[images, frames, rows, columns, features]"
            )
        self._check_numbers("labels", self.images.shape[:1], f"of the {len(self.images)} images")
        low, high = int(self.labels.min(initial=0)), int(self.labels.max(initial=0))
        if low < 0 or high >= len(self.classes) > 0:
            wrong = low if low < 0 else high
            raise InputError(f"{self.name}: label {wrong}: allowed are 0 to {len(self.classes) - 1}, a class each")
        if not int(self.images.max(initial=0)) <= self.white <= 255:
            raise InputError(
                f"{self.name}: white = {self.white}: must be at most 255 and at least the greatest intensity, "
                f"{self.images.max(initial=0)}"
            )
        if self.tracks is not None:
            self._check_numbers("tracks", self.labels.shape, f"of the {len(self.images)} images")
            pieces = 1 + np.count_nonzero(np.diff(self.tracks))
            if len(self.tracks) and pieces != len(np.unique(self.tracks)):
                raise InputError(f"{self.name}: tracks: one is torn apart; let the pictures of a track stand together")
        if not 1 <= self.frame_ticks <= MOST_TICKS or (self.frame_ticks > 1 and not self.is_stream):
            allowed = f"1 to {MOST_TICKS} ticks" if self.is_stream else "1: a still is no stream"
            raise InputError(f"{self.name}: frame_ticks = {self.frame_ticks}: must be {allowed}")
        if self.is_stream and not self.n_stream_frames:
            raise InputError(f"{self.name}: images: streams have no frames; give one or more")
        if (found := self.frame_labels) is not None:
            shape = self.images.shape[:2] if self.is_stream else None
            self._check_numbers("frame_labels", shape, "frame of each stream")
            if not -1 <= found.min(initial=0) <= found.max(initial=0) < max(1, len(self.classes)):
                raise InputError(f"{self.name}: frame_labels: allowed are -1 to {len(self.classes) - 1}, a class each")

    def joined(self, other: ImageSet) -> ImageSet:
        """Return this part followed by the images of another part of the same set.

        Parameters
        ----------
        other : ImageSet
            The other part; its tracks, if any, remain separate.

        Raises
        ------
        InputError
            If ``other`` is of another set, or has images of another shape.
        """
        mine, theirs = (
            (one.name, one.classes, one.white, one.seen, one.images.shape[1:], one.frame_ticks) for one in (self, other)
        )
        if mine != theirs:
            raise InputError(
                f"{self.name}: {self.part} images of shape {self.images.shape[1:]} cannot be joined with {other.part} "
                f"images of {other.name} of shape {other.images.shape[1:]}; join parts of one set"
            )
        tracks = None
        if self.tracks is not None and other.tracks is not None:
            tracks = np.concatenate([self.tracks, other.tracks + (self.tracks.max(initial=-1) + 1)])
        shown = None
        if self.frame_labels is not None and other.frame_labels is not None:
            shown = np.concatenate([self.frame_labels, other.frame_labels])
        images = np.concatenate([self.images, other.images])
        labels = np.concatenate([self.labels, other.labels])
        return replace(self, images=images, labels=labels, tracks=tracks, frame_labels=shown)

    @cached_property
    def digest(self) -> str:
        """Digest of all that is shown and how it is labelled, in 16 hexadecimal digits; the name does not count."""
        scaled = [*map(str, self.classes)], int(self.white), [*map(float, self.seen)], int(self.frame_ticks)
        found = sha256(repr(scaled).encode())
        for array in (self.images, self.labels, self.tracks, self.frame_labels):
            found.update(repr(None if array is None else array.shape).encode())
            if array is not None:
                found.update(np.ascontiguousarray(array).reshape(-1).data)
        return found.hexdigest()[:16]

    def _check_numbers(self, field: str, shape: tuple[int, ...] | None, what: str) -> None:
        found = getattr(self, field)
        if found.dtype != np.int64 or found.shape != shape:
            raise InputError(
                f"{self.name}: {field}: found {found.dtype}{list(found.shape)}; allowed is one of int64 for each {what}"
            )

    def _facts(self) -> dict[str, object]:
        return {
            "name": self.name,
            "part": self.part,
            "images": len(self.images),
            **({"frames": self.n_stream_frames} if self.is_stream else {}),
            "shape": list(self.shape),
            "classes": len(self.classes),
        }

    @property
    def shape(self) -> tuple[int, int, int]:
        """Rows, columns and features of an image, or of a frame of a stream."""
        rows, columns, features = self.images.shape[-3:]
        return rows, columns, features

    @property
    def is_stream(self) -> bool:
        """Whether every image is a stream of frames."""
        return self.images.ndim == 5

    @property
    def n_stream_frames(self) -> int:
        """Number of frames per image; 1 for stills."""
        return self.images.shape[1] if self.is_stream else 1

    def stills(self) -> ImageSet:
        """Return the frames of all streams as stills, with the label of the stream; stills are unchanged."""
        if not self.is_stream:
            return self
        images = self.images.reshape(-1, *self.shape)
        labels = np.repeat(self.labels, self.n_stream_frames)
        return replace(self, images=images, labels=labels, tracks=None, frame_ticks=1, frame_labels=None)

    def shown(self, ticks: Sequence[int] | NDArray[np.int64], which: NDArray[np.integer] | slice) -> NDArray[np.uint8]:
        """Return what images show at some ticks since onset; a still shows the same at all ticks.

        A stream shows frame k from tick k ``frame_ticks`` on, for ``frame_ticks`` ticks. Before its onset and after its
        last frame it is black.

        Parameters
        ----------
        ticks : sequence of int, length n_ticks
            Ticks since stimulus onset; :meth:`neuromap.Rollout.sample_ticks` returns those of a rollout.
        which : ndarray of int or slice
            Indices of images in this set.

        Returns
        -------
        ndarray of uint8, shape (n, n_ticks, rows, columns, features)
        """
        chosen = self.images[which]
        if not self.is_stream:
            return np.broadcast_to(chosen[:, np.newaxis], (len(chosen), len(ticks), *self.shape))
        frame = np.asarray(ticks, np.int64) // self.frame_ticks
        is_on = (frame >= 0) & (frame < self.n_stream_frames)
        found: NDArray[np.uint8] = chosen[:, np.where(is_on, frame, 0)]
        found[:, ~is_on] = 0
        return found

    def intensities(self, which: NDArray[np.integer] | slice | None = None) -> NDArray[np.float32]:
        """Return images as numbers from 0 to 1.

        Parameters
        ----------
        which : ndarray of int, slice or None
            Indices of images in this set; all by default.

        Returns
        -------
        ndarray of float32, shape (n, rows, columns, features), of streams (n, frames, rows, columns, features)
        """
        chosen = self.images if which is None else self.images[which]
        return chosen.astype(np.float32) / np.float32(self.white)


def digest_of_parts(images: Mapping[str, ImageSet]) -> str:
    """Return the digest of several parts of a set."""
    return sha256(repr([(part, found.digest) for part, found in images.items()]).encode()).hexdigest()[:16]
