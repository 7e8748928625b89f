"""``Accuracy``: the fraction of right answers over frames, update steps and ticks, and its cost."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.errors import NetworkError
from neuromap.render.numbers import joules, plain, seconds
from neuromap.render.value import Documented, Tabled


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


@dataclass(frozen=True)
class FrameAccuracy:
    """One frame of the output.

    Attributes
    ----------
    frame : int
        Counted from 1, the first that depends on the stimulus.
    update_step : int or None
        At which it is known, since the onset of the stimulus; ``None`` where the schedule is made in ticks.
    tick : int
        The same in ticks of the chip.
    correct : int
        Images that this frame names rightly, alone or with those before it.
    accuracy : float
        The same as a fraction of the images.
    seconds : float or None
        The tick in seconds, where ticks last as long as their work: mean over the images of the costs, in steady
        operation.
    """

    frame: int
    update_step: int | None
    tick: int
    correct: int
    accuracy: float
    seconds: float | None = None

    @property
    def moment(self) -> float:
        """When the frame is known: its tick, or seconds where ticks last as long as their work."""
        return self.tick if self.seconds is None else self.seconds


def moment_text(moment: float, *, is_timed: bool) -> str:
    """Write a moment as sentences have it."""
    return f"after {seconds(moment)}" if is_timed else f"at tick {moment:g}"


def seconds_of(known: FrameAccuracy | SureAnswers) -> str:
    """Write what stands behind ticks: their time, where it was measured."""
    return "" if known.seconds is None else f" = {seconds(known.seconds)}"


@dataclass(frozen=True)
class SureAnswers:
    """Answers that are given as soon as they are sure, and at the last frame where they never are.

    Attributes
    ----------
    margin : int
        By so many votes, or values, the named class leads in the sum of all frames so far.
    accuracy : float
        Fraction of all images that are named rightly.
    tick : float
        Mean over the images of the tick of their answer, since the onset of the stimulus.
    update_step : float or None
        The same in update steps; ``None`` where the schedule is made in ticks.
    sure : float
        Fraction of the images whose answer was sure, by the last frame.
    right_when_sure : float or None
        Fraction of these that are named rightly; ``None`` where there are none.
    seconds : float or None
        The mean tick in seconds, where ticks last as long as their work.
    """

    margin: int
    accuracy: float
    tick: float
    update_step: float | None
    sure: float
    right_when_sure: float | None
    seconds: float | None = None


@dataclass(frozen=True)
class SureMargin:
    """A margin that was chosen on images that nothing else is measured on.

    Attributes
    ----------
    wanted : float
        Fraction of the sure answers that are to be right.
    margin : int
        The least with which they are, on these images.
    right_when_sure : float
        What it reaches there.
    images : int
        Number of these images.
    """

    wanted: float
    margin: int
    right_when_sure: float
    images: int


@dataclass(frozen=True, eq=False)
class Accuracy(Documented, Tabled):
    """A network on a chip, and how often it is right.

    Attributes
    ----------
    network, pattern, execution, chip, data, part, output : str
        Names.
    n_images, classes, seed : int
        Images of that part; seed of what their encoding draws.
    frames : tuple of FrameAccuracy
        From the first response on.
    cores : int
        That the program takes.
    first_response : int
        Ticks from the onset of the stimulus.
    sampling_frequency : float or None
        Frames per second, in hertz, as ticks were timed where they last as long as their work.
    n_costed : int
        Images over which the costs are means.
    synaptic_events, spikes : float
        Per frame in steady operation.
    joules : float or None
        Energy of a frame in steady operation; ``None`` where the chip has no figures.
    is_graded : bool
        Whether nodes send values, so that ``spikes`` are messages.
    summed : bool
        Whether a frame decides with all before it.
    sure : tuple of SureAnswers
        By margin, where answers are to be given as soon as they are sure.
    chosen_margin : SureMargin or None
        Where the margin was chosen on training images.
    """

    network: str
    pattern: str
    execution: str
    chip: str
    data: str
    part: str
    output: str
    n_images: int
    classes: int
    seed: int
    frames: tuple[FrameAccuracy, ...] = field(repr=False)
    cores: int
    first_response: int
    sampling_frequency: float | None
    n_costed: int
    synaptic_events: float
    spikes: float
    joules: float | None
    is_graded: bool = False
    summed: bool = False
    sure: tuple[SureAnswers, ...] = field(default=(), repr=False)
    chosen_margin: SureMargin | None = None

    _called = "an accuracy"
    _forms = ("neuromap.accuracy.forms",)

    def _facts(self) -> dict[str, object]:
        return {
            "network": f"{self.network} ({self.pattern}, {self.execution})",
            "chip": self.chip,
            "data": f"{self.data}, {self.part}, {self.n_images} images",
            "accuracy": f"{self.frames[0].accuracy:.4f} to {self.frames[-1].accuracy:.4f} by frame",
            "cores": self.cores,
            "first response": f"{self.first_response} ticks{seconds_of(self.frames[0])}",
            "sampling frequency": f"{plain(self.sampling_frequency)} Hz",
            "energy per frame": joules(self.joules),
        }
