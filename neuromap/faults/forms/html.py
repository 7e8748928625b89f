"""A study of faults as one self-contained HTML page, as sections of another one, and as a table in a notebook."""

from __future__ import annotations

from neuromap.faults.fault_study import FaultStudy
from neuromap.faults.forms.cells import NAMES, headline, notes, study_cells
from neuromap.faults.forms.draw_curves import draw_curves, to_svg
from neuromap.faults.forms.findings import findings
from neuromap.forms.figures.inline_image import inline_image
from neuromap.forms.html_table import html_table
from neuromap.forms.page import data_block, page_environment, page_script

__all__ = ["to_html", "to_notebook", "to_section"]


def to_html(study: FaultStudy) -> str:
    """Write a study as one HTML page; it loads nothing, and can be read without its scripts."""
    return _rendered("faults.html.jinja", study, ("Over fault rates", "Points"))


def to_section(study: FaultStudy) -> str:
    """Write a study as sections of another page, whose style sheets are those that all pages share."""
    return _rendered("study.html.jinja", study, ("Faults over their rates", "Faults, point by point"))


def _rendered(template: str, study: FaultStudy, headings: tuple[str, str]) -> str:
    from markupsafe import Markup

    columns, rows = study_cells(study)
    return (
        page_environment("neuromap.faults.forms")
        .get_template(template)
        .render(
            study=study,
            script=page_script("tables", "saves"),
            data=[
                data_block("faults.json", "the data as JSON", study.to_dict()),
                data_block("faults.csv", "all points as CSV", study.to_csv()),
            ],
            headings=headings,
            findings=findings(study),
            columns=columns,
            rows=rows,
            n_names=NAMES,
            notes=notes(study),
            picture=Markup(draw_curves(study)),
        )
    )


def to_notebook(study: FaultStudy) -> str:
    """Write curves and table of a study as HTML for a notebook: ``<img>`` and ``<table>``, all names escaped."""
    columns, rows = study_cells(study)
    return inline_image(to_svg(study)) + html_table(headline(study), columns, rows, names=NAMES)
