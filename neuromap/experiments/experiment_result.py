"""``ExperimentResult``, its figure of accuracy over update steps, and the runs of curves behind it."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from textwrap import fill
from typing import Any, NamedTuple

import numpy as np

from neuromap.datasets.sources import load_images
from neuromap.datasets.tracks import PARTS, ImageSet, cut_tracks, digest_of_parts
from neuromap.experiments.experiment import Curve, Experiment, Published
from neuromap.files.messages import counted
from neuromap.registry import require_package
from neuromap.render.value import Documented, Drawn, Tabled
from neuromap.rollout.pattern import first_frame
from neuromap.training.network_training import train_network
from neuromap.training.options.training_options import TrainingOptions
from neuromap.training.training_result import FrameTimes, TrainingResult, frame_times

_COLOURS = ("#1f5fa8", "#b4501e", "#3a7d44", "#7b4fa3", "#8a6d00", "#a8324a", "#3f7f86")
_LEAST_SPAN = 0.1
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
_MANY = 10
"""Entries of a legend beyond which its font is small."""


def to_svg(result: ExperimentResult) -> str:
    """Draw the figure as SVG."""
    figure = draw([result])
    stream = io.StringIO()
    figure.savefig(stream, format="svg", metadata={"Date": None, "Creator": None})
    return stream.getvalue()


def draw(results: list[ExperimentResult]) -> Any:
    """Draw experiments side by side, sharing the axis of accuracy."""
    require_package("figure", "matplotlib", "figures")
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context({"svg.hashsalt": "neuromap", "font.size": 9, "axes.spines.top": False}):
        drawn = [part for result in results for part in _parts(result)]
        figure = Figure(figsize=(3.6 * len(drawn), 3.6), layout="constrained")
        panels = figure.subplots(1, len(drawn), sharey=True, squeeze=False)[0]
        for panel, part in zip(panels, drawn, strict=True):
            part(panel)
            panel.spines["right"].set_visible(False)
            panel.grid(alpha=0.25, linewidth=0.5)
            panel.legend(fontsize=8 if len(panel.get_legend_handles_labels()[0]) <= _MANY else 5, frameon=False)
        panels[0].set_ylabel("accuracy of a single frame [fraction of test images]")
        return figure


def _parts(result: ExperimentResult) -> list[Callable[[Any], None]]:
    """Return functions that draw the panels of an experiment: curves, and a comparison of networks if several."""
    answers = compared_answers(result)
    compared = [lambda panel: _compared(panel, answers)] if answers else []
    return [lambda panel: _panel(panel, result), *compared]


def _compared(panel: Any, answers: tuple[Point, ...]) -> None:
    """Draw the accuracy at the first sequential response, by network."""
    networks = list(dict.fromkeys((a.network, a.windowed) for a in answers))
    for number, pattern in enumerate(("streaming", "sequential")):
        mine, look = [a for a in answers if a.pattern == pattern], (_COLOURS[number], _MARKERS[number])
        errors = [a.standard_error or 0.0 for a in mine]
        _draw_ours(panel, range(len(mine)), [a.accuracy for a in mine], errors, pattern, look)
        told = {k: a.published for k, a in enumerate(mine) if a.published is not None}
        if told:
            _draw_published(panel, list(told), list(told.values()), pattern, look)
    panel.set_xticks(range(len(networks)), [f"{name}\nstep {step}" for name, step in networks], fontsize=7)
    panel.set_title("at the first sequential response", fontsize=9)
    panel.set_xlabel("network, update steps since onset, windowed")


def _panel(panel: Any, result: ExperimentResult) -> None:
    sets = list(dict.fromkeys((curve.network, curve.start) for curve in result.curves))
    patterns = list(dict.fromkeys(curve.pattern for curve in result.curves))
    for number, curve in enumerate(result.curves):
        places = sets.index((curve.network, curve.start)), patterns.index(curve.pattern)
        colour, marker = places if len(sets) > 1 else (number, number)
        look = _COLOURS[colour % len(_COLOURS)], _MARKERS[marker % len(_MARKERS)]
        steps = curve.times.windowed if curve.start is None else curve.times.deep_window
        label = f"{curve.name}, {counted(curve.repetitions, 'run')}"
        _draw_ours(panel, steps, curve.accuracy, curve.standard_error, label, look)
        if curve.published is not None:
            _draw_published(panel, curve.published.steps, curve.published.accuracy, curve.name, look)
    panel.set_title(fill(result.title, 44), fontsize=9)
    low, high = panel.get_ylim()
    if high - low < _LEAST_SPAN:  # otherwise sampling noise would fill the panel
        panel.set_ylim((low + high - _LEAST_SPAN) / 2, (low + high + _LEAST_SPAN) / 2)
    axis = "windowed" if all(curve.start is None for curve in result.curves) else "deep window"
    panel.set_xlabel(f"update steps since onset, {axis}")


_Values = Sequence[float]


def _draw_ours(
    panel: Any, places: _Values, accuracy: _Values, errors: _Values | None, label: str, look: tuple[str, str]
) -> None:
    colour, marker = look
    how = {"color": colour, "marker": marker, "markersize": 4, "linewidth": 1.2, "capsize": 2, "label": label}
    panel.errorbar(places, accuracy, yerr=errors, **how)


def _draw_published(panel: Any, places: _Values, accuracy: _Values, label: str, look: tuple[str, str]) -> None:
    colour, marker = look
    how = {"color": colour, "marker": marker, "markersize": 7, "markerfacecolor": "none", "linestyle": "none"}
    panel.plot(places, accuracy, label=f"{label}, published", **how)


# Accuracy at the first sequential response, by network: how well streaming does when sequential first answers.
def first_answers(result: ExperimentResult) -> tuple[Point, ...]:
    """Return the points of all networks run under both patterns, network by network, streaming first."""
    # Networks whose streaming curve is too short to reach that step are left out.
    of_network: dict[str, dict[str, CurvePoints]] = {}
    for curve in (c for c in result.curves if c.start is None):
        of_network.setdefault(curve.network, {})[curve.pattern] = curve
    found: list[Point] = []
    for curves in of_network.values():
        if curves.keys() >= {"streaming", "sequential"}:
            step = curves["sequential"].times.windowed[0]
            if step in curves["streaming"].times.windowed:
                both = (*curves["streaming"].points(), *curves["sequential"].points())
                found += [point for point in both if point.windowed == step]
    return tuple(found)


def compared_answers(result: ExperimentResult) -> tuple[Point, ...]:
    """Return the first answers where there are several networks to compare, else nothing."""
    answers = first_answers(result)
    return answers if len({answer.network for answer in answers}) > 1 else ()


# ``ExperimentResult``: curves of accuracy over time with their spread, and published ones.


class Point(NamedTuple):
    """One frame of one curve."""

    curve: str  # name of the curve
    network: str  # name
    pattern: str  # pattern of the curve
    frame: int  # counted from the first response, which is 1
    # windowed, deep_window: update steps since onset, on the two time axes
    windowed: int
    deep_window: int
    accuracy: float  # fraction of test images, mean over repetitions
    standard_error: float | None  # standard error of that mean; ``None`` for one run
    published: float | None  # published accuracy at this windowed step

    @property
    def deviation(self) -> float | None:
        """Accuracy minus the published one."""
        return None if self.published is None else self.accuracy - self.published


@dataclass(frozen=True, eq=False)
class CurvePoints:
    """One curve, over all its repetitions.

    Attributes
    ----------
    name : str
        Name, such as ``"SR streaming"``.
    network : str
        Name of the network.
    pattern : str
        Name of the rollout pattern.
    streaming : tuple of str
        Labels of the streaming edges.
    times : FrameTimes
        Times at which the frames of the output are known, on both time axes, in update steps.
    repetitions : int
        Number of runs, each with its own seed.
    epochs : int
        Epochs of every run.
    images : int
        Number of test images of every run; for images in tracks, one run of pictures per track.
    accuracy : tuple of float
        Mean over repetitions, frame by frame.
    standard_error : tuple of float or None
        Standard error of that mean, from the standard deviation over repetitions with n - 1 degrees of freedom;
        ``None`` for one run.
    published : Published or None
        Published accuracies.
    start : int or None
        For images in tracks, the start index within a track at which this was measured.
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

    @property
    def published_at(self) -> Mapping[int, float]:
        """Published accuracies by windowed update step."""
        told = self.published
        return {} if told is None else dict(zip(told.steps, told.accuracy, strict=True))

    def points(self) -> Iterator[Point]:
        """Yield the frames of the curve, with published accuracies."""
        errors = self.standard_error or (None,) * len(self.accuracy)
        columns = zip(self.times.windowed, self.times.deep_window, self.accuracy, errors, strict=True)
        told = self.published_at
        for frame, (step, deep, accuracy, error) in enumerate(columns, start=1):
            yield Point(self.name, self.network, self.pattern, frame, step, deep, accuracy, error, told.get(step))

    def deviations(self) -> tuple[tuple[int, float], ...]:
        """Windowed update step and accuracy minus the published one, for every published point."""
        known = dict(zip(self.times.windowed, self.accuracy, strict=True))
        return tuple((step, known[step] - value) for step, value in self.published_at.items() if step in known)


