"""How the figures of the explorer page look: one style, one meaning of colours and shapes, equal bytes each time."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

__all__ = ["CLASS_COLOURS", "SHAPES", "figure_of", "legend", "plain_axes", "ring", "svg_of", "without_overlap"]

STYLE: Any = {"svg.hashsalt": "neuromap", "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 9}
CLASS_COLOURS = ("#2166ac", "#c4271b", "#3a8f5b", "#7b4fa3", "#b8860b", "#555555")
"""Of behaviour classes in the order of their numbers, as a page explains them."""
SHAPES: Mapping[str, str] = {"windowed": "s", "pipelined": "o"}


def figure_of(width: float, height: float, columns: int = 1, *, sharey: bool = False) -> tuple[Figure, Any]:
    """Make a figure with a row of axes; to be called within :func:`svg_of`."""
    figure = Figure(figsize=(width, height))
    figure.patch.set_facecolor("white")
    axes = figure.subplots(1, columns, sharey=sharey, squeeze=False)[0]
    for one in axes:
        plain_axes(one)
    return figure, axes


def plain_axes(axes: Any) -> None:
    """Light grid below the points, no frame above and to the right."""
    axes.grid(True, color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def svg_of(draw: Any) -> bytes:
    """Call ``draw``, which makes a figure, in our style, and give the figure as SVG."""
    with mpl.rc_context(STYLE):
        figure = draw()
        figure.tight_layout()
        stream = io.BytesIO()
        figure.savefig(stream, format="svg", metadata={"Date": None, "Creator": f"matplotlib {mpl.__version__}"})
    return stream.getvalue()


def ring(axes: Any, x: Sequence[float], y: Sequence[float]) -> None:
    """Mark points that are on the front."""
    axes.plot(x, y, linestyle="", marker="o", markersize=12, markerfacecolor="none", markeredgecolor="black",
              markeredgewidth=1.1, zorder=4)  # fmt: skip


def legend(axes: Any, entries: Sequence[Mapping[str, Any]], **options: Any) -> None:
    """Explain colours and shapes: every entry holds options of a line, ``label`` among them."""
    handles = [Line2D([], [], **{"linestyle": "", "color": "#555555", **entry}) for entry in entries]
    axes.legend(handles=handles, **{"frameon": False, "fontsize": 8, "handletextpad": 0.4, **options})


def without_overlap(points: Sequence[tuple[float, float]], step: float, near: float) -> list[float]:
    """Shift points that would hide each other sideways.

    Parameters
    ----------
    points : sequence of (float, float)
        Places.
    step : float
        How far apart they stand then.
    near : float
        Heights that differ by less hide each other.

    Returns
    -------
    list of float
        New x of every point: around the old one, in the order of the points.
    """
    shifted = [x for x, _ in points]
    left = set(range(len(points)))
    while left:
        first = min(left, key=lambda k: (points[k], k))
        group = [first]
        for k in sorted(left - {first}, key=lambda k: (points[k][1], k)):
            if points[k][0] == points[first][0] and abs(points[k][1] - points[group[-1]][1]) < near:
                group.append(k)
        left -= set(group)
        for place, k in enumerate(sorted(group)):
            shifted[k] += (place - (len(group) - 1) / 2) * step
    return shifted
