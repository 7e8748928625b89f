"""A study of faults as one self-contained HTML page, as sections of another one, and as a table in a notebook."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from neuromap.faults.confidence import Estimate
from neuromap.faults.fault_study import FaultPoint, FaultStudy
from neuromap.faults.options import KINDS
from neuromap.files.messages import counted
from neuromap.forms.card import html_table
from neuromap.forms.inline_image import inline_image
from neuromap.forms.numbers import plain
from neuromap.forms.page import data_block, page_environment, page_script
from neuromap.forms.standalone_svg import standalone
from neuromap.forms.svg import drawing, element, label, line_key, number
from neuromap.forms.tables import Column, print_blocks, print_text, printed

if TYPE_CHECKING:
    from rich.console import Console


def to_html(study: FaultStudy) -> str:
    """Write a study as one HTML page; it loads nothing, and can be read without its scripts."""
    return _rendered("faults.html.jinja", study, ("Over fault rates", "Points"))


def to_section(study: FaultStudy) -> str:
    """Write a study as sections of another page, whose style sheets are those that all pages share."""
    return _rendered("study.html.jinja", study, ("Faults over their rates", "Faults, point by point"))


def _rendered(template: str, study: FaultStudy, headings: tuple[str, str]) -> str:
    from markupsafe import Markup

    columns, rows = study_cells(study)
    return (
        page_environment("neuromap.faults")
        .get_template(template)
        .render(
            study=study,
            script=page_script("tables", "saves"),
            data=[
                data_block("faults.json", "the data as JSON", study.to_dict()),
                data_block("faults.csv", "all points as CSV", study.to_csv()),
            ],
            headings=headings,
            findings=findings(study),
            columns=columns,
            rows=rows,
            n_names=NAMES,
            notes=notes(study),
            picture=Markup(draw_curves(study)),
        )
    )


def to_notebook(study: FaultStudy) -> str:
    """Write curves and table of a study as HTML for a notebook: ``<img>`` and ``<table>``, all names escaped."""
    columns, rows = study_cells(study)
    return inline_image(to_svg(study)) + html_table(headline(study), columns, rows, names=NAMES)


# What a study of faults found, in sentences: what each kind of fault does at its highest rate, and to whom least.
def findings(study: FaultStudy) -> dict[str, tuple[str, ...]]:
    """Say what a study found."""
    found = {}
    for kind in study.kinds:
        points = [point for point in study.points if point.kind == kind]
        said = tuple(f"{text}." for text in (_harmless(points), _worst(points), _silent(points)) if text)
        if said:
            found[kind] = said
    return found


def _harmless(points: Sequence[FaultPoint]) -> str:
    """Say up to which rate no chip errs, where there is such a rate above 0, and whether anything was struck there."""
    wrong = [point.rate for point in points if point.error.value > 0]
    right = [point for point in points if point.rate > 0 and (not wrong or point.rate < min(wrong))]
    if not right:
        return ""
    what = "No output error" if any(point.struck for point in right) else "Nothing was struck, so no output error,"
    highest = max(point.rate for point in right)
    return f"{what} up to {percent(highest)}" + ("" if wrong else ", the highest rate")


def _worst(points: Sequence[FaultPoint]) -> str:
    """Say the errors at the highest rate, the least first."""
    highest = max(point.rate for point in points)
    last = sorted((point for point in points if point.rate == highest), key=lambda point: point.error.value)
    if not last[-1].error.value:
        return ""
    least, most = last[0], last[-1]
    text = f"At {percent(highest)} an output error of {_interval(least)} for {least.curve}"
    return text if least is most else f"{text}, of {_interval(most)} for {most.curve}"


def _silent(points: Sequence[FaultPoint]) -> str:
    """Say from which rate on some chips do not answer."""
    silent = [point for point in points if point.no_response.value > 0]
    if not silent:
        return ""
    first = min(silent, key=lambda point: (point.rate, -point.no_response.value))
    most = max(silent, key=lambda point: point.no_response.value)
    return f"Chips without a response from {percent(first.rate)} on, {percent(most.no_response.value)} at most"


def _interval(point: FaultPoint) -> str:
    low, high = point.error.low, point.error.high
    known = "" if low is None or high is None else f" [{100 * low:.3g}, {100 * high:.3g}]"
    return f"{percent(point.error.value)}{known}"


# Curves over fault rates: a panel for every kind of fault, a line for every pattern, with intervals.
_LEFT, _TOP, _WIDTH, _HEIGHT = 58.0, 52.0, 270.0, 170.0
_PANEL, _ROW = _LEFT + _WIDTH + 18.0, _TOP + _HEIGHT + 48.0
_ABREAST = 3
_MOST_CURVES = 8
"""Curves that are told apart by colour and dashes."""
_STEPS = (0.01, 0.02, 0.04, 0.08, 0.12, 0.16, 0.2, 0.24, 0.28, 0.32, 0.4, 0.6, 0.8, 1.0)
"""Upper ends of an axis of parts of one."""
_BESIDE = 3.5
"""By how much curves stand beside each other, so that their intervals do not lie on each other."""


class _Figure(NamedTuple):
    """What a panel shows over the rates."""

    title: str
    of: Callable[[FaultPoint], Estimate | None]


_ERROR = _Figure("output error, part of all values", lambda point: point.error)
_ACCURACY = _Figure("accuracy, part of all images", lambda point: point.accuracy)


class _Axes(NamedTuple):
    """Rates to the right, evenly spaced as they were given; parts of one upwards."""

    rates: tuple[float, ...]
    top: float
    n_curves: int

    def x(self, rate: float, place: int) -> float:
        beside = _BESIDE * (place - (self.n_curves - 1) / 2)
        return _LEFT + _WIDTH * (self.rates.index(rate) + 0.5) / len(self.rates) + beside

    def y(self, part: float) -> float:
        return _TOP + _HEIGHT * (1 - min(part, self.top) / self.top)


def draw_curves(study: FaultStudy) -> str:
    """Draw output error, and accuracy where there are labels, over the rates."""
    figures = [_ERROR, _ACCURACY] if study.images else [_ERROR]
    rows = [(figure, study.kinds[k : k + _ABREAST]) for figure in figures for k in range(0, len(study.kinds), _ABREAST)]
    points = study.points
    parts = [
        element("g", *_panel(study, points, kind, figure), transform=_moved(_PANEL * k, _ROW * n))
        for n, (figure, kinds) in enumerate(rows)
        for k, kind in enumerate(kinds)
    ]  # fmt: skip
    bottom = _ROW * len(rows) + 20
    curves = study.curves[:_MOST_CURVES]
    parts += [part for place, name in enumerate(curves) for part in line_key(name, place, _LEFT, bottom + 20 * place)]
    if len(study.curves) > len(curves):
        more = f"and {counted(len(study.curves) - len(curves), 'curve')} more in the table"
        parts.append(label(_LEFT, bottom + 20 * len(curves), more, "small", anchor="start"))
    width = _PANEL * min(len(study.kinds), _ABREAST)
    height = bottom + 20 * (len(curves) + (len(study.curves) > len(curves)))
    return drawing(width, height, parts, f"Faults of {study.network} over their rates")


def to_svg(study: FaultStudy) -> str:
    """Draw the curves as an SVG file, style inside; see :func:`draw_curves`."""
    return standalone(draw_curves(study))


def _moved(x: float, y: float) -> str:
    return f"translate({number(x)} {number(y)})"


def _panel(study: FaultStudy, points: Sequence[FaultPoint], kind: str, figure: _Figure) -> Iterator[str]:
    mine = [point for point in points if point.kind == kind]
    curves = study.curves[:_MOST_CURVES]
    most = max((_highest(point, figure) for point in points), default=0.0)
    top = next(step for step in _STEPS if step >= min(most, 1.0)) if figure is _ERROR else 1.0
    axes = _Axes(study.rates, top, len(curves))
    yield label(_LEFT, 16, kind, "heading", anchor="start")
    yield label(_LEFT, 36, figure.title, "small", anchor="start")
    yield from _drawn(axes)
    for place, curve in enumerate(curves):
        yield from _line([point for point in mine if point.curve == curve], figure, place, axes)


def _highest(point: FaultPoint, figure: _Figure) -> float:
    """Give the mean and a quarter: intervals of few seeds may reach far beyond, and are cut off there."""
    found = figure.of(point)
    return 0.0 if found is None else min(1.0, 1.25 * found.value)


def _drawn(axes: _Axes) -> Iterator[str]:
    for part in range(5):
        value = axes.top * part / 4
        y = axes.y(value)
        yield element("path", d=f"M{number(_LEFT)} {number(y)}H{number(_LEFT + _WIDTH)}", class_="grid")
        yield label(_LEFT - 8, y + 4, f"{value:.3g}", "small", anchor="end")
    middle = (axes.n_curves - 1) // 2
    for rate in axes.rates[:: max(1, math.ceil(len(axes.rates) / 8))]:
        yield label(axes.x(rate, middle), _TOP + _HEIGHT + 18, f"{100 * rate:g}", "small")
    yield label(_LEFT + _WIDTH / 2, _TOP + _HEIGHT + 36, "fault rate [%]", "small")


def _line(points: Sequence[FaultPoint], figure: _Figure, place: int, axes: _Axes) -> Iterator[str]:
    found = [(point, estimate) for point in points if (estimate := figure.of(point)) is not None]
    path = ""
    for point, estimate in found:
        x, y = axes.x(point.rate, place), axes.y(estimate.value)
        path += f"{'L' if path else 'M'}{number(x)} {number(y)}"
        if estimate.low is not None and estimate.high is not None:
            low, high = axes.y(estimate.low), axes.y(estimate.high)
            bar = {"d": f"M{number(x)} {number(low)}V{number(high)}", "fill": "none"}
            yield element("path", **bar, class_=f"line{place}", stroke_width=1, stroke_opacity=0.6)
        text = f"{point.curve}, {100 * point.rate:g} %: {estimate.value:.4f}"
        yield element("circle", class_=f"dot{place}", cx=x, cy=y, r=2.8, title=text)
    if path:
        yield element("path", d=path, class_=f"accuracy line{place}")


# A study of faults as people read it in a terminal: one table, and what its figures are.


def print_study(study: FaultStudy, console: Console) -> None:
    """Print the table, in several parts where the console is narrow."""
    print_text(console, headline(study))
    columns, rows = study_cells(study)
    print_blocks(console, columns, rows, [""] * len(rows), range(NAMES))
    for note in notes(study):
        print_text(console, note, wraps=True)


def render_text(study: FaultStudy, width: int = 160) -> str:
    """Print the study into a string."""
    return printed(lambda console: print_study(study, console), width)


# The table of a study of faults as texts: headers with their units, a row of cells for every point, and notes.
NAMES = 3
"""Columns that name a row."""


def headline(study: FaultStudy) -> str:
    """Say what was struck, and by how many seeds."""
    return f"{study.network} on {study.chip}: faults of {counted(study.seeds, 'seed')} at every rate"


def study_cells(study: FaultStudy) -> tuple[list[Column], list[list[str]]]:
    """Give columns and rows of the table."""
    columns = [
        Column("fault", left=True),
        Column("rate"),
        Column("pattern, execution", left=True, wraps=True),
        Column("struck"),
        Column("output error\n[95 %]"),
        Column("lost"),
        Column("added"),
        Column("no response\n[95 %]"),
        Column("first response\n[ticks, 95 %]"),
    ]
    if study.images:
        columns.append(Column("accuracy\n[95 %]"))
    points = study.points
    rows = [_cells(point) for kind in study.kinds for point in points if point.kind == kind]
    return columns, [row[: len(columns)] for row in rows]


def percent(value: float) -> str:
    """Write a part of one in per cent."""
    return f"{100 * value:.3g} %"


def notes(study: FaultStudy) -> list[str]:
    """Say what the figures are: a sentence each."""
    cores = ", ".join(f"{name}: {counted(n, 'core')}" for name, n in zip(study.curves, study.cores, strict=True))
    return [
        f"stimuli: {study.stimuli}, the same for all chips; {cores}",
        *(f"{kind}: of all {KINDS[kind].at_risk}, the rate; of each, {KINDS[kind].effect}" for kind in study.kinds),
        "struck: what failed of what was at risk, means over the seeds; of dropped spikes, those that were sent",
        "output error: part of the values of the output frames that differ from those without faults, from the first "
        "frame on that depends on the stimulus; of it, lost: spikes that are missing, added: spikes that are new",
        "no response: part of the chips on which no input reaches an output; first response: mean over the others, in "
        "ticks since the stimulus onset on the time axis of the execution, measured on the program with faults",
        "95 %: intervals over the seeds, by Student's t for means, by Wilson for the part without response",
        *(["accuracy: part of the images that the last frame names rightly"] if study.images else []),
    ]


def _cells(point: FaultPoint) -> list[str]:
    return [
        point.kind,
        percent(point.rate),
        point.curve,
        f"{plain(round(point.struck, 1))} of {plain(round(point.at_risk, 1))}" if point.at_risk else "-",
        _estimate(point.error),
        percent(point.lost),
        percent(point.added),
        _estimate(point.no_response),
        _ticks(point),
        "-" if point.accuracy is None else _estimate(point.accuracy),
    ]


def _ticks(point: FaultPoint) -> str:
    mean, low, high = point.first_response_ticks, point.first_response_low_ticks, point.first_response_high_ticks
    if mean is None:
        return "-"
    interval = "" if low is None or high is None else f" [{plain(round(low, 1))}, {plain(round(high, 1))}]"
    return f"{plain(round(mean, 1))}{interval}"


def _estimate(found: Estimate) -> str:
    if found.low is None or found.high is None:
        return percent(found.value)
    return f"{percent(found.value)} [{100 * found.low:.3g}, {100 * found.high:.3g}]"
