"""Forms of an import: text, JSON."""

from __future__ import annotations

from collections.abc import Mapping

from neuromap.arrays.read_only_mapping import ReadOnlyMapping

__all__ = ["FORMS"]

FORMS: Mapping[str, Mapping[str, str]] = ReadOnlyMapping(
    {"Imported": {"dict": "json_imported.to_dict", "json": "json_imported.to_json", "text": "text.render_text"}}
)
