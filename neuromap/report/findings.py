"""Findings of a report as sentences: which rows answer first and sample most often, and at what cost.

Every sentence compares rows of one execution only, as each execution is a time axis of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from neuromap.accuracy.accuracy import FrameAccuracy, moment_text
from neuromap.arrays.times import Time
from neuromap.files.messages import counted
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.render.numbers import ALIKE, joules, ordinal, percent, plain, seconds
from neuromap.report.figures.latency_report import LatencyReport
from neuromap.report.figures.row import ReportRow
from neuromap.report.text import accuracy_at, accuracy_moments

# Most patterns that a sentence names; further ones are only counted.
_MOST_NAMED = 3


class Finding(NamedTuple):
    """One sentence."""

    execution: str  # the time axis that it is about; empty if it is about all
    text: str  # the sentence
    kind: str  # what it is about


def findings(report: LatencyReport) -> tuple[Finding, ...]:
    """Return the findings of a report."""
    found: list[Finding] = []
    for execution in dict.fromkeys(row.execution for row in report.rows):
        rows = [row for row in report.rows if row.execution == execution and row.status == "mapped"]
        said = [(by, _compared(rows, by, report.chip)) for by in _COMPARISONS]
        found += [Finding(execution, text + by.note(rows), by.kind) for by, text in said if text]
    found += _accuracy(report)
    refused = [row for row in report.rows if row.status != "mapped"]
    if refused:
        first = refused[0]
        names = _names(f"{row.pattern} ({row.execution})" for row in refused)
        why = first.message if first.status == "invalid" else f"{first.pattern} does not fit: {first.message}"
        text = f"{names} {'were' if len(refused) > 1 else 'was'} not mapped; {why}"
        found.append(Finding("", text, "refused"))
    mapped = [row for row in report.rows if row.status == "mapped"]
    if mapped:
        found.append(_verified(mapped))
    return tuple(found)


def leading(report: LatencyReport, most: int = 5) -> list[str]:
    """Summarise a report in a few sentences: comparisons, accuracy, and whether chip and reference agree."""
    found = findings(report)
    last = [*[f for f in found if f.kind == "accuracy"][:1], *(f for f in found if f.kind in ("verified", "wrong"))]
    compared = [f for f in found if f.kind in ("time", "cost")][: most - len(last)]
    return [f"{f.execution}: {f.text}" if f.execution else f.text for f in (*compared, *last)]


class _Comparison(NamedTuple):
    """A figure by which rows of one execution are compared."""

    # ``value`` returns None for rows without one, ``write`` takes a value and the chip, ``{s}`` in the verb is left
    # out for several rows, ``lead`` states how the least is ahead of the others, ``from_when`` what its value counts
    # from, ``note`` is added for all rows. If ticks were timed, values are seconds, as floats.

    kind: str
    value: Callable[[ReportRow], Time | float | None]
    write: Callable[[Any, ChipSpec], str]
    verb: str
    lead: str
    from_when: str = ""
    note: Callable[[Sequence[ReportRow]], str] = lambda rows: ""


def _first_response(row: ReportRow) -> Time | float | None:
    if row.seconds is not None:
        return row.measured.first_response_seconds
    measured = row.measured.first_response_ticks
    return row.predicted.first_response_ticks if measured is None else measured


def _cores(row: ReportRow) -> int | None:
    return None if row.usage is None else row.usage.cores


def _static(rows: Sequence[ReportRow]) -> str:
    """State how much of the energy of rows is static; empty if the chip file does not tell."""
    energies = (row.figures.energy for row in rows if row.figures is not None)
    shares = sorted(share for energy in energies if (share := energy.static_share) is not None)
    if not shares:
        return ""
    least, most = (percent(math.floor(1000 * share + 1e-9) / 1000) for share in (shares[0], shares[-1]))
    if most == "0 %":
        return f"; {'less than 0.1 %' if shares[-1] else 'none'} of it is static"
    return f"; {least if least == most else f'{least} to {most}'} of it is static"


def _frame_period(row: ReportRow) -> Time | float | None:
    if row.seconds is not None:
        return float(row.seconds.frame_period().mean())
    return row.frame_period_ticks


def _time(value: Time | float, chip: ChipSpec) -> str:
    if isinstance(value, float):
        return seconds(value)
    return f"{counted(value, 'tick')} ({seconds(value * chip.tick_seconds)})"


def _every(value: Time | float, chip: ChipSpec) -> str:
    return f"every tick ({seconds(chip.tick_seconds)})" if value == 1 else f"every {_time(value, chip)}"


_COMPARISONS = (
    _Comparison("time", _first_response, _time, "answer{s}", " first:", " after stimulus onset"),
    _Comparison("time", _frame_period, _every, "take{s} a frame", " most often:"),
    _Comparison("cost", _cores, lambda value, chip: counted(value, "core"), "take{s}", " the fewest,"),
    _Comparison(
        "cost",
        lambda row: row.joules_per_frame,
        lambda value, chip: f"{joules(value)} a frame",
        "need{s}",
        " the least energy:",
        note=_static,
    ),
)


def _compared(rows: Sequence[ReportRow], by: _Comparison, chip: ChipSpec) -> str:
    """State which rows have the least value, and those of the others; empty if no row has one."""
    known: dict[Time | float, list[str]] = {}
    written: dict[Time | float, set[Time | float]] = {}
    valued = [(value, row.pattern) for row in rows if (value := by.value(row)) is not None]
    for value, pattern in sorted(valued, key=lambda pair: pair[0]):
        # energies and timed ticks are means over a few stimuli: a difference lost among those, or in three digits,
        # does not count
        measured = isinstance(value, float)
        rounded = float(f"{value:.3g}") if measured else value
        same = next(reversed(known), None)
        if same is None or not (rounded == same or (measured and value <= min(written[same]) * (1 + ALIKE))):
            same = rounded
        known.setdefault(same, []).append(pattern)
        written.setdefault(same, set()).add(value)
    if not known:
        return ""
    least, *others = known
    order = [row.pattern for row in rows]  # as in the report's tables
    known = {value: sorted(patterns, key=order.index) for value, patterns in known.items()}
    best = f"{by.write(least, chip)}{by.from_when}"
    if len(written[least]) > 1:
        part = max(written[least]) / min(written[least]) - 1
        best += f", equal within {percent(ALIKE)}" if part <= ALIKE else ", equal in three digits"
    names = list(dict.fromkeys(known[least]))
    if not others:
        return f"{names[0] if len(names) == 1 else 'every pattern'} {by.verb.format(s='s')} {best}"
    verb = by.verb.format(s="s" if len(names) == 1 else "")
    text = f"{_names(names)} {verb}{by.lead} {best}"
    rest = sum(len(known[value]) for value in others)
    if rest > _MOST_NAMED:
        range_ = dict.fromkeys(by.write(value, chip) for value in (others[0], others[-1]))
        return f"{text}; {rest} others {' to '.join(range_)}"
    return f"{text}; {', '.join(f'{_names(known[value])} {by.write(value, chip)}' for value in others)}"


def _accuracy(report: LatencyReport) -> Iterator[Finding]:
    for execution in dict.fromkeys(row.execution for row in report.rows if row.accuracy is not None):
        rows = [row for row in report.rows if row.accuracy is not None and row.execution == execution]
        at = partial(moment_text, is_timed=report.chip.is_timed)
        starts = [row.accuracy.frames[0].moment for row in rows if row.accuracy is not None]
        begin, end = min(starts), accuracy_moments(report)[-1]
        early = [row for row in rows if row.accuracy is not None and row.accuracy.frames[0].moment == begin]
        most = max(_share(row, begin) for row in early)
        first = list(dict.fromkeys(row.pattern for row in early if _share(row, begin) == most))
        text = f"{at(begin)} {_names(first)} name{'s' * (len(first) == 1)} {_percent(most)} of the images correctly"
        if len(early) < len(rows):
            late = list(dict.fromkeys(row.pattern for row in rows if row not in early))
            text += f", before {_names(late)} {'has' if len(late) == 1 else 'have'} answered"
        frames_trained = report.network.tables.get("training", {}).get("frames")
        best = f"; {_best_ever(rows, end, frames_trained, at)}"
        again = f"; the best is {_percent(most)}, of {_names(first)} {at(begin)}"
        if best == again or best.startswith((f"{again};", f"{again} and ")):  # it was just said
            best = f", the best at any time{best.removeprefix(again).replace(' and falls', '; it falls', 1)}"
        yield Finding(execution, f"{text}{best}", "accuracy")


def _best_ever(rows: Sequence[ReportRow], end: float, trained: object, at: Callable[[float], str]) -> str:
    """State the best accuracy at any time, how far it falls later and why, and the best at the end of the tables."""
    measured = [(row.pattern, row.accuracy.frames) for row in rows if row.accuracy is not None]
    most = max(frame.accuracy for _, frames in measured for frame in frames)
    when = min(frame.moment for _, frames in measured for frame in frames if frame.accuracy == most)
    best = {name: frames for name, frames in measured if (when, most) in ((f.moment, f.accuracy) for f in frames)}
    text = f"the best is {_percent(most)}, of {_names(best)} {at(when)}"
    end = max(end, when)
    falls = {name: last for name, frames in best.items() if (last := _known(frames, end)).accuracy < most}
    if not falls:
        return text
    name, last = min(falls.items(), key=lambda item: item[1].accuracy)
    text += f"{' and' if len(best) == 1 else f'; {name}'} falls to {_percent(last.accuracy)} {at(last.moment)}"
    if isinstance(trained, int) and _known(best[name], when).frame <= trained < last.frame:
        text += f", its {ordinal(last.frame)} frame, where {trained} {'was' if trained == 1 else 'were'} trained"
    at_end = max(_share(row, end) for row in rows)
    leads = [row.pattern for row in rows if _share(row, end) == at_end]
    return text if name in leads else f"{text}; {at(end)} the best is {_percent(at_end)}, of {_names(leads)}"


def _known(frames: Sequence[FrameAccuracy], moment: float) -> FrameAccuracy:
    """Return the last frame that is known at a moment."""
    return next(frame for frame in reversed(frames) if frame.moment <= moment)


def _share(row: ReportRow, moment: float) -> float:
    return 0.0 if row.accuracy is None else accuracy_at(row.accuracy, moment) or 0.0


def _percent(share: float) -> str:
    return f"{plain(round(100 * share, 1))} %"


def _verified(rows: Sequence[ReportRow]) -> Finding:
    wrong = [row for row in rows if not row.verified]
    if not wrong:
        which = "the one mapped row" if len(rows) == 1 else f"all {len(rows)} mapped rows"
        is_graded = rows[0].verification is not None and rows[0].verification.is_graded
        each = "value for value" if is_graded else "spike for spike"
        text = f"in {which} the simulated chip computed exactly what the rollout defines, {each}"
        return Finding("", text, "verified")
    names = _names(f"{row.pattern} ({row.execution})" for row in wrong)
    text = f"chip and reference differ in {names}: {wrong[0].verification.message if wrong[0].verification else ''}"
    return Finding("", text, "wrong")


def _names(names: Iterable[str]) -> str:
    """Join names: ``a``, ``a and b``, ``a, b and c``, ``a, b, c and 4 more``."""
    every = list(dict.fromkeys(names))
    shown = every[:_MOST_NAMED]
    if len(every) > _MOST_NAMED:
        return f"{', '.join(shown)} and {len(every) - _MOST_NAMED} more"
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
