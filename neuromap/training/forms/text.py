"""A training result as people read it in a terminal."""

from __future__ import annotations

from textwrap import fill

from neuromap.files.messages import counted
from neuromap.forms.tables import new_table, printed
from neuromap.training.training_result import TrainingResult

__all__ = ["render_text"]


def render_text(result: TrainingResult, width: int = 100) -> str:
    """Write the accuracy by frame, on both time axes, under a line that says what was trained.

    Parameters
    ----------
    result : TrainingResult
        The result.
    width : int
        Columns of text.
    """
    table = new_table("frame", "windowed\n[update steps]", "deep window\n[update steps]", "accuracy")
    rows = zip(result.times.windowed, result.times.deep_window, result.accuracy, strict=True)
    for number, (windowed, deep, accuracy) in enumerate(rows, start=1):
        table.add_row(str(number), str(windowed), str(deep), f"{accuracy:.3f}")
    head = (
        f"{result.network} ({result.pattern}) on {result.data}: {result.parameters:,} parameters, "
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
