"""``Accuracy``: the fraction of right answers over frames, update steps and ticks, and its cost."""

from __future__ import annotations

from dataclasses import dataclass, field

from neuromap.render.numbers import joules, plain, seconds
from neuromap.render.value import Documented, Tabled


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
