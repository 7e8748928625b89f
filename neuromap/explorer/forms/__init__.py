"""Forms of an exploration: text, JSON, CSV, pandas, HTML, picture."""

from __future__ import annotations

from collections.abc import Mapping

from neuromap.arrays.read_only_mapping import ReadOnlyMapping

__all__ = ["FORMS"]

FORMS: Mapping[str, Mapping[str, str]] = ReadOnlyMapping(
    {
        "Exploration": {
            "csv": "html.to_csv",
            "dict": "json_form.to_dict",
            "html": "html.to_html",
            "json": "json_form.to_json",
            "notebook": "notebook.to_notebook",
            "svg": "draw_front.standalone_svg",
            "pandas": "html.to_pandas",
            "text": "text.render_text",
        }
    }
)
