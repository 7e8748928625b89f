"""Batches of a training run: which images, mirrored or not, and their frames; the same ones after an interruption."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

__all__ = ["Batches"]


class Batches:
    """Frames and labels of training images, epoch by epoch.

    Parameters
    ----------
    images : ndarray of uint8, shape (n_images, rows, columns, features)
        Intensities 0 to 255.
    labels : ndarray of int64, shape (n_images,)
        Their classes.
    noise : float
        Sigma of the Gaussian noise that is added anew in every frame to intensities of 0 to 1, and clipped to that
        range.
    size : int
        Images in a batch; the last one of an epoch may have fewer.
    seed : int
        With the number of the epoch, all that the batches depend on.
    """

    def __init__(
        self, images: NDArray[np.uint8], labels: NDArray[np.int64], noise: float, size: int, seed: int, flip: bool
    ) -> None:
        self._images, self._labels = images, labels
        self._noise, self._size, self._seed, self._flip = noise, size, seed, flip

    def __len__(self) -> int:
        return -(-len(self._images) // self._size)

    def epoch(self, number: int, n_frames: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Give the batches of an epoch.

        Parameters
        ----------
        number : int
            Counted from 0.
        n_frames : int
            Frames of every image.

        Yields
        ------
        Tensor of float32, shape (n_frames, batch, rows, columns, features)
            Input frames.
        Tensor of int64, shape (batch,)
            Labels.
        """
        rng = np.random.default_rng([self._seed, number])
        noise = torch.Generator().manual_seed(int(rng.integers(2**62)))
        order = rng.permutation(len(self._images))
        for start in range(0, len(order), self._size):
            chosen = np.sort(order[start : start + self._size])
            images = self._images[chosen]
            if self._flip:
                mirrored = rng.random(len(chosen)) < 0.5
                images[mirrored] = images[mirrored][:, :, ::-1]
            yield noisy_frames(images, n_frames, self._noise, noise), torch.from_numpy(self._labels[chosen])

    def in_order(self, n_frames: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Give all images once in their order, for measuring; the noise depends on the seed alone."""
        noise = torch.Generator().manual_seed(self._seed)
        for start in range(0, len(self._images), self._size):
            part = slice(start, start + self._size)
            labels = torch.from_numpy(self._labels[part].copy())
            yield noisy_frames(self._images[part], n_frames, self._noise, noise), labels


def noisy_frames(images: NDArray[np.uint8], n_frames: int, sigma: float, generator: torch.Generator) -> Tensor:
    """Give frames of images, each with noise of its own, shape (n_frames, n_images, rows, columns, features)."""
    clean = torch.from_numpy(images.astype(np.float32) / 255)
    if not sigma:
        return clean.expand(n_frames, *clean.shape)
    frames = torch.randn((n_frames, *clean.shape), generator=generator)
    return frames.mul_(sigma).add_(clean).clamp_(0, 1)
