"""An accuracy as CSV: one line for every frame."""

from __future__ import annotations

from neuromap.accuracy.accuracy import Accuracy
from neuromap.forms.documents import csv_text


def to_csv(found: Accuracy) -> str:
    """Write frame, update step and tick since the onset, correct images and accuracy as CSV text (RFC 4180, UTF-8)."""
    return csv_text(
        [
            {
                "frame": frame.frame,
                "update_step": "" if frame.update_step is None else frame.update_step,
                "tick": frame.tick,
                "correct": frame.correct,
                "images": found.n_images,
                "accuracy": frame.accuracy,
            }
            for frame in found.frames
        ]
    )
