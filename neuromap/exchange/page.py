"""An import as one self-contained HTML page, and as pictures and a table in a notebook."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from neuromap.exchange.draw_errors import MOST_ROWS, draw_errors
from neuromap.exchange.findings import findings, is_exact
from neuromap.exchange.imported import Imported, Note
from neuromap.exchange.of_imports import NOTES, error_text, to_dict
from neuromap.files.messages import counted
from neuromap.quantise.forms import quantisation_tables
from neuromap.quantise.quantisation import NodeErrors
from neuromap.render.page import data_block, page_script, render_page
from neuromap.render.svg import drawing, element, inline_image, label, shorten, standalone
from neuromap.render.table import Column, Table, csv_text, fact_table
from neuromap.report.drawings.draw_network import MOST_EDGES, draw_network


def to_html(found: Imported) -> str:
    """Write an import as one HTML page; it loads nothing, and can be read without its scripts."""
    told = [("Left out", found.refused), ("Approximated", found.approximated)]
    return render_page(
        "neuromap.exchange",
        "import.html.jinja",
        found=found,
        script=page_script("tables", "saves"),
        data=[
            data_block("import.json", "the data as JSON", to_dict(found)),
            data_block("nodes.csv", "all nodes as CSV", nodes_csv(found)),
            data_block("notes.csv", "all notes as CSV", notes_csv(found)),
        ],
        findings=findings(found),
        is_exact=is_exact(found),
        network=_network(found),
        narrow_network=_network(found, down=True),
        most_edges=MOST_EDGES,
        errors=_errors(found),
        most_rows=MOST_ROWS,
        work=_work(found.work),
        most_bars=_MOST_BARS,
        notes=[_note_table(title, notes) for title, notes in told if notes],
        tables=list(_tables(found)),
    )


def to_notebook(found: Imported) -> str:
    """Write pictures and findings of an import as HTML for a notebook: ``<img>`` and ``<table>``, all names escaped."""
    drawn = [svg for svg in (_network(found), _errors(found)) if svg is not None]
    rows = [("" if k else head, text) for head, said in findings(found).items() for k, text in enumerate(said)]
    if is_exact(found):
        rows.append(("Exact", "Nothing was approximated, nothing left out."))
    table = fact_table(f"{found.network.name} from {found.format} {found.source}", rows)
    return "".join(inline_image(standalone(svg)) for svg in drawn) + table


def _network(found: Imported, *, down: bool = False) -> str | None:
    return draw_network(found.network, None, down=down) if len(found.network.edges) <= MOST_EDGES else None


def _errors(found: Imported) -> str | None:
    price = found.quantisation
    return None if price is None or not price.nodes else draw_errors(price)


# What every node of an imported network computes in a frame, as a picture.
_MOST_BARS = 24
"""Nodes that are drawn; of more those with most work."""
_LEFT, _ROW, _WIDTH = 214.0, 24.0, 520.0


def _work(work: Mapping[str, int]) -> str | None:
    """Draw multiply-accumulates per frame of nodes as bars, in the order of the network."""
    if not work:
        return None
    most = sorted(work, key=lambda name: -work[name])[:_MOST_BARS]
    shown = [name for name in work if name in set(most)]
    scale = _WIDTH / max(1, *work.values())
    parts = [label(_LEFT, 18, "multiply-accumulates per frame", "small", anchor="start")]
    for k, name in enumerate(shown):
        y = 30 + _ROW * (k + 0.5)
        length = max(1.5, work[name] * scale) if work[name] else 0
        tip = f"{name}: {work[name]:,} multiply-accumulates per frame"
        parts.append(label(_LEFT - 12, y + 4.5, shorten(name, 21), "name", "end", name))
        parts.append(element("rect", x=_LEFT, y=y - 6, width=length, height=12, class_="bar", title=tip))
        parts.append(label(_LEFT + length + 8, y + 4.5, f"{work[name]:,}", "figure", anchor="start"))
    height = 38 + _ROW * len(shown)
    return drawing(_LEFT + _WIDTH + 150, height, parts, f"Multiply-accumulates per frame of {len(shown)} nodes")


# The tables of an import's page, and the same as CSV.


def _tables(found: Imported) -> Iterator[Table[Any]]:
    """Give the folded tables of an import: its nodes, and what putting them into integers cost."""
    yield _node_table(found)
    if (price := found.quantisation) is not None:
        titles = (
            f"Integers of {price.chip}",
            "Errors of nodes",
            "Errors of synapses",
            "Spike trains beside the original",
        )
        notes: tuple[list[str], ...] = [f"Scale: {price.search}."], ["Relative to the float values."], [], []
        for table, title, said in zip(quantisation_tables(price), titles, notes, strict=False):
            yield replace(table, title=title, notes=said)
    if found.kept:
        yield _note_table("Kept exactly", found.kept)


def _note_table(title: str, notes: Sequence[Note]) -> Table[Note]:
    """Give notes as a table, with errors and ways out where one has them."""
    columns = [Column[Note]("of", lambda note: note.about, left=True)]
    columns.append(Column("what became of it", lambda note: note.text, left=True))
    if any(note.error is not None for note in notes):
        columns.append(Column("by how much", error_text))
    if any(note.remedy for note in notes):
        columns.append(Column("way out", lambda note: note.remedy or "-", left=True))
    return Table(columns, notes, title)


def _node_table(found: Imported) -> Table[str]:
    network, work = found.network, found.work
    nodes = network.nodes

    def neurons(name: str) -> str:
        return "-" if nodes[name].shape is None else f"{nodes[name].size:,}"

    columns = [
        Column[str]("node", lambda name: name, left=True, term="node"),
        Column[str]("shape [rows × columns × features]", lambda name: _sides(nodes[name].shape) or "-", term="shape"),
        Column[str]("neurons", neurons, term="neurons"),
    ]
    if work:
        title = "multiply-accumulates [per frame]"
        columns.append(Column(title, lambda name: f"{work[name]:,}" if name in work else "-", term="work"))
    reads: dict[str, list[str]] = {}
    for source, target in network.edges:
        least, most = network.edges[source, target].delays
        span = counted(most, "tick") if least == most else f"{least} to {most} ticks"
        reads.setdefault(target, []).append(f"{source} ({span})" if network.is_spiking else source)
    title = "reads [delay]" if network.is_spiking else "reads"
    columns.append(Column(title, lambda name: ", ".join(reads.get(name, ())) or "the host", left=True, term="reads"))
    return Table(columns, list(nodes), "Nodes")


def _sides(shape: tuple[int, ...] | None) -> str:
    return " × ".join(map(str, shape or ()))


def nodes_csv(found: Imported) -> str:
    """Write all nodes as CSV: shape, work, and integers and errors where they were put into integers."""
    price = {} if found.quantisation is None else {node.node: node for node in found.quantisation.nodes}
    lines = []
    for name, node in found.network.nodes.items():
        line: dict[str, Any] = {
            "node": name,
            "shape": None if node.shape is None else " x ".join(map(str, node.shape)),
            "multiply_accumulates_per_frame": found.work.get(name),
        }
        if (errors := price.get(name)) is not None:
            line |= _error_columns(errors)
        lines.append(line)
    return csv_text(lines)


def notes_csv(found: Imported) -> str:
    """Write all notes as CSV, with what became of each part."""
    groups = {"kept": found.kept, "approximated": found.approximated, "left out": found.refused}
    columns = ("became", "about", "text", "error", "unit", "remedy")
    return csv_text(
        [{"became": word, **note} for word, notes in groups.items() for note in NOTES.write(notes)], columns
    )


def _error_columns(errors: NodeErrors) -> dict[str, Any]:
    return {
        "neurons": errors.neurons,
        "scale": errors.scale,
        "threshold": errors.threshold,
        "tau_error": errors.tau_error,
        "synapse_tau_errors": ";".join(map(str, errors.synapse_tau_errors)),
        "threshold_error": errors.threshold_error,
        "bias_error": errors.bias_error,
        "truncation": errors.truncation,
        "current_headroom": errors.current_headroom,
    }
