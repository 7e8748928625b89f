"""Picture of the fronts: cores against every other objective that distinguishes the rows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from itertools import pairwise
from textwrap import wrap

from neuromap.errors import DoesNotFitError
from neuromap.explorer.answer import advice as answers
from neuromap.explorer.answer.exploration import Exploration
from neuromap.explorer.answer.limits import ACCURACY, CORES, OBJECTIVES, ExploredRow, Limits, Objective, value_of
from neuromap.hardware.chip.chip_spec import tick_words
from neuromap.render.numbers import round_up
from neuromap.render.quantities import figure, scale_for, with_unit
from neuromap.render.svg import PHONE, drawing, element, label, number, shorten, standalone
from neuromap.rollout.schedule.execution import execution_kind


def draw_front(exploration: Exploration, limits: Limits | None = None, *, every: bool = False) -> str | None:
    """Draw the rows against cores, one panel per objective that distinguishes them."""
    # Rows of the given pattern's class are strong, others muted; rows in windowed execution are squares, pipelined ones
    # circles. Numbers are those of the table. A stair joins the best of a panel: strong for the given class, muted for
    # all classes.
    # returns one ``<svg>`` element, coloured by classes of ``templates/front.css``; ``None`` without rows to draw
    return picture(exploration, answers.list_rows(exploration, limits, every=every), limits)


def picture(
    exploration: Exploration, listing: answers.Listing, limits: Limits | None = None, *, narrow: bool = False
) -> str | None:
    """As :func:`draw_front`, with the numbers of an existing listing; ``narrow`` for phones."""
    numbers = {id(row): n for n, row in listing.all}
    rows = [(numbers.get(id(row)), row) for row in exploration.rows if row.status in ("mapped", "not mapped")]
    if not rows:
        return None
    shown = [row for _, row in rows]
    same = answers.constant_objectives(shown)
    panels = [
        objective
        for objective in OBJECTIVES
        if objective != CORES and objective not in same and answers.is_known(shown, objective)
    ] or [next(o for o in OBJECTIVES if o.name == "full_response_seconds")]
    columns, wide = (1, PHONE) if narrow else (min(len(panels), 2), WIDTH)
    width = PHONE if narrow else 2 * WIDTH  # legend and notes need the width of two panels
    drawn = []
    for objective in panels:
        known = [(n, row) for n, row in rows if value_of(row, objective).number is not None]
        drawn.append(Panel(objective, known, limits or Limits(), wide, one_front=exploration.deadline is not None))
    parts, top = draw_legend(exploration, shown, drawn, width)
    for k, panel in enumerate(drawn):
        x, y = (k % columns) * wide, top + (k // columns) * HEIGHT
        place = f"translate({number(x)} {number(y)})"
        parts.append(element("g", *panel.parts(), transform=place, class_="panel"))
    height = top + HEIGHT * -(-len(panels) // columns)
    titles = ", ".join(o.title for o in panels)
    return drawing(width, height, parts, f"Rollouts of {exploration.network.name}: cores against {titles}")


def chip_words(exploration: Exploration) -> str:
    """Names of the chips, with the length of their ticks."""
    return ", ".join(f"{chip.name} ({tick_words(chip)})" for chip in exploration.chips)


def times_from(exploration: Exploration) -> str:
    """Phrase that states where times come from."""
    timed = any(chip.is_timed for chip in exploration.chips)
    return f"predicted from the schedule{', their seconds as ticks were timed' if timed else ''}"


def constant_line(exploration: Exploration) -> str:
    """Sentence on the objectives that are equal in all rows and so have no panel; empty if there are none."""
    rows = [row for row in exploration.rows if row.status in ("mapped", "not mapped")]
    same = [(o, value) for o, value in answers.constant_objectives(rows).items() if o != CORES]
    if not same:
        return ""
    words = [f"{o.title} is {with_unit(value, o.base_unit)}" for o, value in same]
    return f"The same in all rows: {', '.join(words)}."


def to_svg(exploration: Exploration, limits: Limits | None = None, *, every: bool = False) -> str:
    """Write the picture as a standalone SVG, with style, legend and notes."""
    drawn = draw_front(exploration, limits, every=every)
    if drawn is None:
        raise DoesNotFitError("picture of the front: no row fits a chip, so there is nothing to draw")
    width, height = (float(drawn.split(f' {name}="')[1].split('"')[0]) for name in ("width", "height"))
    times = f"Times as {times_from(exploration)}, each row on the time axis of its execution"
    notes = [line for line in (f"{times}; {chip_words(exploration)}.", constant_line(exploration)) if line]
    style = files("neuromap.explorer").joinpath("templates", "front.css").read_text(encoding="utf-8")
    parts = [
        element("style", f"\n{style}"),
        label(18, 26, f"{exploration.network.name}: rollouts and their fronts", "name", "start"),
        element("g", drawn[drawn.index(">") + 1 : -len("</svg>")], transform="translate(0 30)"),
        *(label(18, height + 46 + 20 * k, line, "small", "start") for k, line in enumerate(notes)),
    ]
    return standalone(drawing(width, height + 40 + 20 * len(notes), parts, f"Rollouts of {exploration.network.name}"))


# One panel of the picture: an objective against cores, with marks, stairs and limits.


WIDTH, HEIGHT = 470.0, 330.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 62.0, 22.0, 34.0, 46.0
_RADIUS = 5.5
_CROWDED = 60
"""Number of rows above which marks are drawn smaller."""
_MOST_NAMED = 6
"""Most rows named in one tooltip."""
_Numbered = tuple[int | None, ExploredRow]


class Panel:
    """One panel; coordinates are relative to it."""

    # one_front: whether every class has weights of its own, so that there is one front

    def __init__(
        self, objective: Objective, rows: Sequence[_Numbered], limits: Limits, width: float, *, one_front: bool = False
    ) -> None:
        self.width = width
        self.objective, self.rows, self.limits, self.one_front = objective, rows, limits, one_front
        unit = objective.base_unit
        values = [self._y_value(row) for _, row in rows]
        self.bound: float | None = getattr(limits, objective.name)
        self.scale, self.unit = scale_for(min(value for value in values if value > 0 or value == max(values)), unit)
        self.x = make_axis([self._x_value(row) for _, row in rows], limits.cores, whole=True)
        bound = None if self.bound is None else self.bound / self.scale
        scaled = [value / self.scale for value in values]
        self.y = make_axis(scaled, bound, whole=all(abs(value - round(value)) < 1e-6 for value in scaled))
        self.small = len(rows) > _CROWDED

    @staticmethod
    def _x_value(row: ExploredRow) -> float:
        return value_of(row, CORES).number or 0.0

    def _y_value(self, row: ExploredRow) -> float:
        return value_of(row, self.objective).number or 0.0

    def _across(self, cores: float) -> float:
        return _LEFT + self.x.place(cores) * (self.width - _LEFT - _RIGHT)

    def _up(self, value: float) -> float:
        return HEIGHT - _BOTTOM - self.y.place(value / self.scale) * (HEIGHT - _TOP - _BOTTOM)

    def parts(self) -> list[str]:
        """Draw the panel, from back to front."""
        return [*self._frame(), *self._bounds(), *self._stairs(), *self._marks()]

    def _frame(self) -> Iterable[str]:
        bottom, right = HEIGHT - _BOTTOM, self.width - _RIGHT
        better = "less is better" if self.objective.sign > 0 else "more is better"
        yield label(_LEFT - 44, 18, f"{self.objective.title} [{self.unit}], {better}", "axis", "start")
        yield label(right, HEIGHT - 10, "cores, less is better", "axis", "end")
        for tick, text in zip(self.y.ticks, self.y.labels(), strict=True):
            y = self._up(tick * self.scale)
            yield element("path", d=f"M{number(_LEFT)} {number(y)}H{number(right)}", class_="grid")
            yield label(_LEFT - 8, y + 4, text, "small", "end")
        for tick, text in zip(self.x.ticks, self.x.labels(), strict=True):
            x = self._across(tick)
            yield element("path", d=f"M{number(x)} {number(_TOP)}V{number(bottom)}", class_="grid")
            yield label(x, bottom + 17, text, "small")
        yield element("path", d=f"M{number(_LEFT)} {number(_TOP)}V{number(bottom)}H{number(right)}", class_="rule")

    def _bounds(self) -> Iterable[str]:
        if self.limits.cores is not None and self.x.low <= self.limits.cores <= self.x.high:
            line = f"M{number(self._across(self.limits.cores))} {number(_TOP)}V{number(HEIGHT - _BOTTOM)}"
            yield element("path", d=line, title=f"limit: {self.limits.cores} cores at most", class_="limit")
        if self.bound is not None and self.y.low <= self.bound / self.scale <= self.y.high:
            most = "at most" if self.objective.sign > 0 else "at least"
            tip = f"limit: {self.objective.title} {most} {with_unit(self.bound, self.objective.base_unit)}"
            line = f"M{number(_LEFT)} {number(self._up(self.bound))}H{number(self.width - _RIGHT)}"
            yield element("path", d=line, title=tip, class_="limit")

    @cached_property
    def stairs(self) -> dict[str, list[tuple[float, float]]]:
        """Corners of the stairs, as (cores, value times sign)."""
        mapped = [row for _, row in self.rows if row.status == "mapped"]
        groups = {} if self.one_front else {"every": mapped}
        groups["same"] = [row for row in mapped if not row.needs_retraining]
        sign = self.objective.sign
        return {k: _stair((self._x_value(row), sign * self._y_value(row)) for row in v) for k, v in groups.items() if v}

    def _stairs(self) -> Iterable[str]:
        # more cores reach what few cores do, so a stair extends to the right; left of its first step nothing is known
        end = _TOP if self.objective.sign > 0 else HEIGHT - _BOTTOM
        for name, points in self.stairs.items():
            places = [(self._across(x), self._up(self.objective.sign * y)) for x, y in points]
            line = f"M{number(places[0][0])} {number(end)}V{number(places[0][1])}"
            line += "".join(f"H{number(x)}V{number(y)}" for x, y in places[1:])
            title = "best of the given class" if name == "same" and not self.one_front else "best of all classes"
            yield element("path", d=f"{line}H{number(self.width - _RIGHT)}", title=title, class_=f"stair {name}")

    @cached_property
    def places(self) -> dict[tuple[float, float], dict[str, list[_Numbered]]]:
        """Rows by the position of their figures, then by the kind of their mark."""
        places: dict[tuple[float, float], dict[str, list[_Numbered]]] = {}
        for n, row in self.rows:
            place = round(self._across(self._x_value(row)), 1), round(self._up(self._y_value(row)), 1)
            places.setdefault(place, {}).setdefault(self._kind(row), []).append((n, row))
        return places

    def _marks(self) -> Iterable[str]:
        marks: list[tuple[int, str]] = []
        named: list[tuple[list[int], float, float]] = []
        for (x, y), kinds in self.places.items():
            for k, (kind, members) in enumerate(sorted(kinds.items())):
                shifted = x + (k - (len(kinds) - 1) / 2) * 2 * _RADIUS  # side by side if all is equal
                rank = ("open" not in kind) + 2 * ("front" in kind) + 4 * ("same" in kind)
                marks.append((rank, self._mark(shifted, y, kind, members)))
            on = [n for members in kinds.values() for n, row in members if n is not None and row.status == "mapped"]
            if on and any(self._is_on_stair(row) for members in kinds.values() for _, row in members):
                named.append((sorted(on), x - (len(kinds) - 1) * _RADIUS, y))
        return [mark for _, mark in sorted(marks, key=lambda pair: pair[0])] + self._numbers(named)

    def _is_on_stair(self, row: ExploredRow) -> bool:
        point = self._x_value(row), self.objective.sign * self._y_value(row)
        return row.status == "mapped" and any(point in points for points in self.stairs.values())

    def _kind(self, row: ExploredRow) -> str:
        words = ["other" if row.needs_retraining else "same"]
        if row.status != "mapped":
            words.append("open")
        elif row.on_front or (row.on_class_front and not row.needs_retraining):
            words.append("front")
        if self.limits and not self.limits.allows(row):
            words.append("outside")
        return " ".join([*words, execution_kind(row.candidate.execution)])

    def _mark(self, x: float, y: float, kind: str, members: Sequence[_Numbered]) -> str:
        r = _RADIUS - (0.0 if "front" in kind else 1.5) - (1.0 if self.small else 0.0)
        parts = []
        if "open" in kind:  # somewhere at or right of here
            end = min(x + (18 if self.small else 30), self.width - 4)
            parts.append(element("path", d=f"M{number(x)} {number(y)}H{number(end)}", class_="reach"))
            tip = f"M{number(end - 5)} {number(y - 3)}L{number(end)} {number(y)}L{number(end - 5)} {number(y + 3)}"
            parts.append(element("path", d=tip, class_="reach"))
            # also somewhere above, or below if more is better
            if self.objective.bound is not None or any(row.is_timed for _, row in members):
                back = self.objective.sign * 5
                end = max(y - back * (18 if self.small else 30) / 5, 4)
                base = end + back
                tip = f"M{number(x - 3)} {number(base)}L{number(x)} {number(end)}L{number(x + 3)} {number(base)}"
                parts.append(element("path", d=f"M{number(x)} {number(y)}V{number(end)}{tip}", class_="reach"))
        parts.append(shape(kind.split()[-1], x, y, r))
        return element("g", *parts, title=_tip(members), class_=f"mark {kind}")

    def _numbers(self, named: Iterable[tuple[list[int], float, float]]) -> list[str]:
        """Write the table's numbers beside the marks on the stairs, skipping those that would overlap."""
        made: list[str] = []
        taken: list[tuple[float, float, float]] = []
        for numbers, x, y in sorted(named):
            text = ", ".join(map(str, numbers[:3])) + (", …" if len(numbers) > 3 else "")
            # on the better side of the stair, where there are no rows
            right, base = x - _RADIUS - 1, y + (15.0 if self.objective.sign > 0 else -8.0)
            left = right - 7.0 * len(text)
            anchor = "end"
            if left < _LEFT:  # the axis has its figures there
                anchor, left, right = "start", x + _RADIUS + 1, x + _RADIUS + 1 + 7.0 * len(text)
            if any(left < b and a < right and abs(base - other) < 12 for a, b, other in taken):
                continue
            taken.append((left, right, base))
            made.append(label(right if anchor == "end" else left, base, text, "count", anchor))
        return made


