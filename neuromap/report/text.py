"""The latency report in a notebook: its picture and its table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from neuromap.forms.card import html_table
from neuromap.forms.formed import form
from neuromap.forms.inline_image import inline_image
from neuromap.forms.numbers import mean_period_lines, plain, seconds, short_count
from neuromap.forms.standalone_svg import standalone
from neuromap.forms.tables import Column, block_table, columns_in_blocks, printed
from neuromap.hardware.program.ports import left_out_line
from neuromap.report.drawings.draw_overview import draw_overview
from neuromap.report.figures.latency_report import LatencyReport
from neuromap.report.figures.row import ReportRow, copies_line
from neuromap.report.findings import accuracy_cells, accuracy_line, accuracy_ticks
from neuromap.report.run_text import RunColumn, run_columns, run_lines
from neuromap.rollout.schedule.execution import time_axis
from neuromap.rollout.schedule.reaction_note import reaction_note
from neuromap.simulation.choose_frames import describe_frames

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


def to_notebook(report: LatencyReport) -> str:
    """Write picture and table of a report as HTML, responses predicted / measured."""
    columns, rows = latency_cells(report)
    drawn = draw_overview(report)
    picture = "" if drawn is None else inline_image(standalone(drawn))
    return picture + html_table(" ".join(summary_lines(report)[0]), columns, rows, names=2)


# The latency report as a table in the terminal.


_HEADERS = (
    "pattern",
    "execution",
    "F\n[steps]",
    "frame\nperiod\n[ticks]",
    "sampling\nfrequency\n[Hz]",
    "first\nresponse\n[ticks]",
    "full\nresponse\n[ticks]",
    "worst-case\nreaction\n[ticks]",
    "cores",
    "neurons",
    "copies",
    "splitters",
    "relays",
    "axons",
    "verified",
)


def latency_tables(report: LatencyReport, width: int = 160) -> list[Table]:
    """Make the table, one row per pattern and execution; units are in the headers."""
    columns, rows = latency_cells(report)
    return _tables(columns, rows, [_style(row) for row in report.rows], width)


def latency_cells(report: LatencyReport) -> tuple[list[Column], list[list[str]]]:
    """Write the columns and cells of the table, one row per pattern and execution."""
    rows = [[row.pattern, row.execution, *_figures(row), _verdict(row)] for row in report.rows]
    headers = list(_HEADERS)
    if not any(row.usage is not None and row.usage.splitters for row in report.rows):
        unused = headers.index("splitters")
        headers, rows = _without(headers, unused), [_without(cells, unused) for cells in rows]
    return _columns(headers), rows


def run_tables(report: LatencyReport, width: int = 160) -> list[Table]:
    """Make the table of network-on-chip and energy, one row per pattern and execution; units are in the headers."""
    columns = run_columns(report)
    if not columns:
        return []
    headers = ["pattern", "execution", *(_header(column) for column in columns)]
    rows = [
        [row.pattern, row.execution]
        + [plain(None) if row.figures is None else column.cell(row.figures) for column in columns]
        for row in report.rows
    ]
    return _tables(_columns(headers), rows, [""] * len(rows), width)


def accuracy_tables(report: LatencyReport, width: int = 160) -> list[Table]:
    """Make the table of accuracy over ticks, one row per pattern and execution; none where none was measured."""
    rows = accuracy_cells(report)
    if not rows:
        return []
    headers = ["pattern", "execution", *(f"accuracy\nat tick\n{tick}" for tick in accuracy_ticks(report))]
    return _tables(_columns(headers), rows, [""] * len(rows), width)


def _header(column: RunColumn) -> str:
    return column.title + (f"\n[{column.unit}]" if column.unit else "")


def _columns(headers: Sequence[str]) -> list[Column]:
    """Pattern and execution name the row, the others hold figures."""
    return [Column(header, left=k < 2, wraps=k == 0) for k, header in enumerate(headers)]


def _tables(columns: list[Column], rows: list[list[str]], styles: list[str], width: int) -> list[Table]:
    """Share a table out over as many as the width needs."""
    blocks = columns_in_blocks([column.header for column in columns], rows, width, gap=2, repeated=(0, 1))
    return [block_table(columns, block, rows, styles) for block in blocks]


def _figures(row: ReportRow) -> list[str]:
    predicted, measured, used = row.predicted, row.measured, row.usage
    bound = "" if row.full_response_exact in (True, None) else "≤"
    names = ("neurons", "copies", "splitters", "relays", "axons")
    cores = plain(None) if used is None else f"{used.cores}{at_least(row)}"
    return [
        plain(row.inference_factor),
        plain(row.frame_period_ticks),
        plain(row.sampling_frequency_hz),
        f"{plain(predicted.first_response_ticks)} / {plain(measured.first_response_ticks)}",
        f"{bound}{plain(predicted.full_response_ticks)} / {plain(measured.full_response_ticks)}",
        plain(row.worst_case_reaction_ticks),
        cores,
        *(plain(getattr(used, name, None)) for name in names),
    ]


def at_least(row: ReportRow) -> str:
    """Write the lower bound on cores as it stands behind their number; empty where there is none."""
    return "" if row.core_bound is None else f" (≥ {row.core_bound.total})"


def _without(cells: list[str], k: int) -> list[str]:
    return cells[:k] + cells[k + 1 :]


def _verdict(row: ReportRow) -> str:
    if row.verified is None:
        return row.status
    return "✓ yes" if row.verified else "✗ no"


def _style(row: ReportRow) -> str:
    return {None: "yellow", True: "green", False: "bold red"}[row.verified]


def summary_lines(report: LatencyReport) -> tuple[list[str], list[str]]:
    """Lines above and below the table, without any markup."""
    above = [
        f"{report.network.name} on {report.chip.name}, 1 tick = {seconds(report.chip.tick_seconds)}, "
        f"verified with {describe_frames(report.stimulus)}"
    ]
    below = [f"{name}: {time_axis(name)}." for name in dict.fromkeys(row.execution for row in report.rows)]
    below += mean_period_lines(row.frame_period_ticks for row in report.rows)
    below.append(
        "first and full response from stimulus onset: predicted from the schedule / measured on the program "
        "(-: not defined)."
    )
    if (line := reaction_line(report)) is not None:
        below.append(line)
    if (line := difference_line(report)) is not None:
        below.append(line)
    if any(row.core_bound is not None for row in report.rows):
        below.append("cores: in use (≥: a lower bound on those of any mapping).")
    if any(row.full_response_exact is False for row in report.rows):
        below.append("≤: the search for the longest path was cut off; an upper bound.")
    if (line := sequential_line(report)) is not None:
        below.append(line)
    below += [line] if (line := class_line(report)) else []
    below += [line] if (line := most_copies_line(report)) else []
    below += left_out_lines(report)
    for row in report.rows:
        if row.status == "invalid":  # as invalid in the other execution, and the message names the pattern
            below += [row.message] * (row.message not in below)
        elif row.message:
            below.append(f"{row.pattern}, {row.execution}: {row.message}")
        if row.verification is not None and not row.verification.verified:
            below.append(f"{row.pattern}, {row.execution}: not verified, {row.verification.message}")
    return above, below


def print_report(report: LatencyReport, console: Console) -> None:
    """Print the tables with what they hold for."""
    above, below = summary_lines(report)
    for line in above:
        console.print(line, markup=False, highlight=False)
    for table in latency_tables(report, console.width):
        console.print(table)
    for line in below:
        console.print(line, markup=False, highlight=False)
    for table in run_tables(report, console.width):
        console.print(table)
    for line in run_lines(report):
        console.print(line, markup=False, highlight=False)
    for table in accuracy_tables(report, console.width):
        console.print(table)
    if (told := accuracy_line(report)) is not None:
        console.print(told, markup=False, highlight=False)
    if report.faults is not None:
        console.print()
        for line in str(form(report.faults, "text", console.width)).splitlines():
            console.print(line, markup=False, highlight=False, soft_wrap=True)


def render_text(report: LatencyReport, width: int = 160) -> str:
    """Print the report into a string.

    Parameters
    ----------
    report : LatencyReport
        The report.
    width : int
        Columns.

    Returns
    -------
    str
        Lines without colours.
    """
    return printed(lambda console: print_report(report, console), width)


# Sentences under the tables of a report, in the terminal and on the page.
_LONGEST_NAMES = 60
"""Characters up to which a sentence names patterns."""


def difference_line(report: LatencyReport) -> str | None:
    """Say why measured responses may differ from predicted ones; ``None`` where none does in a verified row."""
    names = dict.fromkeys(row.pattern for row in report.rows if row.verified and _weights_tell(row))
    if not names:
        return None
    where = ", ".join(names)
    return (
        f"measured differs from predicted{f' ({where})' if len(where) <= _LONGEST_NAMES else ''}: a weight of zero is "
        "no synapse, so a measured first response is later where weights leave the shortest path closed, and a full "
        "one earlier where they close the longest."
    )


def _weights_tell(row: ReportRow) -> bool:
    """Whether an output's first response is measured later than predicted, or its full one earlier."""
    # Where the program has another frame period than the rollout its schedule was made anew, for splitters or sums in
    # parts, and that tells.
    return row.worst_case_reaction_ticks is not None and any(
        _above(o.measured.first_response_ticks, o.predicted.first_response_ticks)
        or (o.full_response_exact and _above(o.predicted.full_response_ticks, o.measured.full_response_ticks))
        for o in row.outputs.values()
    )


