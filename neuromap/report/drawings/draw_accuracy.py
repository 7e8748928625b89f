"""Accuracy of rows over ticks or time: which rollout is right first, and which most often."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from neuromap.accuracy.accuracy import FrameAccuracy, moment_text
from neuromap.files.messages import counted
from neuromap.render.numbers import round_up, seconds
from neuromap.render.svg import PHONE, drawing, element, label, line_key, number, shorten
from neuromap.report.drawings.draw_network import spread
from neuromap.report.figures.row import ReportRow

_TOP, _HEIGHT, _LINE = 24.0, 250.0, 18.0
# Width of a card of a page, and most letters of a name beside a curve.
_CARD, _LONGEST = 1290.0, 44
# Curves with a colour and a name; the others are grey, as nobody can distinguish many.
MOST_LIT = 4


class _Curve(NamedTuple):
    """Rows whose accuracy is the same at every moment."""

    frames: tuple[FrameAccuracy, ...]
    name: str

    @property
    def best(self) -> FrameAccuracy:
        return max(self.frames, key=lambda frame: frame.accuracy)


def draw_accuracy(rows: Sequence[ReportRow], *, narrow: bool = False) -> str | None:
    """Draw a staircase for every curve, the best ones lit: a frame's accuracy holds until the next frame is known."""
    # returns one ``<svg>`` element, as wide as a card or a phone; ``None`` if no accuracy was measured
    curves = _curves(rows)
    if not curves:
        return None
    is_timed = curves[0].frames[0].seconds is not None
    last = max(min(c.frames[-1].moment for c in curves), max(c.frames[0].moment for c in curves))
    last = 1.05 * last if is_timed else last + 1
    least = min(frame.accuracy for c in curves for frame in c.frames)
    lit = sorted(sorted(range(len(curves)), key=lambda k: -curves[k].best.accuracy)[:MOST_LIT])
    beside = 44 + 6.8 * min(_LONGEST, max([26, *(len(curves[k].name) for k in lit)]))
    left, width = (32.0, PHONE - 48.0) if narrow else (48.0, _CARD - 48.0 - beside)
    axes = _Axes(left, width, last, max(0, math.ceil(least * 10) - 2), is_timed)
    parts = list(axes.drawn(6 if narrow else 12))
    parts += [p for k, c in enumerate(curves) if k not in lit for p in _staircase(c, "other", axes)]
    parts += [p for place, k in enumerate(lit) for p in _staircase(curves[k], str(place), axes)]
    shown, height = [curves[k] for k in lit], _TOP + _HEIGHT + 46
    parts += _best(shown, axes)
    if not narrow:
        parts += _names(shown, axes)
    for k, curve in enumerate(shown if narrow else ()):  # names below each other, each behind a sample of its line
        parts += line_key(curve.name, k, 0, height + 10, _LONGEST)
        height += _LINE
    if len(curves) > len(lit):
        said = f"grey: {counted(len(curves) - len(lit), 'curve')} more, in the table"
        at = (0.0, height + 8) if narrow else (left + width + 34, _TOP + _HEIGHT + 18)
        parts.append(label(*at, said, "small", anchor="start"))
        height += _LINE * narrow
    description = f"Accuracy of all rows over {'time' if is_timed else 'ticks'} since stimulus onset"
    return drawing(PHONE if narrow else _CARD, height, parts, description)


def _curves(rows: Sequence[ReportRow]) -> list[_Curve]:
    alike: dict[tuple[tuple[float, float], ...], list[ReportRow]] = {}
    for row in rows:
        if row.accuracy is not None:
            alike.setdefault(tuple((f.moment, f.accuracy) for f in row.accuracy.frames), []).append(row)
    return [_Curve(same[0].accuracy.frames, _name(same)) for same in alike.values() if same[0].accuracy is not None]


def _name(rows: Sequence[ReportRow]) -> str:
    """Name rows by pattern and execution; the execution once if they share it."""
    executions = {row.execution for row in rows}
    if len(executions) > 1:
        return ", ".join(f"{row.pattern} ({row.execution})" for row in rows)
    return f"{' and '.join(row.pattern for row in rows)}, {' and '.join(executions.pop().split(', '))}"


