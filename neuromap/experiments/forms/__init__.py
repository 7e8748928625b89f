"""Forms of an experiment's result: text, JSON, CSV, a figure."""

from __future__ import annotations

from collections.abc import Mapping

from neuromap.arrays.read_only_mapping import ReadOnlyMapping

__all__ = ["FORMS"]

FORMS: Mapping[str, Mapping[str, str]] = ReadOnlyMapping(
    {
        "ExperimentResult": {
            "csv": "csv_experiment.to_csv",
            "dict": "json_experiment.to_dict",
            "json": "json_experiment.to_json",
            "svg": "figure.to_svg",
            "text": "text.render_text",
        }
    }
)
