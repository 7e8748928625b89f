"""``TrainingResult``: the result of a training run."""

from __future__ import annotations

from dataclasses import dataclass, field

from neuromap.arrays.times import largest_gap
from neuromap.render.value import Card, Documented, Tabled
from neuromap.rollout.schedule.rollout import Rollout
from neuromap.training.options.training_options import TrainingOptions, near_chance, what_to_try


@dataclass(frozen=True)
class EpochFigures:
    """Figures of one epoch.

    Attributes
    ----------
    epoch : int
        Counted from 1.
    loss : float
        Mean over its batches, in nats.
    seconds : float
        That it took.
    accuracy : tuple of float
        Fraction of the validation images, frame by frame from the first response on; of several patterns the mean.
    gates : tuple of float
        Probability with which every edge streams that has a gate, where the pattern is learned.
    """

    epoch: int
    loss: float
    seconds: float
    accuracy: tuple[float, ...]
    gates: tuple[float, ...] = ()


@dataclass(frozen=True)
class LearnedGates(Card):
    """The pattern that was learned with the weights.

    Attributes
    ----------
    pattern : str
        Its name, or its streaming edges as text: what ``--pattern`` takes.
    streaming : tuple of str
        Its streaming edges.
    behaviour_class : int or None
        Number of its behaviour class; ``None`` where classes are too many to number.
    classes : int or None
        Behaviour classes of the network; ``None`` where they were not counted.
    gates : tuple of str
        Edges that have gates, in the order of :attr:`EpochFigures.gates`.
    """

    pattern: str
    streaming: tuple[str, ...]
    behaviour_class: int | None
    classes: int | None
    gates: tuple[str, ...]


@dataclass(frozen=True)
class PatternAccuracy(Card):
    """How often a network is right under one pattern.

    Attributes
    ----------
    pattern : str
        Its name.
    times : FrameTimes
        When the frames of the output are known.
    accuracy : tuple of float
        Fraction of the images that a frame alone names rightly, frame by frame from the first response on.
    """

    pattern: str
    times: FrameTimes = field(repr=False)
    accuracy: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class TrainingResult(Documented, Tabled):
    """A network that was trained under a pattern, or under several, and how often it is right.

    Attributes
    ----------
    network, pattern, data : str
        Names; of several patterns that of the first, of which ``times`` and ``accuracy`` are.
    output : str
        The node that classes are read from.
    options : TrainingOptions
        How it was trained.
    parameters : int
        Weights and biases.
    history : tuple of EpochFigures
        Of all epochs.
    times : FrameTimes
        When the frames of the output are known.
    part : str
        Of the data that the accuracy is of: ``"validation"``, or ``"test"`` where it was asked for.
    n_images : int
        In that part.
    accuracy : tuple of float
        Fraction of them that a frame alone names rightly, frame by frame from the first response on.
    others : tuple of PatternAccuracy
        The same of all other patterns under which the weights were trained, in their order.
    classes : int
        Of the data; 0 if that is not known.
    at_bounds : float or None
        Share of the latent weights that lie at a bound of their kind; ``None`` where weights have no bounds.
    learned : LearnedGates or None
        The pattern, where it was learned.
    execution : str
        Whose times a loss over time counted.
    """

    network: str
    pattern: str
    data: str
    output: str
    options: TrainingOptions = field(repr=False)
    parameters: int
    history: tuple[EpochFigures, ...] = field(repr=False)
    times: FrameTimes = field(repr=False)
    part: str
    n_images: int
    accuracy: tuple[float, ...]
    others: tuple[PatternAccuracy, ...] = ()
    classes: int = 0
    at_bounds: float | None = None
    learned: LearnedGates | None = None
    execution: str = "windowed"

    _called = "a training result"
    _forms = ("neuromap.training.forms",)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is wrong with the result, with what to try: accuracy near chance, weights at their bounds."""
        said = []
        best = max(max(found.accuracy, default=0.0) for found in self.by_pattern)
        if near_chance(best, self.classes):
            said.append(f"accuracy {best:.3f} is near chance, 1 of {self.classes} classes: {what_to_try(self.options)}")
        if self.at_bounds is not None and self.at_bounds > _MOST_AT_BOUNDS:
            said.append(
                f"{self.at_bounds:.0%} of the weights lie at their bounds and hardly move: take a lower "
                f"--learning-rate than {self.options.learning_rate:g}"
            )
        return tuple(said)

    @property
    def by_pattern(self) -> tuple[PatternAccuracy, ...]:
        """How often the network is right under every pattern, in their order."""
        return (PatternAccuracy(self.pattern, self.times, self.accuracy), *self.others)

    def _facts(self) -> dict[str, object]:
        last = self.history[-1] if self.history else None
        return {
            "network": self.network,
            "pattern": ", ".join(found.pattern for found in self.by_pattern),
            "data": self.data,
            "parameters": self.parameters,
            "epochs": len(self.history),
            **({"loss": f"{last.loss:.4f} nats"} if last else {}),
            f"accuracy ({self.part})": "; ".join(
                f"{found.accuracy[0]:.3f} to {found.accuracy[-1]:.3f} by frame" for found in self.by_pattern
            ),
        }


_MOST_AT_BOUNDS = 0.95


# When the frames of an output are known, on the three time axes of the literature.
@dataclass(frozen=True)
class FrameTimes:
    """Times of the frames of an output, from its first response on.

    Attributes
    ----------
    windowed : tuple of int
        Update steps since the onset of the stimulus, in windows of size 1 one after the other: the axis of the figures
        of Fischer, Köhler, Pfeil 2018. One update step is one tick on a chip where no step is stretched.
    deep_window : tuple of int
        Update steps of one deep window, its tableau T.
    executed : tuple of int
        Update steps since the onset as the execution has them that was asked for; as ``windowed`` by default.
    """

    windowed: tuple[int, ...]
    deep_window: tuple[int, ...]
    executed: tuple[int, ...]


def frame_times(rollout: Rollout, output: str, first: int, n_frames: int) -> FrameTimes:
    """Give the times of an output's frames."""
    tableau = rollout.pattern.tableau(first + n_frames)
    return FrameTimes(
        windowed=_known(Rollout(rollout.network, rollout.pattern), output, n_frames),
        deep_window=tuple(tableau[first + k, output] for k in range(n_frames)),
        executed=_known(rollout, output, n_frames),
    )


def _known(rollout: Rollout, output: str, n_frames: int) -> tuple[int, ...]:
    start = rollout.first_response(output)
    return tuple(start + largest_gap(k * rollout.frame_period) for k in range(n_frames))
