"""``ExperimentResult``: curves of accuracy over time with their spread, beside published ones."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from neuromap.experiments.curve_job import CurveResult
from neuromap.experiments.experiment import Curve, Experiment, Published
from neuromap.forms.formed import Formed, form
from neuromap.rollout.first_frame import first_frame
from neuromap.training.options.time_axes import FrameTimes, frame_times

__all__ = ["CurvePoints", "ExperimentResult", "gather"]


@dataclass(frozen=True, eq=False)
class CurvePoints:
    """One curve, over all its repetitions.

    Attributes
    ----------
    name : str
        Such as ``"SR streaming"``.
    network : str
        Name of the network.
    pattern : str
        Name of the rollout pattern.
    streaming : tuple of str
        Labels of the edges that stream.
    times : FrameTimes
        When the frames of the output are known, on both time axes, in update steps.
    repetitions : int
        Runs with seeds of their own.
    epochs : int
        Of every run.
    images : int
        Test images of every run; of images in tracks, one run of pictures for each track.
    accuracy : tuple of float
        Mean over the repetitions, frame by frame.
    standard_error : tuple of float or None
        Standard deviation over the repetitions (divided by one less than their number) over the root of their number;
        ``None`` for one run.
    published : Published or None
        What a publication gives.
    start : int or None
        Of images in tracks: the start index within a track at which this was measured.
    """

    name: str
    network: str
    pattern: str
    streaming: tuple[str, ...]
    times: FrameTimes
    repetitions: int
    epochs: int
    images: int
    accuracy: tuple[float, ...]
    standard_error: tuple[float, ...] | None
    published: Published | None
    start: int | None = None

    def deviations(self) -> tuple[tuple[int, float], ...]:
        """Windowed update step and accuracy less the published one, for every published point."""
        if self.published is None:
            return ()
        known = dict(zip(self.times.windowed, self.accuracy, strict=True))
        pairs = zip(self.published.steps, self.published.accuracy, strict=True)
        return tuple((step, known[step] - value) for step, value in pairs if step in known)


@dataclass(frozen=True, eq=False)
class ExperimentResult(Formed):
    """What an experiment came to.

    Attributes
    ----------
    name, title, source, data : str
        Of the experiment.
    curves : tuple of CurvePoints
        Those that were run.
    """

    name: str
    title: str
    source: str
    data: str
    curves: tuple[CurvePoints, ...] = field(repr=False)

    _called = "an experiment's result"

    def _facts(self) -> dict[str, object]:
        return {
            "name": self.name,
            "data": self.data,
            "curves": ", ".join(curve.name for curve in self.curves),
            "repetitions": max((curve.repetitions for curve in self.curves), default=0),
            **({"mean deviation": f"{found:.4f}"} if (found := self.mean_deviation()) is not None else {}),
        }

    def mean_deviation(self) -> float | None:
        """Mean absolute deviation from all published points; ``None`` without any."""
        found = [abs(gap) for curve in self.curves for _, gap in curve.deviations()]
        return sum(found) / len(found) if found else None

    def to_dict(self) -> dict[str, Any]:
        """Give the result as plain values, those of its JSON document."""
        found: dict[str, Any] = form(self, "dict")
        return found

    def to_json(self) -> str:
        """Write the result as a JSON document."""
        return str(form(self, "json"))

    def to_csv(self) -> str:
        """Write the points, one line for every frame of every curve, as CSV text (RFC 4180, UTF-8)."""
        return str(form(self, "csv"))

    def to_svg(self) -> str:
        """Draw accuracy over update steps as SVG text.

        Raises
        ------
        NotSupportedError
            If matplotlib is not installed.
        """
        return str(form(self, "svg"))


def gather(experiment: Experiment, results: tuple[CurveResult, ...]) -> ExperimentResult:
    """Put the runs of an experiment together."""
    points = []
    for curve in experiment.curves:
        mine = [result for result in results if result.curve == curve.name]
        if mine and experiment.starts:
            points += [_at_start(curve, mine, number, start) for number, start in enumerate(experiment.starts)]
        elif mine:
            points.append(_points(curve, mine))
    return ExperimentResult(experiment.name, experiment.title, experiment.source, experiment.data, tuple(points))


def _at_start(curve: Curve, runs: list[CurveResult], number: int, start: int) -> CurvePoints:
    at_start = [replace(run, accuracy=run.by_start[number], images=run.tracks[number]) for run in runs]
    found = _points(curve, at_start)
    return replace(found, name=f"{curve.name}, start {start}", start=start)


def _points(curve: Curve, runs: list[CurveResult]) -> CurvePoints:
    table = np.array([run.accuracy for run in runs])
    error = table.std(axis=0, ddof=1) / np.sqrt(len(runs)) if len(runs) > 1 else None
    output = curve.network.outputs[0]
    pattern = curve.rollout.pattern
    return CurvePoints(
        name=curve.name,
        network=curve.network.name,
        pattern=pattern.name,
        streaming=tuple(edge.label for edge, r in zip(curve.network.edges.values(), pattern.values, strict=True) if r),
        times=frame_times(curve.rollout, output, first_frame(pattern, output), table.shape[1]),
        repetitions=len(runs),
        epochs=min(run.epochs for run in runs),
        images=runs[0].images,
        accuracy=tuple(round(float(a), 6) for a in table.mean(axis=0)),
        standard_error=None if error is None else tuple(round(float(e), 6) for e in error),
        published=curve.published,
    )
