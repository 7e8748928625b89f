"""Figures over one parameter, a line for every value of the others: panels side by side, and a key below."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from neuromap.files.messages import counted
from neuromap.forms.numbers import plain
from neuromap.forms.svg import drawing, element, label, line_key, number, shorten

_LEFT, _TOP, _WIDTH, _HEIGHT = 72.0, 30.0, 430.0, 230.0
_PANEL = _LEFT + _WIDTH + 24.0
_BELOW = 60.0
_MOST_LINES = 8
"""Lines that are told apart by colour and dashes."""
_MOST_LABELS = 12
_DOT, _RING = 3.2, 1.3
"""Radius of a dot, and what lines that are drawn before others add to it: those that coincide are rings then."""


class _Axes(NamedTuple):
    """Values of the parameter to the right, evenly spaced as they were given; a figure of the rows upwards."""

    values: tuple[str, ...]
    top: float

    def x(self, value: str) -> float:
        return _LEFT + _WIDTH * (self.values.index(value) + 0.5) / len(self.values)

    def y(self, figure: float) -> float:
        return _TOP + _HEIGHT * (1 - figure / self.top)


class LinePoint(NamedTuple):
    """A point of a line, in all panels."""

    value: str  # of the parameter, as it stands on the axis
    figures: Mapping[str, float]  # by the keys of the panels; those that are known
    reason: str = ""  # why none is, for a cross on the axis


class LinePanel(NamedTuple):
    """A figure that is drawn."""

    key: str  # in :attr:`LinePoint.figures`
    title: str  # what stands above the axis
    unit: str = ""  # behind it, such as ``"ticks"``; empty for counts


def draw_lines(parameter: str, panels: Sequence[LinePanel], lines: Mapping[str, Sequence[LinePoint]]) -> str | None:
    """Draw a panel for every figure."""
    # gives one ``<svg>`` element, whose axes of figures start at 0; ``None`` where there is nothing to draw
    points = [point for line in lines.values() for point in line]
    panels = [panel for panel in panels if any(panel.key in point.figures for point in points)]
    if not panels:
        return None
    values = tuple(dict.fromkeys(point.value for point in points))
    parts = []
    for k, panel in enumerate(panels):
        top = _round_top(max(point.figures.get(panel.key, 0.0) for point in points))
        inner = _panel(parameter, panel, lines, _Axes(values, top))
        parts.append(element("g", *inner, transform=f"translate({number(_PANEL * k)} 0)"))
    bottom = _TOP + _HEIGHT + _BELOW
    shown = list(lines)[:_MOST_LINES]
    parts += [part for k, name in enumerate(shown) if name for part in line_key(name, k, _LEFT, bottom + 20 * k)]
    if len(lines) > _MOST_LINES:
        more = f"and {counted(len(lines) - _MOST_LINES, 'line')} more in the table"
        parts.append(label(_LEFT, bottom + 20 * _MOST_LINES, more, "small", anchor="start"))
    height = bottom + 20 * min(len(lines), _MOST_LINES + 1)
    titles = " and ".join(panel.title for panel in panels)
    return drawing(_PANEL * len(panels), height, parts, f"{titles} over {parameter}")


def _panel(parameter: str, panel: LinePanel, lines: Mapping[str, Sequence[LinePoint]], axes: _Axes) -> Iterator[str]:
    yield from _axes(parameter, panel, axes)
    shown = list(lines.items())[:_MOST_LINES]
    for place, (name, points) in enumerate(shown):
        yield from _line(name, points, panel.key, place, _DOT + _RING * (len(shown) - 1 - place), axes)


def _axes(parameter: str, panel: LinePanel, axes: _Axes) -> Iterator[str]:
    unit = f" [{panel.unit}]" if panel.unit else ""
    yield label(_LEFT, 16, panel.title + unit, "small", anchor="start")
    for part in range(5):
        figure = axes.top * part / 4
        y = axes.y(figure)
        yield element("path", d=f"M{number(_LEFT)} {number(y)}H{number(_LEFT + _WIDTH)}", class_="grid")
        yield label(_LEFT - 8, y + 4, plain(figure), "small", anchor="end")
    for value in axes.values[:: max(1, -(-len(axes.values) // _MOST_LABELS))]:
        yield label(axes.x(value), _TOP + _HEIGHT + 18, shorten(value, 12), "small", title=value)
    yield label(_LEFT + _WIDTH / 2, _TOP + _HEIGHT + 36, parameter, "small")


def _line(name: str, points: Sequence[LinePoint], key: str, place: int, radius: float, axes: _Axes) -> Iterator[str]:
    """Draw one line; it is broken where a figure is not known, which a cross on the axis says."""
    path, joined = "", False
    for point in points:
        x, figure = axes.x(point.value), point.figures.get(key)
        if figure is None:
            y = axes.y(0)
            yield element("path", d=f"M{x - 4:.1f} {y - 4:.1f}l8 8m0 -8l-8 8", class_="dead-mark", title=point.reason)
        else:
            y = axes.y(figure)
            path += f"{'L' if joined else 'M'}{number(x)} {number(y)}"
            text = ", ".join(filter(None, [point.value, name, plain(figure)]))
            yield element("circle", class_=f"dot{place}", cx=x, cy=y, r=radius, title=text)
        joined = figure is not None
    if path:
        yield element("path", d=path, class_=f"accuracy line{place}")


def _round_top(most: float) -> float:
    """Give the upper end of an axis: four equal parts, of 1, 2 or 5 times a power of ten each; of counts whole ones."""
    part = most / 4 if 0 < most < 1 else max(most / 4, 1.0)
    power = 10.0 ** math.floor(math.log10(part))
    return 4 * next(step * power for step in (1, 2, 5, 10) if step * power >= part)
