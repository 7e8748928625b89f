"""The points of an experiment as CSV: one line for every frame of every curve."""

from __future__ import annotations

from dataclasses import asdict

from neuromap.experiments.experiment_result import ExperimentResult
from neuromap.experiments.first_answers import first_answers
from neuromap.experiments.points import points
from neuromap.forms.documents import csv_text

__all__ = ["to_csv"]


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
