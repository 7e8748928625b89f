"""An import as one self-contained HTML page, and as pictures and a table in a notebook."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.exchange.findings import MOST_ROWS, draw_errors, findings, is_exact, percent
from neuromap.exchange.imported import Imported, Note, note_dicts
from neuromap.files.messages import counted
from neuromap.forms.card import html_table
from neuromap.forms.documents import csv_text, json_text
from neuromap.forms.formed import form
from neuromap.forms.inline_image import inline_image
from neuromap.forms.numbers import plain, seconds
from neuromap.forms.page import Definition, data_block, page_environment, page_script
from neuromap.forms.standalone_svg import standalone
from neuromap.forms.svg import drawing, element, label, shorten
from neuromap.forms.tables import Column
from neuromap.quantise.quantisation import EdgeErrors, NodeErrors, TrainDistance
from neuromap.report.drawings.draw_network import draw_network
from neuromap.report.figure_files import MOST_EDGES
from neuromap.version import __version__


def to_html(found: Imported) -> str:
    """Write an import as one HTML page; it loads nothing, and can be read without its scripts."""
    from markupsafe import Markup

    network, errors, work = _network(found), _errors(found), _work(found)
    told = [("Left out", found.refused), ("Approximated", found.approximated)]
    environment = page_environment("neuromap.exchange")
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


# What every node of an imported network computes in a frame, as a picture.
MOST_BARS = 24
"""Nodes that are drawn; of more those with most work."""
_LEFT, _ROW, _WIDTH = 214.0, 24.0, 520.0


def draw_work(work: Mapping[str, int]) -> str:
    """Draw multiply-accumulates per frame of nodes as bars, in the order of the network."""
    # work: of some nodes, one at least
    most = sorted(work, key=lambda name: -work[name])[:MOST_BARS]
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


# An import as a JSON document.
def to_dict(found: Imported) -> dict[str, Any]:
    """Give what became of an import as plain values, without the network's weights."""
    # gives ``work`` in multiply-accumulates per frame; ``None`` where they, or shapes, are not known
    network = found.network
    return {
        "format": "neuromap import 1",
        "from": found.format,
        "source": found.source,
        "producer": found.producer,
        "network": network.name,
        "nodes": [
            {
                "name": name,
                "shape": None if node.shape is None else list(node.shape),
                "work": found.work.get(name),
            }
            for name, node in network.nodes.items()
        ],
        "edges": [list(key) for key in network.edges],
        "outputs": list(network.outputs),
        "kept": note_dicts(found.kept),
        "approximated": note_dicts(found.approximated),
        "refused": note_dicts(found.refused),
        "quantisation": None if found.quantisation is None else form(found.quantisation, "dict"),
    }


def to_json(found: Imported) -> str:
    """Give the same as a JSON document."""
    return json_text(to_dict(found))


