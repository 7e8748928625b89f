"""The latency report as a table in a notebook."""

from __future__ import annotations

from neuromap.forms.html_table import html_table
from neuromap.report.figures.latency_report import LatencyReport
from neuromap.report.forms.text import latency_cells, summary_lines

__all__ = ["to_notebook"]


def to_notebook(report: LatencyReport) -> str:
    """Write the table of a report as HTML, responses predicted / measured.

    Parameters
    ----------
    report : LatencyReport
        The report.

    Returns
    -------
    str
        One ``<table>`` element; all names are escaped.
    """
    columns, rows = latency_cells(report)
    return html_table(" ".join(summary_lines(report)[0]), columns, rows, names=2)
