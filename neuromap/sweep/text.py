"""A sweep as one self-contained HTML page, and as a table in a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill
from typing import TYPE_CHECKING

from neuromap.files.messages import counted
from neuromap.forms.card import html_table
from neuromap.forms.inline_image import inline_image
from neuromap.forms.numbers import joules, plain, seconds
from neuromap.forms.page import data_block, page_environment, page_script
from neuromap.forms.standalone_svg import standalone
from neuromap.forms.tables import Column, print_blocks, print_text, printed
from neuromap.hardware.chip.chip_file import figure_text
from neuromap.sweep.chip_sweep import ChipSweep, SweepColumn, SweepRow
from neuromap.sweep.draw_lines import LinePanel, LinePoint, draw_lines

if TYPE_CHECKING:
    from rich.console import Console


def to_html(sweep: ChipSweep) -> str:
    """Write a sweep as one HTML page; it loads nothing, and can be read without its scripts."""
    from markupsafe import Markup

    columns, rows = sweep_cells(sweep)
    drawn = draw_sweep(sweep)
    return (
        page_environment("neuromap.sweep")
        .get_template("sweep.html.jinja")
        .render(
            sweep=sweep,
            script=page_script("tables", "saves"),
            data=[
                data_block("sweep.json", "the data as JSON", sweep.to_dict()),
                data_block("sweep.csv", "all rows as CSV", sweep.to_csv()),
            ],
            headline=headline(sweep),
            findings=findings(sweep),
            columns=columns,
            rows=list(zip(sweep.rows, rows, strict=True)),
            n_names=len(sweep.parameters) + len(sweep.label_titles),
            picture=None if drawn is None else Markup(drawn),
        )
    )


def to_notebook(sweep: ChipSweep) -> str:
    """Write picture and table of a sweep as HTML for a notebook: ``<img>`` and ``<table>``, all names escaped."""
    columns, rows = sweep_cells(sweep)
    drawn = draw_sweep(sweep)
    image = "" if drawn is None else inline_image(standalone(drawn))
    return image + html_table(headline(sweep), columns, rows, names=len(sweep.parameters) + len(sweep.label_titles))


# Figures of a sweep over the first figure of the chip, a line for every combination of the others.
def draw_sweep(sweep: ChipSweep) -> str | None:
    """Draw a panel for every figure that is to be drawn."""
    # gives one ``<svg>`` element, whose axes of figures start at 0; ``None`` where no row fits
    panels = [LinePanel(c.key, c.title, c.unit) for c in sweep.columns if c.is_drawn]
    return draw_lines(sweep.parameters[0], panels, _lines(sweep))


def _lines(sweep: ChipSweep) -> dict[str, list[LinePoint]]:
    """Share the rows out by all that tells them apart but the first figure."""
    found: dict[str, list[LinePoint]] = {}
    for row in sweep.rows:
        others = zip(sweep.parameters[1:], row.values[1:], strict=True)
        name = ", ".join([*(f"{name} = {figure_text(value)}" for name, value in others), *row.labels])
        found.setdefault(name, []).append(LinePoint(figure_text(row.values[0]), row.figures, row.reason))
    return found


# What a sweep found, in sentences: where it fits, and on which chips each figure is least and greatest.
def findings(sweep: ChipSweep) -> dict[str, tuple[str, ...]]:
    """Say what a sweep found."""
    refused = [row for row in sweep.rows if not row.fits]
    fit = "every chip" if sweep.n_fitting == sweep.n_chips else f"{sweep.n_fitting} of {counted(sweep.n_chips, 'chip')}"
    found = [f"Fits {fit}" + (f"; not with {_chip(sweep, refused[0])}: {refused[0].reason}" if refused else "")]
    found += [said for column in sweep.columns if column.is_drawn if (said := _extent(sweep, column))]
    return {"Findings": tuple(f"{text}." for text in found)}


def _extent(sweep: ChipSweep, column: SweepColumn) -> str:
    """Say the least and the greatest value of a figure and where; nothing where it is not known of any row."""
    known: dict[float, list[SweepRow]] = {}
    for row in sweep.rows:
        value = row.figures.get(column.key) if column.unit != "ticks" else row.seconds_of(column.key)
        if row.fits and value is not None:
            known.setdefault(value, []).append(row)
    if not known:
        return ""
    least, most = known[min(known)], known[max(known)]
    title = column.title[:1].upper() + column.title[1:]
    if least is most:
        every = " in every row that fits" if len(least) > 1 else ""
        return f"{title}: {_value(column, least[0])}{every}"
    ends = (f"{_value(column, rows[0])} with {_where(sweep, rows)}" for rows in (least, most))
    return f"{title}: {', up to '.join(ends)}"


def _value(column: SweepColumn, row: SweepRow) -> str:
    if column.unit == "ticks":
        ticks = row.figures[column.key]
        return f"{plain(ticks)} tick{'' if ticks == 1 else 's'} ({seconds(row.seconds_of(column.key))})"
    return cell(column, row)


def _where(sweep: ChipSweep, rows: Sequence[SweepRow]) -> str:
    more = f" and {counted(len(rows) - 1, 'more row')}" if len(rows) > 1 else ""
    return _chip(sweep, rows[0]) + more


def _chip(sweep: ChipSweep, row: SweepRow) -> str:
    """Name a row by the figures that were set, and by its labels."""
    figures = (f"{name} = {figure_text(value)}" for name, value in zip(sweep.parameters, row.values, strict=True))
    labels = f" ({', '.join(row.labels)})" if row.labels else ""
    return ", ".join(figures) + labels


# A sweep as people read it in a terminal: one table, and what its figures hold for.


def print_sweep(sweep: ChipSweep, console: Console) -> None:
    """Print the table, in several parts where the console is narrow."""
    print_text(console, headline(sweep))
    columns, rows = sweep_cells(sweep)
    names = range(len(sweep.parameters) + len(sweep.label_titles))
    styles = ["green" if row.fits else "yellow" for row in sweep.rows]
    print_blocks(console, columns, rows, styles, names)
    for note in sweep.notes:
        print_text(console, note)


def render_text(sweep: ChipSweep, width: int = 160) -> str:
    """Print the sweep into a string."""
    return printed(lambda console: print_sweep(sweep, console), width)


# The table of a sweep as texts: headers with their units, and a row of cells for every chip.
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
