"""Forms of an accuracy: text, JSON, CSV."""

from __future__ import annotations

from collections.abc import Mapping

from neuromap.arrays.read_only_mapping import ReadOnlyMapping

__all__ = ["FORMS"]

FORMS: Mapping[str, Mapping[str, str]] = ReadOnlyMapping(
    {
        "Accuracy": {
            "csv": "csv_accuracy.to_csv",
            "dict": "json_accuracy.to_dict",
            "json": "json_accuracy.to_json",
            "text": "text.render_text",
        }
    }
)
