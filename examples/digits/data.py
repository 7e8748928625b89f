"""Handwritten digits as frames: the split, the encoding and the votes that all scripts here share.

The images come from :func:`sklearn.datasets.load_digits` (8 x 8 pixels, intensities 0..16). They are never stored in
the repository. The axis that is called *frame* is the frame of the rollout.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from sklearn.datasets import load_digits

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from neuromap.rollout.schedule.rollout import Rollout

__all__ = ["CLASSES", "HELD_OUT", "TAIL", "curves", "encode", "load", "stream", "tally"]

CLASSES = 10
HELD_OUT = 400
SPLIT_SEED = 2018
TAIL = 3  # blank frames after the last digit: the most frames by which an answer lags behind its input


def _uniform(shape: tuple[int, ...], seed: int) -> NDArray[np.float64]:
    # NumPy guarantees the raw numbers of PCG64 across versions, but not what Generator makes of them.
    raw = np.asarray(np.random.PCG64(seed).random_raw(math.prod(shape)), dtype=np.uint64)
    return ((raw >> np.uint64(11)) * 2.0**-53).reshape(shape)


def load(part: str) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Read one part of the digits.

    The 1797 images are sorted by label, in random order within a label, and every 4.49th is held out, so
    both parts have the same share of each digit. People who wrote digits occur in both.

    Parameters
    ----------
    part : {"train", "held-out"}
        1397 images to train on, or the 400 others.

    Returns
    -------
    intensities : ndarray of float64, shape (n, 64)
        0 to 1, pixels row by row.
    labels : ndarray of int64, shape (n,)
        The digits; both in random order.
    """
    if part not in ("train", "held-out"):
        raise ValueError(f"part {part!r}: must be 'train' or 'held-out'")
    images, labels = load_digits(return_X_y=True)
    within_label, shuffled = _uniform((2, len(labels)), SPLIT_SEED)
    by_label = np.lexsort((within_label, labels))
    held_out = np.zeros(len(labels), dtype=bool)
    held_out[by_label[np.arange(HELD_OUT) * len(labels) // HELD_OUT]] = True
    order = np.argsort(shuffled)
    chosen = order[held_out[order] == (part == "held-out")]
    return images[chosen] / 16.0, labels[chosen].astype(np.int64)


def encode(intensities: NDArray[np.float64], frames: int, seed: int) -> NDArray[np.bool_]:
    """Draw binary frames: in each, a pixel is 1 with a probability equal to its intensity.

    All draws are independent, so one frame is a noisy image and many frames tell more than one.

    Parameters
    ----------
    intensities : ndarray, shape (n, 64)
        0 to 1.
    frames : int
        Frames per image.
    seed : int
        Seed of NumPy's PCG64.

    Returns
    -------
    ndarray of bool, shape (n, frames, 64)
    """
    draws = _uniform((len(intensities), frames, intensities.shape[1]), seed)
    return draws < intensities[:, None, :]


def stream(intensities: NDArray[np.float64], frames: int, seed: int) -> NDArray[np.bool_]:
    """Show images one after the other, without pauses.

    Frame 0 is blank (sequential edges do not pass it on, see docs/time.md), image d fills frames
    1 + d * frames up to (d + 1) * frames, and :data:`TAIL` blank frames follow.

    Returns
    -------
    ndarray of bool, shape (1 + n * frames + TAIL, 64)
    """
    shown = encode(intensities, frames, seed).reshape(-1, intensities.shape[1])
    blank = np.zeros((1, shown.shape[1]), dtype=bool)
    return np.concatenate([blank, shown, np.repeat(blank, TAIL, axis=0)])


def tally(spikes: NDArray[np.bool_], images: int, frames: int, lag: int) -> NDArray[np.int64]:
    """Count the output spikes per image, frame and digit.

    Neurons of the output node are grouped by digit: with k neurons per digit, neuron n votes for n // k.

    Parameters
    ----------
    spikes : ndarray of bool, shape (1 + images * frames + TAIL, 10 * k)
        The output node's frames in answer to :func:`stream`.
    images, frames : int
        As shown.
    lag : int
        Frames by which the first answer lags behind its input: the fewest streaming edges on a path from
        input to output.

    Returns
    -------
    ndarray of int64, shape (images, frames, 10)
        Entry j of the second axis is the j-th frame from the first response on.
    """
    answers = spikes[1 + lag : 1 + lag + images * frames]
    return answers.reshape(images, frames, CLASSES, -1).sum(axis=-1, dtype=np.int64)


def curves(
    rollout: Rollout, spikes: NDArray[np.bool_], labels: NDArray[np.int64], frames: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Accuracy by frame since the first response.

    The digit with the most spikes wins, the smaller one of equals.

    Parameters
    ----------
    rollout : Rollout
        Of a digits network.
    spikes : ndarray of bool
        Frames of its node O in answer to :func:`stream`.
    labels : ndarray of int64, shape (images,)
        The digits shown.
    frames : int
        Frames per digit.

    Returns
    -------
    single : ndarray of float64, shape (frames,)
        From the spikes of one frame.
    accumulated : ndarray of float64, shape (frames,)
        From the spikes of all frames since the first response.
    """
    in_frame = rollout.phases["O"] - rollout.phases["I"]
    lag = (rollout.first_response("O") - in_frame) // rollout.frame_period
    votes = tally(spikes, len(labels), frames, lag)
    single, accumulated = ((v.argmax(axis=-1) == labels[:, None]).mean(axis=0) for v in (votes, votes.cumsum(axis=1)))
    return single, accumulated
