"""Forms of what a run of Brian2 took on the chip: text, JSON."""

from __future__ import annotations

from collections.abc import Mapping

from neuromap.arrays.read_only_mapping import ReadOnlyMapping

__all__ = ["FORMS"]

FORMS: Mapping[str, Mapping[str, str]] = ReadOnlyMapping(
    {"ChipReport": {"dict": "json_report.to_dict", "json": "json_report.to_json", "text": "text.render_text"}}
)
