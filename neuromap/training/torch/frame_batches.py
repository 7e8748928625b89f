"""Batches of frames: images, moved a little where that is asked for, in the encoding of the input node."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from neuromap.datasets.image_set import ImageSet
from neuromap.encoding.frames import encode
from neuromap.encoding.input_encoding import InputEncoding
from neuromap.training.options.hardware_options import HardwareOptions
from neuromap.training.options.training_options import TrainingOptions
from neuromap.training.torch.batches import Batches

__all__ = ["FrameBatches"]


class FrameBatches(Batches):
    """Frames and labels of images, epoch by epoch, by the encoding of the input node."""

    def __init__(
        self, images: ImageSet, encoding: InputEncoding, options: TrainingOptions, hardware: HardwareOptions
    ) -> None:
        super().__init__(images, 0.0, options.batch, options.seed, flip=options.flip)
        self._encoding, self._shift = encoding, hardware.shift

    def epoch(self, number: int, n_frames: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Give the batches of an epoch, as :class:`~neuromap.training.torch.batches.Batches` does."""
        rng = np.random.default_rng([self._seed, number])
        order = rng.permutation(len(self._images))
        for start in range(0, len(order), self._size):
            chosen = np.sort(order[start : start + self._size])
            labels = torch.from_numpy(self._labels[chosen])
            yield self._encoded(self._changed(self._images[chosen], rng), n_frames, rng), labels

    def in_order(self, n_frames: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Give all images once in their order, for measuring; what is drawn depends on the seed alone."""
        rng = np.random.default_rng(self._seed)
        for start in range(0, len(self._images), self._size):
            part = slice(start, start + self._size)
            labels = torch.from_numpy(self._labels[part].copy())
            yield self._encoded(self._images[part], n_frames, rng), labels

    def _encoded(self, images: NDArray[np.uint8], n_frames: int, rng: np.random.Generator) -> Tensor:
        intensities = images.astype(np.float32) / np.float32(self._white)
        if not self._encoding.is_drawn:  # views of one frame
            still = torch.from_numpy(encode(self._encoding, intensities, 1)[:, 0].astype(np.float32))
            return still.expand(n_frames, *still.shape)
        frames = encode(self._encoding, intensities, n_frames, rng)
        return torch.from_numpy(np.ascontiguousarray(frames.swapaxes(0, 1), dtype=np.float32))

    def _changed(self, images: NDArray[np.uint8], rng: np.random.Generator) -> NDArray[np.uint8]:
        if self._flip:
            mirrored = rng.random(len(images)) < 0.5
            images[mirrored] = images[mirrored][:, :, ::-1]
        return _moved(images, self._shift, rng) if self._shift else images


def _moved(images: NDArray[np.uint8], most: int, rng: np.random.Generator) -> NDArray[np.uint8]:
    """Move every image by its own number of pixels, up to ``most`` along each axis."""
    n, rows, columns = images.shape[:3]
    wide = np.pad(images, ((0, 0), (most, most), (most, most), (0, 0)))
    down, right = rng.integers(0, 2 * most + 1, (2, n, 1, 1))
    moved: NDArray[np.uint8] = wide[
        np.arange(n)[:, None, None], down + np.arange(rows)[:, None], right + np.arange(columns)
    ]
    return moved
