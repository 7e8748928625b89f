"""Trace events as JSON, which ui.perfetto.dev and other viewers of timelines open (``docs/traces.md``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuromap.lazy_names import lazy_names

_HOMES = {"Clock": "trace_events", "trace_text": "trace_events"}

if TYPE_CHECKING:
    from neuromap.formats.perfetto.trace_events import Clock as Clock
    from neuromap.formats.perfetto.trace_events import trace_text as trace_text

__all__ = sorted(_HOMES)
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