class _Axes(NamedTuple):
    """Ticks or seconds along x, accuracy along y."""

    left: float
    width: float
    last: float  # moment at the right end
    low: int  # tenths at the lower end; 10 at the upper one
    is_timed: bool  # whether moments are seconds

    def x(self, moment: float) -> float:
        return self.left + self.width * min(moment, self.last) / self.last

    def y(self, accuracy: float) -> float:
        return _TOP + _HEIGHT * (1 - (10 * accuracy - self.low) / (10 - self.low))

    def drawn(self, most: int) -> Iterator[str]:
        cut = "" if self.low == 0 else f", from {self.low / 10:g} on"
        yield label(0, 12, f"fraction of images named correctly{cut}", "small", anchor="start")
        for tenth in range(self.low, 11):
            y = self.y(tenth / 10)
            yield element("path", d=f"M{number(self.left)} {number(y)}h{number(self.width)}", class_="grid")
            yield label(self.left - 8, y + 4, f"{tenth / 10:g}", "small", anchor="end")
        for moment in self._marks(most):
            text = "0" if moment == 0 else seconds(moment) if self.is_timed else f"{moment:g}"
            yield label(self.x(moment), _TOP + _HEIGHT + 18, text, "small")
        unit = "time" if self.is_timed else "ticks"
        yield label(self.left + self.width / 2, _TOP + _HEIGHT + 36, f"{unit} since stimulus onset", "small")

    def _marks(self, most: int) -> list[float]:
        """Choose round moments from 0 on, at most ``most`` steps of equal length."""
        step = round_up(self.last / most) if self.is_timed else max(1, math.ceil(self.last / most))
        return [k * step for k in range(int(self.last / step) + 1)]


def _staircase(curve: _Curve, class_: str, axes: _Axes) -> Iterator[str]:
    first, *others = (frame for frame in curve.frames if frame.moment < axes.last)
    path = f"M{number(axes.x(first.moment))} {number(axes.y(first.accuracy))}"
    for frame in others:
        path += f"H{number(axes.x(frame.moment))}V{number(axes.y(frame.accuracy))}"
    path += f"H{number(axes.x(axes.last))}"
    dot = {"cx": axes.x(first.moment), "cy": axes.y(first.accuracy), "r": 3.5}
    yield element("path", d=path, class_=f"accuracy line{class_}", title=curve.name)
    yield element("circle", class_=f"dot{class_}", title=curve.name, **dot)


def _best(curves: Sequence[_Curve], axes: _Axes) -> list[str]:
    """Label the greatest accuracy drawn, above its step."""
    drawn = [frame for curve in curves for frame in curve.frames if frame.moment < axes.last]
    best = max(drawn, key=lambda frame: (frame.accuracy, -frame.moment))
    text = f"{100 * best.accuracy:.1f} % {moment_text(best.moment, is_timed=axes.is_timed)}"
    near_end = axes.x(best.moment) > axes.left + axes.width - 110
    at = axes.left + axes.width if near_end else axes.x(best.moment)
    return [label(at, axes.y(best.accuracy) - 7, text, "small halo", anchor="end" if near_end else "start")]


def _names(curves: Sequence[_Curve], axes: _Axes) -> Iterator[str]:
    """Write names at the ends of the curves, moved apart where they would overlap."""
    ends = [axes.y(next(f for f in reversed(c.frames) if f.moment < axes.last).accuracy) for c in curves]
    order = sorted(range(len(curves)), key=lambda k: ends[k])
    right = axes.left + axes.width
    for k, y in zip(order, spread([ends[k] for k in order], [_LINE] * len(order)), strict=True):
        way = f"M{number(right)} {number(ends[k])}L{number(right + 22)} {number(y)}h6"
        name = curves[k].name
        yield element("path", d=way, class_=f"accuracy line{k}")
        yield label(right + 34, y + 4, shorten(name, _LONGEST), "small", anchor="start", title=name)
