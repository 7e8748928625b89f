"""Forms of a study of faults: text, JSON, CSV, HTML, SVG, and a section of other pages."""

from __future__ import annotations

from collections.abc import Mapping

from neuromap.arrays.read_only_mapping import ReadOnlyMapping

__all__ = ["FORMS"]

FORMS: Mapping[str, Mapping[str, str]] = ReadOnlyMapping(
    {
        "FaultStudy": {
            "csv": "csv_study.to_csv",
            "dict": "json_study.to_dict",
            "drawing": "html.draw_curves",
            "html": "html.to_html",
            "json": "json_study.to_json",
            "notebook": "html.to_notebook",
            "section": "html.to_section",
            "svg": "html.to_svg",
            "text": "text.render_text",
        }
    }
)