# What the figures of an import mean: name, unit, and a definition, for its page.
_BY_VALUE = "% of the float value, the greatest of all neurons"
DEFINITIONS: Mapping[str, Definition] = ReadOnlyMapping(
    {
        "node": Definition("Node", "", "A layer of the network: what of the source sums and decides."),
        "shape": Definition("Shape", "rows × columns × features", "Of the node’s neurons; “-” where it is not known."),
        "neurons": Definition("Neurons", "neurons", "Rows times columns times features."),
        "work": Definition(
            "Multiply-accumulates",
            "per frame",
            "What the source computes for the node in one frame, as its operators count. “-”: not known.",
        ),
        "reads": Definition("Reads", "", "Nodes with an edge to this one."),
        "scale": Definition("Scale", "units of the chip’s voltage per unit of v", "By what potentials are multiplied."),
        "threshold": Definition("Threshold", "units of the chip’s voltage", "The greatest of all neurons of the node."),
        "lowest-voltage": Definition("Lowest v", "unit of v", "The lower rail of the chip’s voltage."),
        "current-room": Definition(
            "Room of the current",
            "times",
            "Range of the current by what it reaches if all sources of one sign fire as often as they can. Below 1 it "
            "may wrap.",
        ),
        "tau-error": Definition(
            "Time constant",
            _BY_VALUE,
            "Error of the membrane’s time constant, which the chip has as a decay in integers.",
        ),
        "synapse-tau-error": Definition(
            "Time constants of currents", _BY_VALUE, "The same of synaptic currents, the greatest of all."
        ),
        "threshold-error": Definition("Threshold, error", _BY_VALUE, "Error of threshold less reset."),
        "bias-error": Definition("Bias", _BY_VALUE, "Error of what rest and drive add in a tick."),
        "truncation": Definition(
            "Truncation",
            "% of the threshold",
            "What rounding toward zero in every tick can add up to. No bound: in voltages without leak that currents "
            "feed.",
        ),
        "synapses": Definition(
            "Synapses", "synapses", "After those that share neurons, delay and current were added up."
        ),
        "weight-error": Definition("Weights", "%", "Sum of all errors of an edge’s weights by the sum of its weights."),
        "greatest-weight-error": Definition(
            "Greatest error of a weight", "% of that weight", "100 % where a small weight became 0."
        ),
        "lost": Definition("Weights lost", "synapses", "Whose weight became 0."),
        "delay-error": Definition("Delays", "seconds of the model", "Greatest error: delays are whole ticks."),
        "distance": Definition(
            "Distance of spike trains",
            "spikes, mean over neurons",
            "Van Rossum’s distance from the float original on the same input: a spike without a partner is 1, spikes "
            "that come nearer than the time constant count less.",
        ),
        "of-silence": Definition(
            "Of silence", "spikes, mean over neurons", "The same distance of no spike at all: what 100 % would be."
        ),
        "kept": Definition("Kept", "", "Exactly as in the source."),
        "approximated": Definition(
            "Approximated", "", "Not exactly as in the source; by how much, where a number can tell."
        ),
        "left-out": Definition("Left out", "", "Not taken over, with a way out."),
    }
)
"""Figures by the end of their anchor, ``def-…``."""


# The tables of an import's page, and the same as CSV.


class Head(NamedTuple):
    """The head of a column."""

    text: str  # what it holds
    term: str = ""  # its definition, by the end of the anchor; empty without one
    unit: str = ""  # below, in small letters
    left: bool = False  # whether the column is aligned to the left


