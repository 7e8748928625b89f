"""Verification, measured responses and the latency report, with its table, JSON, CSV, HTML and picture forms.

The names below are imported on first use. ``verify`` and ``usage`` are functions of the modules of their name;
``neuromap.verify`` is the function.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

_HOMES = {
    "LatencyReport": "latency",
    "MeasuredResponse": "wave",
    "ReportRow": "row",
    "RunFigures": "run_figures",
    "Usage": "usage",
    "Verification": "verify",
    "first_difference": "observe",
    "latency_report": "latency",
    "measure": "wave",
    "render_text": "text",
    "report_on_program": "latency",
    "report_row": "row",
    "report_schema": "json_report",
    "require_verified": "verify",
    "save_pictures": "pictures",
    "to_csv": "csv_report",
    "to_dict": "json_report",
    "to_html": "html",
    "to_json": "json_report",
}

__all__ = [
    "LatencyReport",
    "MeasuredResponse",
    "ReportRow",
    "RunFigures",
    "Usage",
    "Verification",
    "first_difference",
    "latency_report",
    "measure",
    "render_text",
    "report_on_program",
    "report_row",
    "report_schema",
    "require_verified",
    "save_pictures",
    "to_csv",
    "to_dict",
    "to_html",
    "to_json",
]

if TYPE_CHECKING:
    from neuromap.report.csv_report import to_csv
    from neuromap.report.html import to_html
    from neuromap.report.json_report import report_schema, to_dict, to_json
    from neuromap.report.latency import LatencyReport, latency_report, report_on_program
    from neuromap.report.observe import first_difference
    from neuromap.report.pictures import save_pictures
    from neuromap.report.row import ReportRow, report_row
    from neuromap.report.run_figures import RunFigures
    from neuromap.report.text import render_text
    from neuromap.report.usage import Usage
    from neuromap.report.verify import Verification, require_verified
    from neuromap.report.wave import MeasuredResponse, measure


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
