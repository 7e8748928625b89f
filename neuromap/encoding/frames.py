"""Frames of images, by the encoding of an input node. NumPy and float32 only: chips are fed without any framework."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from neuromap.datasets.image_set import ImageSet
from neuromap.encoding.input_encoding import InputEncoding
from neuromap.errors import InputError, NetworkError, StimulusError
from neuromap.files.given import needs, whole_number
from neuromap.files.messages import show

__all__ = ["encode", "encode_set"]

Frames: TypeAlias = NDArray[np.float32] | NDArray[np.bool_]

_CHUNK = 2**22
"""Entries that patches of a layer hold at once."""


def encode(
    encoding: InputEncoding,
    intensities: NDArray[np.float32],
    n_frames: int,
    rng: np.random.Generator | None = None,
) -> Frames:
    """Make frames of images, each shown for the same number of frames.

    Parameters
    ----------
    encoding : InputEncoding
        Of the input node.
    intensities : ndarray of float32, shape (n_images, rows, columns, features)
        0 to 1, as ``ImageSet.intensities()`` gives them.
    n_frames : int
        Frames per image, 1 or more; each has noise of its own.
    rng : numpy.random.Generator, optional
        Where noise and Bernoulli spikes are drawn from: first the noise of all frames, then the spikes. Needed where
        the encoding draws.

    Returns
    -------
    ndarray, shape (n_images, n_frames, rows, columns, features)
        Of the node's rows, columns and features: float32 for code ``real``, from 0 to 1 less the mean, else bool. Where
        the encoding draws nothing, the frames of an image are views of one, read-only.

    Raises
    ------
    StimulusError
        If the images do not fit the node, or are no intensities.
    InputError
        If ``n_frames`` is less than 1, or there is no generator where one is needed.
    NetworkError
        If the layer has no weights, or frames are to show consecutive pictures.
    """
    needs("encode: encoding", encoding, InputEncoding)
    if encoding.frames != "still":
        raise NetworkError(
            f'inputs.{encoding.node}.frames: "{encoding.frames}" is shown in training only (neuromap experiment, '
            "neuromap train); drop it to show one picture in all frames"
        )
    images = _images_given(encoding, intensities)
    if whole_number("n_frames", n_frames) < 1:
        raise InputError(f"n_frames = {n_frames}: must be 1 or more frames per image")
    if encoding.is_drawn and not isinstance(rng, np.random.Generator):
        raise InputError(f"rng = {show(rng)}: input {encoding.node} is drawn; give numpy.random.default_rng(seed)")
    repeated = np.broadcast_to(images[:, np.newaxis], (len(images), n_frames, *images.shape[1:]))
    if rng is None or not encoding.is_drawn:
        still: NDArray[Any] = _coded(encoding, images)
        frames: Frames = np.broadcast_to(still[:, np.newaxis], (len(images), n_frames, *still.shape[1:]))
        return frames
    noisy = _noisy(repeated, encoding.noise, rng)
    if encoding.code == "bernoulli":
        return np.less(rng.random(noisy.shape, np.float32), noisy)
    return _coded(encoding, noisy.reshape(-1, *images.shape[1:])).reshape(len(images), n_frames, *encoding.shape)


def encode_set(
    encoding: InputEncoding,
    images: ImageSet,
    n_frames: int,
    seed: int,
    which: NDArray[np.integer] | slice | None = None,
) -> Frames:
    """Make frames of images of a set, which do not depend on what else is encoded.

    Image k of the set has a generator of its own, ``numpy.random.default_rng([seed, k])``, so its frames are the same
    in every batch, and in every process.

    Parameters
    ----------
    encoding : InputEncoding
        Of the input node.
    images : ImageSet
        The set.
    n_frames : int
        Frames per image, 1 or more.
    seed : int
        0 or more.
    which : ndarray of int, slice or None
        Numbers of images in the set, from 0; all by default.

    Returns
    -------
    ndarray, shape (n_images, n_frames, rows, columns, features)
        As from :func:`encode`: 4 bytes per entry for code ``real``, else 1.

    Raises
    ------
    StimulusError
        If the images do not fit the node.
    InputError
        If ``n_frames`` is less than 1, ``seed`` negative, or a number is that of no image.
    NetworkError
        If the layer has no weights.
    """
    needs("encode_set: images", images, ImageSet)
    if whole_number("seed", seed) < 0:
        raise InputError(f"seed = {seed}: must be 0 or more")
    numbers = _numbers(len(images.images), which)
    if not encoding.is_drawn or not len(numbers):
        return encode(encoding, images.intensities(numbers), n_frames, np.random.default_rng(seed))
    parts: list[NDArray[Any]] = [
        encode(encoding, images.intensities(slice(k, k + 1)), n_frames, np.random.default_rng([seed, k]))
        for k in numbers.tolist()
    ]
    joined: Frames = np.concatenate(parts)
    return joined


def _numbers(n_images: int, which: NDArray[np.integer] | slice | None) -> NDArray[np.int64]:
    everything = np.arange(n_images)
    try:
        return everything if which is None else np.atleast_1d(everything[which])
    except IndexError:
        raise InputError(f"which = {show(which)}: allowed are numbers of images, 0 to {n_images - 1}") from None


def _images_given(encoding: InputEncoding, intensities: NDArray[np.float32]) -> NDArray[np.float32]:
    if not isinstance(intensities, np.ndarray) or intensities.dtype.kind != "f" or intensities.ndim != 4:
        found = (
            f"{intensities.dtype}{list(intensities.shape)}"
            if isinstance(intensities, np.ndarray)
            else show(intensities)
        )
        raise StimulusError(
            f"input {encoding.node}: found {found}; allowed are intensities, floats [images, rows, columns, features]; "
            "take ImageSet.intensities()"
        )
    encoding.check_images(intensities.shape[1:])
    images = intensities.astype(np.float32, copy=False)
    if images.size and not 0 <= images.min() <= images.max() <= 1:  # false for NaN
        raise StimulusError(
            f"input {encoding.node}: found intensities from {images.min():g} to {images.max():g}; allowed are 0 to 1"
        )
    return images


def _noisy(images: NDArray[np.float32], noise: float, rng: np.random.Generator) -> NDArray[np.float32]:
    if noise == 0:
        return images
    drawn = rng.standard_normal(images.shape, np.float32)
    drawn *= np.float32(noise)
    drawn += images
    return np.clip(drawn, 0, 1, out=drawn)


def _coded(encoding: InputEncoding, images: NDArray[np.float32]) -> Frames:
    """Encode pictures, shape (n, rows, columns, features), without drawing anything."""
    if encoding.code == "threshold":
        levels = np.array(encoding.levels, np.float32)
        return (images[..., np.newaxis] >= levels).reshape(len(images), *encoding.shape)
    if encoding.code == "layer":
        if encoding.weights is None or encoding.thresholds is None:
            raise NetworkError(f"inputs.{encoding.node}: its layer has no weights yet; train the network")
        return _convolved(images, encoding.weights, encoding.stride) >= encoding.thresholds
    return images - np.array(encoding.mean, np.float32) if encoding.mean else images


def _convolved(
    images: NDArray[np.float32], weights: NDArray[np.float32], stride: tuple[int, int]
) -> NDArray[np.float32]:
    """Cross-correlate as ``neuromap.network.transforms.kinds.Conv`` does with padding "same"."""
    kernel = (weights.shape[0], weights.shape[1])
    padding = [(0, 0), *(_same(n, k, s) for n, k, s in zip(images.shape[1:3], kernel, stride, strict=True)), (0, 0)]
    patches = sliding_window_view(np.pad(images, padding), kernel, (1, 2))  # type: ignore[call-overload]
    patches = patches[:, :: stride[0], :: stride[1]]
    n, rows, columns = patches.shape[:3]
    matrix = weights.transpose(2, 0, 1, 3).reshape(-1, weights.shape[3])
    summed = np.empty((n, rows * columns, weights.shape[3]), np.float32)
    step = max(1, _CHUNK // max(1, patches[:1].size))
    for start in range(
        0, n, step
    ):  # a product for every image: of more at once, sums could depend on what else there is
        part = patches[start : start + step]
        np.matmul(part.reshape(len(part), rows * columns, -1), matrix, out=summed[start : start + step])
    return summed.reshape(n, rows, columns, -1)


def _same(length: int, kernel: int, stride: int) -> tuple[int, int]:
    """Give the cells of padding before and after an axis."""
    windows = -(-length // stride)
    padding = max((windows - 1) * stride + kernel - length, 0)
    return padding // 2, padding - padding // 2
