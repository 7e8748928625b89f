"""An experiment's result as people read it in a terminal."""

from __future__ import annotations

from textwrap import fill

from neuromap.experiments.experiment_result import ExperimentResult
from neuromap.experiments.first_answers import first_answers, is_over_networks
from neuromap.experiments.points import Point, points
from neuromap.files.messages import counted
from neuromap.forms.tables import new_table, printed

__all__ = ["render_text"]

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