def _above(one: int | None, other: int | None) -> bool:
    return one is not None and other is not None and one > other


def reaction_line(report: LatencyReport) -> str | None:
    """Say which inputs the worst-case reactions are for; ``None`` where there is one input, or no such figure."""
    rows = [row for row in report.rows if row.worst_case_reaction_ticks is not None]
    return reaction_note((f"{row.pattern} ({row.execution})", row.rollout) for row in rows if row.rollout is not None)


def sequential_line(report: LatencyReport) -> str | None:
    """How many most sequential patterns there are; ``None`` where none is reported."""
    if report.most_sequential_proven is None:
        return None
    unproven = "" if report.most_sequential_proven else "; found by a heuristic, not proven to be most sequential"
    if report.most_sequential is None:
        return f"sequential: the most sequential patterns were not counted{unproven}."
    if report.most_sequential == 1:
        return f"sequential: the only most sequential pattern{unproven}."
    return f"sequential: the first of {short_count(report.most_sequential)} most sequential patterns{unproven}."


def class_line(report: LatencyReport) -> str:
    """Say which patterns are of which behaviour class, by its number; empty where no pattern is valid."""
    members: dict[int, dict[str, None]] = {}
    for row in report.rows:
        if row.behaviour_class is not None:
            members.setdefault(row.behaviour_class, {})[row.pattern] = None
    if not members:
        return ""
    classes = "; ".join(f"{number}: {', '.join(members[number])}" for number in sorted(members))
    met = "" if report.classes_are_of_network else " (classes without a named pattern numbered in the order of rows)"
    return f"behaviour classes, whose patterns compute the same function: {classes}{met}."


def most_copies_line(report: LatencyReport) -> str:
    """Say what copies are for, of the row with most neurons in use; empty where there are none."""
    mapped = [row for row in report.rows if row.usage is not None]
    most = max(mapped, key=lambda row: 0 if row.usage is None else row.usage.neurons, default=None)
    line = "" if most is None else copies_line(most.copies)
    return f"{most.pattern}, {most.execution}: {line}" if most is not None and line else ""


def left_out_lines(report: LatencyReport) -> list[str]:
    """Say which nodes are not mapped, as no output depends on them; every line once."""
    return list(dict.fromkeys(left_out_line(row.ports, row.left_out) for row in report.rows if row.left_out))
