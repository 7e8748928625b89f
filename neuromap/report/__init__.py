"""The latency report, with its table, JSON, CSV, HTML and picture forms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuromap.lazy_names import lazy_names

_HOMES = {
    "LatencyReport": "figures.latency_report",
    "ReportRow": "figures.row",
    "RunFigures": "figures.row",
    "SecondsOverCores": "over_cores",
    "Usage": "figures.row",
    "latency_report": "latency",
    "render_text": "text",
    "report_on_program": "latency",
    "report_row": "measure_row",
    "report_schema": "page",
    "run_sweep": "latency",
    "save_figures": "figure_files",
    "seconds_over_cores": "over_cores",
    "sweep_reports": "latency",
    "to_csv": "page",
    "to_dict": "page",
    "to_html": "page",
    "to_json": "page",
}

if TYPE_CHECKING:
    from neuromap.report.figure_files import save_figures as save_figures
    from neuromap.report.figures.latency_report import LatencyReport as LatencyReport
    from neuromap.report.figures.row import ReportRow as ReportRow
    from neuromap.report.figures.row import RunFigures as RunFigures
    from neuromap.report.figures.row import Usage as Usage
    from neuromap.report.latency import latency_report as latency_report
    from neuromap.report.latency import report_on_program as report_on_program
    from neuromap.report.latency import run_sweep as run_sweep
    from neuromap.report.latency import sweep_reports as sweep_reports
    from neuromap.report.measure_row import report_row as report_row
    from neuromap.report.over_cores import SecondsOverCores as SecondsOverCores
    from neuromap.report.over_cores import seconds_over_cores as seconds_over_cores
    from neuromap.report.page import report_schema as report_schema
    from neuromap.report.page import to_csv as to_csv
    from neuromap.report.page import to_dict as to_dict
    from neuromap.report.page import to_html as to_html
    from neuromap.report.page import to_json as to_json
    from neuromap.report.text import render_text as render_text

__all__ = sorted(_HOMES)
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
