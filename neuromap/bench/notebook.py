"""A bench as a table in a notebook."""

from __future__ import annotations

from neuromap.bench.bench_report import BenchReport
from neuromap.bench.text import machine_line, scaling_columns, scaling_rows
from neuromap.forms.html_table import html_table
from neuromap.forms.tables import Column

__all__ = ["bench_to_notebook"]


def bench_to_notebook(report: BenchReport) -> str:
    """Write the table of a bench as HTML: one row for every program and number of threads; times are wall clock."""
    caption = f"engine {report.engine}; {machine_line(report.machine)}; {report.date}"
    return html_table(caption, [Column(header) for header in scaling_columns()], scaling_rows(report), names=0)
