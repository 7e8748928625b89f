"""A training result as people read it in a terminal."""

from __future__ import annotations

from textwrap import fill

from neuromap.files.messages import counted
from neuromap.forms.tables import new_table, printed
from neuromap.training.training_result import PatternAccuracy, TrainingResult

__all__ = ["render_text"]


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
