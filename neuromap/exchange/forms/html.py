"""An import as one self-contained HTML page, and as pictures and a table in a notebook."""

from __future__ import annotations

from neuromap.exchange.forms.definitions import DEFINITIONS
from neuromap.exchange.forms.draw_errors import MOST_ROWS, draw_errors
from neuromap.exchange.forms.draw_work import MOST_BARS, draw_work
from neuromap.exchange.forms.findings import findings, is_exact
from neuromap.exchange.forms.json_imported import to_dict
from neuromap.exchange.forms.page_tables import nodes_csv, notes_csv, notes_table, page_tables
from neuromap.exchange.imported import Imported
from neuromap.files.messages import counted
from neuromap.forms.figures.inline_image import inline_image
from neuromap.forms.html_table import html_table
from neuromap.forms.numbers import seconds
from neuromap.forms.page import data_block, page_environment, page_script
from neuromap.forms.standalone_svg import standalone
from neuromap.forms.tables import Column
from neuromap.report.drawings.draw_network import draw_network
from neuromap.report.forms.figure_files import MOST_EDGES
from neuromap.version import __version__

__all__ = ["to_html", "to_notebook"]


def to_html(found: Imported) -> str:
    """Write an import as one HTML page; it loads nothing, and can be read without its scripts."""
    from markupsafe import Markup

    network, errors, work = _network(found), _errors(found), _work(found)
    told = [("Left out", found.refused), ("Approximated", found.approximated)]
    environment = page_environment("neuromap.exchange.forms")
    environment.filters.update(seconds=seconds, counted=counted)
    return environment.get_template("import.html.jinja").render(
        found=found,
        version=__version__,
        script=page_script("tables", "saves"),
        data=[
            data_block("import.json", "the data as JSON", to_dict(found)),
            data_block("nodes.csv", "all nodes as CSV", nodes_csv(found)),
            data_block("notes.csv", "all notes as CSV", notes_csv(found)),
        ],
        findings=findings(found),
        is_exact=is_exact(found),
        network=None if network is None else Markup(network),
        most_edges=MOST_EDGES,
        errors=None if errors is None else Markup(errors),
        most_rows=MOST_ROWS,
        work=None if work is None else Markup(work),
        most_bars=MOST_BARS,
        notes=[notes_table(title, notes) for title, notes in told if notes],
        tables=page_tables(found),
        definitions=DEFINITIONS,
    )


def to_notebook(found: Imported) -> str:
    """Write pictures and findings of an import as HTML for a notebook: ``<img>`` and ``<table>``, all names escaped."""
    drawn = [svg for svg in (_network(found), _errors(found)) if svg is not None]
    rows = [("" if k else head, text) for head, said in findings(found).items() for k, text in enumerate(said)]
    if is_exact(found):
        rows.append(("Exact", "Nothing was approximated, nothing left out."))
    caption = f"{found.network.name} from {found.format} {found.source}"
    table = html_table(caption, (Column("", left=True), Column("", left=True)), rows, names=1)
    return "".join(inline_image(standalone(svg)) for svg in drawn) + table


def _network(found: Imported) -> str | None:
    return draw_network(found.network, None) if len(found.network.edges) <= MOST_EDGES else None


def _errors(found: Imported) -> str | None:
    price = found.quantisation
    return None if price is None or not price.nodes else draw_errors(price)


def _work(found: Imported) -> str | None:
    return draw_work(found.work) if found.work else None
