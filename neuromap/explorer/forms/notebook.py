"""An exploration as tables in a notebook."""

from __future__ import annotations

from neuromap.explorer.answer.exploration import Exploration
from neuromap.explorer.answer.listing import list_rows
from neuromap.explorer.forms.text import exploration_cells
from neuromap.forms.html_table import html_table

__all__ = ["to_notebook"]


def to_notebook(exploration: Exploration) -> str:
    """Write the rows on the fronts as HTML: first the given pattern's class, then the others.

    Parameters
    ----------
    exploration : Exploration
        What was found.

    Returns
    -------
    str
        One ``<table>`` element of each group that has rows; all names are escaped.
    """
    listing = list_rows(exploration)
    columns, cells = exploration_cells(exploration, listing)
    return "".join(
        html_table(f"{exploration.network.name}. {title}", columns, [cells[number] for number, _ in members], names=2)
        for title, members in listing.groups(exploration)
    )
