"""Traces for other tools: timelines, spike trains, spike files (``docs/traces.md``)."""
