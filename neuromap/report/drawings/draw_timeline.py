"""Timelines of ticks as drawings: when each node has which frame, and when the responses come."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from graphlib import CycleError, TopologicalSorter
from itertools import accumulate, pairwise
from typing import TypeAlias

from neuromap.arrays.times import Time, largest_gap, tick_of_frame
from neuromap.files.messages import counted
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.render.numbers import plain, round_up, seconds
from neuromap.render.svg import PHONE, arrow, drawing, element, label, names_width, number, shorten
from neuromap.render.table import sentence
from neuromap.report.drawings.draw_network import layout
from neuromap.report.figures.latency_report import LatencyReport
from neuromap.report.figures.row import ReportRow
from neuromap.rollout.pattern import RolloutPattern

_LEFT, _TOP, _ROW, _HEAD = 150.0, 30.0, 34.0, 30.0
_WIDTH = 640.0
# Distances of the columns right of the plot, and the length of the longest bar of cores.
_PERIOD, _CORES, _BAR = 40.0, 200.0, 110.0
# Width of the picture for phones, its side margins, and the height of its rows.
_NARROW_EDGE, _NARROW_ROW = 14.0, 50.0


def draw_overview(report: LatencyReport, heading: str = "", *, narrow: bool = False) -> str | None:
    """Draw responses, samples, frame periods and cores, one line per mapped row; words above the line on phones."""
    # returns one ``<svg>`` element; ``None`` if no row was mapped
    rows = [row for row in report.rows if row.status == "mapped" and row.worst_case_reaction_ticks is not None]
    if not rows:
        return None
    unit = f"{'ticks' if rows[0].seconds is None else 'µs'} since onset"
    description = f"Responses, frame periods and cores of {counted(len(rows), 'row')}"
    if narrow:
        axis = axis_of(rows, _NARROW_EDGE, PHONE - 2 * _NARROW_EDGE, 5)
        lanes, grid, bottom = _lanes(rows, 42.0, _NARROW_ROW, 0.0, lambda row, y: _narrow_lane(row, y, axis))
        parts = [label(0, 14, unit, "small", anchor="start"), *axis.draw(34, grid)]
        return drawing(PHONE, bottom, [*parts, *lanes], description)
    axis = axis_of(rows, _LEFT, _WIDTH, 8)
    most_cores = max((row.usage.cores for row in rows if row.usage is not None), default=1)
    top = 28.0 if heading else 0.0
    lanes, grid, bottom = _lanes(rows, _TOP + top, _ROW, 8.0, lambda row, y: _lane(row, y, axis, most_cores))
    parts = [label(8, 18, heading, "heading", anchor="start")] if heading else []
    parts.append(label(_LEFT - 12, top + 18, unit, "small", anchor="end"))
    parts += axis.draw(top + 18, grid)
    parts.append(label(_LEFT + _WIDTH + _PERIOD, top + 18, "a frame every", "small", anchor="start"))
    parts.append(label(_LEFT + _WIDTH + _CORES, top + 18, "cores", "small", anchor="start"))
    return drawing(_LEFT + _WIDTH + _CORES + _BAR + 60, bottom, [*parts, *lanes], description)


def _lanes(
    rows: Sequence[ReportRow], y: float, height: float, left: float, lane: Callable[[ReportRow, float], Iterable[str]]
) -> tuple[list[str], list[tuple[float, float]], float]:
    """Draw rows, grouped under the name of their execution; also return the extent of each group, and the end."""
    parts: list[str] = []
    reaches: list[tuple[float, float]] = []
    for execution in dict.fromkeys(row.execution for row in rows):
        mine = [row for row in rows if row.execution == execution]
        parts.append(label(left, y + 19, f"{sentence(execution)} execution", "heading", anchor="start"))
        y += _HEAD
        reaches.append((y - 4, y + height * len(mine)))
        for row in mine:
            parts += lane(row, y + height / 2)
            y += height
        y += 6
    return parts, reaches, y


def _lane(row: ReportRow, y: float, axis: TickAxis, most_cores: int) -> Iterator[str]:
    yield label(_LEFT - 12, y + 4.5, shorten(row.pattern, 17), "name", "end", row.pattern)
    yield from row_marks(row, y, axis)
    yield label(_LEFT + _WIDTH + _PERIOD, y + 4.5, _period(row), "figure", "start")
    if row.usage is not None:
        at, length = _LEFT + _WIDTH + _CORES, max(1.5, _BAR * row.usage.cores / most_cores)
        tip = counted(row.usage.cores, "core")
        yield element("rect", x=at, y=y - 6, width=length, height=12, class_="bar", title=tip)
        yield label(at + length + 8, y + 4.5, plain(row.usage.cores), "figure", anchor="start")


def _narrow_lane(row: ReportRow, y: float, axis: TickAxis) -> Iterator[str]:
    cores = "" if row.usage is None else f", {counted(row.usage.cores, 'core')}"
    yield label(0, y - 8, shorten(row.pattern, 17), "name halo", "start", row.pattern)
    yield label(PHONE, y - 8, f"every {_period(row)}{cores}", "small halo", "end")
    yield from row_marks(row, y + 10, axis)


def _period(row: ReportRow) -> str:
    ticks = counted(row.frame_period_ticks or 0, "tick")
    return ticks if row.seconds is None else f"{_words(_every(row))}: {ticks}"


# Elements of pictures of rows: an axis of ticks, and marks on it where a row answers and takes frames.


_MOST_SAMPLES = 60


@dataclass(frozen=True)
class TickAxis:
    """An axis of ticks since the stimulus onset; of microseconds if ticks were timed."""

    # left, width: its place in the drawing
    left: float
    width: float
    # ticks, step: its end, and the ticks between two numbers
    ticks: int
    step: int

    def x(self, tick: Time | float) -> float:
        """Return the place of a tick."""
        return self.left + float(tick) * self.width / self.ticks

    def draw(self, y: float, lanes: Sequence[tuple[float, float]]) -> Iterator[str]:
        """Draw the numbers on the baseline ``y``, and grid lines through lanes, each from top to bottom."""
        for tick in range(0, self.ticks + 1, self.step):
            yield label(self.x(tick), y, str(tick), "small")
            path = "".join(f"M{number(self.x(tick))} {number(top)}V{number(bottom)}" for top, bottom in lanes)
            yield element("path", d=path, class_="grid")


def axis_of(rows: Iterable[ReportRow], left: float, width: float, steps: int) -> TickAxis:
    """Make an axis that holds all responses of rows, with about ``steps`` steps."""
    last = max(max(_full(row) or 0, _first(row) or 0, _reaction(row) or 0) for row in rows)
    step = max(1, int(round_up(float(last) / steps))) if last else 1
    return TickAxis(left, width, step * math.ceil((last + 0.2) / step), step)


def row_marks(row: ReportRow, y: float, axis: TickAxis) -> Iterator[str]:
    """Mark when the input takes frames, and when the responses come, around the height ``y``."""
    yield from _samples(row, y, axis)
    first, full = _first(row), _full(row)
    if first is not None and full is not None:
        line = f"M{number(axis.x(first))} {number(y)}H{number(axis.x(full))}"
        yield element("path", d=line, class_="stem")
    if (reaction := _reaction(row)) is not None:
        path = f"M{number(axis.x(reaction))} {number(y - 9)}V{number(y + 9)}"
        tip = f"worst-case reaction {_words(reaction)}"
        yield element("path", d=path, title=tip, class_="reaction")
    if full is not None:
        tip = f"full response {_words(full)}"
        yield element("circle", title=tip, cx=axis.x(full), cy=y, r=7.0, class_="full-dot")
    if first is not None:
        tip = f"first response {_words(first)}"
        yield element("circle", title=tip, cx=axis.x(first), cy=y, r=4.5, class_="first-dot")


_MICRO = 1e6


def _words(value: Time | float) -> str:
    return f"{value:.4g} µs" if isinstance(value, float) else counted(value, "tick")


def _timed(row: ReportRow, ticks: Time | None, seconds: float | None) -> Time | float | None:
    """Return a value of the axis: ticks, or microseconds if they were timed."""
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


def _samples(row: ReportRow, y: float, axis: TickAxis) -> Iterator[str]:
    """Mark when the input takes frames, from the onset on."""
    period = _every(row)
    if not period or axis.ticks / period > _MOST_SAMPLES:
        return
    ticks = (k * period if isinstance(period, float) else int(k * period) for k in range(int(axis.ticks / period) + 1))
    marks = "".join(f"M{number(axis.x(tick))} {number(y + 10)}v-5" for tick in ticks)
    tip = f"a frame is taken every {_words(period)}"
    yield element("path", d=marks, class_="sample", title=tip)


# Most ticks of a timeline; longer ones are not drawn.
MOST_TICKS = 240
_GRID_TOP = 58.0
# Least width of a tick in which the number of a frame can be read.
_NARROWEST = 23.0
_GRID_ROW, _CELL = 32.0, 22.0
_X: TypeAlias = Callable[[float], float]


@dataclass(frozen=True)
class _Span:
    """From an onset to a response, in ticks of the drawing."""

    start: int
    end: int
    words: str
    class_: str


def draw_timeline(row: ReportRow, chip: ChipSpec) -> str | None:
    """Draw when each node has which frame, around a stimulus onset."""
    # Tick 0 is the onset: the earliest tick at which an input samples the first frame of the stimulus. Where ticks were
    # timed a second axis below has their lengths.
    # returns one ``<svg>`` element, whose frames have ``data-at`` as in
    # :func:`~neuromap.report.drawings.draw_network.draw_window`; ``None`` if the row was not mapped, or needs more
    # than ``MOST_TICKS`` ticks
    if row.rollout is None or not row.ports or row.frame_period_ticks is None:
        return None
    clock = _Clock(row, chip)
    spans, path = clock.first_response()
    spans += clock.full_response()
    spans.append(clock.frame_period())
    end = max([span.end for span in spans], default=0) + max(2, min(clock.gap, 4))
    start = -min(clock.gap, 4) - 1
    if end - start > MOST_TICKS:
        return None
    order = layout(row.rollout.network).order
    left = names_width(order)
    width = max(15.0, min(34.0, 900.0 / (end - start)))
    on_phones = (PHONE - 12 - left) / (end - start)
    if on_phones >= _NARROWEST:
        width = min(width, on_phones)

    def x(tick: float) -> float:
        return left + (tick - start) * width

    height = _GRID_TOP + _GRID_ROW * len(order)
    # the path is under the boxes, so that all can be read
    parts = [*_grid(start, end, x, width, height), *_marks(clock, order, path, x)]
    for k, name in enumerate(order):
        y = _GRID_TOP + _GRID_ROW * k + (_GRID_ROW - _CELL) / 2
        parts.append(label(left - 12, y + _CELL / 2 + 4.5, shorten(name, 10), "name", anchor="end", title=name))
        parts += _cells(clock, name, y, start, end, x, width)
    if row.seconds is not None:
        parts += _lengths(clock, start, end, x, height + 4)
        height += 66
    whole = max(PHONE, x(end) + 12, *(6.9 * len(span.words) + 8 for span in spans))
    for k, span in enumerate(spans):
        y = height + 22 + 38 * k
        parts.append(_bracket(x(span.start + 0.5), x(span.end + 0.5), y, span, whole - 6.9 * len(span.words)))
    description = f"Timeline of pattern {row.pattern}, {row.execution} execution, in ticks"
    return drawing(whole, height + 20 + 38 * len(spans), parts, description)


class _Clock:
    """Ticks of frames relative to the onset, and how frames depend on it."""

    def __init__(self, row: ReportRow, chip: ChipSpec) -> None:
        assert row.rollout is not None
        assert row.frame_period_ticks is not None
        self.row, self._chip = row, chip
        self.network = row.rollout.network
        self.period, self.gap = row.frame_period_ticks, largest_gap(row.frame_period_ticks)
        self.samples = {port.name: port.sample_tick for port in row.ports}
        pattern = row.rollout.pattern
        self.soonest = {u: shortest_reach(pattern, u) for u in self.network.inputs}
        self.latest = {u: longest_reach(pattern, u) for u in self.network.inputs}
        first_input = min(self.samples[u] for u in self.network.inputs)
        ahead = max(self.samples[name] for name in self.network.nodes) - first_input
        self.onset_frame = math.ceil(ahead / self.period) + 6  # every frame shown is then >= 1
        self.zero = tick_of_frame(first_input, self.period, self.onset_frame)

    def tick(self, node: str, frame: int) -> int:
        """Return the tick of a node's frame, counted from the onset."""
        return tick_of_frame(self.samples[node], self.period, frame) - self.zero

    def seconds(self, tick: int) -> float:
        """Return the length of a tick, counted from the onset, in steady operation."""
        return self._chip.tick_seconds if self.row.seconds is None else self.row.seconds.tick(tick + self.zero)

    def words(self, start: int, ticks: Time) -> str:
        """Format the length of a span of ticks that begins with the sample of tick ``start``."""
        if self._chip.is_timed and self.row.seconds is None:
            return counted(ticks, "tick")
        whole = range(start + 1, start + 1 + math.ceil(ticks))
        length = sum(map(self.seconds, whole)) if self._chip.is_timed else ticks * self._chip.tick_seconds
        return f"{counted(ticks, 'tick')} ({seconds(length)})"

    def frame_from(self, node: str, tick: int) -> int:
        """Return the first frame of a node at or after a tick, counted from the onset."""
        return math.ceil((tick + self.zero - self.samples[node]) / Fraction(self.period))

    def state(self, node: str, frame: int) -> str:
        """Return how a node's frame depends on the stimulus: ``before``, ``partly`` or ``fully``."""
        ahead = frame - self.onset_frame
        if ahead < min((r.frames[node] for r in self.soonest.values() if node in r.frames), default=ahead + 1):
            return "before"
        reaches = list(self.latest.values())
        if None in reaches:
            return "partly"
        longest = [r.frames[node] for r in reaches if r is not None and node in r.frames]
        return "fully" if ahead >= max(longest) else "partly"

    def first_response(self) -> tuple[list[_Span], list[tuple[str, int]]]:
        """Make the bracket of the first response, and its path as (node, frame)."""
        found = [
            (self.tick(o, self.onset_frame + reach.frames[o]) - self.tick(u, self.onset_frame), u, o)
            for u, reach in self.soonest.items()
            for o in self.network.outputs
            if o in reach.frames
        ]
        if not found:
            return [], []
        ticks, u, o = min(found)
        start, reach = self.tick(u, self.onset_frame), self.soonest[u]
        words = f"first response of {shorten(o, 10)}: {self.words(start, ticks)}"
        path = [(n, self.onset_frame + reach.frames[n]) for n in reach.path(o)]
        return [_Span(start, start + ticks, words, "first")], path

    def full_response(self) -> list[_Span]:
        """Make the bracket of the full response, as predicted."""
        ticks = self.row.predicted.full_response_ticks
        if ticks is None:
            return []
        responses = self.row.outputs
        outputs = [o for o in self.network.outputs if responses[o].predicted.full_response_ticks == ticks]
        bound = "" if self.row.full_response_exact else "at most "
        for u, reach in self.latest.items():
            for o in outputs:
                start = self.tick(u, self.onset_frame)
                if self._is_end(reach, o, start + ticks):
                    words = f"full response of {shorten(o, 10)}: {bound}{self.words(start, ticks)}"
                    return [_Span(start, start + ticks, words, "full")]
        return []

    def frame_period(self) -> _Span:
        """Make the bracket between two frames of the input that is sampled first."""
        u = min(self.network.inputs, key=lambda name: self.samples[name])
        start = self.tick(u, self.onset_frame)
        words = f"frame period: {self.words(start, self.period)}"
        if (q := self.period.denominator) > 1:
            words += f" on average: {q} frames in {self.period.numerator} ticks, {self.gap} or less apart"
        return _Span(start, self.tick(u, self.onset_frame + q), words, "period")

    def _is_end(self, reach: Reach | None, output: str, tick: int) -> bool:
        if reach is not None:
            return output in reach.frames and self.tick(output, self.onset_frame + reach.frames[output]) == tick
        return self.tick(output, self.frame_from(output, tick)) == tick


