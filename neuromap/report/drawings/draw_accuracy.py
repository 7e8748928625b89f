"""Accuracy of all rows over ticks: which rollout is right first."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from neuromap.accuracy.accuracy import Accuracy
from neuromap.files.messages import counted
from neuromap.render.svg import drawing, element, label, number, shorten
from neuromap.report.figures.latency_report import LatencyReport

_LEFT, _TOP, _WIDTH, _HEIGHT = 64.0, 24.0, 600.0, 240.0
_LEGEND = 250.0
_MOST_ROWS = 8
"""Rows that are told apart by colour and dashes."""


def draw_accuracy(report: LatencyReport) -> str | None:
    """Draw one staircase per row: a frame's accuracy holds until the next frame is known."""
    # gives one ``<svg>`` element; ``None`` where no accuracy was measured
    measured = [row for row in report.rows if row.accuracy is not None]
    rows = measured[:_MOST_ROWS]
    found = [row.accuracy for row in rows if row.accuracy is not None]
    if not found:
        return None
    all_known = max(min(f.frames[-1].tick for f in found), max(f.frames[0].tick for f in found))
    least = min(frame.accuracy for f in found for frame in f.frames)
    axes = _Axes(all_known + 1, max(0, math.ceil(least * 10) - 2))
    parts = list(axes.drawn())
    for place, (row, accuracy) in enumerate(zip(rows, found, strict=True)):
        parts += _staircase(f"{row.pattern}, {row.execution}", accuracy, place, axes)
    if len(measured) > _MOST_ROWS:
        more = f"and {counted(len(measured) - _MOST_ROWS, 'row')} more in the table"
        parts.append(label(_LEFT + _WIDTH + 20, _TOP + 18 * _MOST_ROWS + 12, more, "small", anchor="start"))
    height = _TOP + _HEIGHT + 44
    return drawing(_LEFT + _WIDTH + _LEGEND, height, parts, "Accuracy of all rows over ticks since stimulus onset")


class _Axes(NamedTuple):
    """Ticks to the right, accuracy upwards."""

    last: int  # tick at the right end
    low: int  # tenths at the lower end; 10 at the upper one

    def x(self, tick: int) -> float:
        return _LEFT + _WIDTH * min(tick, self.last) / self.last

    def y(self, accuracy: float) -> float:
        return _TOP + _HEIGHT * (1 - (10 * accuracy - self.low) / (10 - self.low))

    def drawn(self) -> Iterator[str]:
        cut = "" if self.low == 0 else "; the axis does not start at 0"
        yield label(_LEFT, 14, f"accuracy of the last known frame, fraction of images{cut}", "small", anchor="start")
        for tenth in range(self.low, 11):
            y = self.y(tenth / 10)
            yield element("path", d=f"M{number(_LEFT)} {number(y)}H{number(_LEFT + _WIDTH)}", class_="grid")
            yield label(_LEFT - 8, y + 4, f"{tenth / 10:g}", "small", anchor="end")
        for tick in range(0, self.last + 1, max(1, -(-self.last // 12))):
            yield label(self.x(tick), _TOP + _HEIGHT + 18, str(tick), "small")
        yield label(_LEFT + _WIDTH / 2, _TOP + _HEIGHT + 38, "ticks since stimulus onset", "small")


def _staircase(name: str, accuracy: Accuracy, place: int, axes: _Axes) -> list[str]:
    first, *others = (frame for frame in accuracy.frames if frame.tick < axes.last)
    path = f"M{number(axes.x(first.tick))} {number(axes.y(first.accuracy))}"
    for frame in others:
        path += f"H{number(axes.x(frame.tick))}V{number(axes.y(frame.accuracy))}"
    path += f"H{number(axes.x(axes.last))}"
    y, left = _TOP + 18 * place + 8, _LEFT + _WIDTH + 20
    class_ = f"accuracy line{place}"
    dot = {"cx": axes.x(first.tick), "cy": axes.y(first.accuracy), "r": 3.5}
    return [
        element("path", d=path, class_=class_, title=name),
        element("circle", class_=f"dot{place}", title=name, **dot),
        element("path", d=f"M{number(left)} {number(y)}H{number(left + 28)}", class_=class_),
        label(left + 36, y + 4, shorten(name, 30), "small", anchor="start", title=name),
    ]
