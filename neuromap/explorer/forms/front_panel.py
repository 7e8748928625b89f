"""One panel of the front's picture: an objective against cores, with marks, stairs and limits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

from neuromap.explorer.answer.advice import figure_text
from neuromap.explorer.answer.limits import Limits
from neuromap.explorer.answer.listing import front_words
from neuromap.explorer.answer.objectives import ACCURACY, CORES, OBJECTIVES, Objective
from neuromap.explorer.answer.quantities import scale_for, with_unit
from neuromap.explorer.answer.row_figures import value_of
from neuromap.explorer.answer.rows import ExploredRow
from neuromap.explorer.forms.axes import Axis, make_axis
from neuromap.explorer.forms.front_legend import shape
from neuromap.forms.svg import element, label, number, shorten
from neuromap.rollout.schedule.execution import execution_kind

__all__ = ["HEIGHT", "WIDTH", "Panel"]

WIDTH, HEIGHT = 470.0, 330.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 62.0, 22.0, 34.0, 46.0
_RADIUS = 5.5
_CROWDED = 60
"""Rows from which marks are drawn smaller."""
_MOST_NAMED = 6
"""Rows that one tooltip names."""

_Numbered = tuple[int | None, ExploredRow]


class Panel:
    """One panel; all coordinates within it."""

    # one_front: whether every class has weights of its own, so that there is one front

    def __init__(
        self, objective: Objective, rows: Sequence[_Numbered], limits: Limits, *, one_front: bool = False
    ) -> None:
        self.objective, self.rows, self.limits, self.one_front = objective, rows, limits, one_front
        unit = objective.base_unit
        values = [self._y_value(row) for _, row in rows]
        self.bound: float | None = getattr(limits, objective.name)
        self.scale, self.unit = scale_for(min(value for value in values if value > 0 or value == max(values)), unit)
        self.x = _axis([self._x_value(row) for _, row in rows], limits.cores, whole=True)
        bound = None if self.bound is None else self.bound / self.scale
        scaled = [value / self.scale for value in values]
        self.y = _axis(scaled, bound, whole=all(abs(value - round(value)) < 1e-6 for value in scaled))
        self.small = len(rows) > _CROWDED

    @staticmethod
    def _x_value(row: ExploredRow) -> float:
        return value_of(row, CORES).number or 0.0

    def _y_value(self, row: ExploredRow) -> float:
        return value_of(row, self.objective).number or 0.0

    def _across(self, cores: float) -> float:
        return _LEFT + self.x.place(cores) * (WIDTH - _LEFT - _RIGHT)

    def _up(self, value: float) -> float:
        return HEIGHT - _BOTTOM - self.y.place(value / self.scale) * (HEIGHT - _TOP - _BOTTOM)

    def parts(self) -> list[str]:
        """Draw it, from the back to the front."""
        return [*self._frame(), *self._bounds(), *self._stairs(), *self._marks()]

    def _frame(self) -> Iterable[str]:
        bottom, right = HEIGHT - _BOTTOM, WIDTH - _RIGHT
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
            line = f"M{number(_LEFT)} {number(self._up(self.bound))}H{number(WIDTH - _RIGHT)}"
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
        # what a few cores reach more reach too: a stair goes on to the right; left of its first step nothing is known
        end = _TOP if self.objective.sign > 0 else HEIGHT - _BOTTOM
        for name, points in self.stairs.items():
            places = [(self._across(x), self._up(self.objective.sign * y)) for x, y in points]
            line = f"M{number(places[0][0])} {number(end)}V{number(places[0][1])}"
            line += "".join(f"H{number(x)}V{number(y)}" for x, y in places[1:])
            title = "best of the given class" if name == "same" and not self.one_front else "best of all classes"
            yield element("path", d=f"{line}H{number(WIDTH - _RIGHT)}", title=title, class_=f"stair {name}")

    @cached_property
    def places(self) -> dict[tuple[float, float], dict[str, list[_Numbered]]]:
        """Rows by the place of their figures, and there by the kind of their mark."""
        places: dict[tuple[float, float], dict[str, list[_Numbered]]] = {}
        for n, row in self.rows:
            place = round(self._across(self._x_value(row)), 1), round(self._up(self._y_value(row)), 1)
            places.setdefault(place, {}).setdefault(self._kind(row), []).append((n, row))
        return places

    @property
    def has_neighbours(self) -> bool:
        """Whether marks of equal figures stand beside each other, away from the place of their figures."""
        return any(len(kinds) > 1 for kinds in self.places.values())

    def _marks(self) -> Iterable[str]:
        marks: list[tuple[int, str]] = []
        named: list[tuple[list[int], float, float]] = []
        for (x, y), kinds in self.places.items():
            for k, (kind, members) in enumerate(sorted(kinds.items())):
                shifted = x + (k - (len(kinds) - 1) / 2) * 2 * _RADIUS  # one beside the other where all is equal
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
            end = min(x + (18 if self.small else 30), WIDTH - 4)
            parts.append(element("path", d=f"M{number(x)} {number(y)}H{number(end)}", class_="reach"))
            tip = f"M{number(end - 5)} {number(y - 3)}L{number(end)} {number(y)}L{number(end - 5)} {number(y + 3)}"
            parts.append(element("path", d=tip, class_="reach"))
            if self.objective.bound is not None:  # somewhere above, too, or below where more is better
                back = self.objective.sign * 5
                end = max(y - back * (18 if self.small else 30) / 5, 4)
                base = end + back
                tip = f"M{number(x - 3)} {number(base)}L{number(x)} {number(end)}L{number(x + 3)} {number(base)}"
                parts.append(element("path", d=f"M{number(x)} {number(y)}V{number(end)}{tip}", class_="reach"))
        parts.append(shape(kind.split()[-1], x, y, r))
        return element("g", *parts, title=_tip(members), class_=f"mark {kind}")

    def _numbers(self, named: Iterable[tuple[list[int], float, float]]) -> list[str]:
        """Write the table's numbers beside the marks of the stairs, as far as they do not cover each other."""
        made: list[str] = []
        taken: list[tuple[float, float, float]] = []
        for numbers, x, y in sorted(named):
            text = ", ".join(map(str, numbers[:3])) + (", …" if len(numbers) > 3 else "")
            # towards the better side of the stair, where no row is
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


