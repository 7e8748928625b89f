"""An experiment's figure: accuracy over update steps, ours with error bars, the published points beside them."""

from __future__ import annotations

import io
from typing import Any

from neuromap.errors import NotSupportedError
from neuromap.experiments.experiment_result import CurvePoints, ExperimentResult

__all__ = ["draw", "to_svg"]

_COLOURS = ("#1f5fa8", "#b4501e", "#3a7d44", "#7b4fa3", "#8a6d00", "#a8324a", "#3f7f86")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")


def to_svg(result: ExperimentResult) -> str:
    """Draw the figure as SVG text.

    Raises
    ------
    NotSupportedError
        If matplotlib is not installed.
    """
    figure = draw([result])
    stream = io.StringIO()
    figure.savefig(stream, format="svg", metadata={"Date": None, "Creator": None})
    return stream.getvalue()


def draw(results: list[ExperimentResult]) -> Any:
    """Draw experiments side by side, with one axis of accuracy.

    Parameters
    ----------
    results : list of ExperimentResult
        One panel each.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    NotSupportedError
        If matplotlib is not installed.
    """
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError:
        raise NotSupportedError(
            "figure: needs matplotlib, which is not installed; pip install 'neuromap-rollouts[figures]'"
        ) from None
    with mpl.rc_context({"svg.hashsalt": "neuromap", "font.size": 9, "axes.spines.top": False}):
        figure = Figure(figsize=(3.6 * len(results), 3.6), layout="constrained")
        panels = figure.subplots(1, len(results), sharey=True, squeeze=False)[0]
        for panel, result in zip(panels, results, strict=True):
            _panel(panel, result)
        panels[0].set_ylabel("accuracy of a single frame [fraction of test images]")
        return figure


def _panel(panel: Any, result: ExperimentResult) -> None:
    for number, curve in enumerate(result.curves):
        colour, marker = _COLOURS[number % len(_COLOURS)], _MARKERS[number % len(_MARKERS)]
        _curve(panel, curve, colour, marker)
    panel.set_title(result.title, fontsize=9)
    panel.set_xlabel("update steps since onset, windowed")
    panel.spines["right"].set_visible(False)
    panel.grid(alpha=0.25, linewidth=0.5)
    panel.legend(fontsize=8, frameon=False)


def _curve(panel: Any, curve: CurvePoints, colour: str, marker: str) -> None:
    panel.errorbar(
        curve.times.windowed,
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
