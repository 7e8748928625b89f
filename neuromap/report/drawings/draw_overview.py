"""The picture of a report: when every row answers, how often it takes a frame, what it takes.

Rows of one execution stand together, as each execution is a time axis of its own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from neuromap.files.messages import counted
from neuromap.forms.numbers import plain
from neuromap.forms.svg import drawing, element, label, number, shorten
from neuromap.report.figures.latency_report import LatencyReport
from neuromap.report.figures.row import ReportRow

__all__ = ["draw_overview"]

_LEFT, _TOP, _ROW, _HEAD = 150.0, 30.0, 34.0, 30.0
_WIDTH = 640.0
_PERIOD, _CORES, _BAR = 40.0, 200.0, 110.0
"""Distances of the columns right of the plot, and the length of the longest bar of cores."""
_MOST_SAMPLES = 60


def draw_overview(report: LatencyReport, heading: str = "") -> str | None:
    """Draw responses, samples, frame periods and cores, one line per mapped row.

    Parameters
    ----------
    report : LatencyReport
        The report.
    heading : str
        A line above, for a picture that stands alone.

    Returns
    -------
    str or None
        One ``<svg>`` element; ``None`` where no row was mapped.
    """
    rows = [row for row in report.rows if row.status == "mapped" and row.worst_case_reaction_ticks is not None]
    if not rows:
        return None
    last = max(max(_full(row) or 0, _first(row) or 0, row.worst_case_reaction_ticks or 0) for row in rows)
    step = _nice(last / 8)
    ticks = step * math.ceil((last + 0.2) / step)
    scale = _WIDTH / ticks
    most_cores = max((row.usage.cores for row in rows if row.usage is not None), default=1)
    executions = list(dict.fromkeys(row.execution for row in rows))
    top = 28.0 if heading else 0.0
    y = _TOP + top
    lanes: list[str] = []
    grid: list[tuple[float, float]] = []
    for execution in executions:
        mine = [row for row in rows if row.execution == execution]
        lanes.append(label(8, y + 19, f"{execution[:1].upper()}{execution[1:]} execution", "heading", anchor="start"))
        y += _HEAD
        grid.append((y - 4, y + _ROW * len(mine)))
        for row in mine:
            lanes += _lane(row, y + _ROW / 2, scale, ticks, most_cores)
            y += _ROW
        y += 6
    parts = [label(8, 18, heading, "heading", anchor="start")] if heading else []
    parts += _axis(ticks, step, scale, top + 18, grid)
    parts.append(label(_LEFT + _WIDTH + _PERIOD, top + 18, "a frame every", "small", anchor="start"))
    parts.append(label(_LEFT + _WIDTH + _CORES, top + 18, "cores", "small", anchor="start"))
    width = _LEFT + _WIDTH + _CORES + _BAR + 60
    return drawing(width, y, [*parts, *lanes], f"Responses, frame periods and cores of {counted(len(rows), 'row')}")


def _first(row: ReportRow) -> int | None:
    return row.measured.first_response_ticks


def _full(row: ReportRow) -> int | None:
    measured = row.measured.full_response_ticks
    return row.predicted.full_response_ticks if measured is None else measured


def _axis(ticks: int, step: int, scale: float, y: float, grid: Sequence[tuple[float, float]]) -> list[str]:
    parts = [label(_LEFT - 12, y, "ticks since onset", "small", anchor="end")]
    for tick in range(0, ticks + 1, step):
        x = _LEFT + tick * scale
        parts.append(label(x, y, str(tick), "small"))
        path = "".join(f"M{number(x)} {number(top)}V{number(bottom)}" for top, bottom in grid)
        parts.append(element("path", d=path, class_="grid"))
    return parts


def _lane(row: ReportRow, y: float, scale: float, ticks: int, most_cores: int) -> list[str]:
    parts = [label(_LEFT - 12, y + 4.5, shorten(row.pattern, 17), "name", "end", row.pattern)]
    parts += _samples(row, y, scale, ticks)
    first, full = _first(row), _full(row)
    if first is not None and full is not None:
        line = f"M{number(_LEFT + first * scale)} {number(y)}H{number(_LEFT + full * scale)}"
        parts.append(element("path", d=line, class_="stem"))
    if (reaction := row.worst_case_reaction_ticks) is not None:
        x = _LEFT + reaction * scale
        tip = f"worst-case reaction {counted(reaction, 'tick')}"
        parts.append(element("path", d=f"M{number(x)} {number(y - 9)}V{number(y + 9)}", title=tip, class_="reaction"))
    if full is not None:
        tip = f"full response {counted(full, 'tick')}"
        parts.append(element("circle", title=tip, cx=_LEFT + full * scale, cy=y, r=7.0, class_="full-dot"))
    if first is not None:
        tip = f"first response {counted(first, 'tick')}"
        parts.append(element("circle", title=tip, cx=_LEFT + first * scale, cy=y, r=4.5, class_="first-dot"))
    parts.append(
        label(_LEFT + _WIDTH + _PERIOD, y + 4.5, counted(row.frame_period_ticks or 0, "tick"), "figure", "start")
    )
    if row.usage is not None:
        at, length = _LEFT + _WIDTH + _CORES, max(1.5, _BAR * row.usage.cores / most_cores)
        tip = counted(row.usage.cores, "core")
        parts.append(element("rect", x=at, y=y - 6, width=length, height=12, class_="bar", title=tip))
        parts.append(label(at + length + 8, y + 4.5, plain(row.usage.cores), "figure", anchor="start"))
    return parts


def _samples(row: ReportRow, y: float, scale: float, ticks: int) -> list[str]:
    """Draw when the input takes a frame, from the onset on."""
    period = row.frame_period_ticks
    if not period or ticks / period > _MOST_SAMPLES:
        return []
    marks = "".join(
        f"M{number(_LEFT + int(k * period) * scale)} {number(y + 10)}v-5" for k in range(int(ticks / period) + 1)
    )
    tip = f"a frame is taken every {counted(period, 'tick')}"
    return [element("path", d=marks, class_="sample", title=tip)]


def _nice(value: float) -> int:
    """Find the least of 1, 2, 5, 10, 20, ... that is not below a value."""
    if value <= 1:
        return 1
    power = 10 ** math.floor(math.log10(value))
    return int(next(m * power for m in (1, 2, 5, 10) if m * power >= value))
