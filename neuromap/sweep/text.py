"""A sweep as people read it in a terminal: one table, and what its figures hold for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuromap.forms.tables import print_blocks, print_text, printed
from neuromap.sweep.cells import headline, sweep_cells
from neuromap.sweep.chip_sweep import ChipSweep

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["print_sweep", "render_text"]


def print_sweep(sweep: ChipSweep, console: Console) -> None:
    """Print the table, in several parts where the console is narrow."""
    print_text(console, headline(sweep))
    columns, rows = sweep_cells(sweep)
    names = range(len(sweep.parameters) + len(sweep.label_titles))
    styles = ["green" if row.fits else "yellow" for row in sweep.rows]
    print_blocks(console, columns, rows, styles, names)
    for note in sweep.notes:
        print_text(console, note)


def render_text(sweep: ChipSweep, width: int = 160) -> str:
    """Print the sweep into a string."""
    return printed(lambda console: print_sweep(sweep, console), width)
