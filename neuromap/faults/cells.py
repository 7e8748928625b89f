"""The table of a study of faults as texts: headers with their units, a row of cells for every point, and notes."""

from __future__ import annotations

from neuromap.faults.confidence import Estimate
from neuromap.faults.fault_model import KINDS
from neuromap.faults.fault_study import FaultPoint, FaultStudy
from neuromap.files.messages import counted
from neuromap.forms.numbers import plain
from neuromap.forms.tables import Column

__all__ = ["NAMES", "headline", "notes", "percent", "study_cells"]

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
