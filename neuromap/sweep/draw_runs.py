"""A figure of runs over one parameter or two, as a drawing."""

from __future__ import annotations

from neuromap.errors import InputError
from neuromap.forms.standalone_svg import standalone
from neuromap.sweep.draw_lines import LinePanel, LinePoint, draw_lines
from neuromap.sweep.grouped_runs import OverPoint, RunsOver


def to_svg(over: RunsOver) -> str:
    """Draw a figure over its parameters."""
    panel = LinePanel(over.figure.key, f"{over.figure.title}, mean over runs", over.figure.unit)
    lines: dict[str, list[LinePoint]] = {}
    for point in over.points:
        lines.setdefault(_name(over, point), []).append(_point(point, panel.key))
    drawn = draw_lines(over.parameters[0], [panel], lines)
    if drawn is None:
        raise InputError(f"figure {over.figure.key}: is known of no run, so there is nothing to draw; choose another")
    return standalone(drawn)


def _name(over: RunsOver, point: OverPoint) -> str:
    return "" if len(over.parameters) == 1 else f"{over.parameters[1]} = {point.values[1]}"


def _point(point: OverPoint, key: str) -> LinePoint:
    return LinePoint(point.values[0], {} if point.mean is None else {key: point.mean}, point.reason)
