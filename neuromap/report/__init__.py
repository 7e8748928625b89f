"""The latency report, with its table, JSON, CSV, HTML and picture forms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuromap.lazy_names import lazy_names

_HOMES = {
    "LatencyReport": "figures.latency_report",
    "ReportRow": "figures.row",
    "RunFigures": "figures.run_figures",
    "Usage": "figures.usage",
    "latency_report": "latency",
    "render_text": "forms.text",
    "report_on_program": "latency",
    "report_row": "measuring.report_row",
    "report_schema": "forms.json_report",
    "run_sweep": "runs.run_sweep",
    "save_figures": "forms.figure_files",
    "sweep_reports": "report_each",
    "to_csv": "forms.html",
    "to_dict": "forms.json_report",
    "to_html": "forms.html",
    "to_json": "forms.json_report",
}

if TYPE_CHECKING:
    from neuromap.report.figures.latency_report import LatencyReport as LatencyReport
    from neuromap.report.figures.row import ReportRow as ReportRow
    from neuromap.report.figures.run_figures import RunFigures as RunFigures
    from neuromap.report.figures.usage import Usage as Usage
    from neuromap.report.forms.figure_files import save_figures as save_figures
    from neuromap.report.forms.html import to_csv as to_csv
    from neuromap.report.forms.html import to_html as to_html
    from neuromap.report.forms.json_report import report_schema as report_schema
    from neuromap.report.forms.json_report import to_dict as to_dict
    from neuromap.report.forms.json_report import to_json as to_json
    from neuromap.report.forms.text import render_text as render_text
    from neuromap.report.latency import latency_report as latency_report
    from neuromap.report.latency import report_on_program as report_on_program
    from neuromap.report.measuring.report_row import report_row as report_row
    from neuromap.report.report_each import sweep_reports as sweep_reports
    from neuromap.report.runs.run_sweep import run_sweep as run_sweep

__all__ = sorted(_HOMES)
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
