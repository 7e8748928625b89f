"""The points of an experiment as CSV: one line for every frame of every curve."""

from __future__ import annotations

from dataclasses import asdict

from neuromap.experiments.experiment_result import ExperimentResult
from neuromap.experiments.forms.points import points
from neuromap.forms.documents import csv_text

__all__ = ["to_csv"]


def to_csv(result: ExperimentResult) -> str:
    """Write the points as CSV text (RFC 4180, UTF-8); steps are update steps since onset, accuracies fractions."""
    return csv_text([{**asdict(point), "deviation": point.deviation} for point in points(result)])
