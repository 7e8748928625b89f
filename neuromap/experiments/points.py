"""The points of curves one by one, with the published ones: what tables are made of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from neuromap.experiments.experiment_result import ExperimentResult

__all__ = ["Point", "points"]


@dataclass(frozen=True)
class Point:
    """One frame of one curve."""

    curve: str  # its name
    frame: int  # counted from the first response, which is 1
    # windowed, deep_window: update steps since onset, on the two time axes
    windowed: int
    deep_window: int
    accuracy: float  # fraction of test images
    standard_error: float | None  # of that mean; ``None`` for one run
    published: float | None  # what the publication gives at this windowed step

    @property
    def deviation(self) -> float | None:
        """Accuracy less the published one."""
        return None if self.published is None else self.accuracy - self.published


def points(result: ExperimentResult) -> Iterator[Point]:
    """Give all points, curve by curve, frame by frame."""
    for curve in result.curves:
        told = curve.published
        known = {} if told is None else dict(zip(told.steps, told.accuracy, strict=True))
        errors = curve.standard_error or (None,) * len(curve.accuracy)
        columns = zip(curve.times.windowed, curve.times.deep_window, curve.accuracy, errors, strict=True)
        for frame, (windowed, deep, accuracy, error) in enumerate(columns, start=1):
            yield Point(curve.name, frame, windowed, deep, accuracy, error, known.get(windowed))