def _signed(tick: int) -> str:
    """Write a number with a true minus sign."""
    return str(tick).replace("-", "−")


def _grid(start: int, end: int, x: _X, width: float, height: float) -> Iterator[str]:
    every = next(step for step in (1, 2, 5, 10, 20, 50) if step * width >= 26 or step == 50)
    yield label(x(start) - 12, 46, "tick", "small", anchor="end")
    for tick in range(start, end):
        if tick % every == 0:
            yield label(x(tick + 0.5), 46, _signed(tick), "small")
    for tick in range(start, end + 1):
        yield element("path", d=f"M{number(x(tick))} 52V{number(height + 4)}", class_="grid")
    yield element("path", d=f"M{number(x(0))} 24V{number(height + 10)}", class_="onset")
    yield label(x(0) + 5, 22, "stimulus onset", "small onset-text", anchor="start")


def _lengths(clock: _Clock, start: int, end: int, x: _X, y: float) -> Iterator[str]:
    """Draw the second axis: every tick as wide as it is long, joined to its place among ticks of equal width."""
    each = [clock.seconds(tick) for tick in range(start, end)]
    scale = (x(end) - x(start)) / sum(each)
    edges = list(accumulate((length * scale for length in each), initial=x(start)))
    top, bottom = y + 30, y + 46
    yield label(x(start) - 12, bottom - 3, "time", "small", anchor="end")
    for k, edge in enumerate(edges):
        line = f"M{number(x(start + k))} {number(y)}L{number(edge)} {number(top)}V{number(bottom)}"
        yield element("path", d=line, class_="onset" if start + k == 0 else "grid")
    last = edges[0] - 40
    for k, (left, right) in enumerate(pairwise(edges)):
        title = f"tick {_signed(start + k)}: {seconds(each[k])}"
        shape = element("rect", x=left, y=top, width=right - left, height=bottom - top, class_="box")
        yield element("g", shape, title=title, class_="frame before")
        since = sum(each[1 - start : k + 1])  # what is sampled in tick 0 is computed from tick 1 on
        if start + k >= 0 and right - last >= 56:  # room for the words
            yield label(right, bottom + 13, seconds(since), "small", anchor="end")
            last = right


