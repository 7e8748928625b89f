"""The legend of the front's picture: what colours, shapes and lines mean, as far as they occur."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from neuromap.explorer.answer.exploration import Exploration
from neuromap.explorer.answer.limits import Limits
from neuromap.explorer.answer.rows import ExploredRow
from neuromap.forms.svg import element, label, number, shorten
from neuromap.rollout.schedule.execution import execution_kind

__all__ = ["LegendNotes", "draw_legend", "shape"]

_LINE = 22.0
_LETTER = 6.4
"""Width of a letter of small text, generously: fonts differ."""


def shape(execution: str, x: float, y: float, radius: float) -> str:
    """Draw the shape of an execution around a point: a square if windowed, a circle if pipelined."""
    if execution == "windowed":
        side = 1.8 * radius
        return element("rect", x=x - side / 2, y=y - side / 2, width=side, height=side, class_="shape")
    return element("circle", cx=x, cy=y, r=radius, class_="shape")


@dataclass(frozen=True)
class LegendNotes:
    """What a legend says of the panels besides the marks that rows have."""

    beside: bool = False  # whether marks of equal figures stand beside each other
    given_weights: bool = False  # whether energies are drawn of rows that need retraining


def draw_legend(
    exploration: Exploration,
    rows: Sequence[ExploredRow],
    limits: Limits,
    width: float,
    notes: LegendNotes = LegendNotes(),
) -> tuple[list[str], float]:
    """Draw the legend."""
    given = shorten(exploration.given.name, 24)
    entries: list[tuple[str, str]] = []
    if any(not row.needs_retraining for row in rows):
        mine = f"behaviour class of {given}: no retraining"
        text = mine if exploration.deadline is None else "on the front"
        entries.append((_mark("same front", "pipelined"), text))
    if any(row.needs_retraining for row in rows):
        entries.append((_mark("other front", "pipelined"), "other classes: need retraining"))
    executions = {execution_kind(row.candidate.execution) for row in rows}
    entries += [(_mark("other", name), f"{name} execution") for name in ("windowed", "pipelined") if name in executions]
    if any(row.status == "mapped" and not row.on_front and not row.on_class_front for row in rows):
        entries.append((_mark("other", "pipelined", 4.0), "hollow: on no front"))
    if any(row.status == "not mapped" for row in rows):
        reach = element("path", d="M8 0H26M22 -3L26 0L22 3", class_="reach")
        entries.append((_mark("other open", "pipelined", extra=reach), "not mapped: somewhere at or right of here"))
    if any(row.status == "mapped" and not row.needs_retraining for row in rows):
        best = "best of the given class" if exploration.deadline is None else "best of all classes"
        entries.append((element("path", d="M0 0H26", class_="stair same"), best))
    if any(row.status == "mapped" and row.needs_retraining for row in rows):
        entries.append((element("path", d="M0 0H26", class_="stair every"), "best of all classes"))
    if limits:
        entries.append((element("path", d="M0 0H26", class_="limit"), "limit"))
    if limits and any(not limits.allows(row) for row in rows):
        entries.append((_mark("other outside", "pipelined"), "faint: outside the limits"))
    if notes.beside:
        entries.append((_pair(), "side by side: equal figures, in the middle between the marks"))
    if notes.given_weights:
        entries.append(("", "energy of other classes: with the given weights, before retraining"))
    parts, x, y = [], 18.0, _LINE
    for drawn, text in entries:
        wide = 34 + _LETTER * len(text) + 16
        if x > 18 and x + wide > width:
            x, y = 18.0, y + _LINE
        if drawn:
            parts.append(element("g", drawn, transform=f"translate({number(x)} {number(y - 4)})"))
        parts.append(label(x + 34, y, text, "small", "start"))
        x += wide
    return parts, y + 14


def _pair() -> str:
    marks = (shape(name, x, 0.0, 4.0) for name, x in (("windowed", 8.0), ("pipelined", 18.0)))
    return element("g", *marks, class_="mark other")


def _mark(kind: str, execution: str, radius: float = 5.5, extra: str = "") -> str:
    return element("g", extra, shape(execution, 13.0 if not extra else 8.0, 0.0, radius), class_=f"mark {kind}")
