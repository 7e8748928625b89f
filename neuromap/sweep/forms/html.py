"""A sweep as one self-contained HTML page, and as a table in a notebook."""

from __future__ import annotations

from neuromap.forms.figures.inline_image import inline_image
from neuromap.forms.html_table import html_table
from neuromap.forms.page import data_block, page_environment, page_script
from neuromap.forms.standalone_svg import standalone
from neuromap.sweep.chip_sweep import ChipSweep
from neuromap.sweep.forms.cells import headline, sweep_cells
from neuromap.sweep.forms.draw_sweep import draw_sweep
from neuromap.sweep.forms.findings import findings

__all__ = ["to_html", "to_notebook"]


def to_html(sweep: ChipSweep) -> str:
    """Write a sweep as one HTML page; it loads nothing, and can be read without its scripts."""
    from markupsafe import Markup

    columns, rows = sweep_cells(sweep)
    drawn = draw_sweep(sweep)
    return (
        page_environment("neuromap.sweep.forms")
        .get_template("sweep.html.jinja")
        .render(
            sweep=sweep,
            script=page_script("tables", "saves"),
            data=[
                data_block("sweep.json", "the data as JSON", sweep.to_dict()),
                data_block("sweep.csv", "all rows as CSV", sweep.to_csv()),
            ],
            headline=headline(sweep),
            findings=findings(sweep),
            columns=columns,
            rows=list(zip(sweep.rows, rows, strict=True)),
            n_names=len(sweep.parameters) + len(sweep.label_titles),
            picture=None if drawn is None else Markup(drawn),
        )
    )


def to_notebook(sweep: ChipSweep) -> str:
    """Write picture and table of a sweep as HTML for a notebook: ``<img>`` and ``<table>``, all names escaped."""
    columns, rows = sweep_cells(sweep)
    drawn = draw_sweep(sweep)
    image = "" if drawn is None else inline_image(standalone(drawn))
    return image + html_table(headline(sweep), columns, rows, names=len(sweep.parameters) + len(sweep.label_titles))