@dataclass(frozen=True, eq=False)
class ExperimentResult(Documented, Tabled, Drawn):
    """Results of an experiment.

    Attributes
    ----------
    name, title, source, data : str
        Those of the experiment.
    curves : tuple of CurvePoints
        Curves that were run.
    """

    name: str
    title: str
    source: str
    data: str
    curves: tuple[CurvePoints, ...] = field(repr=False)

    _called = "an experiment's result"
    _forms = ("neuromap.experiments.forms", "neuromap.experiments.experiment_result")

    def _facts(self) -> dict[str, object]:
        return {
            "name": self.name,
            "data": self.data,
            "curves": ", ".join(curve.name for curve in self.curves),
            "repetitions": max((curve.repetitions for curve in self.curves), default=0),
            **({"mean deviation": f"{found:.4f}"} if (found := self.mean_deviation()) is not None else {}),
        }

    def mean_deviation(self) -> float | None:
        """Mean absolute deviation from all published points; ``None`` if there are none."""
        found = [abs(gap) for curve in self.curves for _, gap in curve.deviations()]
        return sum(found) / len(found) if found else None


def gather(experiment: Experiment, results: tuple[CurveResult, ...]) -> ExperimentResult:
    """Combine the runs of an experiment."""
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


# One run of one curve, trained and measured on test images in a worker process.
@dataclass(frozen=True)
class CurveResult:
    """Result of one run of a curve.

    Attributes
    ----------
    curve : str
        Name of the curve.
    repetition : int
        Counted from 0.
    epochs : int
        Number of trained epochs.
    loss : float
        Mean over the last epoch, in nats.
    images : int
        Number of test images.
    accuracy : tuple of float
        Accuracy on them of each frame on its own, from the first response on.
    by_start : tuple of tuple of float
        The same at every start index of the experiment, for one run of pictures per track that is long enough.
    tracks : tuple of int
        Number of these tracks at every start index.
    image_digest : str
        Digest of the images of all parts; empty in results of older versions, which did not keep it.
    """

    curve: str
    repetition: int
    epochs: int
    loss: float
    images: int
    accuracy: tuple[float, ...]
    by_start: tuple[tuple[float, ...], ...] = ()
    tracks: tuple[int, ...] = ()
    image_digest: str = ""


