"""An experiment's result as people read it in a terminal."""

from __future__ import annotations

from textwrap import fill

from neuromap.experiments.experiment_result import ExperimentResult
from neuromap.experiments.forms.points import Point, points
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


def render_text(result: ExperimentResult, width: int = 100) -> str:
    """Write all points as a table, with what they are under it.

    Parameters
    ----------
    result : ExperimentResult
        The result.
    width : int
        Columns of text.
    """
    table = new_table(*_HEADERS)
    for point in points(result):
        table.add_row(*_cells(point))
    shown = printed(lambda console: console.print(table), width).rstrip("\n")
    return "\n".join([result.title, "", shown, "", *(fill(note, width) for note in _notes(result))]) + "\n"


def _cells(point: Point) -> list[str]:
    figures = (point.standard_error, point.published, point.deviation)
    last = [f"{value:.3f}" if value is not None else "-" for value in figures[:2]]
    gap = "-" if point.deviation is None else f"{point.deviation:+.3f}"
    return [
        point.curve,
        str(point.frame),
        str(point.windowed),
        str(point.deep_window),
        f"{point.accuracy:.3f}",
        *last,
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