def _cells(clock: _Clock, name: str, y: float, start: int, end: int, x: _X, width: float) -> Iterator[str]:
    """Draw one cell per frame of a node, in the tick in which it is sampled or computed."""
    frame = clock.frame_from(name, start)
    number_of = list(clock.network.nodes).index(name)
    role = "input" if name in clock.network.inputs else "output" if name in clock.network.outputs else "hidden"
    does = "samples" if role == "input" else "computes"
    while (tick := clock.tick(name, frame)) < end:
        state = clock.state(name, frame)
        knows = {"before": "nothing", "partly": "a part", "fully": "all"}[state]
        shift = frame - clock.onset_frame
        relative = "n" + (f"+{shift}" if shift > 0 else f"−{-shift}" if shift < 0 else "")
        box = element("rect", x=x(tick) + 1.5, y=y, width=width - 3, height=_CELL, rx=4.0, class_="box")
        text = label(x(tick + 0.5), y + 15, relative, "cell") if width >= _NARROWEST or len(relative) < 3 else ""
        title = f"{name} {does} frame {relative} in tick {_signed(tick)}; it depends on {knows} of the stimulus"
        at = f"{frame}.{number_of}"
        yield element("g", box, text, title=title, class_=f"frame {state} {role}", data_at=at)
        frame += 1


