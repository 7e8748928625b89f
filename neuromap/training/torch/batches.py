"""Batches of a training run: which images, mirrored or not, and their frames; the same ones after an interruption."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from neuromap.datasets.image_set import ImageSet

__all__ = ["Batches"]


class Batches:
    """Frames and labels of training images, epoch by epoch."""

    def __init__(
        self,
        images: ImageSet,
        noise: float,
        size: int,
        seed: int,
        *,
        flip: bool = False,
        mean: tuple[float, ...] = (),
    ) -> None:
        self._images, self._labels, self._white = images.images, images.labels, images.white
        self._noise, self._size, self._seed, self._flip = noise, size, seed, flip
        self._starts = np.arange(len(images.images))
        self._mean = torch.tensor(mean) if mean else None

    def __len__(self) -> int:
        return -(-len(self._starts) // self._size)

    @property
    def n_shown(self) -> int:
        """Images, or runs of them, that are shown in an epoch."""
        return len(self._starts)

    def epoch(self, number: int, n_frames: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Give the batches of an epoch."""
        # shapes: yields (n_frames, batch, rows, columns, features); yields (batch,)
        rng = np.random.default_rng([self._seed, number])
        noise = torch.Generator().manual_seed(int(rng.integers(2**62)))
        order = rng.permutation(len(self._starts))
        for start in range(0, len(order), self._size):
            chosen = self._starts[np.sort(order[start : start + self._size])]
            pictures = self._pictures(chosen, n_frames)
            if self._flip:
                mirrored = rng.random(len(chosen)) < 0.5
                pictures[:, mirrored] = pictures[:, mirrored, :, ::-1]
            yield self._frames(pictures, n_frames, noise), torch.from_numpy(self._labels[chosen])

    def in_order(self, n_frames: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Give all images once in their order, for measuring; the noise depends on the seed alone."""
        noise = torch.Generator().manual_seed(self._seed)
        for start in range(0, len(self._starts), self._size):
            chosen = self._starts[start : start + self._size]
            yield (
                self._frames(self._pictures(chosen, n_frames), n_frames, noise),
                torch.from_numpy(self._labels[chosen]),
            )

    def _pictures(self, numbers: NDArray[np.int64], n_frames: int) -> NDArray[np.uint8]:
        """Give what is shown, shape (n_frames or 1, batch, rows, columns, features): here one picture in all frames."""
        return self._images[numbers][np.newaxis]

    def _frames(self, pictures: NDArray[np.uint8], n_frames: int, generator: torch.Generator) -> Tensor:
        """Give frames, each with noise of its own."""
        clean = torch.from_numpy(pictures.astype(np.float32) / self._white)
        if not self._noise:
            return (clean if self._mean is None else clean - self._mean).expand(n_frames, *clean.shape[1:])
        frames = torch.randn((n_frames, *clean.shape[1:]), generator=generator)
        frames.mul_(self._noise).add_(clean).clamp_(0, 1)
        return frames if self._mean is None else frames.sub_(self._mean)
