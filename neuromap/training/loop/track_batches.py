"""Batches whose frames are consecutive pictures of one track, each with noise of its own."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neuromap.datasets.image_set import ImageSet
from neuromap.datasets.tracks import starts_of_runs
from neuromap.encoding.input_encoding import InputEncoding
from neuromap.rollout.patterns.pattern import RolloutPattern
from neuromap.training.loop.batches import Batches
from neuromap.training.loop.succession import onset

__all__ = ["TrackBatches", "batches_of"]


class TrackBatches(Batches):
    """Frames and labels of runs of consecutive pictures; an epoch has every run of that length once.

    Parameters
    ----------
    images : ImageSet
        With tracks.
    noise, size, seed, flip, mean
        As of :class:`~neuromap.training.loop.batches.Batches`; a batch has ``size`` runs, mirrored as a whole.
    length : int
        Pictures of a run. Frames beyond show its last picture; where all edges of the input stream, or none does, no
        output that is measured depends on them.
    onset : int
        Frame that shows the first picture, 0 or 1: nothing depends on frame 0 of an input whose edges are sequential.

    Raises
    ------
    InputError
        If the set has no tracks, or none that is long enough.
    """

    def __init__(
        self,
        images: ImageSet,
        noise: float,
        size: int,
        seed: int,
        *,
        length: int,
        onset: int,
        flip: bool = False,
        mean: tuple[float, ...] = (),
    ) -> None:
        super().__init__(images, noise, size, seed, flip=flip, mean=mean)
        self._starts = starts_of_runs(images, length)
        self._length, self._onset = length, onset

    def _pictures(self, numbers: NDArray[np.int64], n_frames: int) -> NDArray[np.uint8]:
        step = np.clip(np.arange(n_frames) - self._onset, 0, self._length - 1)
        shown: NDArray[np.uint8] = self._images[numbers + step[:, np.newaxis]]
        return shown


def batches_of(
    images: ImageSet,
    *,
    encoding: InputEncoding,
    pattern: RolloutPattern,
    length: int,
    size: int,
    seed: int,
    flip: bool = False,
) -> Batches:
    """Give batches as the encoding of the input asks for them, in code ``real``.

    Parameters
    ----------
    images : ImageSet
        Images and labels.
    encoding : InputEncoding
        Noise, mean, and whether frames show one picture or those of a track.
    pattern : RolloutPattern
        Of the network with this input.
    length : int
        Frames of the output, and so pictures of a run.
    size, seed, flip
        As of :class:`~neuromap.training.loop.batches.Batches`.

    Raises
    ------
    InputError
        If tracks are asked for, and the set has none that is long enough.
    """
    noise, mean = encoding.noise, encoding.mean
    if encoding.frames == "still":
        return Batches(images, noise, size, seed, flip=flip, mean=mean)
    return TrackBatches(images, noise, size, seed, length=length, onset=onset(pattern), flip=flip, mean=mean)
