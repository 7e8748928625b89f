"""Batches of frames, and the accuracy of a network frame by frame."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from neuromap.datasets.tracks import ImageSet, starts_of_runs
from neuromap.encoding.frames import InputEncoding, encode
from neuromap.rollout.pattern import RolloutPattern, first_frame
from neuromap.rollout.schedule.rollout import Rollout
from neuromap.training.options.training_options import HardwareOptions, TrainingOptions
from neuromap.training.torch.rollout_model import RolloutModel


def exact_sums() -> AbstractContextManager[None]:
    """Make CUDA convolutions deterministic and sum in 32 bits; no effect on the processor."""
    found: AbstractContextManager[None] = torch.backends.cudnn.flags(enabled=True, deterministic=True, allow_tf32=False)
    return found


def sole_output(model: RolloutModel) -> str:
    """Return the output that classes are read from, the first in the network file."""
    return model.network.outputs[0]


def class_scores(output: Tensor, classes: int) -> Tensor:
    """Sum the neurons that vote for each class: neuron n votes for class n // (size / classes)."""
    # shapes: output (..., rows, columns, features); returns (..., classes)
    flat = output.flatten(-3)
    return flat if flat.shape[-1] == classes else flat.unflatten(-1, (classes, -1)).sum(-1)


def output_scores(model: RolloutModel, pattern: RolloutPattern, frames: Tensor, classes: int) -> Tensor:
    """Return class scores of all frames from the first response on, shape (n_frames, batch, classes)."""
    output = sole_output(model)
    shown = frames.to(model.device)
    values = model.window(pattern, dict.fromkeys(model.network.inputs, shown))
    return class_scores(values[output][first_frame(pattern, output) :].float(), classes)


def correct_by_frame(
    model: RolloutModel, rollout: Rollout, batches: Batches, n_frames: int, classes: int
) -> NDArray[np.float64]:
    """Measure the accuracy of each frame on its own; ties go to the lower class."""
    # shapes: returns (n_frames,)
    was_training = model.training
    model.eval()
    pattern = rollout.pattern
    batches.begin_at(rollout)
    batches.device = model.device
    window = first_frame(pattern, sole_output(model)) + n_frames
    right, seen = np.zeros(n_frames), 0
    with torch.no_grad(), exact_sums():
        for frames, labels in batches.in_order(window):
            scores = output_scores(model, pattern, frames, classes)
            right += (scores.argmax(-1).cpu() == labels).sum(1).numpy()
            seen += len(labels)
    model.train(was_training)
    return right / seen


# Batches of frames: images in the encoding of the input node, randomly shifted if requested.


def onset(pattern: RolloutPattern) -> int:
    """Return the first frame that shows an image: 0 if an edge of an input streams, else 1."""
    # Nothing depends on frame 0 of an input whose edges are sequential.
    edges = zip(pattern.network.edges, pattern.values, strict=True)
    return 0 if any(r for (source, _), r in edges if source in pattern.network.inputs) else 1


