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
        Mean over the batches, in nats.
    seconds : float
        Duration.
    accuracy : tuple of float
        Accuracy on the validation images by frame, from the first response on; averaged over patterns.
    gates : tuple of float
        Probability that each edge with a gate streams, if the pattern is learned.
    """

    epoch: int
    loss: float
    seconds: float
    accuracy: tuple[float, ...]
    gates: tuple[float, ...] = ()


@dataclass(frozen=True)
class LearnedGates(Card):
    """A pattern learned with the weights.

    Attributes
    ----------
    pattern : str
        Its name, or its streaming edges as text: what ``--pattern`` takes.
    streaming : tuple of str
        Its streaming edges.
    behaviour_class : int or None
        Number of its behaviour class; ``None`` if there are too many classes to number.
    classes : int or None
        Number of behaviour classes of the network; ``None`` if not counted.
    gates : tuple of str
        Edges with gates, in the order of :attr:`EpochFigures.gates`.
    """

    pattern: str
    streaming: tuple[str, ...]
    behaviour_class: int | None
    classes: int | None
    gates: tuple[str, ...]


@dataclass(frozen=True)
class PatternAccuracy(Card):
    """Accuracy of a network under one pattern.

    Attributes
    ----------
    pattern : str
        Its name.
    times : FrameTimes
        When the frames of the output are known.
    accuracy : tuple of float
        Accuracy of each frame on its own, from the first response on.
    """

    pattern: str
    times: FrameTimes = field(repr=False)
    accuracy: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class TrainingResult(Documented, Tabled):
    """Result of training a network under one or several patterns, with its accuracy.

    Attributes
    ----------
    network, pattern, data : str
        Names; with several patterns, ``pattern``, ``times`` and ``accuracy`` are of the first.
    output : str
        Node that classes are read from.
    options : TrainingOptions
        Options of the run.
    parameters : int
        Number of weights and biases.
    history : tuple of EpochFigures
        Figures of all epochs.
    times : FrameTimes
        When the frames of the output are known.
    part : str
        Part of the data on which accuracy was measured: ``"test"`` if given, else ``"validation"``.
    n_images : int
        Number of images in that part.
    accuracy : tuple of float
        Accuracy of each frame on its own, from the first response on.
    others : tuple of PatternAccuracy
        The same for all further patterns under which the weights were trained, in order.
    classes : int
        Number of classes of the data; 0 if unknown.
    at_bounds : float or None
        Fraction of latent weights at a bound of their kind; ``None`` if weights have no bounds.
    learned : LearnedGates or None
        The learned pattern, if any.
    execution : str
        Execution whose times a loss over time counted.
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
        """Problems with the result and what to try: accuracy near chance, weights at their bounds."""
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
        """Accuracy under every pattern, in order."""
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


# Times at which the frames of an output are known, on the three time axes of the literature.
@dataclass(frozen=True)
class FrameTimes:
    """Times of the frames of an output, from its first response on.

    Attributes
    ----------
    windowed : tuple of int
        Update steps since stimulus onset in consecutive windows of size 1: the axis of the figures of Fischer, Köhler,
        Pfeil 2018. One update step is one tick on a chip if no step is stretched.
    deep_window : tuple of int
        Update steps in one deep window, from its tableau T.
    executed : tuple of int
        Update steps since onset under the requested execution; by default as ``windowed``.
    """

    windowed: tuple[int, ...]
    deep_window: tuple[int, ...]
    executed: tuple[int, ...]


def frame_times(rollout: Rollout, output: str, first: int, n_frames: int) -> FrameTimes:
    """Return the times of an output's frames."""
    tableau = rollout.pattern.tableau(first + n_frames)
    return FrameTimes(
        windowed=_known(Rollout(rollout.network, rollout.pattern), output, n_frames),
        deep_window=tuple(tableau[first + k, output] for k in range(n_frames)),
        executed=_known(rollout, output, n_frames),
    )


def _known(rollout: Rollout, output: str, n_frames: int) -> tuple[int, ...]:
    start = rollout.first_response(output)
    return tuple(start + largest_gap(k * rollout.frame_period) for k in range(n_frames))
