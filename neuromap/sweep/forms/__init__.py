"""Forms of a sweep over figures of a chip, and of a table of runs: text, JSON, CSV, HTML, Parquet, a drawing."""

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
        },
        "RunTable": {
            "csv": "parquet_runs.to_csv",
            "dict": "parquet_runs.to_dict",
            "json": "parquet_runs.to_json",
            "parquet": "parquet_runs.to_parquet",
            "text": "text_of_runs.render_text",
        },
        "RunsOver": {
            "svg": "draw_runs.to_svg",
            "text": "text_of_runs.render_over",
        },
    }
)
