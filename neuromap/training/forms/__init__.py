"""Forms of a training result: text, JSON, CSV."""

from __future__ import annotations

from collections.abc import Mapping

from neuromap.arrays.read_only_mapping import ReadOnlyMapping

__all__ = ["FORMS"]

FORMS: Mapping[str, Mapping[str, str]] = ReadOnlyMapping(
    {
        "TrainingResult": {
            "csv": "csv_training.to_csv",
            "dict": "json_training.to_dict",
            "json": "json_training.to_json",
            "text": "text.render_text",
        }
    }
)
