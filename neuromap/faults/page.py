"""A study of faults as one self-contained HTML page, as sections of another one, as curves, and in a notebook."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from neuromap.faults.confidence import Estimate
from neuromap.faults.fault_study import FaultPoint, FaultStudy
from neuromap.faults.forms import NAMES, headline, percent, study_table, to_csv, to_dict
from neuromap.render.page import SHARED, data_block, page_script, render_page
from neuromap.render.plot import Panel, Plot, Point, draw_panels
from neuromap.render.svg import inline_image, standalone


def to_html(study: FaultStudy) -> str:
    """Write a study as one HTML page; it loads nothing, and can be read without its scripts."""
    return _rendered("faults.html.jinja", study, ("Over fault rates", "Points"))


def to_section(study: FaultStudy) -> str:
    """Write a study as sections of another page, whose style sheets are those that all pages share."""
    return _rendered("study.html.jinja", study, ("Faults over their rates", "Faults, point by point"))


def _rendered(template: str, study: FaultStudy, headings: tuple[str, str]) -> str:
    return render_page(
        SHARED,
        template,
        study=study,
        version=study.version,
        script=page_script("tables", "saves"),
        data=[
            data_block("faults.json", "the data as JSON", to_dict(study)),
            data_block("faults.csv", "all points as CSV", to_csv(study)),
        ],
        headings=headings,
        findings=findings(study),
        table=study_table(study),
        picture=to_drawing(study),
        narrow_picture=to_drawing(study, narrow=True),
    )


def to_notebook(study: FaultStudy) -> str:
    """Write curves and table of a study as HTML for a notebook: ``<img>`` and ``<table>``, all names escaped."""
    return inline_image(to_svg(study)) + study_table(study).html(headline(study), names=NAMES)


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


_ABREAST = 3
_STEPS = (0.01, 0.02, 0.04, 0.08, 0.12, 0.16, 0.2, 0.24, 0.28, 0.32, 0.4, 0.6, 0.8, 1.0)
"""Upper ends of an axis of parts of one."""
_Figure = Callable[[FaultPoint], Estimate | None]


def to_drawing(study: FaultStudy, *, narrow: bool = False) -> str:
    """Draw output error, and accuracy where there are labels, over the rates."""
    points = study.points
    # intervals of few seeds may reach far beyond a mean and a quarter, and are cut off there
    most = max((min(1.0, 1.25 * point.error.value) for point in points), default=0.0)
    top = next(step for step in _STEPS if step >= most)
    abreast = min(_ABREAST, len(study.kinds))
    panels = _panels(study, "output error, part of all values", lambda point: point.error, top)
    if study.images:
        panels += [None] * (-len(panels) % abreast)
        panels += _panels(study, "accuracy, part of all images", lambda point: point.accuracy, 1.0)
    plot = Plot("fault rate [%]", panels, "curve", (270.0, 170.0), abreast, 3.5, (2.8, 0.0))
    return draw_panels(plot, f"Faults of {study.network} over their rates", narrow=narrow)


def _panels(study: FaultStudy, title: str, figure: _Figure, top: float) -> list[Panel | None]:
    return [
        Panel(title, {curve: _line(study, kind, curve, figure) for curve in study.curves}, top, kind)
        for kind in study.kinds
    ]


def _line(study: FaultStudy, kind: str, curve: str, figure: _Figure) -> list[Point]:
    mine = [point for point in study.points if (point.kind, point.curve) == (kind, curve)]
    return [
        Point(rate, found.value, f"{curve}, {rate} %: {found.value:.4f}", found.low, found.high)
        for point in mine
        if (rate := f"{100 * point.rate:g}") and (found := figure(point)) is not None
    ]


def to_svg(study: FaultStudy) -> str:
    """Draw the curves as an SVG file, style inside; see :func:`to_drawing`."""
    return standalone(to_drawing(study))
