"""The table of a sweep as texts: headers with their units, and a row of cells for every chip."""

from __future__ import annotations

from textwrap import fill

from neuromap.forms.numbers import joules, plain, seconds
from neuromap.forms.tables import Column
from neuromap.hardware.chip.chip_figures import figure_text
from neuromap.sweep.chip_sweep import ChipSweep, SweepColumn, SweepRow

__all__ = ["cell", "headline", "sweep_cells"]

_HEADER_WIDTH = 14


def headline(sweep: ChipSweep) -> str:
    """Say what was mapped onto how many chips, and on how many it fits."""
    fit = f"{sweep.n_fitting} of {sweep.n_chips} chips"
    what = f" ({sweep.what})" if sweep.what else ""
    return f"{sweep.network}{what} on {sweep.chip.name} with other {', '.join(sweep.parameters)}: fits {fit}"


def sweep_cells(sweep: ChipSweep) -> tuple[list[Column], list[list[str]]]:
    """Give columns and rows of the table."""
    columns = [
        *(Column(name.replace(".", ".\n")) for name in sweep.parameters),
        *(Column(title, left=True, wraps=True) for title in sweep.label_titles),
        *(Column(_header(column)) for column in sweep.columns),
        Column("fits", left=True, wraps=True, least=8),
    ]
    return columns, [_cells(sweep, row) for row in sweep.rows]


def cell(column: SweepColumn, row: SweepRow) -> str:
    """Write a figure of a row; ticks with their time, ``-`` where it is not known."""
    value = row.figures.get(column.key)
    if column.unit == "ticks" and value is not None:
        return f"{plain(value)} = {seconds(row.seconds_of(column.key))}"
    if column.unit == "yes":
        return "-" if value is None else "yes" if value else "no"
    return joules(value) if column.unit == "J" else plain(value)


def _cells(sweep: ChipSweep, row: SweepRow) -> list[str]:
    figures = (cell(column, row) for column in sweep.columns)
    return [*map(figure_text, row.values), *row.labels, *figures, row.reason or "yes"]


def _header(column: SweepColumn) -> str:
    unit = {"ticks": "\n[ticks = time]"}.get(column.unit, "")
    return fill(column.title, _HEADER_WIDTH) + unit
