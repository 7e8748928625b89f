"""Batches whose frames are consecutive pictures of one track, each with noise of its own."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neuromap.datasets.image_set import ImageSet
from neuromap.datasets.tracks import starts_of_runs
from neuromap.encoding.input_encoding import InputEncoding
from neuromap.rollout.pattern import RolloutPattern
from neuromap.training.torch.batches import Batches
from neuromap.training.torch.succession import onset

__all__ = ["TrackBatches", "batches_of"]


class TrackBatches(Batches):
    """Frames and labels of runs of consecutive pictures; an epoch has every run of that length once."""

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
    """Give batches as the encoding of the input asks for them, in code ``real``."""
    noise, mean = encoding.noise, encoding.mean
    if encoding.frames == "still":
        return Batches(images, noise, size, seed, flip=flip, mean=mean)
    return TrackBatches(images, noise, size, seed, length=length, onset=onset(pattern), flip=flip, mean=mean)