# Batches of a training run: choice and mirroring of images, and their frames; reproducible after an interruption.
class Batches:
    """Frames and labels of training images, epoch by epoch."""

    def __init__(
        self,
        images: ImageSet,
        encoding: InputEncoding,
        size: int,
        seed: int,
        *,
        flip: bool = False,
        run: int = 0,
    ) -> None:
        # run: number of consecutive pictures of a track shown as frames, each such run once; 0 for stills and streams
        self._set, self._images, self._labels, self._white = images, images.images, images.labels, images.white
        self._shown: tuple[Rollout, ...] = ()
        self._encoding, self._size, self._seed, self._flip = encoding, size, seed, flip
        self._starts = starts_of_runs(images, run) if run else np.arange(len(images.images))
        self._run, self._onset = run, 0
        # Noise is drawn on this device: on one thread of the host it would take longer than a step on CUDA.
        self.device = torch.device("cpu")

    def __len__(self) -> int:
        return -(-len(self._starts) // self._size)

    @property
    def n_shown(self) -> int:
        """Number of images, or runs of them, shown in an epoch."""
        return len(self._starts)

    def begin_at(self, *rollouts: Rollout) -> None:
        """Sample streams as rollouts do, one per batch in turn, across epochs; tracks begin at their common onset."""
        self._shown, self._onset = rollouts, onset(rollouts[0].pattern)

    def tick_by_tick(self) -> int:
        """Show streams at every tick; return the number of ticks plus one after the end, or 0 for stills."""
        self._shown = ()
        return self._set.n_stream_frames * self._set.frame_ticks + 1 if self._set.is_stream else 0

    def _seen(self, numbers: NDArray[np.int64], turn: int, n_frames: int) -> NDArray[np.uint8]:
        """Return the pictures shown, shape (batch, frames, rows, columns, features); stills have one frame."""
        if self._run:
            step = np.clip(np.arange(n_frames) - self._onset, 0, self._run - 1)
            return np.asarray(self._images[numbers[:, np.newaxis] + step])
        if not self._set.is_stream:
            return self._images[numbers][:, np.newaxis]
        ticks: Sequence[int] = range(n_frames)
        if self._shown:
            rollout = self._shown[turn % len(self._shown)]
            ticks = rollout.sample_ticks(rollout.network.outputs[0], n_frames)
        return self._set.shown(ticks, numbers)

    def epoch(self, number: int, n_frames: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield the batches of an epoch."""
        # shapes: yields (n_frames, batch, rows, columns, features); yields (batch,)
        rng = np.random.default_rng([self._seed, number])
        noise = self._noise_of(rng)
        order = rng.permutation(len(self._starts))
        for turn, start in enumerate(range(0, len(order), self._size), number * len(self)):
            chosen = self._starts[np.sort(order[start : start + self._size])]
            shown = self._changed(self._seen(chosen, turn, n_frames), rng)
            yield self._frames(shown, n_frames, noise), torch.from_numpy(self._labels[chosen])

    def in_order(self, n_frames: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield all images once, in order, for measuring; noise depends on the seed and the device."""
        noise = self._noise_of(None)
        for start in range(0, len(self._starts), self._size):
            chosen = self._starts[start : start + self._size]
            yield self._frames(self._seen(chosen, 0, n_frames), n_frames, noise), torch.from_numpy(self._labels[chosen])

    def _noise_of(self, rng: np.random.Generator | None) -> Any:
        """Return the generator of noise: for the epoch of ``rng``, or for measuring if it is ``None``."""
        return torch.Generator(self.device).manual_seed(self._seed if rng is None else int(rng.integers(2**62)))

    def _changed(self, images: NDArray[np.uint8], rng: np.random.Generator) -> NDArray[np.uint8]:
        """Mirror images at random, all frames of an image alike."""
        if self._flip:
            mirrored = rng.random(len(images)) < 0.5
            images[mirrored] = images[mirrored][..., ::-1, :]
        return images

    def _frames(self, images: NDArray[np.uint8], n_frames: int, noise: Any) -> Tensor:
        """Convert images to frames of code ``real``, each with its own noise."""
        # shapes: images (batch, frames or 1, rows, columns, features)
        clean = torch.from_numpy(self._intensities(images).swapaxes(0, 1)).to(self.device)
        mean = torch.tensor(self._encoding.mean, device=self.device) if self._encoding.mean else None
        if not self._encoding.noise:
            return (clean if mean is None else clean - mean).expand(n_frames, *clean.shape[1:])
        frames = torch.randn((n_frames, *clean.shape[1:]), generator=noise, device=self.device)
        frames.mul_(self._encoding.noise).add_(clean).clamp_(0, 1)
        return frames if mean is None else frames.sub_(mean)

    def _intensities(self, images: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Intensities of images in the units of the network."""
        return self._encoding.in_units(self._set, images.astype(np.float32) / np.float32(self._white))


class FrameBatches(Batches):
    """Frames and labels of images, epoch by epoch, in the encoding of the input node."""

    def __init__(
        self, images: ImageSet, encoding: InputEncoding, options: TrainingOptions, hardware: HardwareOptions
    ) -> None:
        super().__init__(images, encoding, options.batch, options.seed, flip=options.flip)
        self._shift = hardware.shift

    def _noise_of(self, rng: np.random.Generator | None) -> Any:
        return np.random.default_rng(self._seed) if rng is None else rng

    def _changed(self, images: NDArray[np.uint8], rng: np.random.Generator) -> NDArray[np.uint8]:
        images = super()._changed(images, rng)
        return _moved(images, self._shift, rng) if self._shift else images

    def _frames(self, images: NDArray[np.uint8], n_frames: int, noise: Any) -> Tensor:
        intensities = self._intensities(images)
        if not self._set.is_stream:
            intensities = intensities[:, 0]
            if self._encoding.is_constant:  # views of one frame
                still = torch.from_numpy(encode(self._encoding, intensities, 1)[:, 0].astype(np.float32))
                return still.expand(n_frames, *still.shape)
        frames = encode(self._encoding, intensities, n_frames, noise)
        return torch.from_numpy(np.ascontiguousarray(frames.swapaxes(0, 1), dtype=np.float32))


def _moved(images: NDArray[np.uint8], most: int, rng: np.random.Generator) -> NDArray[np.uint8]:
    """Shift each image by random numbers of pixels, up to ``most`` along each axis, all frames of a stream alike."""
    n, frames, rows, columns = images.shape[:4]
    wide = np.pad(images, ((0, 0), (0, 0), (most, most), (most, most), (0, 0)))
    down, right = rng.integers(0, 2 * most + 1, (2, n, 1, 1, 1))
    moved: NDArray[np.uint8] = wide[
        np.arange(n)[:, None, None, None],
        np.arange(frames)[:, None, None],
        down + np.arange(rows)[:, None],
        right + np.arange(columns),
    ]
    return moved