@dataclass(frozen=True)
class CurveRun:
    """A run to do, sent to a worker process."""

    curve: Curve  # network and pattern
    repetition: int  # added to the seed of the options
    options: TrainingOptions  # options of the experiment
    data: str  # source of the images
    limit: int | None  # greatest number of images per part
    folder: Path  # folder of checkpoints
    starts: tuple[int, ...] = ()  # start indices within a track


def checkpoint_name(curve: Curve, repetition: int) -> str:
    """Return the file name of a run's checkpoint."""
    return f"{curve.name.replace(' ', '-')}-{repetition}.safetensors"


def run_curve(run: CurveRun) -> CurveResult:
    """Train a curve, resuming from its checkpoint if there is one, and measure it on the test images."""
    options = replace(run.options, seed=run.options.seed + run.repetition)
    images = {part: load_images(run.data, part, limit=run.limit) for part in PARTS}
    # Before any work, refuse a start index that no track has.
    of_start = [cut_tracks(images["test"], start, options.frames) for start in run.starts]
    checkpoint = run.folder / checkpoint_name(run.curve, run.repetition)
    found = train_network(run.curve.rollout, images, options, checkpoint)

    def measured(test: ImageSet) -> TrainingResult:  # measures the trained network: its checkpoint holds all epochs
        return train_network(run.curve.rollout, {**images, "test": test}, options, checkpoint)

    of_starts = [measured(test) for test in of_start]
    return CurveResult(
        run.curve.name,
        run.repetition,
        len(found.history),
        found.history[-1].loss,
        found.n_images,
        found.accuracy,
        tuple(at_start.accuracy for at_start in of_starts),
        tuple(at_start.n_images for at_start in of_starts),
        digest_of_parts(images),
    )
