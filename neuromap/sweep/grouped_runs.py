"""``RunsOver``: a figure of runs over one or two parameters, aggregated over all others, as text and drawing."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum
from typing import TYPE_CHECKING, NamedTuple

from neuromap.errors import InputError
from neuromap.files.messages import did_you_mean
from neuromap.hardware.chip.chip_file import figure_text
from neuromap.render.numbers import plain
from neuromap.render.plot import Panel, Plot, Point, draw_panels, round_top
from neuromap.render.svg import standalone
from neuromap.render.table import Column, Table, print_rest, print_text, printed
from neuromap.render.value import Drawn, Printed
from neuromap.sweep.run_store import RUN_FIGURES, RunFigure, RunRow, RunTable

if TYPE_CHECKING:
    from rich.console import Console

DEFAULT_FIGURE = "measured_first_response_ticks"
_FIGURES = {figure.key: figure for figure in RUN_FIGURES if figure.unit != "yes"}


class OverPoint(NamedTuple):
    """All runs with the same values of the parameters."""

    values: tuple[str, ...]  # values of the parameters; ``"-"`` if the runs have none
    # n_runs, n_known: number of runs, and of runs whose figure is known
    n_runs: int
    n_known: int
    # mean, least, most: of the known figures; ``None`` if there are none
    mean: float | None
    least: float | None
    most: float | None
    reason: str  # why the first run without the figure has none; empty if all have one


@dataclass(frozen=True, eq=False)
class RunsOver(Drawn, Printed):
    """A figure over parameters."""

    _called = "a figure over parameters"
    _forms = ("neuromap.sweep.grouped_runs",)

    parameters: tuple[str, ...]  # one or two
    figure: RunFigure  # the figure shown
    points: tuple[OverPoint, ...]  # in order of first appearance in the table

    def _facts(self) -> dict[str, object]:
        return {"figure": self.figure.key, "over": ", ".join(self.parameters), "points": len(self.points)}


def runs_over(table: RunTable, parameters: Sequence[str], figure: str = DEFAULT_FIGURE) -> RunsOver:
    """Aggregate runs with equal values of some parameters.

    Parameters
    ----------
    table : RunTable
        The runs.
    parameters : sequence of str
        One or two of :attr:`RunTable.parameters`.
    figure : str
        Key of a numeric figure of :data:`neuromap.sweep.run_store.RUN_FIGURES`.

    Returns
    -------
    RunsOver
        Mean, least and greatest figure for every combination of values.

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
    """Return the value of a parameter in a row as text; ``"-"`` if the row has none."""
    value = table.value(row, parameter)
    if parameter == "mapping":
        return ", ".join(f"{name} {figure_text(told)}" for name, told in json.loads(row.run.mapping).items()) or "-"
    return "-" if value is None else figure_text(value)


def short_message(message: str) -> str:
    """Return a message without its remedies, which documents include."""
    return message.partition("; ")[0]


def _point(values: tuple[str, ...], rows: list[RunRow], figure: str) -> OverPoint:
    known = [float(row.figures[figure]) for row in rows if figure in row.figures]
    why = (row.outcome.message if row.outcome else "not done yet" for row in rows if figure not in row.figures)
    if not known:
        return OverPoint(values, len(rows), 0, None, None, None, next(why))
    mean = fsum(known) / len(known)
    return OverPoint(values, len(rows), len(known), mean, min(known), max(known), next(why, ""))


# Forms of a figure of runs over one or two parameters: text, drawing.


def print_over(over: RunsOver, console: Console, *, every: bool = True) -> None:
    """Print mean, least and greatest figure for every combination of values."""
    unit = f" [{over.figure.unit}]" if over.figure.unit else ""
    print_text(console, f"{over.figure.title}{unit} over {', '.join(over.parameters)}")
    columns = [
        *(_value(k, name) for k, name in enumerate(over.parameters)),
        Column[OverPoint]("runs", lambda point: str(point.n_runs)),
        Column[OverPoint]("known", lambda point: str(point.n_known)),
        Column[OverPoint](f"mean{unit}", lambda point: plain(point.mean)),
        Column[OverPoint](f"least{unit}", lambda point: plain(point.least)),
        Column[OverPoint](f"most{unit}", lambda point: plain(point.most)),
        Column[OverPoint](
            "of the others", lambda point: short_message(point.reason) or "-", left=True, wraps=True, least=8
        ),
    ]
    table = Table(columns, over.points, "", range(len(over.parameters)), lambda point: "yellow", is_edged=True)
    table.print(console, brief=not every)
    if left := [] if every else table.left_out(console.width):
        print_rest(console, left, "--all or --json")


def _value(k: int, name: str) -> Column[OverPoint]:
    return Column(name.replace(".", ".\n"), lambda point: point.values[k], left=True)


def render_text(over: RunsOver, width: int = 160) -> str:
    """Write a figure over parameters as text without colours, ``width`` columns wide."""
    return printed(lambda console: print_over(over, console), width)


def to_svg(over: RunsOver) -> str:
    """Draw a figure over its parameters."""
    known = [point.mean for point in over.points if point.mean is not None]
    if not known:
        raise InputError(f"figure {over.figure.key}: is known of no run, so there is nothing to draw; choose another")
    lines: dict[str, list[Point]] = {}
    for point in over.points:
        name = "" if len(over.parameters) == 1 else f"{over.parameters[1]} = {point.values[1]}"
        told = ", ".join(filter(None, [point.values[0], name, plain(point.mean)]))
        tip = point.reason if point.mean is None else told
        lines.setdefault(name, []).append(Point(point.values[0], point.mean, tip))
    title = f"{over.figure.title}, mean over runs"
    unit = f" [{over.figure.unit}]" if over.figure.unit else ""
    plot = Plot(over.parameters[0], [Panel(title + unit, lines, round_top(max(known)))], "line")
    return standalone(draw_panels(plot, f"{title} over {over.parameters[0]}"))
