"""Figures of a sweep over the first figure of the chip, a line for every combination of the others."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from neuromap.files.messages import counted
from neuromap.forms.numbers import plain
from neuromap.forms.svg import drawing, element, label, number, shorten
from neuromap.hardware.chip.chip_figures import figure_text
from neuromap.sweep.chip_sweep import ChipSweep, SweepColumn, SweepRow

__all__ = ["draw_sweep"]

_LEFT, _TOP, _WIDTH, _HEIGHT = 72.0, 30.0, 430.0, 230.0
_PANEL = _LEFT + _WIDTH + 24.0
_BELOW = 60.0
_MOST_LINES = 8
"""Lines that are told apart by colour and dashes."""
_MOST_LABELS = 12
_UNITS = {"ticks": " [ticks]"}
_DOT, _RING = 3.2, 1.3
"""Radius of a dot, and what lines that are drawn before others add to it: those that coincide are rings then."""


class _Axes(NamedTuple):
    """Values of the first figure to the right, evenly spaced as they were given; a figure of the rows upwards."""

    values: tuple[str, ...]
    top: float

    def x(self, value: str) -> float:
        return _LEFT + _WIDTH * (self.values.index(value) + 0.5) / len(self.values)

    def y(self, figure: float) -> float:
        return _TOP + _HEIGHT * (1 - figure / self.top)


def draw_sweep(sweep: ChipSweep) -> str | None:
    """Draw a panel for every figure that is to be drawn.

    Parameters
    ----------
    sweep : ChipSweep
        The sweep.

    Returns
    -------
    str or None
        One ``<svg>`` element, whose axes of figures start at 0; ``None`` where no row fits.
    """
    panels = [c for c in sweep.columns if c.is_drawn and any(c.key in row.figures for row in sweep.rows)]
    if not panels:
        return None
    lines = _lines(sweep)
    parts = [
        element("g", *_panel(sweep, column, lines), transform=f"translate({number(_PANEL * k)} 0)")
        for k, column in enumerate(panels)
    ]
    bottom = _TOP + _HEIGHT + _BELOW
    shown = list(lines)[:_MOST_LINES]
    parts += [part for k, name in enumerate(shown) if name for part in _key(name, k, bottom + 20 * k)]
    if len(lines) > _MOST_LINES:
        more = f"and {counted(len(lines) - _MOST_LINES, 'line')} more in the table"
        parts.append(label(_LEFT, bottom + 20 * _MOST_LINES, more, "small", anchor="start"))
    height = bottom + 20 * min(len(lines), _MOST_LINES + 1)
    titles = " and ".join(column.title for column in panels)
    return drawing(_PANEL * len(panels), height, parts, f"{titles} over {sweep.parameters[0]}")


def _lines(sweep: ChipSweep) -> dict[str, list[SweepRow]]:
    """Share the rows out by all that tells them apart but the first figure."""
    found: dict[str, list[SweepRow]] = {}
    for row in sweep.rows:
        others = zip(sweep.parameters[1:], row.values[1:], strict=True)
        name = ", ".join([*(f"{name} = {figure_text(value)}" for name, value in others), *row.labels])
        found.setdefault(name, []).append(row)
    return found


def _panel(sweep: ChipSweep, column: SweepColumn, lines: dict[str, list[SweepRow]]) -> Iterator[str]:
    values = tuple(dict.fromkeys(figure_text(row.values[0]) for row in sweep.rows))
    axes = _Axes(values, _round_top(max(row.figures.get(column.key, 0.0) for row in sweep.rows)))
    yield from _axes(sweep.parameters[0], column, axes)
    shown = list(lines.items())[:_MOST_LINES]
    for place, (name, rows) in enumerate(shown):
        yield from _line(name, rows, column, place, _DOT + _RING * (len(shown) - 1 - place), axes)


def _axes(parameter: str, column: SweepColumn, axes: _Axes) -> Iterator[str]:
    yield label(_LEFT, 16, column.title + _UNITS.get(column.unit, ""), "small", anchor="start")
    for part in range(5):
        figure = axes.top * part / 4
        y = axes.y(figure)
        yield element("path", d=f"M{number(_LEFT)} {number(y)}H{number(_LEFT + _WIDTH)}", class_="grid")
        yield label(_LEFT - 8, y + 4, plain(figure), "small", anchor="end")
    for value in axes.values[:: max(1, -(-len(axes.values) // _MOST_LABELS))]:
        yield label(axes.x(value), _TOP + _HEIGHT + 18, shorten(value, 12), "small", title=value)
    yield label(_LEFT + _WIDTH / 2, _TOP + _HEIGHT + 36, parameter, "small")


def _line(
    name: str, rows: Sequence[SweepRow], column: SweepColumn, place: int, radius: float, axes: _Axes
) -> Iterator[str]:
    """Draw one line; it is broken where a chip is too small, which a cross on the axis says."""
    path, joined = "", False
    for row in rows:
        value, x = figure_text(row.values[0]), axes.x(figure_text(row.values[0]))
        figure = row.figures.get(column.key)
        if figure is None:
            y = axes.y(0)
            yield element("path", d=f"M{x - 4:.1f} {y - 4:.1f}l8 8m0 -8l-8 8", class_="dead-mark", title=row.reason)
        else:
            y = axes.y(figure)
            path += f"{'L' if joined else 'M'}{number(x)} {number(y)}"
            text = ", ".join(filter(None, [value, name, plain(figure)]))
            yield element("circle", class_=f"dot{place}", cx=x, cy=y, r=radius, title=text)
        joined = figure is not None
    if path:
        yield element("path", d=path, class_=f"accuracy line{place}")


def _key(name: str, place: int, y: float) -> list[str]:
    return [
        element("path", d=f"M{number(_LEFT)} {number(y - 4)}h28", class_=f"accuracy line{place}"),
        label(_LEFT + 36, y, shorten(name, 60), "small", anchor="start", title=name),
    ]


def _round_top(most: float) -> float:
    """Give the upper end of an axis of counts: four equal parts, of 1, 2 or 5 times a power of ten each."""
    part = max(most / 4, 1.0)
    power = 10.0 ** math.floor(math.log10(part))
    return 4 * next(step * power for step in (1, 2, 5, 10) if step * power >= part)
