"""Line plots of figures over a parameter: panels in rows, intervals, a key below."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from neuromap.files.messages import counted
from neuromap.render.numbers import plain, round_up
from neuromap.render.svg import PHONE, drawing, element, label, line_key, number, shorten

# Lines that colours and dashes can distinguish.
MOST_LINES = 8
_LEFT, _BETWEEN, _BELOW = 72.0, 24.0, 60.0
# Width of a value on the parameter's axis.
_LABEL = 22.0


class Point(NamedTuple):
    """A point of a line."""

    value: str  # of the parameter, as shown on the axis
    figure: float | None  # ``None`` for a cross on the axis
    tip: str  # tooltip, or why there is no figure
    # low, high: ends of an interval around the figure
    low: float | None = None
    high: float | None = None


class Panel(NamedTuple):
    """A figure over the parameter."""

    title: str
    lines: Mapping[str, Sequence[Point]]  # by the names of the key
    top: float  # upper end of the axis of figures, which starts at 0, or at ``bottom``
    heading: str = ""  # above the title
    bottom: float = 0.0  # above 0 where the axis is logarithmic


class Plot(NamedTuple):
    """Panels with one parameter."""

    parameter: str
    panels: Sequence[Panel | None]  # ``None`` for an empty place
    what: str  # noun for a line
    size: tuple[float, float] = (430.0, 230.0)
    abreast: int = 99
    beside: float = 0.0  # horizontal offset between lines, so that their intervals do not overlap
    radius: tuple[float, float] = (3.2, 1.3)  # of a dot, and how much it grows per line drawn after its own


def draw_panels(plot: Plot, description: str, *, narrow: bool = False) -> str:
    """Draw all panels as one ``<svg>`` element; the parameter's values are evenly spaced, in the order given."""
    # narrow: for phones, one panel below the other
    if narrow:
        size, every = (PHONE - _LEFT - 8, plot.size[1]), [panel for panel in plot.panels if panel is not None]
        plot = plot._replace(size=size, panels=every, abreast=1)
    panels = [panel for panel in plot.panels if panel is not None]
    top = 52.0 if any(panel.heading for panel in panels) else 30.0
    width, height = _LEFT + plot.size[0] + _BETWEEN, top + plot.size[1] + _BELOW - 12
    parts = []
    for k, panel in enumerate(plot.panels):
        place = f"translate({number(width * (k % plot.abreast))} {number(height * (k // plot.abreast))})"
        if panel is not None:
            parts.append(element("g", *_Drawn(plot, panel, top).parts(), transform=place))
    names = list(dict.fromkeys(name for panel in panels for name in panel.lines))
    bottom = height * -(-len(plot.panels) // plot.abreast) + 12
    shown, key = names[:MOST_LINES], 4.0 if narrow else _LEFT
    parts += [part for k, name in enumerate(shown) if name for part in line_key(name, k, key, bottom + 20 * k)]
    if more := len(names) - len(shown):
        text = f"and {counted(more, plot.what)} more in the table"
        parts.append(label(key, bottom + 20 * len(shown), text, "small", anchor="start"))
    across = PHONE if narrow else width * min(len(plot.panels), plot.abreast)
    return drawing(across, bottom + 20 * (len(shown) + bool(more)), parts, description)


class _Drawn:
    """A panel: the parameter's values along x, figures along y."""

    def __init__(self, plot: Plot, panel: Panel, top: float) -> None:
        self._plot, self._panel, self._top = plot, panel, top
        self._lines = list(panel.lines.items())[:MOST_LINES]
        points = (point for one in plot.panels if one for line in one.lines.values() for point in line)
        self._values = list(dict.fromkeys(point.value for point in points))

    def _x(self, value: str, place: int | None = None) -> float:
        beside = 0.0 if place is None else self._plot.beside * (place - (len(self._lines) - 1) / 2)
        return _LEFT + self._plot.size[0] * (self._values.index(value) + 0.5) / len(self._values) + beside

    def _y(self, figure: float) -> float:
        low, top = self._panel.bottom, self._panel.top
        part = math.log(max(figure, low) / low, top / low) if low else figure / top
        return self._top + self._plot.size[1] * (1 - min(part, 1.0))

    def parts(self) -> Iterator[str]:
        """Draw the axes, then line by line."""
        width, panel, floor = self._plot.size[0], self._panel, self._top + self._plot.size[1]
        if panel.heading:
            yield label(_LEFT, 16, panel.heading, "heading", anchor="start")
        yield label(_LEFT, 36 if panel.heading else 16, panel.title, "small", anchor="start")
        for figure in _steps(panel.bottom, panel.top) if panel.bottom else [panel.top * part / 4 for part in range(5)]:
            y = self._y(figure)
            yield element("path", d=f"M{number(_LEFT)} {number(y)}H{number(_LEFT + width)}", class_="grid")
            yield label(_LEFT - 8, y + 4, plain(figure), "small", anchor="end")
        for value in self._values[:: -(-len(self._values) // int(width // _LABEL))]:
            yield label(self._x(value), floor + 18, shorten(value, 12), "small", title=value)
        yield label(_LEFT + width / 2, floor + 36, self._plot.parameter, "small")
        for place, (_, points) in enumerate(self._lines):
            yield from self._line(points, place)

    def _line(self, points: Sequence[Point], place: int) -> Iterator[str]:
        """Draw one line, broken where a figure is not known, which a cross on the axis marks."""
        path, joined = "", False
        dot, ring = self._plot.radius
        for point in points:
            x, y = self._x(point.value, place), self._y(point.figure or 0.0)
            if point.figure is None:
                cross = f"M{x - 4:.1f} {y - 4:.1f}l8 8m0 -8l-8 8"
                yield element("path", d=cross, class_="dead-mark", title=point.tip)
            else:
                path += f"{'L' if joined else 'M'}{number(x)} {number(y)}"
                if point.low is not None and point.high is not None:
                    bar = f"M{number(x)} {number(self._y(point.low))}V{number(self._y(point.high))}"
                    yield element("path", d=bar, fill="none", class_=f"line{place}", stroke_width=1, stroke_opacity=0.6)
                radius = dot + ring * (len(self._lines) - 1 - place)  # coinciding lines show as rings
                yield element("circle", class_=f"dot{place}", cx=x, cy=y, r=radius, title=point.tip)
            joined = point.figure is not None
        if path:
            yield element("path", d=path, class_=f"accuracy line{place}")


def log_ends(least: float, most: float) -> tuple[float, float]:
    """Return the ends of a logarithmic axis: 1, 2 or 5 times powers of ten around positive figures."""
    low = 10.0 ** math.floor(math.log10(least))
    bottom = max(low * step for step in (1, 2, 5) if low * step <= least * (1 + 1e-9))
    top = round_up(most)
    return bottom, top if top > bottom else 2 * bottom


def _steps(bottom: float, top: float) -> list[float]:
    powers = range(math.floor(math.log10(bottom)), math.ceil(math.log10(top)) + 1)
    steps = (10.0**power * step for power in powers for step in (1, 2, 5))
    return [step for step in steps if bottom * (1 - 1e-9) <= step <= top * (1 + 1e-9)]


def round_top(most: float) -> float:
    """Return the upper end of an axis of four equal parts, each 1, 2 or 5 times a power of ten; whole for counts."""
    return 4 * round_up(most / 4 if 0 < most < 1 else max(most / 4, 1.0))
