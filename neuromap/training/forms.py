"""Forms of a training result: text, JSON, CSV."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import fill
from typing import Any, NamedTuple

from neuromap.files.messages import counted
from neuromap.render.document import COUNT, NUMBER, PART, TEXT, const, document, each, record, record_of
from neuromap.render.table import Column, Table, csv_text
from neuromap.training.options.training_options import TrainingOptions
from neuromap.training.training_result import EpochFigures, LearnedGates, PatternAccuracy, TrainingResult


class _Frame(NamedTuple):
    """One frame under one pattern."""

    pattern: str  # empty except in the first frame of a pattern
    number: int
    # windowed_step, deep_window_step: update steps since onset
    windowed_step: float
    deep_window_step: float
    accuracy: float
    executed_step: float


def _frames(found: PatternAccuracy) -> Iterator[_Frame]:
    times = zip(found.times.windowed, found.times.deep_window, found.accuracy, found.times.executed, strict=True)
    return (_Frame("" if k else found.pattern, k + 1, *frame) for k, frame in enumerate(times))


_FRAMES = each(record(windowed_step=NUMBER, deep_window_step=NUMBER, accuracy=PART, executed_step=NUMBER.added))
DOCUMENT = document(
    "training",
    format=const("neuromap training result 1"),
    network=TEXT,
    pattern=TEXT,
    data=TEXT,
    output=TEXT,
    execution=TEXT.added,
    parameters=COUNT,
    options=record_of(TrainingOptions, loss_over_time=TEXT.added, weight_time=NUMBER.added),
    part=TEXT,
    images=COUNT(at="n_images"),
    frames=_FRAMES(at=lambda result: _frames(result.by_pattern[0])),
    other_patterns=each(record(pattern=TEXT, frames=_FRAMES(at=_frames)))(at="others"),
    learned=record_of(
        LearnedGates, streaming=each(TEXT), behaviour_class=COUNT.or_null, classes=COUNT.or_null
    ).or_null.added,
    history=each(record_of(EpochFigures, accuracy=each(PART), gates=each(PART).added)),
    at_bounds=PART.or_null,
    warnings=each(TEXT),
    chip=TEXT.or_null.elsewhere,
    chosen=each(TEXT).elsewhere,
)
# Convert a training result to plain values.
to_dict = DOCUMENT.of


def to_csv(result: TrainingResult) -> str:
    """Write loss (nats), seconds and validation accuracy by frame as CSV (RFC 4180, UTF-8), one row per epoch."""
    edges = () if result.learned is None else result.learned.gates
    return csv_text([_epoch(epoch, edges) for epoch in result.history])


def _epoch(epoch: EpochFigures, edges: tuple[str, ...]) -> dict[str, Any]:
    accuracies = {f"accuracy.{k}": accuracy for k, accuracy in enumerate(epoch.accuracy)}
    gates = {f"gate.{edge}": gate for edge, gate in zip(edges, epoch.gates, strict=True)}
    return {"epoch": epoch.epoch, "loss": epoch.loss, "seconds": epoch.seconds, **accuracies, **gates}


_COLUMNS: tuple[Column[_Frame], ...] = (
    Column("pattern", lambda frame: frame.pattern, left=True),
    Column("frame", lambda frame: str(frame.number)),
    Column("windowed\n[update steps]", lambda frame: str(frame.windowed_step)),
    Column("deep window\n[update steps]", lambda frame: str(frame.deep_window_step)),
    Column("accuracy", lambda frame: f"{frame.accuracy:.3f}"),
)


def render_text(result: TrainingResult, width: int = 100) -> str:
    """Write the accuracy by frame on both time axes, below a summary line."""
    columns = (
        _COLUMNS if result.others else (Column("frame", lambda frame: str(frame.number), left=True), *_COLUMNS[2:])
    )
    if result.execution != "windowed":
        executed = Column[_Frame](f"{result.execution}\n[update steps]", lambda frame: str(frame.executed_step))
        columns = (*columns[:-3], executed, *columns[-3:])
    rows = [frame for found in result.by_pattern for frame in _frames(found)]
    patterns = ", ".join(found.pattern for found in result.by_pattern)
    head = (
        f"{result.network} ({patterns}) on {result.data}: {result.parameters:,} parameters, "
        f"{counted(len(result.history), 'epoch')}"
    )
    if result.history:
        head += f", loss {result.history[-1].loss:.4f} nats"
    if result.at_bounds is not None:
        head += f", {result.at_bounds:.0%} of the weights at their bounds"
    learned = "" if result.learned is None else f"{fill(_learned(result.learned, result.history), width)}\n\n"
    note = (
        f"accuracy: fraction of {result.n_images:,} {result.part} images that the frame alone names rightly; "
        f"frame 1 is the first response of {result.output}; steps since onset of the stimulus"
    )
    said = "".join(f"\n{fill(f'warning: {text}', width)}" for text in result.warnings)
    return f"{fill(head, width)}\n\n{learned}{Table(columns, rows).text(width)}\n\n{fill(note, width)}{said}\n"


def _learned(found: LearnedGates, history: tuple[EpochFigures, ...]) -> str:
    """Describe the learned pattern: its edges, its behaviour class and how certain its gates are."""
    number = "" if found.behaviour_class is None else f" {found.behaviour_class}"
    of_all = "" if found.classes is None else f" of {found.classes}"
    gates = ", ".join(f"{edge} {gate:.2f}" for edge, gate in zip(found.gates, history[-1].gates, strict=True))
    return (
        f"learned pattern: {found.pattern}; behaviour class{number}{of_all}; probability with which an edge streams at "
        f"the end of learning: {gates}"
    )
