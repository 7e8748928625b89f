"""An experiment's figure: accuracy over update steps, ours with error bars, the published points beside them."""

from __future__ import annotations

import io
from collections.abc import Callable
from textwrap import fill
from typing import Any

from neuromap.errors import NotSupportedError
from neuromap.experiments.experiment_result import CurvePoints, ExperimentResult
from neuromap.experiments.first_answers import FirstAnswer, first_answers, is_over_networks

__all__ = ["draw", "to_svg"]

_COLOURS = ("#1f5fa8", "#b4501e", "#3a7d44", "#7b4fa3", "#8a6d00", "#a8324a", "#3f7f86")
_LEAST_SPAN = 0.1
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
_MANY = 10
"""Entries of a legend beyond which it is written small."""


def to_svg(result: ExperimentResult) -> str:
    """Draw the figure as SVG text."""
    figure = draw([result])
    stream = io.StringIO()
    figure.savefig(stream, format="svg", metadata={"Date": None, "Creator": None})
    return stream.getvalue()


def draw(results: list[ExperimentResult]) -> Any:
    """Draw experiments side by side, with one axis of accuracy."""
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError:
        raise NotSupportedError(
            "figure: needs matplotlib, which is not installed; pip install 'neuromap-rollouts[figures]'"
        ) from None
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
    """Give what draws the panels of an experiment: curves, and networks side by side where there are several."""
    answers = first_answers(result)
    compared = [lambda panel: _compared(panel, answers)] if is_over_networks(answers) else []
    return [lambda panel: _panel(panel, result), *compared]


def _compared(panel: Any, answers: tuple[FirstAnswer, ...]) -> None:
    """Draw accuracy at the first sequential response, over networks."""
    networks = list(dict.fromkeys((a.network, a.step) for a in answers))
    for number, pattern in enumerate(("streaming", "sequential")):
        mine, colour = [a for a in answers if a.pattern == pattern], _COLOURS[number]
        errors = [a.standard_error or 0.0 for a in mine]
        panel.errorbar(range(len(mine)), [a.accuracy for a in mine], yerr=errors, color=colour, marker=_MARKERS[number],
                       markersize=4, linewidth=1.2, capsize=2, label=pattern)  # fmt: skip
        told = [(k, a.published) for k, a in enumerate(mine) if a.published is not None]
        if told:
            panel.plot(*zip(*told, strict=True), color=colour, marker=_MARKERS[number], markersize=7,
                       markerfacecolor="none", linestyle="none", label=f"{pattern}, published")  # fmt: skip
    panel.set_xticks(range(len(networks)), [f"{name}\nstep {step}" for name, step in networks], fontsize=7)
    panel.set_title("at the first sequential response", fontsize=9)
    panel.set_xlabel("network, update steps since onset, windowed")


def _panel(panel: Any, result: ExperimentResult) -> None:
    sets = list(dict.fromkeys((curve.network, curve.start) for curve in result.curves))
    patterns = list(dict.fromkeys(curve.pattern for curve in result.curves))
    for number, curve in enumerate(result.curves):
        places = sets.index((curve.network, curve.start)), patterns.index(curve.pattern)
        colour, marker = places if len(sets) > 1 else (number, number)
        _curve(panel, curve, _COLOURS[colour % len(_COLOURS)], _MARKERS[marker % len(_MARKERS)])
    panel.set_title(fill(result.title, 44), fontsize=9)
    low, high = panel.get_ylim()
    if high - low < _LEAST_SPAN:  # else the noise of test images fills the panel
        panel.set_ylim((low + high - _LEAST_SPAN) / 2, (low + high + _LEAST_SPAN) / 2)
    axis = "windowed" if all(curve.start is None for curve in result.curves) else "deep window"
    panel.set_xlabel(f"update steps since onset, {axis}")


def _curve(panel: Any, curve: CurvePoints, colour: str, marker: str) -> None:
    panel.errorbar(
        curve.times.windowed if curve.start is None else curve.times.deep_window,
        curve.accuracy,
        yerr=curve.standard_error,
        color=colour,
        marker=marker,
        markersize=4,
        linewidth=1.2,
        capsize=2,
        label=f"{curve.name}, {curve.repetitions} run{'s' if curve.repetitions > 1 else ''}",
    )
    if curve.published is not None:
        panel.plot(
            curve.published.steps,
            curve.published.accuracy,
            color=colour,
            marker=marker,
            markersize=7,
            markerfacecolor="none",
            linestyle="none",
            label=f"{curve.name}, published",
        )
