"""A sweep as people read it in a terminal: one table, and what its figures hold for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuromap.forms.printable import printable_line
from neuromap.forms.tables import block_table, columns_in_blocks, printed
from neuromap.sweep.chip_sweep import ChipSweep
from neuromap.sweep.forms.cells import headline, sweep_cells

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["print_sweep", "render_text"]

_LONGEST_LINE = 1000


def print_sweep(sweep: ChipSweep, console: Console) -> None:
    """Print the table, in several parts where the console is narrow.

    Parameters
    ----------
    sweep : ChipSweep
        The sweep.
    console : rich.console.Console
        Where to.
    """
    _say(console, headline(sweep))
    columns, rows = sweep_cells(sweep)
    names = range(len(sweep.parameters) + len(sweep.label_titles))
    styles = ["green" if row.fits else "yellow" for row in sweep.rows]
    for block in columns_in_blocks([c.header for c in columns], rows, console.width, gap=2, repeated=names):
        console.print(block_table(columns, block, rows, styles))
    for note in sweep.notes:
        _say(console, note)


def _say(console: Console, line: str) -> None:
    console.print(printable_line(line, _LONGEST_LINE), markup=False, highlight=False, soft_wrap=True)


def render_text(sweep: ChipSweep, width: int = 160) -> str:
    """Print the sweep into a string.

    Parameters
    ----------
    sweep : ChipSweep
        The sweep.
    width : int
        Columns.

    Returns
    -------
    str
        Lines without colours.
    """
    return printed(lambda console: print_sweep(sweep, console), width)