def _stair(points: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """Keep the points not matched or beaten by another in both coordinates, from left to right."""
    kept: list[tuple[float, float]] = []
    for x, y in sorted(set(points)):
        if not kept or y < kept[-1][1]:
            kept.append((x, y))
    return kept


def _tip(members: Sequence[_Numbered]) -> str:
    lines = []
    for n, row in members[:_MOST_NAMED]:
        head = f"#{n} " if n is not None else ""
        told = [o for o in OBJECTIVES if o != ACCURACY or row.accuracy_bound is not None]  # that only with a deadline
        figures = ", ".join(f"{o.title} {answers.figure_text(row, o)}" for o in told)
        run_as = f"{row.candidate.execution}, {row.candidate.chip}"
        lines.append(
            f"{head}{shorten(row.pattern, 60)}, {run_as}: {figures}; front: {answers.front_words(row)}; {row.status}"
        )
    if len(members) > _MOST_NAMED:
        lines.append(f"and {len(members) - _MOST_NAMED} more")
    return "\n".join(lines)


# Axes of the picture: map values to positions, with round ticks, linear or logarithmic.
_WIDE = 12.0
"""Ratio of largest to smallest value above which an axis is logarithmic."""
_MOST_TICKS = 7
_LEAST_ROOM = 5e-4
"""Least margin at both ends, as a fraction of the largest value: smaller differences do not show in the picture."""


@dataclass(frozen=True)
class Axis:
    """A scale between two values."""

    # low, high: values at the ends
    low: float
    high: float
    is_log: bool  # whether the scale is logarithmic
    ticks: tuple[float, ...]  # round values within the ends

    def place(self, value: float) -> float:
        """Position of a value: 0 at ``low``, 1 at ``high``; values beyond the ends are clipped."""
        if self.is_log:
            part = math.log(max(value, self.low) / self.low) / math.log(self.high / self.low)
        else:
            part = (value - self.low) / (self.high - self.low)
        return min(1.0, max(0.0, part))

    def labels(self) -> list[str]:
        """Labels of the ticks, with as many digits as distinguish them."""
        plain = [figure(float(f"{tick:.9g}")) for tick in self.ticks]
        if len(set(plain)) == len(plain):
            return plain
        steps = [b - a for a, b in pairwise(self.ticks)]
        digits = max(0, -math.floor(math.log10(min(steps)) + 1e-9))
        return [f"{tick:.{digits}f}" for tick in self.ticks]


def make_axis(values: Sequence[float], bound: float | None = None, *, whole: bool = False) -> Axis:
    """Make the axis for some values, logarithmic if they span more than a factor of 12."""
    # bound: limit that the axis includes, unless it is so far away that the rows would be squeezed together
    # whole: whether values are whole numbers, so that ticks are too
    if bound is not None and 0.5 * min(values) <= bound <= 2 * max(values):
        values = [*values, bound]
    least, most = min(values), max(values)
    if least > 0 and most / least > _WIDE:
        low, high = least / 1.3, most * 1.3
        first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
        for digits in ((1, 2, 3, 5), (1, 2, 5), (1, 3), (1,)):
            ticks = tuple(d * 10.0**e for e in range(first, last + 1) for d in digits if low <= d * 10.0**e <= high)
            if len(ticks) <= _MOST_TICKS:
                break
        return Axis(low, high, True, ticks[:: math.ceil(len(ticks) / _MOST_TICKS)] if ticks else ticks)
    room = (most - least) * 0.12 or most * 0.25 or 1.0
    room = max(room, most * _LEAST_ROOM)
    if whole:
        room = max(room, 0.5 if most > least else 1.0)
    low, high = max(0.0, least - room), most + room
    if least < 0.45 * most:
        low = 0.0  # close enough to 0: the axis starts there
    step = round_up((high - low) / 5)
    if whole:
        step = max(1.0, step)
    first = math.ceil(low / step - 1e-9)
    ticks = tuple(k * step for k in range(first, math.floor(high / step + 1e-9) + 1))
    return Axis(low, high, False, ticks)


# The legend: meaning of the colours, shapes and lines that occur.


_LINE = 22.0
_LETTER = 6.4
"""Generous width of a letter of small text, as fonts differ."""


def shape(execution: str, x: float, y: float, radius: float) -> str:
    """Draw the shape of an execution at a point: a square if windowed, a circle if pipelined."""
    if execution == "windowed":
        side = 1.8 * radius
        return element("rect", x=x - side / 2, y=y - side / 2, width=side, height=side, class_="shape")
    return element("circle", cx=x, cy=y, r=radius, class_="shape")


def draw_legend(
    exploration: Exploration, rows: Sequence[ExploredRow], panels: Sequence[Panel], width: float
) -> tuple[list[str], float]:
    """Draw the legend; return its parts and its lower edge."""
    limits = panels[0].limits
    beside = any(len(kinds) > 1 for panel in panels for kinds in panel.places.values())
    given_weights = any(answers.has_given_weights(row, panel.objective) for panel in panels for _, row in panel.rows)
    pair = (shape(name, x, 0.0, 4.0) for name, x in (("windowed", 8.0), ("pipelined", 18.0)))
    given = shorten(exploration.given.name, 24)
    mine, best = f"behaviour class of {given}: no retraining", "best of the given class"
    if exploration.deadline is not None:
        mine, best = "on the front", "best of all classes"
    mapped = [row for row in rows if row.status == "mapped"]
    executions = {execution_kind(row.candidate.execution) for row in rows}
    reach, hollow = element("path", d="M8 0H26M22 -3L26 0L22 3", class_="reach"), _mark("other", radius=4.0)
    entries = (  # whether it occurs, its mark, its meaning
        (any(not row.needs_retraining for row in rows), _mark("same front"), mine),
        (any(row.needs_retraining for row in rows), _mark("other front"), "other classes: need retraining"),
        ("windowed" in executions, _mark("other", "windowed"), "windowed execution"),
        ("pipelined" in executions, _mark("other"), "pipelined execution"),
        (any(not (row.on_front or row.on_class_front) for row in mapped), hollow, "hollow: on no front"),
        (len(mapped) < len(rows), _mark("other open", extra=reach), "not mapped: somewhere at or right of here"),
        (any(not row.needs_retraining for row in mapped), _line("stair same"), best),
        (any(row.needs_retraining for row in mapped), _line("stair every"), "best of all classes"),
        (bool(limits), _line("limit"), "limit"),
        (not all(map(limits.allows, rows)), _mark("other outside"), "faint: outside the limits"),
        (
            beside,
            element("g", *pair, class_="mark other"),
            "side by side: equal figures, in the middle between the marks",
        ),
        (given_weights, "", "energy of other classes: with the given weights, before retraining"),
    )
    parts, x, y = [], 18.0, _LINE
    for drawn, text in ((mark, meaning) for occurs, mark, meaning in entries if occurs):
        lines = wrap(text, int((width - 52) / _LETTER))
        wide = 34 + _LETTER * max(map(len, lines)) + 16
        if x > 18 and x + wide > width:
            x, y = 18.0, y + _LINE
        if drawn:
            parts.append(element("g", drawn, transform=f"translate({number(x)} {number(y - 4)})"))
        for k, line in enumerate(lines):
            y += _LINE * (k > 0)
            parts.append(label(x + 34, y, line, "small", "start"))
        x += wide
    return parts, y + 14


def _line(class_: str) -> str:
    return element("path", d="M0 0H26", class_=class_)


def _mark(kind: str, execution: str = "pipelined", radius: float = 5.5, extra: str = "") -> str:
    return element("g", extra, shape(execution, 13.0 if not extra else 8.0, 0.0, radius), class_=f"mark {kind}")
