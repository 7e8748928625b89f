"""Events of the Trace Event Format, as plain values and as a JSON file.

Source: "Trace Event Format" (the document of Chrome's about:tracing, which Perfetto's "Visualizing external trace
formats" refers to): complete events (``X``), counters (``C``), instants (``i``), names and order of processes and
threads (``M``). Times are in microseconds.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

Event = dict[str, Any]
_DIGITS = 3
"""Of times after the point: viewers count in nanoseconds."""


class Clock(NamedTuple):
    """When ticks are, in microseconds with three digits after the point.

    Attributes
    ----------
    tick_seconds : float
        Length of a tick.
    """

    tick_seconds: float

    def start(self, tick: int) -> float:
        """Begin of a tick."""
        return round(tick * self.tick_seconds * 1e6, _DIGITS)

    def length(self, tick: int) -> float:
        """From its begin to the next one's, so that slices of ticks in a row meet and never overlap."""
        return round(self.start(tick + 1) - self.start(tick), _DIGITS)


def name_process(pid: int, name: str) -> list[Event]:
    """Name a process; processes are shown in the order of their numbers."""
    return [_meta("process_name", pid, 0, name=name), _meta("process_sort_index", pid, 0, sort_index=pid)]


def name_thread(pid: int, tid: int, name: str) -> list[Event]:
    """Name a thread; threads of a process are shown in the order of their numbers."""
    return [_meta("thread_name", pid, tid, name=name), _meta("thread_sort_index", pid, tid, sort_index=tid)]


def slice_of(clock: Clock, tick: int, pid: int, tid: int, name: str, says: Mapping[str, Any]) -> Event:
    """Make a slice of one tick on a thread."""
    return {
        "ph": "X", "name": name, "ts": clock.start(tick), "dur": clock.length(tick), "pid": pid, "tid": tid,
        "args": dict(says),
    }  # fmt: skip


def instant(clock: Clock, tick: int, pid: int, tid: int, name: str, says: Mapping[str, Any]) -> Event:
    """Make a mark on a thread at the begin of a tick."""
    return {
        "ph": "i", "s": "t", "name": name, "ts": clock.start(tick), "pid": pid, "tid": tid, "args": dict(says)
    }  # fmt: skip


def counter(clock: Clock, tick: int, pid: int, name: str, unit: str, value: int) -> Event:
    """Give a counter a value from the begin of a tick on."""
    return {"ph": "C", "name": name, "ts": clock.start(tick), "pid": pid, "args": {unit: value}}


def trace_text(events: Iterable[Event], about: Mapping[str, Any]) -> str:
    """Write events as a JSON file.

    Parameters
    ----------
    events : iterable of dict
        Of the functions above.
    about : mapping
        What is said of all of them, as the member ``otherData``.

    Returns
    -------
    str
        One event a line.
    """
    lines = ",\n".join(json.dumps(event, allow_nan=False, separators=(",", ":")) for event in events)
    said = json.dumps(dict(about), allow_nan=False)
    return f'{{"displayTimeUnit":"ms","otherData":{said},"traceEvents":[\n{lines}\n]}}\n'


def _meta(what: str, pid: int, tid: int, **says: Any) -> Event:
    return {"ph": "M", "name": what, "ts": 0, "pid": pid, "tid": tid, "args": says}