def _marks(clock: _Clock, order: tuple[str, ...], path: list[tuple[str, int]], x: _X) -> Iterator[str]:
    """Draw the path of the first response through the nodes."""
    middle = _GRID_TOP + _GRID_ROW / 2
    points = [(x(clock.tick(name, frame) + 0.5), middle + _GRID_ROW * order.index(name)) for name, frame in path]
    for (ax, ay), (bx, by) in pairwise(points):
        down = 1 if by > ay else -1
        first, tip = (ax, ay + down * _CELL / 2), (bx, by - down * (_CELL / 2 + 1))
        line = f"M{number(first[0])} {number(first[1])}L{number(tip[0])} {number(tip[1])}"
        yield arrow(line, first, tip, "way")


def _bracket(start: float, end: float, y: float, span: _Span, last: float) -> str:
    """Draw a span with its words below, which begin at ``last`` at the latest."""
    line = f"M{number(start)} {number(y - 6)}V{number(y + 6)}M{number(start)} {number(y)}H{number(end)}"
    ends = f"M{number(end)} {number(y - 6)}V{number(y + 6)}"
    words = label(min(start, last), y + 18, span.words, "small", anchor="start")
    return element("g", element("path", d=line + ends, class_="line"), words, class_=f"span {span.class_}")


# Which frames of which node an onset reaches, for the timeline.