class PageTable(NamedTuple):
    """A table of the page; the first column names the row."""

    title: str
    heads: tuple[Head, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""  # what is said below; may be empty


_Column = tuple[Head, Callable[[Any], str]]
_INTEGERS: tuple[_Column, ...] = (
    (Head("Node", "node", left=True), lambda node: node.node),
    (Head("Neurons", "neurons"), lambda node: f"{node.neurons:,}"),
    (Head("Scale", "scale", "units per unit of v"), lambda node: plain(node.scale)),
    (Head("Threshold", "threshold", "units"), lambda node: f"{node.threshold:,}"),
    (Head("Lowest v", "lowest-voltage", "unit of v"), lambda node: plain(node.lowest_voltage)),
    (
        Head("Room of the current", "current-room", "times"),
        lambda node: "-" if node.current_headroom is None else f"{plain(node.current_headroom)} ×",
    ),
)
_ERRORS: tuple[_Column, ...] = (
    (Head("Node", "node", left=True), lambda node: node.node),
    (Head("Time constant", "tau-error"), lambda node: percent(node.tau_error)),
    (
        Head("Time constants of currents", "synapse-tau-error"),
        lambda node: ", ".join(map(percent, node.synapse_tau_errors)) or "-",
    ),
    (Head("Threshold", "threshold-error"), lambda node: percent(node.threshold_error)),
    (Head("Bias", "bias-error"), lambda node: percent(node.bias_error)),
    (Head("Truncation", "truncation", "of the threshold"), lambda node: percent(node.truncation)),
)
_SYNAPSES: tuple[_Column, ...] = (
    (Head("Edge", left=True), lambda edge: edge.edge),
    (Head("Synapses", "synapses"), lambda edge: f"{edge.synapses:,}"),
    (Head("Weights", "weight-error"), lambda edge: percent(edge.weight_error)),
    (Head("Greatest of a weight", "greatest-weight-error"), lambda edge: percent(edge.greatest_weight_error)),
    (Head("Weights lost", "lost"), lambda edge: f"{edge.lost:,}"),
    (Head("Delays", "delay-error"), lambda edge: seconds(edge.delay_error)),
)
_TRAINS: tuple[_Column, ...] = (
    (Head("Node", "node", left=True), lambda row: row.node),
    (Head("Original", left=True), lambda row: row.original),
    (Head("Neurons compared"), lambda row: f"{row.neurons:,}"),
    (Head("Spikes", unit="on the chip"), lambda row: f"{row.spikes:,}"),
    (Head("Spikes", unit="of the original"), lambda row: f"{row.original_spikes:,}"),
    (Head("Distance", "distance", "spikes"), lambda row: plain(row.distance)),
    (Head("Of silence", "of-silence", "spikes"), lambda row: plain(row.of_silence)),
    (Head("Time constant", unit="of the distance"), lambda row: seconds(row.time_constant)),
)


def page_tables(found: Imported) -> tuple[PageTable, ...]:
    """Give the folded tables of an import: its nodes, and what putting them into integers cost."""
    tables = [_nodes(found)]
    if (price := found.quantisation) is not None:
        integers = f"Integers of {price.chip}"
        note = f"Scale: {price.search}."
        tables.append(_table(integers, _INTEGERS, price.nodes, note))
        tables.append(_table("Errors of nodes", _ERRORS, price.nodes, "Relative to the float values."))
        tables.append(_table("Errors of synapses", _SYNAPSES, price.edges))
        if price.distances:
            tables.append(_table("Spike trains beside the float original’s", _TRAINS, price.distances))
    if found.kept:
        tables.append(notes_table("Kept exactly", found.kept))
    return tuple(tables)


def notes_table(title: str, notes: Sequence[Note]) -> PageTable:
    """Give notes as a table, with errors and ways out where one has them."""
    rows = [(note.about, note.text, _error(note), note.remedy or "-") for note in notes]
    heads = (
        Head("Of", left=True),
        Head("What became of it", left=True),
        Head("By how much"),
        Head("Way out", left=True),
    )
    has = [True, True, any(note.error is not None for note in notes), any(note.remedy for note in notes)]
    return PageTable(title, _kept(heads, has), tuple(_kept(row, has) for row in rows))


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
    return csv_text([{"became": word, **note} for word, notes in groups.items() for note in note_dicts(notes)], columns)


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


def _table(
    title: str, columns: Iterable[_Column], rows: Sequence[NodeErrors | EdgeErrors | TrainDistance], note: str = ""
) -> PageTable:
    heads, cells = zip(*columns, strict=True)
    return PageTable(title, heads, tuple(tuple(cell(row) for cell in cells) for row in rows), note)


def _nodes(found: Imported) -> PageTable:
    network = found.network
    reads: dict[str, list[str]] = {}
    for source, target in network.edges:
        least, most = network.edges[source, target].delays
        span = counted(most, "tick") if least == most else f"{least} to {most} ticks"
        reads.setdefault(target, []).append(f"{source} ({span})" if network.is_spiking else source)
    heads = [
        Head("Node", "node", left=True),
        Head("Shape", "shape", "rows × columns × features"),
        Head("Neurons", "neurons"),
        Head("Multiply-accumulates", "work", "per frame"),
        Head("Reads", "reads", "delay" if network.is_spiking else "", left=True),
    ]
    has = [True, True, True, bool(found.work), True]
    rows = [
        (
            name,
            "-" if node.shape is None else " × ".join(map(str, node.shape)),
            "-" if node.shape is None else f"{node.size:,}",
            f"{found.work[name]:,}" if name in found.work else "-",
            ", ".join(reads.get(name, ())) or "the host",
        )
        for name, node in network.nodes.items()
    ]
    return PageTable("Nodes", _kept(heads, has), tuple(_kept(row, has) for row in rows))


def _kept(cells: Sequence[Any], has: Sequence[bool]) -> tuple[Any, ...]:
    return tuple(cell for cell, keeps in zip(cells, has, strict=True) if keeps)


def _error(note: Note) -> str:
    return "-" if note.error is None else f"{plain(note.error)} {note.unit}".rstrip()
