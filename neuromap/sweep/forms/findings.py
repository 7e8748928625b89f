"""What a sweep found, in sentences: where it fits, and on which chips each figure is least and greatest."""

from __future__ import annotations

from collections.abc import Sequence

from neuromap.files.messages import counted
from neuromap.forms.numbers import plain, seconds
from neuromap.hardware.chip.chip_figures import figure_text
from neuromap.sweep.chip_sweep import ChipSweep, SweepColumn, SweepRow
from neuromap.sweep.forms.cells import cell

__all__ = ["findings"]


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
