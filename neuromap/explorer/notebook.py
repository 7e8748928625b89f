"""An exploration in a notebook: the picture of the fronts, and tables."""

from __future__ import annotations

from neuromap.explorer.answer.exploration import Exploration
from neuromap.explorer.answer.listing import list_rows
from neuromap.explorer.draw_front import draw_front, standalone_svg
from neuromap.explorer.text import exploration_cells
from neuromap.forms.html_table import html_table
from neuromap.forms.inline_image import inline_image

__all__ = ["to_notebook"]


def to_notebook(exploration: Exploration) -> str:
    """Write the picture of the fronts and their rows as HTML: first the given pattern's class, then the others."""
    listing = list_rows(exploration)
    columns, cells = exploration_cells(exploration, listing)
    drawn = draw_front(exploration)
    image = "" if drawn is None else inline_image(standalone_svg(exploration))
    return image + "".join(
        html_table(f"{exploration.network.name}. {title}", columns, [cells[number] for number, _ in members], names=2)
        for title, members in listing.groups(exploration)
    )
