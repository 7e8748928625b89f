"""Forms of a fault study: text, CSV, HTML page, sections of another page, curves and notebook."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from neuromap.faults.fault_study import LEVEL, Estimate, FaultPoint, FaultRun, FaultStudy
from neuromap.faults.options import EVERY_KIND
from neuromap.files.messages import counted
from neuromap.render.document import (
    AMOUNT,
    COUNT,
    PART,
    POSITIVE,
    TEXT,
    Shape,
    const,
    define,
    document,
    each,
    enum,
    record,
    record_of,
)
from neuromap.render.numbers import plain
from neuromap.render.page import SHARED, page_script, render_page, saved_forms
from neuromap.render.plot import Panel, Plot, Point, draw_panels
from neuromap.render.svg import inline_image, standalone
from neuromap.render.table import Column, Table, csv_text, print_findings, print_rest, print_text, printed

if TYPE_CHECKING:
    from rich.console import Console

# Columns that identify a row.
NAMES = 3
_KIND = define("kind", enum(*EVERY_KIND))
_ESTIMATE = define("estimate", record_of(Estimate, value=PART, low=PART.or_null, high=PART.or_null))
_TICKS = AMOUNT.or_null
_MAYBE = _ESTIMATE.or_null
DOCUMENT = document(
    "faults",
    format=const("neuromap-faults-1"),
    neuromap=TEXT(at="version"),
    network=TEXT,
    chip=TEXT,
    stimuli=TEXT,
    kinds=each(_KIND),
    rates=each(PART),
    seeds=POSITIVE,
    images=COUNT,
    confidence=PART(at=lambda _: LEVEL),
    curves=each(record(name=TEXT(at=0), cores=COUNT(at=1)))(
        at=lambda study: zip(study.curves, study.cores, strict=True)
    ),
    points=each(
        record_of(
            FaultPoint,
            kind=_KIND,
            rate=PART,
            seeds=POSITIVE,
            struck=AMOUNT,
            at_risk=AMOUNT,
            error=_ESTIMATE,
            lost=PART,
            added=PART,
            no_response=_ESTIMATE,
            first_response_ticks=_TICKS,
            accuracy=Shape({"oneOf": _MAYBE.rules["anyOf"]}, _MAYBE.write),
            first_response_low_ticks=_TICKS.added,
            first_response_high_ticks=_TICKS.added,
        )
    ),
    runs=each(record_of(FaultRun, kind=_KIND, rate=PART, error=PART, accuracy=PART.or_null, changed=COUNT.added)),
)
# Conversion to plain values; rates, errors and accuracies are fractions, times are in ticks.
to_dict = DOCUMENT.of


def to_csv(study: FaultStudy) -> str:
    """Write the points of a study as CSV (RFC 4180)."""
    return csv_text([_row(point) for point in study.points])


def _row(point: FaultPoint) -> dict[str, Any]:
    return {
        "fault": point.kind,
        **_plain(point, "rate", "pattern", "execution", "seeds", "struck", "at_risk"),
        **_ends("output_error", point.error),
        **_plain(point, "lost", "added"),
        **_ends("no_response", point.no_response),
        **_plain(point, "first_response_ticks", "first_response_low_ticks", "first_response_high_ticks"),
        **_ends("accuracy", point.accuracy),
    }


def _plain(point: FaultPoint, *names: str) -> dict[str, Any]:
    return {name: getattr(point, name) for name in names}


def _ends(name: str, found: Estimate | None) -> dict[str, float | None]:
    values = (None, None, None) if found is None else (found.value, found.low, found.high)
    return dict(zip((name, f"{name}_low", f"{name}_high"), values, strict=True))


def headline(study: FaultStudy) -> str:
    """Write a headline: the setup and the number of seeds."""
    return f"{study.network} on {study.chip}: faults of {counted(study.seeds, 'seed')} at every rate"


def percent(value: float) -> str:
    """Write a fraction in per cent."""
    return f"{100 * value:.3g} %"


def _estimate(found: Estimate | None) -> str:
    if found is None:
        return "-"
    if found.low is None or found.high is None:
        return percent(found.value)
    return f"{percent(found.value)} [{100 * found.low:.3g}, {100 * found.high:.3g}]"


def _ticks(point: FaultPoint) -> str:
    mean, low, high = point.first_response_ticks, point.first_response_low_ticks, point.first_response_high_ticks
    if mean is None:
        return "-"
    interval = "" if low is None or high is None else f" [{plain(round(low, 1))}, {plain(round(high, 1))}]"
    return f"{plain(round(mean, 1))}{interval}"


def _struck(point: FaultPoint) -> str:
    return f"{plain(round(point.struck, 1))} of {plain(round(point.at_risk, 1))}" if point.at_risk else "-"


_COLUMNS: tuple[Column[FaultPoint], ...] = (
    Column("fault", lambda point: point.kind, left=True),
    Column("rate", lambda point: percent(point.rate)),
    Column("pattern, execution", lambda point: point.curve, left=True, wraps=True, rank=1),
    Column("struck", _struck, rank=9),
    Column("output error\n[95 %]", lambda point: _estimate(point.error)),
    Column("lost", lambda point: percent(point.lost), rank=9),
    Column("added", lambda point: percent(point.added), rank=9),
    Column("no response\n[95 %]", lambda point: _estimate(point.no_response)),
    Column("first response\n[ticks, 95 %]", _ticks),
)
_ACCURACY: Column[FaultPoint] = Column("accuracy\n[95 %]", lambda point: _estimate(point.accuracy))


def study_table(study: FaultStudy) -> Table[FaultPoint]:
    """Return the table of a study: one row per point, with a sentence on each figure."""
    cores = ", ".join(f"{name}: {counted(n, 'core')}" for name, n in zip(study.curves, study.cores, strict=True))
    points, kinds = study.points, [(kind, EVERY_KIND[kind]) for kind in study.kinds]
    return Table(
        [*_COLUMNS, *([_ACCURACY] if study.images else [])],
        [point for kind in study.kinds for point in points if point.kind == kind],
        repeated=range(NAMES if len(study.curves) > 1 else NAMES - 1),
        is_edged=True,
        notes=[
            f"stimuli: {study.stimuli}, the same for all chips; {cores}",
            *(f"{kind}: of all {said.at_risk}, the rate; of each, {said.effect}" for kind, said in kinds),
            "struck: what failed of what was at risk, means over the seeds; of dropped spikes, those that were sent",
            "output error: part of the values of the output frames that differ from those without faults, from the "
            "first frame on that depends on the stimulus; of it, lost: spikes that are missing, added: spikes that are "
            "new",
            "no response: part of the chips on which no input reaches an output; first response: mean over the others, "
            "in ticks since the stimulus onset on the time axis of the execution, measured on the program with faults",
            "95 %: intervals over the seeds, by Student's t for means, by Wilson for the part without response",
            *(["accuracy: part of the images that the last frame names rightly"] if study.images else []),
        ],
    )


def print_study(study: FaultStudy, console: Console, *, every: bool = True) -> None:
    """Print the full table, in parts if the console is narrow, or only the findings and main columns."""
    print_text(console, headline(study))
    table = study_table(study)
    if every:
        table.print(console)
        for note in table.notes:
            print_text(console, note)
    else:
        found = [f"{kind}: {' '.join(said)}".rstrip(".") for kind, said in findings(study).items()]
        print_findings(console, found, len(found))
        table.print(console, brief=True)
        print_rest(console, [*table.left_out(console.width), "what the columns mean"], "--all, --html FILE or --json")


def render_text(study: FaultStudy, width: int = 160) -> str:
    """Write the study as text."""
    return printed(lambda console: print_study(study, console), width)


def to_html(study: FaultStudy) -> str:
    """Write a study as one HTML page that loads nothing and is readable without its scripts."""
    return _rendered("faults.html.jinja", study, ("Over fault rates", "Points"))


def to_section(study: FaultStudy) -> str:
    """Write a study as sections for another page with the shared style sheets."""
    return _rendered("study.html.jinja", study, ("Faults over their rates", "Faults, point by point"))


def _rendered(template: str, study: FaultStudy, headings: tuple[str, str]) -> str:
    return render_page(
        SHARED,
        template,
        study=study,
        version=study.version,
        script=page_script("tables", "saves"),
        data=saved_forms("faults", to_dict(study), to_csv(study), "all points"),
        headings=headings,
        findings=findings(study),
        table=study_table(study),
        picture=to_drawing(study),
        narrow_picture=to_drawing(study, narrow=True),
    )


def to_notebook(study: FaultStudy) -> str:
    """Write curves and table of a study as HTML for a notebook: ``<img>`` and ``<table>``, with all names escaped."""
    return inline_image(to_svg(study)) + study_table(study).html(headline(study), names=NAMES)


# Findings of a fault study, in sentences per kind of fault.
def findings(study: FaultStudy) -> dict[str, tuple[str, ...]]:
    """Return the findings of a study as sentences, by kind of fault."""
    found = {}
    for kind in study.kinds:
        points = [point for point in study.points if point.kind == kind]
        said = tuple(f"{text}." for text in (_harmless(points), _worst(points), _silent(points)) if text)
        if said:
            found[kind] = said
    return found


def _harmless(points: Sequence[FaultPoint]) -> str:
    """State the highest rate, if above 0, up to which no chip has an output error, and whether anything was struck."""
    wrong = [point.rate for point in points if point.error.value > 0]
    right = [point for point in points if point.rate > 0 and (not wrong or point.rate < min(wrong))]
    if not right:
        return ""
    what = "No output error" if any(point.struck for point in right) else "Nothing was struck, so no output error,"
    highest = max(point.rate for point in right)
    return f"{what} up to {percent(highest)}" + ("" if wrong else ", the highest rate")


def _worst(points: Sequence[FaultPoint]) -> str:
    """State the least and the greatest error at the highest rate."""
    highest = max(point.rate for point in points)
    last = sorted((point for point in points if point.rate == highest), key=lambda point: point.error.value)
    if not last[-1].error.value:
        return ""
    least, most = last[0], last[-1]
    text = f"At {percent(highest)} an output error of {_estimate(least.error)} for {least.curve}"
    return text if least is most else f"{text}, of {_estimate(most.error)} for {most.curve}"


def _silent(points: Sequence[FaultPoint]) -> str:
    """State the least rate at which some chips have no response."""
    silent = [point for point in points if point.no_response.value > 0]
    if not silent:
        return ""
    first = min(silent, key=lambda point: (point.rate, -point.no_response.value))
    most = max(silent, key=lambda point: point.no_response.value)
    return f"Chips without a response from {percent(first.rate)} on, {percent(most.no_response.value)} at most"


# Curves over fault rates: one panel per kind of fault, one line with intervals per pattern and execution.


_ABREAST = 3
# Upper limits of an axis of fractions.
_STEPS = (0.01, 0.02, 0.04, 0.08, 0.12, 0.16, 0.2, 0.24, 0.28, 0.32, 0.4, 0.6, 0.8, 1.0)
_Figure = Callable[[FaultPoint], Estimate | None]


def to_drawing(study: FaultStudy, *, narrow: bool = False) -> str:
    """Draw output error, and accuracy if there are labels, over the rates."""
    points = study.points
    # intervals of few seeds may extend far beyond 1.25 times the mean, and are cut off there
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
    """Draw the curves as an SVG file with inline style; see :func:`to_drawing`."""
    return standalone(to_drawing(study))
