"""Forms of a sweep over figures of a chip: text, JSON, CSV, HTML."""

from __future__ import annotations

from collections.abc import Mapping

from neuromap.arrays.read_only_mapping import ReadOnlyMapping

__all__ = ["FORMS"]

FORMS: Mapping[str, Mapping[str, str]] = ReadOnlyMapping(
    {
        "ChipSweep": {
            "csv": "csv_sweep.to_csv",
            "dict": "json_sweep.to_dict",
            "html": "html.to_html",
            "json": "json_sweep.to_json",
            "notebook": "html.to_notebook",
            "text": "text.render_text",
        }
    }
)
