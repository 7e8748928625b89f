"""A table of runs, and a figure over parameters, as people read them in a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill
from typing import TYPE_CHECKING

from neuromap.files.messages import counted
from neuromap.forms.numbers import joules, plain
from neuromap.forms.tables import Column, print_blocks, print_text, printed
from neuromap.rollout.schedule.execution import time_axis
from neuromap.sweep.grouped_runs import OverPoint, RunsOver, value_text
from neuromap.sweep.run_figures import RUN_FIGURES, RunFigure
from neuromap.sweep.run_table import RunRow, RunTable
from neuromap.sweep.sweep_run import SweepRun

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["headline", "print_over", "print_runs", "render_over", "render_text"]

_HEADER_WIDTH = 12
_SHOWN = tuple(figure for figure in RUN_FIGURES if figure.is_shown)
_SEVERAL = {"does not fit": "do not fit"}
_FROM = "times: from stimulus onset, the least first response over all outputs; per frame: in steady operation"


def headline(table: RunTable) -> str:
    """Say how many runs there are, and what became of them."""
    words = ", ".join(f"{n} {_SEVERAL.get(status, status)}" for status, n in table.counts.items())
    mapped = table.counts.get("mapped", 0)
    verified = f"; verified {table.n_verified} of {mapped} mapped" if mapped else ""
    return f"{table.name}: {counted(len(table.rows), 'run')}: {words or 'none'}{verified}"


def print_runs(table: RunTable, console: Console) -> None:
    """Print every run as a line of its main figures; parameters that are the same in all stand above."""
    print_text(console, headline(table))
    if not table.rows:
        return
    names, same = _parameters(table)
    if same:
        print_text(console, f"in all runs: {same}")
    columns = [
        *(Column(name.replace(".", ".\n"), left=True) for name in names),
        *(Column(_header(figure)) for figure in _SHOWN),
        Column("status", left=True, wraps=True, least=8),
    ]
    rows = [_cells(table, row, names) for row in table.rows]
    styles = ["green" if row.figures.get("verified") else "yellow" for row in table.rows]
    print_blocks(console, columns, rows, styles, range(len(names)))
    for note in _notes(table):
        print_text(console, note)


def print_over(over: RunsOver, console: Console) -> None:
    """Print mean, least and most of a figure for every pair of values."""
    unit = f" [{over.figure.unit}]" if over.figure.unit else ""
    print_text(console, f"{over.figure.title}{unit} over {', '.join(over.parameters)}")
    columns = [
        *(Column(name.replace(".", ".\n"), left=True) for name in over.parameters),
        *(Column(name) for name in ("runs", "known", f"mean{unit}", f"least{unit}", f"most{unit}")),
        Column("of the others", left=True, wraps=True, least=8),
    ]
    rows = [_over_cells(point) for point in over.points]
    styles = ["yellow"] * len(rows)
    print_blocks(console, columns, rows, styles, range(len(over.parameters)))


def render_text(table: RunTable, width: int = 160) -> str:
    """Print a table of runs into a string: lines without colours, ``width`` columns."""
    return printed(lambda console: print_runs(table, console), width)


def render_over(over: RunsOver, width: int = 160) -> str:
    """Print a figure over parameters into a string: lines without colours, ``width`` columns."""
    return printed(lambda console: print_over(over, console), width)


def _parameters(table: RunTable) -> tuple[list[str], str]:
    """Tell parameters in which runs differ from those that are the same in all, which need no column."""
    values = {name: {value_text(table, row, name) for row in table.rows} for name in table.parameters}
    same = [f"{name} {next(iter(found))}" for name, found in values.items() if len(found) == 1]
    return [name for name, found in values.items() if len(found) > 1], ", ".join(same)


def _cells(table: RunTable, row: RunRow, names: Sequence[str]) -> list[str]:
    status = "open" if row.outcome is None else _short(row.outcome.message) or row.outcome.status
    figures = (_cell(figure, row.figures.get(figure.key)) for figure in _SHOWN)
    return [*(value_text(table, row, name) for name in names), *figures, status]


def _cell(figure: RunFigure, value: float | bool | None) -> str:
    if figure.unit == "yes":
        return "-" if value is None else "yes" if value else "no"
    return joules(value) if figure.unit == "J" else plain(value)


def _header(figure: RunFigure) -> str:
    unit = f"\n[{figure.unit}]" if figure.unit in ("ticks", "Hz", "s", "W") else ""
    return fill(figure.title, _HEADER_WIDTH) + unit


def _over_cells(point: OverPoint) -> list[str]:
    figures = (plain(figure) for figure in (point.mean, point.least, point.most))
    return [*point.values, str(point.n_runs), str(point.n_known), *figures, _short(point.reason) or "-"]


def _short(message: str) -> str:
    """Give a message without its remedies, which are in the documents."""
    return message.partition("; ")[0]


def _notes(table: RunTable) -> list[str]:
    executions = dict.fromkeys(row.run.execution for row in table.rows)
    stimuli = dict.fromkeys(_stimuli(row.run) for row in table.rows)
    return [*(f"{execution}: {time_axis(execution)}" for execution in executions), _FROM, *stimuli]


def _stimuli(run: SweepRun) -> str:
    """Say what a run was shown, and what of an explored row is known."""
    if run.asked_by == "sweep":
        return f"every run of a sweep: {run.n_frames} random frames of its seed"
    several = f"{run.n_stimuli} stimuli of " if run.n_stimuli > 1 else ""
    frames = "given frames" if run.seed is None else "random frames, of its seed" + (" on" if several else "")
    return f"every row of an exploration: {several}{run.n_frames} {frames}; its times are predicted"
