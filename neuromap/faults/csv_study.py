"""A study of faults as CSV: one line per point; columns name their units."""

from __future__ import annotations

from typing import Any

from neuromap.faults.confidence import Estimate
from neuromap.faults.fault_study import FaultPoint, FaultStudy
from neuromap.forms.documents import csv_text


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
    if found is None:
        return dict.fromkeys((name, f"{name}_low", f"{name}_high"))
    return {name: found.value, f"{name}_low": found.low, f"{name}_high": found.high}
