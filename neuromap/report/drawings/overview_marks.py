"""What the pictures of a report's rows are made of: an axis of ticks, and when a row answers and takes frames on it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from neuromap.files.messages import counted
from neuromap.forms.svg import element, label, number
from neuromap.report.figures.latency_report import LatencyReport
from neuromap.report.figures.row import ReportRow

__all__ = ["TickAxis", "axis_of", "row_marks", "rows_drawn"]

_MOST_SAMPLES = 60


@dataclass(frozen=True)
class TickAxis:
    """An axis of ticks since the stimulus onset."""

    # left, width: where it lies in the drawing
    left: float
    width: float
    # ticks, step: where it ends, and ticks between two numbers
    ticks: int
    step: int

    def x(self, tick: float) -> float:
        """Place of a tick."""
        return self.left + tick * self.width / self.ticks

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
    last = max(max(_full(row) or 0, _first(row) or 0, row.worst_case_reaction_ticks or 0) for row in rows)
    step = _nice(last / steps)
    return TickAxis(left, width, step * math.ceil((last + 0.2) / step), step)


def row_marks(row: ReportRow, y: float, axis: TickAxis) -> list[str]:
    """Mark when the input takes frames, and when the responses come, around the height ``y``."""
    parts = _samples(row, y, axis)
    first, full = _first(row), _full(row)
    if first is not None and full is not None:
        line = f"M{number(axis.x(first))} {number(y)}H{number(axis.x(full))}"
        parts.append(element("path", d=line, class_="stem"))
    if (reaction := row.worst_case_reaction_ticks) is not None:
        path = f"M{number(axis.x(reaction))} {number(y - 9)}V{number(y + 9)}"
        tip = f"worst-case reaction {counted(reaction, 'tick')}"
        parts.append(element("path", d=path, title=tip, class_="reaction"))
    if full is not None:
        tip = f"full response {counted(full, 'tick')}"
        parts.append(element("circle", title=tip, cx=axis.x(full), cy=y, r=7.0, class_="full-dot"))
    if first is not None:
        tip = f"first response {counted(first, 'tick')}"
        parts.append(element("circle", title=tip, cx=axis.x(first), cy=y, r=4.5, class_="first-dot"))
    return parts


def _first(row: ReportRow) -> int | None:
    return row.measured.first_response_ticks


def _full(row: ReportRow) -> int | None:
    measured = row.measured.full_response_ticks
    return row.predicted.full_response_ticks if measured is None else measured


def _samples(row: ReportRow, y: float, axis: TickAxis) -> list[str]:
    """Draw when the input takes a frame, from the onset on."""
    period = row.frame_period_ticks
    if not period or axis.ticks / period > _MOST_SAMPLES:
        return []
    ticks = (int(k * period) for k in range(int(axis.ticks / period) + 1))
    marks = "".join(f"M{number(axis.x(tick))} {number(y + 10)}v-5" for tick in ticks)
    tip = f"a frame is taken every {counted(period, 'tick')}"
    return [element("path", d=marks, class_="sample", title=tip)]


def _nice(value: float) -> int:
    """Find the least of 1, 2, 5, 10, 20, ... that is not below a value."""
    if value <= 1:
        return 1
    power = 10 ** math.floor(math.log10(value))
    return int(next(m * power for m in (1, 2, 5, 10) if m * power >= value))
