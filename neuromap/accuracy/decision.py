"""The decision rule: which class a frame of output spikes, or values, names.

Neuron n of an output with s neurons votes for class n // (s / c) of c classes. The class with the most spikes in the
frame is named, of graded outputs that with the greatest sum of values; of equals the one with the lowest number, so a
silent frame names class 0. Every frame decides alone, nothing is summed over frames or over repeated presentations;
``summed`` takes the frames up to this one together, as networks whose values are rates ask for.

An answer is *sure* as soon as the class that leads in the sum of all frames so far leads by a margin.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.errors import NetworkError


def votes_of(spikes: NDArray[Any], classes: int) -> NDArray[np.int64]:
    """Count the spikes of every class, or sum its values.

    Parameters
    ----------
    spikes : ndarray of bool, shape (..., size)
        Of the output; of graded ones integers.
    classes : int
        Divides the size.

    Returns
    -------
    ndarray of int64, shape (..., classes)

    Raises
    ------
    NetworkError
        If the classes cannot share the neurons equally.
    """
    size = spikes.shape[-1]
    if classes < 1 or size % classes:
        raise NetworkError(
            f"output: has {size} neurons, which {classes} classes cannot share equally; give it {classes} or a multiple"
        )
    voters = spikes.reshape(*spikes.shape[:-1], classes, size // classes)
    votes: NDArray[np.int64] = voters.sum(axis=-1, dtype=np.int64)
    return votes


def decide(spikes: NDArray[Any], classes: int, *, summed: bool = False) -> NDArray[np.int64]:
    """Name a class for every frame: most spikes or the greatest sum of values, the lowest number of equals.

    Parameters
    ----------
    spikes, classes
        As for :func:`votes_of`.
    summed : bool
        Whether a frame, the axis before the last, decides with all before it.

    Returns
    -------
    ndarray of int64, shape (...)
    """
    votes = votes_of(spikes, classes)
    named: NDArray[np.int64] = (votes.cumsum(axis=-2) if summed else votes).argmax(-1)
    return named


def leads_of(spikes: NDArray[Any], classes: int) -> NDArray[np.int64]:
    """Say by how much the class that is named leads, in the sum of all frames up to each.

    Parameters
    ----------
    spikes, classes
        As for :func:`votes_of`; frames are the axis before the last.

    Returns
    -------
    ndarray of int64, shape (...)
        Votes before the next class; 0 where two lead together, and where there is one class all its votes.
    """
    votes = votes_of(spikes, classes).cumsum(axis=-2)
    if classes == 1:
        return votes[..., 0]
    second, first = np.moveaxis(np.partition(votes, -2, axis=-1)[..., -2:], -1, 0)
    found: NDArray[np.int64] = first - second
    return found


def frames_of_answers(leads: NDArray[np.int64], margin: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Give the frame in which every image is answered: the first that leads by the margin, else the last.

    Parameters
    ----------
    leads : ndarray of int64, shape (images, frames)
        Of :func:`leads_of`.
    margin : int
        In votes, or values.

    Returns
    -------
    frames : ndarray of int64, shape (images,)
        From 0 on.
    is_sure : ndarray of bool, shape (images,)
        Whether the margin was reached at all.
    """
    reached: NDArray[np.bool_] = leads >= margin
    is_sure: NDArray[np.bool_] = np.asarray(reached.any(axis=1))
    return np.where(is_sure, reached.argmax(axis=1), leads.shape[1] - 1), is_sure
