"""The points of an experiment as CSV: one line for every frame of every curve."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from textwrap import fill

from neuromap.experiments.experiment_result import ExperimentResult, first_answers, is_over_networks
from neuromap.files.messages import counted
from neuromap.forms.documents import csv_text
from neuromap.forms.tables import new_table, printed


def to_csv(result: ExperimentResult) -> str:
    """Write the points as CSV text (RFC 4180, UTF-8); steps are update steps since onset, accuracies fractions."""
    # The last column marks the points at which networks are compared: the first sequential response of each.
    compared = {(f"{answer.network} {answer.pattern}", answer.step) for answer in first_answers(result)}
    return csv_text(
        [
            {
                **asdict(point),
                "deviation": point.deviation,
                "at_first_sequential_response": int((point.curve, point.windowed) in compared),
            }
            for point in points(result)
        ]
    )


# An experiment's result as people read it in a terminal.


_HEADERS = (
    "curve",
    "frame",
    "windowed\n[update steps]",
    "deep window\n[update steps]",
    "accuracy",
    "standard\nerror",
    "published",
    "deviation",
)
_COMPARED = ("network", "pattern", "windowed\n[update steps]", "accuracy", "standard\nerror", "published")


def render_text(result: ExperimentResult, width: int = 100) -> str:
    """Write all points as a table, with what they are under it."""
    table = new_table(*_HEADERS)
    for point in points(result):
        table.add_row(*_cells(point))
    shown = printed(lambda console: console.print(table), width).rstrip("\n")
    parts = [result.title, "", shown, "", *(fill(note, width) for note in _notes(result)), *_compared(result, width)]
    return "\n".join(parts) + "\n"


def _compared(result: ExperimentResult, width: int) -> list[str]:
    """Write what several networks have at the first sequential response of each, as a second table."""
    answers = first_answers(result)
    if not is_over_networks(answers):
        return []
    table = new_table(*_COMPARED, left=2)
    for answer in answers:
        figures = (answer.accuracy, answer.standard_error, answer.published)
        table.add_row(answer.network, answer.pattern, str(answer.step), *map(_fraction, figures))
    shown = printed(lambda console: console.print(table), width).rstrip("\n")
    return ["", "Accuracy at the first sequential response, over networks", "", shown]


def _fraction(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _cells(point: Point) -> list[str]:
    gap = "-" if point.deviation is None else f"{point.deviation:+.3f}"
    return [
        point.curve,
        str(point.frame),
        str(point.windowed),
        str(point.deep_window),
        f"{point.accuracy:.3f}",
        _fraction(point.standard_error),
        _fraction(point.published),
        gap,
    ]


def _notes(result: ExperimentResult) -> list[str]:
    curve = result.curves[0]
    notes = [
        f"accuracy: fraction of {curve.images:,} {result.data} test images that the frame alone names rightly, mean of "
        f"{counted(curve.repetitions, 'run')} of {counted(curve.epochs, 'epoch')}; frame 1 is the first response",
    ]
    gap = result.mean_deviation()
    if gap is not None:
        notes.append(f"mean absolute deviation from the published points: {gap:.4f}")
    return notes


# The points of curves one by one, with the published ones: what tables are made of.
@dataclass(frozen=True)
class Point:
    """One frame of one curve."""

    curve: str  # its name
    frame: int  # counted from the first response, which is 1
    # windowed, deep_window: update steps since onset, on the two time axes
    windowed: int
    deep_window: int
    accuracy: float  # fraction of test images
    standard_error: float | None  # of that mean; ``None`` for one run
    published: float | None  # what the publication gives at this windowed step

    @property
    def deviation(self) -> float | None:
        """Accuracy less the published one."""
        return None if self.published is None else self.accuracy - self.published


def points(result: ExperimentResult) -> Iterator[Point]:
    """Give all points, curve by curve, frame by frame."""
    for curve in result.curves:
        told = curve.published
        known = {} if told is None else dict(zip(told.steps, told.accuracy, strict=True))
        errors = curve.standard_error or (None,) * len(curve.accuracy)
        columns = zip(curve.times.windowed, curve.times.deep_window, curve.accuracy, errors, strict=True)
        for frame, (windowed, deep, accuracy, error) in enumerate(columns, start=1):
            yield Point(curve.name, frame, windowed, deep, accuracy, error, known.get(windowed))
