"""``Accuracy``: accuracy over frames, update steps and ticks, and its cost."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.errors import NetworkError
from neuromap.files.messages import counted
from neuromap.render.numbers import joules, plain, seconds
from neuromap.render.value import Documented, Tabled


def votes_of(spikes: NDArray[Any], classes: int) -> NDArray[np.int64]:
    """Sum the spikes or values of every class.

    Parameters
    ----------
    spikes : ndarray of bool, shape (..., size)
        Spikes of the output; integers for graded outputs.
    classes : int
        Number of classes, a divisor of the size.

    Returns
    -------
    ndarray of int64, shape (..., classes)

    Raises
    ------
    NetworkError
        If the neurons cannot be divided equally among the classes.
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
    """Predict a class for every frame: the one with most spikes or the greatest sum of values; ties go to the lowest.

    Parameters
    ----------
    spikes, classes
        As for :func:`votes_of`.
    summed : bool
        Whether each frame, on the axis before the last, decides together with all frames before it.

    Returns
    -------
    ndarray of int64, shape (...)
    """
    votes = votes_of(spikes, classes)
    named: NDArray[np.int64] = (votes.cumsum(axis=-2) if summed else votes).argmax(-1)
    return named


def leads_of(spikes: NDArray[Any], classes: int) -> NDArray[np.int64]:
    """Return the lead of the predicted class, in the sum of all frames up to each.

    Parameters
    ----------
    spikes, classes
        As for :func:`votes_of`; frames are the axis before the last.

    Returns
    -------
    ndarray of int64, shape (...)
        Votes ahead of the next class; 0 for a tie. With a single class, all its votes.
    """
    votes = votes_of(spikes, classes).cumsum(axis=-2)
    if classes == 1:
        return votes[..., 0]
    second, first = np.moveaxis(np.partition(votes, -2, axis=-1)[..., -2:], -1, 0)
    found: NDArray[np.int64] = first - second
    return found


def frames_of_answers(leads: NDArray[np.int64], margin: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the frame in which every image is answered: the first that leads by the margin, else the last.

    Parameters
    ----------
    leads : ndarray of int64, shape (images, frames)
        Result of :func:`leads_of`.
    margin : int
        In votes, or values.

    Returns
    -------
    frames : ndarray of int64, shape (images,)
        Indices of frames, from 0.
    is_sure : ndarray of bool, shape (images,)
        Whether the margin was reached at all.
    """
    reached: NDArray[np.bool_] = leads >= margin
    is_sure: NDArray[np.bool_] = np.asarray(reached.any(axis=1))
    return np.where(is_sure, reached.argmax(axis=1), leads.shape[1] - 1), is_sure


@dataclass(frozen=True)
class FrameAccuracy:
    """Accuracy of one frame of the output.

    Attributes
    ----------
    frame : int
        Counted from 1, which is the first frame that depends on the stimulus.
    update_step : int or None
        Update step since stimulus onset at which it is known; ``None`` if the schedule is in ticks.
    tick : int
        The same in ticks of the chip.
    correct : int
        Images classified correctly by this frame, alone or together with those before it.
    accuracy : float
        The same as a fraction of the images.
    seconds : float or None
        The tick in seconds, if ticks last as long as their work: mean over the images used for costs, in steady
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
        """Time at which the frame is known: its tick, or seconds if ticks last as long as their work."""
        return self.tick if self.seconds is None else self.seconds


def moment_text(moment: float, *, is_timed: bool) -> str:
    """Write a moment for use in a sentence."""
    return f"after {seconds(moment)}" if is_timed else f"at tick {moment:g}"


def seconds_of(known: FrameAccuracy | SureAnswers) -> str:
    """Write the time that follows ticks, if it was measured."""
    return "" if known.seconds is None else f" = {seconds(known.seconds)}"


@dataclass(frozen=True)
class SureAnswers:
    """Figures of answers given as soon as they are sure, or at the last frame if they never are.

    Attributes
    ----------
    margin : int
        Required lead of the predicted class, in votes or values, in the sum of all frames so far.
    accuracy : float
        Accuracy over all images.
    tick : float
        Mean tick of the answers since stimulus onset.
    update_step : float or None
        The same in update steps; ``None`` if the schedule is in ticks.
    sure : float
        Fraction of images whose answer was sure by the last frame.
    right_when_sure : float or None
        Accuracy on these images; ``None`` if there are none.
    seconds : float or None
        The mean tick in seconds, if ticks last as long as their work.
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
    """A margin chosen on images used for nothing else.

    Attributes
    ----------
    wanted : float
        Required accuracy of sure answers.
    margin : int
        Least margin that reaches it on these images.
    right_when_sure : float
        Accuracy of sure answers with this margin.
    images : int
        Number of these images.
    """

    wanted: float
    margin: int
    right_when_sure: float
    images: int


@dataclass(frozen=True, eq=False)
class Accuracy(Documented, Tabled):
    """Accuracy of a network on a chip.

    Attributes
    ----------
    network, pattern, execution, chip, data, part, output : str
        Names.
    n_images, classes, seed : int
        Numbers of images and classes; seed of the encoding's random numbers.
    frames : tuple of FrameAccuracy
        From the first response on, or those asked for.
    cores : int
        Cores of the program.
    first_response : int
        Ticks since stimulus onset.
    voters, n_frames : int
        Neurons of the output that vote for each class; frames that were decided on.
    first_response_seconds : float or None
        The first response in seconds, if ticks last as long as their work.
    sampling_frequency : float or None
        Input frames per second, in hertz; with measured ticks if they last as long as their work.
    n_costed : int
        Number of images over which costs are averaged.
    synaptic_events, spikes : float
        Per frame in steady operation.
    joules : float or None
        Energy of a frame in steady operation; ``None`` if the chip has no figures.
    is_graded : bool
        Whether nodes send values, so that ``spikes`` are messages.
    summed : bool
        Whether each frame decides together with all before it.
    sure : tuple of SureAnswers
        By margin, if answers are given as soon as they are sure.
    chosen_margin : SureMargin or None
        The margin, if it was chosen on training images.
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
    voters: int = field(kw_only=True)
    n_frames: int = field(kw_only=True)
    first_response_seconds: float | None = field(default=None, kw_only=True)

    _called = "an accuracy"
    _forms = ("neuromap.accuracy.forms",)

    @property
    def response_told(self) -> str:
        """The first response for use in a sentence, in ticks and seconds."""
        timed = "" if self.first_response_seconds is None else f" = {seconds(self.first_response_seconds)}"
        return f"{counted(self.first_response, 'tick')}{timed}"

    def _facts(self) -> dict[str, object]:
        return {
            "network": f"{self.network} ({self.pattern}, {self.execution})",
            "chip": self.chip,
            "data": f"{self.data}, {self.part}, {self.n_images} images",
            "accuracy": f"{self.frames[0].accuracy:.4f} to {self.frames[-1].accuracy:.4f} by frame",
            "cores": self.cores,
            "first response": self.response_told,
            "sampling frequency": f"{plain(self.sampling_frequency)} Hz",
            "energy per frame": joules(self.joules),
        }
