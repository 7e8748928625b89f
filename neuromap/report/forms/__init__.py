"""Forms of the latency report: text, JSON, CSV, pandas, HTML, figures."""

from __future__ import annotations

from collections.abc import Mapping

from neuromap.arrays.read_only_mapping import ReadOnlyMapping

__all__ = ["FORMS"]

FORMS: Mapping[str, Mapping[str, str]] = ReadOnlyMapping(
    {
        "LatencyReport": {
            "csv": "html.to_csv",
            "dict": "json_report.to_dict",
            "html": "html.to_html",
            "json": "json_report.to_json",
            "notebook": "notebook.to_notebook",
            "figures": "figure_files.save_figures",
            "pandas": "html.to_pandas",
            "text": "text.render_text",
        }
    }
)
