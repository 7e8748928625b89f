"""The epochs of a training result as CSV: one line each."""

from __future__ import annotations

from neuromap.forms.documents import csv_text
from neuromap.training.training_result import TrainingResult


def to_csv(result: TrainingResult) -> str:
    """Write loss (nats), seconds and validation accuracy by frame of every epoch as CSV text (RFC 4180, UTF-8)."""
    return csv_text(
        [
            {
                "epoch": epoch.epoch,
                "loss": epoch.loss,
                "seconds": epoch.seconds,
                **{f"accuracy.{k}": accuracy for k, accuracy in enumerate(epoch.accuracy)},
            }
            for epoch in result.history
        ]
    )
