"""The picture of a report: when every row answers, how often it takes a frame, what it takes.

Rows of one execution stand together, as each execution is a time axis of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from neuromap.arrays.times import Time
from neuromap.files.messages import counted
from neuromap.render.numbers import plain
from neuromap.render.svg import drawing, element, label, number, shorten
from neuromap.report.figures.latency_report import LatencyReport
from neuromap.report.figures.row import ReportRow

_LEFT, _TOP, _ROW, _HEAD = 150.0, 30.0, 34.0, 30.0
_WIDTH = 640.0
_PERIOD, _CORES, _BAR = 40.0, 200.0, 110.0
"""Distances of the columns right of the plot, and the length of the longest bar of cores."""
_NARROW, _NARROW_EDGE, _NARROW_ROW = 336.0, 14.0, 50.0
"""Width of the picture for telephones, what is left free at its sides, and the height of its rows."""


def draw_overview(report: LatencyReport, heading: str = "") -> str | None:
    """Draw responses, samples, frame periods and cores, one line per mapped row."""
    # gives one ``<svg>`` element; ``None`` where no row was mapped
    rows = rows_drawn(report)
    if not rows:
        return None
    axis = axis_of(rows, _LEFT, _WIDTH, 8)
    most_cores = max((row.usage.cores for row in rows if row.usage is not None), default=1)
    top = 28.0 if heading else 0.0
    lanes, grid, bottom = _lanes(rows, _TOP + top, _ROW, 8.0, lambda row, y: _lane(row, y, axis, most_cores))
    parts = [label(8, 18, heading, "heading", anchor="start")] if heading else []
    parts.append(label(_LEFT - 12, top + 18, f"{_unit(rows)} since onset", "small", anchor="end"))
    parts += axis.draw(top + 18, grid)
    parts.append(label(_LEFT + _WIDTH + _PERIOD, top + 18, "a frame every", "small", anchor="start"))
    parts.append(label(_LEFT + _WIDTH + _CORES, top + 18, "cores", "small", anchor="start"))
    width = _LEFT + _WIDTH + _CORES + _BAR + 60
    return drawing(width, bottom, [*parts, *lanes], _described(rows))


def draw_narrow_overview(report: LatencyReport) -> str | None:
    """Draw the same for a telephone: names, frame periods and cores stand above the line of their row."""
    # gives one ``<svg>`` element; ``None`` where no row was mapped
    rows = rows_drawn(report)
    if not rows:
        return None
    axis = axis_of(rows, _NARROW_EDGE, _NARROW - 2 * _NARROW_EDGE, 5)
    lanes, grid, bottom = _lanes(rows, 42.0, _NARROW_ROW, 0.0, lambda row, y: _narrow_lane(row, y, axis))
    parts = [label(0, 14, f"{_unit(rows)} since onset", "small", anchor="start"), *axis.draw(34, grid)]
    return drawing(_NARROW, bottom, [*parts, *lanes], _described(rows))


def _described(rows: Sequence[ReportRow]) -> str:
    return f"Responses, frame periods and cores of {counted(len(rows), 'row')}"


def _lanes(
    rows: Sequence[ReportRow], y: float, height: float, left: float, lane: Callable[[ReportRow, float], list[str]]
) -> tuple[list[str], list[tuple[float, float]], float]:
    """Draw rows, those of one execution under its name; give also from where to where these reach, and the end."""
    parts: list[str] = []
    reaches: list[tuple[float, float]] = []
    for execution in dict.fromkeys(row.execution for row in rows):
        mine = [row for row in rows if row.execution == execution]
        heading = f"{execution[:1].upper()}{execution[1:]} execution"
        parts.append(label(left, y + 19, heading, "heading", anchor="start"))
        y += _HEAD
        reaches.append((y - 4, y + height * len(mine)))
        for row in mine:
            parts += lane(row, y + height / 2)
            y += height
        y += 6
    return parts, reaches, y


def _lane(row: ReportRow, y: float, axis: TickAxis, most_cores: int) -> list[str]:
    parts = [label(_LEFT - 12, y + 4.5, shorten(row.pattern, 17), "name", "end", row.pattern)]
    parts += row_marks(row, y, axis)
    parts.append(label(_LEFT + _WIDTH + _PERIOD, y + 4.5, _period(row), "figure", "start"))
    if row.usage is not None:
        at, length = _LEFT + _WIDTH + _CORES, max(1.5, _BAR * row.usage.cores / most_cores)
        tip = counted(row.usage.cores, "core")
        parts.append(element("rect", x=at, y=y - 6, width=length, height=12, class_="bar", title=tip))
        parts.append(label(at + length + 8, y + 4.5, plain(row.usage.cores), "figure", anchor="start"))
    return parts


def _narrow_lane(row: ReportRow, y: float, axis: TickAxis) -> list[str]:
    cores = "" if row.usage is None else f", {counted(row.usage.cores, 'core')}"
    return [
        label(0, y - 8, shorten(row.pattern, 17), "name halo", "start", row.pattern),
        label(_NARROW, y - 8, f"every {_period(row)}{cores}", "small halo", "end"),
        *row_marks(row, y + 10, axis),
    ]


def _period(row: ReportRow) -> str:
    ticks = counted(row.frame_period_ticks or 0, "tick")
    return ticks if row.seconds is None else f"{_words(row, _every(row))}: {ticks}"


# What the pictures of a report's rows are made of: an axis of ticks, and when a row answers and takes frames on it.


_MOST_SAMPLES = 60


@dataclass(frozen=True)
class TickAxis:
    """An axis of ticks since the stimulus onset; of microseconds where ticks were timed."""

    # left, width: where it lies in the drawing
    left: float
    width: float
    # ticks, step: where it ends, and ticks between two numbers
    ticks: int
    step: int

    def x(self, tick: Time | float) -> float:
        """Place of a tick."""
        return self.left + float(tick) * self.width / self.ticks

    def draw(self, y: float, lanes: Sequence[tuple[float, float]]) -> list[str]:
        """Draw the numbers on the base line ``y``, and lines through lanes, each from top to bottom."""
        parts = []
        for tick in range(0, self.ticks + 1, self.step):
            parts.append(label(self.x(tick), y, str(tick), "small"))
            path = "".join(f"M{number(self.x(tick))} {number(top)}V{number(bottom)}" for top, bottom in lanes)
            parts.append(element("path", d=path, class_="grid"))
        return parts


def rows_drawn(report: LatencyReport) -> list[ReportRow]:
    """Give the rows that have a place on the axis."""
    return [row for row in report.rows if row.status == "mapped" and row.worst_case_reaction_ticks is not None]


def axis_of(rows: Iterable[ReportRow], left: float, width: float, steps: int) -> TickAxis:
    """Make an axis that holds all responses of rows, with about so many steps."""
    last = max(max(_full(row) or 0, _first(row) or 0, _reaction(row) or 0) for row in rows)
    step = _nice(float(last) / steps)
    return TickAxis(left, width, step * math.ceil((last + 0.2) / step), step)


def row_marks(row: ReportRow, y: float, axis: TickAxis) -> list[str]:
    """Mark when the input takes frames, and when the responses come, around the height ``y``."""
    parts = _samples(row, y, axis)
    first, full = _first(row), _full(row)
    if first is not None and full is not None:
        line = f"M{number(axis.x(first))} {number(y)}H{number(axis.x(full))}"
        parts.append(element("path", d=line, class_="stem"))
    if (reaction := _reaction(row)) is not None:
        path = f"M{number(axis.x(reaction))} {number(y - 9)}V{number(y + 9)}"
        tip = f"worst-case reaction {_words(row, reaction)}"
        parts.append(element("path", d=path, title=tip, class_="reaction"))
    if full is not None:
        tip = f"full response {_words(row, full)}"
        parts.append(element("circle", title=tip, cx=axis.x(full), cy=y, r=7.0, class_="full-dot"))
    if first is not None:
        tip = f"first response {_words(row, first)}"
        parts.append(element("circle", title=tip, cx=axis.x(first), cy=y, r=4.5, class_="first-dot"))
    return parts


_MICRO = 1e6


def _unit(rows: Sequence[ReportRow]) -> str:
    return "ticks" if rows[0].seconds is None else "µs"


def _words(row: ReportRow, value: Time | float) -> str:
    return f"{value:.4g} µs" if isinstance(value, float) else counted(value, "tick")


def _timed(row: ReportRow, ticks: Time | None, seconds: float | None) -> Time | float | None:
    """Give a value of the axis: ticks, or microseconds where they were timed."""
    if row.seconds is None:
        return ticks
    return None if seconds is None else _MICRO * seconds


def _first(row: ReportRow) -> Time | float | None:
    return _timed(row, row.measured.first_response_ticks, row.measured.first_response_seconds)


def _full(row: ReportRow) -> Time | float | None:
    found = row.predicted if row.measured.full_response_ticks is None else row.measured
    return _timed(row, found.full_response_ticks, found.full_response_seconds)


def _reaction(row: ReportRow) -> Time | float | None:
    return _timed(row, row.worst_case_reaction_ticks, row.worst_case_reaction_seconds)


def _every(row: ReportRow) -> Time | float:
    per_second = row.sampling_frequency_hz
    return _timed(row, row.frame_period_ticks, 1 / per_second if per_second else None) or 0


def _samples(row: ReportRow, y: float, axis: TickAxis) -> list[str]:
    """Draw when the input takes a frame, from the onset on."""
    period = _every(row)
    if not period or axis.ticks / period > _MOST_SAMPLES:
        return []
    ticks = (k * period if isinstance(period, float) else int(k * period) for k in range(int(axis.ticks / period) + 1))
    marks = "".join(f"M{number(axis.x(tick))} {number(y + 10)}v-5" for tick in ticks)
    tip = f"a frame is taken every {_words(row, period)}"
    return [element("path", d=marks, class_="sample", title=tip)]


def _nice(value: float) -> int:
    """Find the least of 1, 2, 5, 10, 20, ... that is not below a value."""
    if value <= 1:
        return 1
    power = 10 ** math.floor(math.log10(value))
    return int(next(m * power for m in (1, 2, 5, 10) if m * power >= value))
