"""Forms of imports and exports: text, JSON, page."""

from __future__ import annotations

from collections.abc import Mapping

from neuromap.arrays.read_only_mapping import ReadOnlyMapping

__all__ = ["FORMS"]

FORMS: Mapping[str, Mapping[str, str]] = ReadOnlyMapping(
    {
        "Exported": {
            "dict": "exported_forms.to_dict",
            "json": "exported_forms.to_json",
            "text": "exported_forms.render_text",
        },
        "Imported": {
            "dict": "html.to_dict",
            "html": "html.to_html",
            "json": "html.to_json",
            "notebook": "html.to_notebook",
            "text": "text.render_text",
        },
    }
)
