"""Forms of a sweep over figures of a chip: text, JSON, CSV, page, notebook."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any

from neuromap.files.messages import counted
from neuromap.hardware.chip.chip_file import figure_text
from neuromap.render.document import FLAG, OBJECT, TEXT, document, each, record
from neuromap.render.numbers import joules, plain, seconds
from neuromap.render.page import SHARED, data_block, page_script, render_page
from neuromap.render.parts import ANYTHING, COLUMNS
from neuromap.render.plot import Panel, Plot, Point, draw_panels, round_top
from neuromap.render.svg import inline_image, standalone
from neuromap.render.table import Column, Table, csv_text, print_findings, print_rest, print_text, printed
from neuromap.sweep.chip_sweep import ChipSweep, SweepColumn, SweepRow

if TYPE_CHECKING:
    from rich.console import Console

_HEADER_WIDTH = 14
_UNITS = {"": "count", "yes": "true or false"}


def _columns(sweep: ChipSweep) -> list[dict[str, str]]:
    return [{"key": c.key, "title": c.title, "unit": _UNITS.get(c.unit, c.unit)} for c in sweep.columns]


def _rows(sweep: ChipSweep) -> Iterator[dict[str, Any]]:
    for row in sweep.rows:
        yield {
            "chip": row.chip.name,
            "set": dict(zip(sweep.parameters, row.values, strict=True)),
            **dict(zip(sweep.label_titles, row.labels, strict=True)),
            "fits": row.fits,
            "reason": row.reason,
            "message": row.message,
            "cut_short": list(row.cut_short),
            **sweep.documented(row),
        }


_ROW = record(chip=TEXT, set=OBJECT, fits=FLAG, reason=TEXT, message=TEXT, cut_short=each(TEXT))(
    additionalProperties=ANYTHING
)
DOCUMENT = document(
    "chip-sweep",
    neuromap=TEXT(at="version"),
    network=TEXT,
    chip=TEXT(at="chip.name"),
    set=each(TEXT)(at="parameters"),
    columns=COLUMNS(at=_columns),
    notes=each(TEXT),
    rows=each(_ROW.by(dict))(at=_rows),
)
to_dict = DOCUMENT.of
"""Give it as plain values; rows have what was set of the chip in ``set``, labels, and the figures of ``columns``."""


def to_csv(sweep: ChipSweep) -> str:
    """Write a sweep as CSV (RFC 4180)."""
    return csv_text(
        [
            {
                **dict(zip(sweep.parameters, map(figure_text, row.values), strict=True)),
                **dict(zip(sweep.label_titles, row.labels, strict=True)),
                "fits": row.fits,
                "reason": row.reason,
                **sweep.documented(row),
            }
            for row in sweep.rows
        ]
    )


def headline(sweep: ChipSweep) -> str:
    """Say what was mapped onto how many chips, and on how many it fits."""
    fit = f"{sweep.n_fitting} of {sweep.n_chips} chips"
    what = f" ({sweep.what})" if sweep.what else ""
    return f"{sweep.network}{what} on {sweep.chip.name} with other {', '.join(sweep.parameters)}: fits {fit}"


def sweep_table(sweep: ChipSweep) -> Table[SweepRow]:
    """Give a row for every chip: figures that were set, labels, what it takes, and whether it fits."""
    columns = [
        *(_set(k, name) for k, name in enumerate(sweep.parameters)),
        *(_label(k, title) for k, title in enumerate(sweep.label_titles)),
        *(_figure(column, sweep) for column in sweep.columns),
        Column[SweepRow](
            "fits",
            lambda row: row.reason or "yes",
            left=True,
            wraps=True,
            least=8,
            mark=lambda row: "yes" if row.fits else "why",
        ),
    ]
    names = range(len(sweep.parameters) + len(sweep.label_titles))
    style = {True: "green", False: "yellow"}
    return Table(columns, sweep.rows, "All rows", names, lambda row: style[row.fits], is_edged=True, notes=sweep.notes)


def _set(k: int, name: str) -> Column[SweepRow]:
    return Column(name.replace(".", ".\n"), lambda row: figure_text(row.values[k]))


def _label(k: int, title: str) -> Column[SweepRow]:
    return Column(title, lambda row: row.labels[k], left=True, wraps=True)


def _figure(column: SweepColumn, sweep: ChipSweep) -> Column[SweepRow]:
    in_time = any(not row.chip.is_timed or row.seconds_of(column.key) is not None for row in sweep.rows)
    unit = f"\n[ticks{' = time' if in_time else ''}]" if column.unit == "ticks" else ""
    return Column(fill(column.title, _HEADER_WIDTH) + unit, lambda row: _cell(column, row), rank=_rank(column))


def _rank(column: SweepColumn) -> int:
    return 1 if column.is_drawn or column.unit in ("J", "yes") else 2


def _cell(column: SweepColumn, row: SweepRow) -> str:
    """Write a figure of a row; ticks with their time, ``-`` where it is not known."""
    value = row.figures.get(column.key)
    if column.unit == "ticks" and value is not None:
        time = row.seconds_of(column.key)
        return plain(value) if time is None else f"{plain(value)} = {seconds(time)}"
    if column.unit == "yes":
        return "-" if value is None else "yes" if value else "no"
    return joules(value) if column.unit == "J" else plain(value)


def print_sweep(sweep: ChipSweep, console: Console, *, every: bool = True) -> None:
    """Print the table, in several parts where the console is narrow; or what is read first of it."""
    print_text(console, headline(sweep))
    table = sweep_table(sweep)
    if not every:
        print_findings(console, [text.rstrip(".") for said in findings(sweep).values() for text in said])
    table.print(console, brief=not every)
    if every:
        for note in sweep.notes:
            print_text(console, note)
    else:
        print_rest(console, [*table.left_out(console.width), "what the columns mean"], "--all, --html FILE or --json")


def render_text(sweep: ChipSweep, width: int = 160) -> str:
    """Print the sweep into a string."""
    return printed(lambda console: print_sweep(sweep, console), width)


def to_html(sweep: ChipSweep) -> str:
    """Write a sweep as one HTML page; it loads nothing, and can be read without its scripts."""
    return render_page(
        SHARED,
        "sweep.html.jinja",
        sweep=sweep,
        version=sweep.version,
        script=page_script("tables", "saves"),
        data=[
            data_block("sweep.json", "the data as JSON", to_dict(sweep)),
            data_block("sweep.csv", "all rows as CSV", to_csv(sweep)),
        ],
        findings=findings(sweep),
        table=sweep_table(sweep),
        picture=_drawing(sweep),
    )


def to_notebook(sweep: ChipSweep) -> str:
    """Write picture and table of a sweep as HTML for a notebook: ``<img>`` and ``<table>``, all names escaped."""
    drawn = _drawing(sweep)
    image = "" if drawn is None else inline_image(standalone(drawn))
    return image + sweep_table(sweep).html(headline(sweep), names=len(sweep.parameters) + len(sweep.label_titles))


def _drawing(sweep: ChipSweep) -> str | None:
    """Draw the main figures over the first figure of the chip, a line for every combination of the others."""
    # gives one ``<svg>`` element, whose axes of figures start at 0; ``None`` where no row fits
    lines: dict[str, list[SweepRow]] = {}
    for row in sweep.rows:
        others = zip(sweep.parameters[1:], row.values[1:], strict=True)
        name = ", ".join([*(f"{name} = {figure_text(value)}" for name, value in others), *row.labels])
        lines.setdefault(name, []).append(row)
    panels = []
    for column in sweep.columns:
        known = [float(row.figures[column.key]) for row in sweep.rows if column.key in row.figures]
        if column.is_drawn and known:
            drawn = {name: [_point(column, name, row) for row in rows] for name, rows in lines.items()}
            unit = f" [{column.unit}]" if column.unit else ""
            panels.append(Panel(column.title + unit, drawn, round_top(max(known))))
    if not panels:
        return None
    titles = " and ".join(column.title for column in sweep.columns if column.is_drawn)
    return draw_panels(Plot(sweep.parameters[0], panels, "line"), f"{titles} over {sweep.parameters[0]}")


def _point(column: SweepColumn, name: str, row: SweepRow) -> Point:
    value, figure = figure_text(row.values[0]), row.figures.get(column.key)
    tip = row.reason if figure is None else ", ".join(filter(None, [value, name, plain(figure)]))
    return Point(value, figure, tip)


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
    there = [row for row in sweep.rows if row.fits and row.figures.get(column.key) is not None]
    in_time = column.unit == "ticks" and all(row.seconds_of(column.key) is not None for row in there)
    for row in there:
        value = row.seconds_of(column.key) if in_time else row.figures[column.key]
        if value is not None:
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
        ticks, time = row.figures[column.key], row.seconds_of(column.key)
        return f"{plain(ticks)} tick{'' if ticks == 1 else 's'}{'' if time is None else f' ({seconds(time)})'}"
    return _cell(column, row)


def _where(sweep: ChipSweep, rows: Sequence[SweepRow]) -> str:
    more = f" and {counted(len(rows) - 1, 'more row')}" if len(rows) > 1 else ""
    return _chip(sweep, rows[0]) + more


def _chip(sweep: ChipSweep, row: SweepRow) -> str:
    """Name a row by the figures that were set, and by its labels."""
    figures = (f"{name} = {figure_text(value)}" for name, value in zip(sweep.parameters, row.values, strict=True))
    labels = f" ({', '.join(row.labels)})" if row.labels else ""
    return ", ".join(figures) + labels
