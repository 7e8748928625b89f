"""What a study of faults found, in sentences: what each kind of fault does at its highest rate, and to whom least."""

from __future__ import annotations

from collections.abc import Sequence

from neuromap.faults.fault_study import FaultPoint, FaultStudy
from neuromap.faults.forms.cells import percent

__all__ = ["findings"]


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
