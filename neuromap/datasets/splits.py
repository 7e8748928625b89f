"""How sets are split into parts: stated rules, equal on every machine.

The validation part is always the end of what its makers give for training, so the test part is theirs where they have
one.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

SPLIT_SEED = 2018
"""Seed of the splits that are drawn."""


def end_of_train(n_train: int, share: int, part: str) -> slice:
    """Split images for training: the last of equal shares is the validation part.

    Parameters
    ----------
    n_train : int
        Images for training.
    share : int
        How many shares: with 6, of 60,000 images the first 50,000 are ``train``, the last 10,000 ``validation``.
    part : {"train", "validation"}
        Which of the two.

    Returns
    -------
    slice
        Of the images.

    Examples
    --------
    >>> end_of_train(60_000, 6, "validation")
    slice(50000, 60000, None)
    """
    end = n_train - n_train // share
    return slice(0, end) if part == "train" else slice(end, n_train)


def part_of_tracks(n_tracks: int, part: str) -> NDArray[np.int64]:
    """Split tracks in a drawn order: the first tenth is ``test``, the last ``validation``, the others ``train``."""
    # Pictures of one track show the same thing within a second, so they go to one part.
    order = np.argsort(uniform((n_tracks,), SPLIT_SEED), kind="stable")
    tenth = n_tracks // 10
    ends = {
        "test": slice(0, tenth),
        "train": slice(tenth, n_tracks - tenth),
        "validation": slice(n_tracks - tenth, None),
    }
    return order[ends[part]]


def uniform(shape: tuple[int, ...], seed: int) -> NDArray[np.float64]:
    """Draw numbers from 0 to 1 that every version of NumPy draws: of PCG64 it guarantees the raw numbers only."""
    raw = np.asarray(np.random.PCG64(seed).random_raw(math.prod(shape)), dtype=np.uint64)
    drawn: NDArray[np.float64] = ((raw >> np.uint64(11)) * np.float64(2.0**-53)).reshape(shape)
    return drawn