@dataclass(frozen=True)
class Reach:
    """How the frames of the nodes depend on one input."""

    # frames between a frame of the input and the frame of the node that it reaches: streaming edges on the chosen
    # path. Nodes that the input does not reach are absent
    frames: dict[str, int]
    previous: dict[str, str]  # the node before, on that path

    def path(self, node: str) -> list[str]:
        """Return the nodes of the path from the input to a node."""
        way = [node]
        while way[-1] in self.previous:
            way.append(self.previous[way[-1]])
        return way[::-1]


def shortest_reach(pattern: RolloutPattern, source: str) -> Reach:
    """Find the frames after which each node first depends on an input: paths with fewest streaming edges."""
    outgoing: dict[str, list[tuple[str, int]]] = {}
    for (u, v), r in pattern.items():
        outgoing.setdefault(u, []).append((v, r))
    frames, previous = {source: 0}, {}
    number = {name: k for k, name in enumerate(pattern.network.nodes)}
    heap = [(0, number[source], source)]
    while heap:
        passed, _, u = heapq.heappop(heap)
        for v, r in outgoing.get(u, ()):
            if passed == frames[u] and (v not in frames or passed + r < frames[v]):
                frames[v] = passed + r
                previous[v] = u
                heapq.heappush(heap, (frames[v], number[v], v))
    return Reach(frames, previous)


def longest_reach(pattern: RolloutPattern, source: str) -> Reach | None:
    """Find the frames after which each node depends on nothing before the onset, self-edges masked."""
    # ``None`` where the network has cycles other than self-edges: there the longest path is a search, which is the
    # schedule's business.
    entering: dict[str, dict[str, int]] = {name: {} for name in pattern.network.nodes}
    for (u, v), r in pattern.items():
        if u != v:
            entering[v][u] = r
    try:
        order = list(TopologicalSorter(entering).static_order())
    except CycleError:
        return None
    frames, previous = {source: 0}, {}
    for v in order:
        if ways := [(frames[u] + r, u) for u, r in entering[v].items() if u in frames]:
            frames[v], previous[v] = max(ways)
    return Reach(frames, previous)
