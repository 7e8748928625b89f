"""The tables of an import's page, and the same as CSV."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from neuromap.exchange.forms.draw_errors import percent
from neuromap.exchange.forms.notes import note_dicts
from neuromap.exchange.imported import Imported, Note
from neuromap.files.messages import counted
from neuromap.forms.documents import csv_text
from neuromap.forms.numbers import plain, seconds
from neuromap.quantise.quantisation import EdgeErrors, NodeErrors, TrainDistance

__all__ = ["Head", "PageTable", "nodes_csv", "notes_csv", "notes_table", "page_tables"]


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
