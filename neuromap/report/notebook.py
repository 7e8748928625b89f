"""The latency report in a notebook: its picture and its table."""

from __future__ import annotations

from neuromap.forms.html_table import html_table
from neuromap.forms.inline_image import inline_image
from neuromap.forms.standalone_svg import standalone
from neuromap.report.drawings.draw_overview import draw_overview
from neuromap.report.figures.latency_report import LatencyReport
from neuromap.report.text import latency_cells, summary_lines

__all__ = ["to_notebook"]


def to_notebook(report: LatencyReport) -> str:
    """Write picture and table of a report as HTML, responses predicted / measured."""
    columns, rows = latency_cells(report)
    drawn = draw_overview(report)
    picture = "" if drawn is None else inline_image(standalone(drawn))
    return picture + html_table(" ".join(summary_lines(report)[0]), columns, rows, names=2)
