"""A study of faults as people read it in a terminal: one table, and what its figures are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuromap.faults.cells import NAMES, headline, notes, study_cells
from neuromap.faults.fault_study import FaultStudy
from neuromap.forms.tables import print_blocks, print_text, printed

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["print_study", "render_text"]


def print_study(study: FaultStudy, console: Console) -> None:
    """Print the table, in several parts where the console is narrow."""
    print_text(console, headline(study))
    columns, rows = study_cells(study)
    print_blocks(console, columns, rows, [""] * len(rows), range(NAMES))
    for note in notes(study):
        print_text(console, note, wraps=True)


def render_text(study: FaultStudy, width: int = 160) -> str:
    """Print the study into a string."""
    return printed(lambda console: print_study(study, console), width)
