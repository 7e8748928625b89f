"""Forms of a study of faults: text, JSON, CSV."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from neuromap.faults.confidence import LEVEL, Estimate
from neuromap.faults.fault_study import FaultPoint, FaultRun, FaultStudy
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
from neuromap.render.table import Column, Table, csv_text, print_findings, print_rest, print_text, printed

if TYPE_CHECKING:
    from rich.console import Console

NAMES = 3
"""Columns that name a row."""
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
to_dict = DOCUMENT.of
"""Give it as plain values; rates, errors and accuracies are parts of one, times in ticks."""


def to_csv(study: FaultStudy) -> str:
    """Write the points of a study as CSV (RFC 4180)."""
    return csv_text([_line(point) for point in study.points])


def _line(point: FaultPoint) -> dict[str, Any]:
    return {
        "fault": point.kind,
        "rate": point.rate,
        "pattern": point.pattern,
        "execution": point.execution,
        "seeds": point.seeds,
        "struck": point.struck,
        "at_risk": point.at_risk,
        **_ends("output_error", point.error),
        "lost": point.lost,
        "added": point.added,
        **_ends("no_response", point.no_response),
        "first_response_ticks": point.first_response_ticks,
        "first_response_low_ticks": point.first_response_low_ticks,
        "first_response_high_ticks": point.first_response_high_ticks,
        **_ends("accuracy", point.accuracy),
    }


def _ends(name: str, found: Estimate | None) -> dict[str, float | None]:
    values = (None, None, None) if found is None else (found.value, found.low, found.high)
    return dict(zip((name, f"{name}_low", f"{name}_high"), values, strict=True))


def headline(study: FaultStudy) -> str:
    """Say what was struck, and by how many seeds."""
    return f"{study.network} on {study.chip}: faults of {counted(study.seeds, 'seed')} at every rate"


def percent(value: float) -> str:
    """Write a part of one in per cent."""
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
    """Give a row for every point, with a sentence each on what the figures are."""
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


def print_study(study: FaultStudy, console: Console, found: tuple[str, ...] = (), *, every: bool = True) -> None:
    """Print the table, in several parts where the console is narrow; or what was found and is read first of it."""
    print_text(console, headline(study))
    table = study_table(study)
    if every:
        table.print(console)
        for note in table.notes:
            print_text(console, note)
    else:
        print_findings(console, found, len(found))
        table.print(console, brief=True)
        print_rest(console, [*table.left_out(console.width), "what the columns mean"], "--all, --html FILE or --json")


def render_text(study: FaultStudy, width: int = 160) -> str:
    """Print the study into a string."""
    return printed(lambda console: print_study(study, console), width)