def _axis(values: Sequence[float], bound: float | None, *, whole: bool = False) -> Axis:
    """Make an axis that shows a limit too, unless it is so far away that the rows would be squeezed together."""
    if bound is not None and 0.5 * min(values) <= bound <= 2 * max(values):
        values = [*values, bound]
    return make_axis(values, whole=whole)


def _stair(points: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """Keep the points that no other equals or beats in both coordinates, from left to right."""
    kept: list[tuple[float, float]] = []
    for x, y in sorted(set(points)):
        if not kept or y < kept[-1][1]:
            kept.append((x, y))
    return kept


def _told(row: ExploredRow) -> list[Objective]:
    """Objectives whose figures a tooltip tells: accuracy where there is a deadline."""
    return [objective for objective in OBJECTIVES if objective != ACCURACY or row.accuracy_bound is not None]


def _tip(members: Sequence[_Numbered]) -> str:
    lines = []
    for n, row in members[:_MOST_NAMED]:
        head = f"#{n} " if n is not None else ""
        figures = ", ".join(f"{o.title} {figure_text(row, o)}" for o in _told(row))
        run_as = f"{row.candidate.execution}, {row.candidate.chip}"
        lines.append(f"{head}{shorten(row.pattern, 60)}, {run_as}: {figures}; front: {front_words(row)}; {row.status}")
    if len(members) > _MOST_NAMED:
        lines.append(f"and {len(members) - _MOST_NAMED} more")
    return "\n".join(lines)
