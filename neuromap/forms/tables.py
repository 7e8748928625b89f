"""Tables in the terminal; where it is narrow, their columns are shared out over several tables, one below the other."""

from __future__ import annotations

import io
from collections.abc import Callable, Collection, Sequence
from textwrap import fill
from typing import TYPE_CHECKING, NamedTuple

from neuromap.forms.printable import printable_line

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

__all__ = ["Column", "block_table", "columns_in_blocks", "new_table", "print_blocks", "print_text", "printed"]

_LONGEST_CELL = 24
"""Columns of text beyond which a cell is wrapped."""
_LONGEST_LINE = 1000
"""Characters of a line of text that are kept."""


def new_table(*headers: str, title: str = "", left: int = 1) -> Table:
    """Make an empty table; all but the first ``left`` columns are aligned to the right."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title or None, title_justify="left", box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for position, header in enumerate(headers):
        table.add_column(Text(header), justify="left" if position < left else "right", overflow="fold")
    return table


def columns_in_blocks(
    headers: Sequence[str], rows: Sequence[Sequence[str]], width: int, gap: int, repeated: Collection[int]
) -> list[list[int]]:
    """Share the columns of a table out over blocks that fit a terminal, so that nothing is squeezed out."""
    # gives the columns of every block; each block has at least one that is not repeated, however narrow it is
    widths = [
        max([*map(len, header.split("\n")), *(min(len(row[k]), _LONGEST_CELL) for row in rows)]) + gap
        for k, header in enumerate(headers)
    ]
    names = sum(widths[k] for k in repeated)
    blocks: list[list[int]] = []
    taken = width + 1
    for k in range(len(headers)):
        if k in repeated:
            continue
        if taken + widths[k] > width:
            blocks.append([])
            taken = names
        blocks[-1].append(k)
        taken += widths[k]
    return [sorted([*repeated, *block]) for block in blocks]


class Column(NamedTuple):
    """A column of :func:`block_table`."""

    header: str  # with its unit; line feeds where it may be broken
    left: bool = False  # whether it is aligned to the left, as names are
    wraps: bool = False  # whether long cells are wrapped rather than cut
    least: int | None = None  # columns of text that it takes at least


def block_table(
    columns: Sequence[Column], block: Sequence[int], rows: Sequence[Sequence[str]], styles: Sequence[str]
) -> Table:
    """Make the table of one block of columns."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, expand=False)
    for column in (columns[k] for k in block):
        table.add_column(
            Text(column.header),
            justify="left" if column.left else "right",
            min_width=column.least,
            no_wrap=not column.wraps,
            overflow="fold",
        )
    verdict = len(columns) - 1
    for cells, style in zip(rows, styles, strict=True):
        table.add_row(*(Text(cells[k], style=style if k == verdict else "") for k in block))
    return table


def print_blocks(
    console: Console,
    columns: Sequence[Column],
    rows: Sequence[Sequence[str]],
    styles: Sequence[str],
    repeated: Collection[int],
) -> None:
    """Print a table, in several parts where the console is narrow."""
    for block in columns_in_blocks([c.header for c in columns], rows, console.width, gap=2, repeated=repeated):
        console.print(block_table(columns, block, rows, styles))


def print_text(console: Console, text: str, *, wraps: bool = False) -> None:
    """Print one line, however long and whatever is in it; or break it between words where it ``wraps``."""
    line = printable_line(text, _LONGEST_LINE)
    console.print(fill(line, console.width) if wraps else line, markup=False, highlight=False, soft_wrap=True)


def printed(show: Callable[[Console], object], width: int) -> str:
    """Give what is printed to a console, as lines without colours."""
    from rich.console import Console

    stream = io.StringIO()
    show(Console(file=stream, width=width, force_terminal=False, no_color=True, highlight=False))
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines()) + "\n"
