"""An exploration as tables in the terminal."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from neuromap.explorer.answer.exploration import Exploration
from neuromap.explorer.answer.limits import Limits
from neuromap.explorer.answer.listing import (
    Listing,
    front_words,
    is_known,
    list_rows,
    short_names,
)
from neuromap.explorer.answer.objectives import ACCURACY, ENERGY
from neuromap.explorer.answer.quantities import figure, with_unit
from neuromap.explorer.answer.row_figures import value_of
from neuromap.explorer.answer.rows import Candidate, ExploredRow
from neuromap.explorer.column_units import ColumnUnits, column_units
from neuromap.explorer.notes import note_lines
from neuromap.forms.numbers import plain, seconds, short_count
from neuromap.forms.tables import Column, block_table, columns_in_blocks, printed
from neuromap.simulation.choose_frames import describe_frames

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

__all__ = [
    "accuracy_cell",
    "exploration_cells",
    "exploration_tables",
    "print_exploration",
    "render_text",
]


class _Written(NamedTuple):
    """A column and how its cells are written."""

    header: str
    cell: Callable[[ExploredRow], str]
    left: bool = False


def exploration_tables(exploration: Exploration, listing: Listing, width: int = 160) -> list[tuple[str, list[Table]]]:
    """Make the tables: first the given pattern's class, then the others; units are in the headers."""
    columns, cells = exploration_cells(exploration, listing)
    headers = [column.header for column in columns]
    blocks = columns_in_blocks(headers, list(cells.values()), width, gap=2, repeated=(0, 1, 2))
    made = []
    for title, members in listing.groups(exploration):
        lines, styles = [cells[number] for number, _ in members], [_style(row) for _, row in members]
        made.append((title, [block_table(columns, block, lines, styles) for block in blocks]))
    return made


def exploration_cells(exploration: Exploration, listing: Listing) -> tuple[list[Column], dict[int, list[str]]]:
    """Write the columns of the table, and by number the cells of every row that is shown."""
    written = _columns(exploration, [row for _, row in listing.all])
    cells = {number: [str(number), *(column.cell(row) for column in written)] for number, row in listing.all}
    columns = [Column("#", least=_least(cells, 0))]
    for k, column in enumerate(written, start=1):
        columns.append(Column(column.header, left=column.left, wraps=k == 1, least=_least(cells, k)))
    return columns, cells


def _least(cells: Mapping[int, Sequence[str]], k: int) -> int:
    """Width of a column, the same in the tables of both groups."""
    return min(max((len(cell[k]) for cell in cells.values()), default=0), 24)


def _ticks_of_sums(candidate: Candidate) -> str:
    if candidate.wide == "refuse":
        return "-"
    return "all" if candidate.wide_ticks is None else str(candidate.wide_ticks)


def _columns(exploration: Exploration, rows: Sequence[ExploredRow]) -> list[_Written]:
    short, units = short_names(exploration, rows), column_units(rows)
    several = {
        "chip": len({row.candidate.chip for row in rows}) > 1,
        "splitters": len({row.candidate.splitters for row in rows}) > 1,
        "ticks": len({row.candidate.ticks_per_step for row in rows}) > 1,
        "wide": len({(row.candidate.wide, row.candidate.wide_ticks) for row in rows}) > 1,
        "class": any(row.needs_retraining for row in rows) or exploration.deadline is not None,
        "energy": is_known(rows, ENERGY),
    }
    columns = [
        _Written("pattern", lambda row: short.get(row.pattern, row.pattern), left=True),
        _Written("execution", lambda row: row.candidate.execution, left=True),
    ]
    if several["chip"]:
        columns.append(_Written("chip", lambda row: row.candidate.chip, left=True))
    if several["splitters"]:
        columns.append(_Written("splitters", lambda row: row.candidate.splitters, left=True))
    if several["ticks"]:
        columns.append(_Written("ticks\nper\nstep", lambda row: plain(row.candidate.ticks_per_step)))
    if several["wide"]:
        columns.append(_Written("ticks\nof a\nsum", lambda row: _ticks_of_sums(row.candidate)))
    if several["class"]:
        columns.append(_Written("class", lambda row: str(row.behaviour_class)))
    columns += [
        _Written("patterns\nin this\nrow", lambda row: short_count(row.n_patterns)),
        _Written(f"first\nresponse\n[ticks = {units.time}]", _time("first_response_ticks", units)),
        _Written(f"full\nresponse\n[ticks = {units.time}]", _time("full_response_ticks", units)),
        _Written(f"worst-case\nreaction\n[ticks = {units.time}]", _time("worst_case_reaction_ticks", units)),
        _Written("sampling\nfrequency\n[Hz]", _sampling),
    ]
    if exploration.deadline is not None:
        after = with_unit(exploration.deadline.seconds, "s")
        columns.append(_Written(f"accuracy\nat deadline\n[% at {after}]", accuracy_cell))
    columns.append(_Written("cores", _cores))
    if several["energy"]:
        columns.append(_Written(f"energy\nper frame\n[{units.energy}]", units.energy_cell))
    return [*columns, _Written("front", front_words, left=True), _Written("verified", _verdict)]


def accuracy_cell(row: ExploredRow) -> str:
    """Write a row's accuracy at the deadline in percent; a bound has its sign, ``no answer`` is no response yet."""
    number, is_exact = value_of(row, ACCURACY)
    if number is None:
        return "-"
    if row.frames_by_deadline == 0:
        return "no answer"
    return f"{'' if is_exact else '≤ '}{figure(float(f'{100 * number:.12g}'))}"


def _time(name: str, units: ColumnUnits) -> Callable[[ExploredRow], str]:
    """Make the cells of a time; bounds have their signs."""

    def written(row: ExploredRow) -> str:
        sign = "≤ " if name == "full_response_ticks" and not row.full_response_exact else ""
        sign += "≥ " if row.times_are_bounds else ""
        return f"{sign}{units.time_cell(getattr(row, name), row)}"

    return written


def _sampling(row: ExploredRow) -> str:
    return f"{'≤ ' if row.times_are_bounds else ''}{figure(row.sampling_frequency_hz)}"


def _cores(row: ExploredRow) -> str:
    return f"≥ {row.core_bound}" if row.cores is None else f"{row.cores} (≥ {row.core_bound})"


def _verdict(row: ExploredRow) -> str:
    if row.status != "mapped":
        return row.status
    return {None: "-", True: "✓ yes", False: "✗ no"}[row.verified]


def _style(row: ExploredRow) -> str:
    if row.status != "mapped":
        return "yellow"
    return {None: "", True: "green", False: "bold red"}[row.verified]


def print_exploration(
    exploration: Exploration, console: Console, limits: Limits | None = None, *, every: bool = False
) -> None:
    """Print the tables with what they hold for."""
    listing = list_rows(exploration, limits, every=every)
    chips = ", ".join(f"{chip.name} (1 tick = {seconds(chip.tick_seconds)})" for chip in exploration.chips)
    checked = f", verified with {describe_frames(exploration.stimulus)}" if exploration.stimulus else ""
    console.print(f"{exploration.network.name} on {chips}{checked}", markup=False, highlight=False)
    for title, tables in exploration_tables(exploration, listing, console.width):
        console.print(title, markup=False, highlight=False)
        for table in tables:
            console.print(table)
    for line in note_lines(exploration, listing, limits):
        console.print(line, markup=False, highlight=False)


def render_text(
    exploration: Exploration, width: int = 160, limits: Limits | None = None, *, every: bool = False
) -> str:
    """Print an exploration into a string."""
    return printed(lambda console: print_exploration(exploration, console, limits, every=every), width)
