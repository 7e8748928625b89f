"""Forms of a bench: text, JSON."""

from __future__ import annotations

from collections.abc import Mapping

from neuromap.arrays.read_only_mapping import ReadOnlyMapping

__all__ = ["FORMS"]

FORMS: Mapping[str, Mapping[str, str]] = ReadOnlyMapping(
    {
        "BenchReport": {
            "dict": "json_form.bench_to_dict",
            "json": "json_form.bench_to_json",
            "notebook": "notebook.bench_to_notebook",
            "text": "text.bench_to_text",
        }
    }
)
