"""Forms of an experiment's result: text, JSON, CSV."""

from __future__ import annotations

from textwrap import fill

from neuromap.experiments.experiment import Published
from neuromap.experiments.experiment_result import ExperimentResult, Point, compared_answers, first_answers
from neuromap.files.messages import counted
from neuromap.render.document import COUNT, NUMBER, PART, TEXT, any_of, const, document, each, enum, record, record_of
from neuromap.render.table import Column, Table, csv_text

_RESULT = record(
    format=const("neuromap experiment 1"),
    **dict.fromkeys(("name", "title", "source", "data"), TEXT),
    mean_deviation=NUMBER.or_null(at=lambda result: result.mean_deviation()),
    curves=each(
        record(
            name=TEXT,
            network=TEXT,
            start=COUNT.or_null,
            pattern=TEXT,
            streaming=each(TEXT),
            **dict.fromkeys(("repetitions", "epochs", "images"), COUNT),
            windowed_steps=each(NUMBER)(at="times.windowed"),
            deep_window_steps=each(NUMBER)(at="times.deep_window"),
            accuracy=each(PART),
            standard_error=each(NUMBER).or_null,
            published=record_of(Published, steps=each(NUMBER), accuracy=each(PART)).or_null,
        )
    ),
    first_sequential_response=each(
        record(
            network=TEXT,
            pattern=enum("streaming", "sequential"),
            step=NUMBER(at="windowed"),
            accuracy=PART,
            standard_error=NUMBER.or_null,
            published=NUMBER.or_null,
        )
    )(at=lambda result: compared_answers(result) or None).optional,
)
DOCUMENT = document("experiment", any_of(record(experiments=each(TEXT)), _RESULT))
to_dict = DOCUMENT.of
"""Convert a result to plain values; accuracies are fractions of test images, by frame."""


def to_csv(result: ExperimentResult) -> str:
    """Write the points as CSV (RFC 4180, UTF-8); steps are update steps since onset, accuracies are fractions."""
    # The last column marks the points at which networks are compared, the first sequential response of each.
    marked = {(f"{answer.network} {answer.pattern}", answer.windowed) for answer in first_answers(result)}
    measured = ("frame", "windowed", "deep_window", "accuracy", "standard_error", "published", "deviation")
    return csv_text(
        [
            {
                "curve": point.curve,
                **{name: getattr(point, name) for name in measured},
                "at_first_sequential_response": int((point.curve, point.windowed) in marked),
            }
            for curve in result.curves
            for point in curve.points()
        ]
    )


def _fraction(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


_POINTS: tuple[Column[Point], ...] = (
    Column("curve", lambda point: point.curve, left=True),
    Column("frame", lambda point: str(point.frame)),
    Column("windowed\n[update\nsteps]", lambda point: str(point.windowed)),
    Column("deep\nwindow\n[update\nsteps]", lambda point: str(point.deep_window)),
    Column("accuracy", lambda point: _fraction(point.accuracy)),
    Column("standard\nerror", lambda point: _fraction(point.standard_error), rank=1),
    Column("published", lambda point: _fraction(point.published)),
    Column("deviation", lambda point: "-" if point.deviation is None else f"{point.deviation:+.3f}"),
)
_ANSWERS: tuple[Column[Point], ...] = (
    Column("network", lambda answer: answer.network, left=True),
    Column("pattern", lambda answer: answer.pattern, left=True),
    Column("windowed\n[update steps]", lambda answer: str(answer.windowed)),
    Column("accuracy", lambda answer: _fraction(answer.accuracy)),
    Column("standard\nerror", lambda answer: _fraction(answer.standard_error)),
    Column("published", lambda answer: _fraction(answer.published)),
)


def render_text(result: ExperimentResult, width: int = 100) -> str:
    """Write all points as a table, with notes below."""
    rows = [point for curve in result.curves for point in curve.points()]
    columns = [column for column in _POINTS if not column.rank or any(row.standard_error is not None for row in rows)]
    table = Table(columns, rows)
    left = table.left_out(width)
    notes = [*_notes(result), *([f"not shown: {', '.join(left)}; see --csv FILE or --json"] if left else [])]
    parts = [result.title, "", table.text(width, brief=True), "", *(fill(note, width) for note in notes)]
    if answers := compared_answers(result):
        head = "Accuracy at the first sequential response, over networks"
        parts += ["", head, "", Table(_ANSWERS, answers).text(width)]
    return "\n".join(parts) + "\n"


def _notes(result: ExperimentResult) -> list[str]:
    curve = result.curves[0]
    notes = [
        f"accuracy: fraction of {curve.images:,} {result.data} test images that the frame alone names rightly, mean of "
        f"{counted(curve.repetitions, 'run')} of {counted(curve.epochs, 'epoch')}; frame 1 is the first response"
    ]
    gap = result.mean_deviation()
    if gap is not None:
        notes.append(f"mean absolute deviation from the published points: {gap:.4f}")
    return notes
