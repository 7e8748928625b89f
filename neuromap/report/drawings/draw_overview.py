"""First and full responses of all rows on one axis of ticks."""

from __future__ import annotations

import math

from neuromap.files.messages import counted
from neuromap.forms.svg import drawing, element, label, number, shorten
from neuromap.report.figures.latency_report import LatencyReport

__all__ = ["draw_overview"]

_LEFT, _TOP, _ROW = 190.0, 34.0, 28.0
_WIDTH = 860.0


def draw_overview(report: LatencyReport) -> str | None:
    """Draw measured responses and frame periods, one line per mapped row.

    Parameters
    ----------
    report : LatencyReport
        The report.

    Returns
    -------
    str or None
        One ``<svg>`` element; ``None`` where no row was mapped.
    """
    rows = [row for row in report.rows if row.status == "mapped" and row.worst_case_reaction_ticks is not None]
    if not rows:
        return None
    last = max(
        max(
            row.predicted.full_response_ticks or 0,
            row.worst_case_reaction_ticks or 0,
            row.measured.full_response_ticks or 0,
            row.measured.first_response_ticks or 0,
        )
        for row in rows
    )
    step = _nice(last / 8)
    scale = _WIDTH / (step * math.ceil((last + 0.2) / step))
    height = _TOP + _ROW * len(rows)
    parts = [label(_LEFT - 12, 22, "ticks since stimulus onset", "small", anchor="end")]
    for tick in range(0, int(_WIDTH / scale) + 1, step):
        parts.append(label(_LEFT + tick * scale, 22, str(tick), "small"))
        parts.append(element("path", d=f"M{number(_LEFT + tick * scale)} 28V{number(height)}", class_="grid"))
    for k, row in enumerate(rows):
        y = _TOP + _ROW * k + _ROW / 2
        parts.append(
            label(_LEFT - 12, y + 4, f"{shorten(row.pattern, 14)}, {row.execution}", "small", "end", row.pattern)
        )
        first, full = row.measured.first_response_ticks, row.predicted.full_response_ticks
        if row.measured.full_response_ticks is not None:
            full = row.measured.full_response_ticks
        if first is not None and full is not None:
            line = f"M{number(_LEFT + first * scale)} {number(y)}H{number(_LEFT + full * scale)}"
            parts.append(element("path", d=line, class_="stem"))
        if row.worst_case_reaction_ticks is not None:
            x = _LEFT + row.worst_case_reaction_ticks * scale
            tip = f"worst-case reaction {counted(row.worst_case_reaction_ticks, 'tick')}"
            line = f"M{number(x)} {number(y - 8)}V{number(y + 8)}"
            parts.append(element("path", d=line, title=tip, class_="reaction"))
        if full is not None:
            tip = f"full response {counted(full, 'tick')}"
            parts.append(element("circle", title=tip, cx=_LEFT + full * scale, cy=y, r=6.0, class_="full-dot"))
        if first is not None:
            tip = f"first response {counted(first, 'tick')}"
            parts.append(element("circle", title=tip, cx=_LEFT + first * scale, cy=y, r=4.0, class_="first-dot"))
    return drawing(_LEFT + _WIDTH + 24, height + 8, parts, "First and full responses of all rows, in ticks")


def _nice(value: float) -> int:
    """Find the least of 1, 2, 5, 10, 20, ... that is not below a value."""
    if value <= 1:
        return 1
    power = 10 ** math.floor(math.log10(value))
    return int(next(m * power for m in (1, 2, 5, 10) if m * power >= value))
