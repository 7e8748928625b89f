"""A training result as people read it in a terminal."""

from __future__ import annotations

from dataclasses import dataclass, field
from textwrap import fill
from typing import Any

from neuromap.files.messages import counted
from neuromap.forms.card import Card
from neuromap.forms.formed import Formed, form
from neuromap.forms.tables import new_table, printed
from neuromap.training.options.time_axes import FrameTimes
from neuromap.training.options.training_options import TrainingOptions


def render_text(result: TrainingResult, width: int = 100) -> str:
    """Write the accuracy by frame, on both time axes, under a line that says what was trained."""
    columns = ("frame", "windowed\n[update steps]", "deep window\n[update steps]", "accuracy")
    table = new_table(*(("pattern", *columns) if result.others else columns))
    for found in result.by_pattern:
        for number, row in enumerate(_rows(found), start=1):
            table.add_row(*((found.pattern if number == 1 else "",) if result.others else ()), str(number), *row)
    patterns = ", ".join(found.pattern for found in result.by_pattern)
    head = (
        f"{result.network} ({patterns}) on {result.data}: {result.parameters:,} parameters, "
        f"{counted(len(result.history), 'epoch')}"
    )
    if result.history:
        head += f", loss {result.history[-1].loss:.4f} nats"
    note = (
        f"accuracy: fraction of {result.n_images:,} {result.part} images that the frame alone names rightly; "
        f"frame 1 is the first response of {result.output}; steps since onset of the stimulus"
    )
    shown = printed(lambda console: console.print(table), width).rstrip("\n")
    return "\n".join([fill(head, width), "", shown, "", fill(note, width)]) + "\n"


def _rows(found: PatternAccuracy) -> list[tuple[str, str, str]]:
    rows = zip(found.times.windowed, found.times.deep_window, found.accuracy, strict=True)
    return [(str(windowed), str(deep), f"{accuracy:.3f}") for windowed, deep, accuracy in rows]


# ``TrainingResult``: what a training run came to.


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
    """

    epoch: int
    loss: float
    seconds: float
    accuracy: tuple[float, ...]


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
class TrainingResult(Formed):
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

    _called = "a training result"

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

    def to_dict(self) -> dict[str, Any]:
        """Give the result as plain values, those of its JSON document."""
        found: dict[str, Any] = form(self, "dict")
        return found

    def to_json(self) -> str:
        """Write the result as a JSON document."""
        return str(form(self, "json"))

    def to_csv(self) -> str:
        """Write the epochs, one line each, as CSV text (RFC 4180, UTF-8)."""
        return str(form(self, "csv"))
