"""Forms of an import (text, JSON), and the notes of imports and exports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from neuromap.exchange.imported import Exported, Imported, Note
from neuromap.files.messages import counted
from neuromap.network.network import Network
from neuromap.quantise import forms as quantise_forms
from neuromap.render.document import (
    COUNT,
    EDGE,
    FILE,
    NULL,
    TEXT,
    another,
    any_of,
    by_name,
    const,
    define,
    document,
    each,
    record,
    record_of,
)
from neuromap.render.numbers import plain
from neuromap.render.table import Column, Table, print_findings, print_rest, print_text

if TYPE_CHECKING:
    from rich.console import Console

_NODES_SHOWN = 20
NOTES = each(define("note", record_of(Note)))


def _nodes(found: Imported) -> list[dict[str, object]]:
    nodes = found.network.nodes.items()
    return [{"name": name, "shape": node.shape, "work": found.work.get(name)} for name, node in nodes]


_PRICE = another("neuromap quantisation 1", "A document of its own: neuromap quantisation 1.").by(
    quantise_forms.to_dict
)
_NETWORK = record(
    {"format": const("neuromap import 1"), "from": TEXT(at="format")},
    source=TEXT,
    producer=TEXT,
    network=TEXT(at="network.name"),
    nodes=each(record(name=TEXT, shape=each(COUNT).or_null, work=COUNT.or_null))(at=_nodes),
    edges=each(EDGE)(at="network.edges"),
    outputs=each(TEXT)(at="network.outputs"),
    kept=NOTES,
    approximated=NOTES,
    refused=NOTES,
    quantisation=any_of(_PRICE, NULL),
    file=FILE.elsewhere,
)
_SCRIPT = record(
    {"format": const("neuromap import 1"), "from": TEXT},
    groups=by_name(COUNT),
    sources=by_name(COUNT),
    synapses=COUNT,
    report=another("neuromap brian2 report 1", "A document of its own: neuromap brian2 report 1."),
    file=FILE.elsewhere,
)
DOCUMENT = document("import", any_of(_NETWORK, _SCRIPT).by(_NETWORK.write))
# Plain values, without weights; work in multiply-accumulates; unknown values are ``None``.
to_dict = DOCUMENT.of


def error_text(note: Note) -> str:
    """Write the error of an approximation."""
    return "-" if note.error is None else f"{plain(note.error)} {note.unit}".rstrip()


def note_lines(found: Imported | Exported) -> list[str]:
    """Write one line per note, headed by what became of its part."""
    groups = {"kept": found.kept, "approximated": found.approximated, "refused": found.refused}
    return [f"{word}: {note_text(note)}" for word, notes in groups.items() for note in notes]


def note_text(note: Note) -> str:
    """Write a note with its remedy."""
    error = "" if note.error is None else f", by {error_text(note)}"
    return f"{note.about}: {note.text}{error}" + (f"; {note.remedy}" if note.remedy else "")


def render_text(found: Imported, width: int = 100) -> str:
    """Write nodes and edges, and what was kept, approximated and refused."""
    blocks = [_node_table(found).text(width), *_more_nodes(found)]
    if found.quantisation is not None:
        blocks.append(quantise_forms.render_text(found.quantisation, width).rstrip("\n"))
    said = "\n".join(note_lines(found))
    return "\n\n".join([_head(found), *blocks, *([said] if said else [])]) + "\n"


def print_answers(found: Imported, console: Console, said: Sequence[str]) -> None:
    """Print the findings of an import, and its nodes."""
    print_text(console, _head(found))
    print_findings(console, said, len(said))
    table = _node_table(found)
    table.print(console, brief=True)
    for line in _more_nodes(found):
        print_text(console, line)
    notes = [f"{len(found.kept)} notes on what was kept"] if found.kept else []
    tables = ["neurons and synapses in integers"] if found.quantisation is not None else []
    if left := [*table.left_out(console.width), *tables, *notes]:
        print_rest(console, left, "--all, --html FILE or --json")


def _head(found: Imported) -> str:
    network = found.network
    by = f", written by {found.producer}" if found.producer else ""
    return (
        f"{network.name} from {found.format} {found.source}{by}: {counted(len(network.nodes), 'node')}, "
        f"{counted(len(network.edges), 'edge')}"
    )


def _more_nodes(found: Imported) -> list[str]:
    more = len(found.network.nodes) - _NODES_SHOWN
    return [f"{more} more nodes: --json lists all"] if more > 0 else []


def _node_table(found: Imported) -> Table[str]:
    network: Network = found.network

    def shape(name: str) -> str:
        sides = network.nodes[name].shape
        return "-" if sides is None else " x ".join(map(str, sides))

    def work(name: str) -> str:
        return f"{found.work[name]:,}" if name in found.work else "-"

    columns = [
        Column[str]("node", lambda name: name, left=True),
        Column[str]("rows x columns\nx features", shape),
        Column[str]("multiply-accumulates\nper frame", work),
        Column[str]("reads", lambda name: ", ".join(u for u, v in network.edges if v == name)),
    ]
    return Table(columns, list(network.nodes)[:_NODES_SHOWN])
