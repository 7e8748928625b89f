"""A table of runs, and a figure over parameters, as people read them in a terminal."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum
from textwrap import fill
from typing import TYPE_CHECKING, NamedTuple

from neuromap.errors import InputError
from neuromap.files.messages import counted, did_you_mean
from neuromap.forms.formed import Formed, form
from neuromap.forms.numbers import joules, plain
from neuromap.forms.tables import Column, print_blocks, print_text, printed
from neuromap.hardware.chip.chip_file import figure_text
from neuromap.rollout.schedule.execution import time_axis
from neuromap.sweep.run_store import RUN_FIGURES, RunFigure
from neuromap.sweep.run_table import RunRow, RunTable
from neuromap.sweep.sweep_spec import SweepRun

if TYPE_CHECKING:
    from rich.console import Console

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


# ``RunsOver``: a figure of runs over one parameter or two, all others taken together.


DEFAULT_FIGURE = "measured_first_response_ticks"
_FIGURES = {figure.key: figure for figure in RUN_FIGURES if figure.unit != "yes"}


class OverPoint(NamedTuple):
    """All runs with the same values of the parameters."""

    values: tuple[str, ...]  # of the parameters; ``"-"`` where the runs have none
    # n_runs, n_known: runs, and those of them whose figure is known
    n_runs: int
    n_known: int
    # mean, least, most: of the figure over these; ``None`` where it is known of none
    mean: float | None
    least: float | None
    most: float | None
    reason: str  # why the first of the others has none; empty where all have one


@dataclass(frozen=True, eq=False)
class RunsOver(Formed):
    """A figure over parameters."""

    _called = "a figure over parameters"

    parameters: tuple[str, ...]  # one or two
    figure: RunFigure  # what is shown
    points: tuple[OverPoint, ...]  # in the order in which their values come up in the table

    def _facts(self) -> dict[str, object]:
        return {"figure": self.figure.key, "over": ", ".join(self.parameters), "points": len(self.points)}

    def to_svg(self) -> str:
        """Draw an SVG file: the first parameter to the right, a line for every value of the second."""
        return str(form(self, "svg"))

    def to_text(self, width: int = 160) -> str:
        """Table as it is printed in a terminal."""
        return str(form(self, "text", width))


def runs_over(table: RunTable, parameters: Sequence[str], figure: str = DEFAULT_FIGURE) -> RunsOver:
    """Take all runs with the same values of some parameters together.

    Parameters
    ----------
    table : RunTable
        The runs.
    parameters : sequence of str
        One or two of :attr:`RunTable.parameters`.
    figure : str
        Key of a figure of :data:`neuromap.sweep.run_store.RUN_FIGURES` that is a number.

    Returns
    -------
    RunsOver
        Mean, least and most of the figure for every pair of values.

    Raises
    ------
    InputError
        If there is no such parameter or figure, or the parameters are not one or two.
    """
    if figure not in _FIGURES:
        raise InputError(
            f"figure {figure}: runs have none of this name; allowed are {', '.join(_FIGURES)}"
            + did_you_mean(figure, _FIGURES)
        )
    if len({*parameters}) != len(parameters) or not 1 <= len(parameters) <= 2:
        raise InputError(f"parameters {', '.join(parameters)}: give one or two of {', '.join(table.parameters)}")
    for name in parameters:
        if name not in table.parameters:
            raise InputError(
                f"parameter {name}: the runs have none of this name; allowed are {', '.join(table.parameters)}"
                + did_you_mean(name, table.parameters)
            )
    groups: dict[tuple[str, ...], list[RunRow]] = {}
    for row in table.rows:
        groups.setdefault(tuple(value_text(table, row, name) for name in parameters), []).append(row)
    points = (_point(values, rows, figure) for values, rows in groups.items())
    return RunsOver(tuple(parameters), _FIGURES[figure], tuple(points))


def value_text(table: RunTable, row: RunRow, parameter: str) -> str:
    """Give the value of a parameter in a row as people read it; ``"-"`` where the row has none."""
    value = table.value(row, parameter)
    if parameter == "mapping":
        return ", ".join(f"{name} {figure_text(told)}" for name, told in json.loads(row.run.mapping).items()) or "-"
    return "-" if value is None else figure_text(value)


def _point(values: tuple[str, ...], rows: list[RunRow], figure: str) -> OverPoint:
    known = [float(row.figures[figure]) for row in rows if figure in row.figures]
    why = (row.outcome.message if row.outcome else "not done yet" for row in rows if figure not in row.figures)
    if not known:
        return OverPoint(values, len(rows), 0, None, None, None, next(why))
    mean = fsum(known) / len(known)
    return OverPoint(values, len(rows), len(known), mean, min(known), max(known), next(why, ""))
