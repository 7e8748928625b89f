"""Forms of a figure of runs over one or two parameters: text, drawing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuromap.errors import InputError
from neuromap.render.numbers import plain
from neuromap.render.plot import Panel, Plot, Point, draw_panels, round_top
from neuromap.render.svg import standalone
from neuromap.render.table import Column, Table, print_rest, print_text, printed
from neuromap.sweep.grouped_runs import OverPoint, RunsOver
from neuromap.sweep.run_forms import short_message

if TYPE_CHECKING:
    from rich.console import Console


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
