"""An import as people read it in a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.files.messages import counted
from neuromap.forms.card import Card
from neuromap.forms.formed import Formed, form
from neuromap.forms.numbers import plain
from neuromap.forms.tables import new_table, printed
from neuromap.network.network import Network
from neuromap.quantise.quantisation import Quantisation

if TYPE_CHECKING:
    from rich.table import Table

_NODES_SHOWN = 20


def render_text(found: Imported, width: int = 100) -> str:
    """Write nodes and edges, and what was kept, approximated and refused."""
    network = found.network
    by = f", written by {found.producer}" if found.producer else ""
    head = (
        f"{network.name} from {found.format} {found.source}{by}: {counted(len(network.nodes), 'node')}, "
        f"{counted(len(network.edges), 'edge')}"
    )
    blocks = [printed(lambda console: console.print(_nodes(found)), width).rstrip("\n")]
    if len(network.nodes) > _NODES_SHOWN:
        blocks[0] += f"\n{len(network.nodes) - _NODES_SHOWN} more nodes: --json lists all"
    if found.quantisation is not None:
        blocks.append(str(form(found.quantisation, "text", width)).rstrip("\n"))
    said = [
        *note_lines("kept", found.kept),
        *note_lines("approximated", found.approximated),
        *note_lines("refused", found.refused),
    ]
    return "\n\n".join([head, *blocks, *(["\n".join(said)] if said else [])]) + "\n"


def _nodes(found: Imported) -> Table:
    table = new_table("node", "rows x columns\nx features", "multiply-accumulates\nper frame", "reads")
    for name, node in list(found.network.nodes.items())[:_NODES_SHOWN]:
        shape = "-" if node.shape is None else " x ".join(map(str, node.shape))
        work = f"{found.work[name]:,}" if name in found.work else "-"
        table.add_row(name, shape, work, ", ".join(u for u, v in found.network.edges if v == name))
    return table


# Notes of imports and exports as lines and as plain values.
def note_dicts(notes: Sequence[Note]) -> list[dict[str, Any]]:
    """Give notes as plain values."""
    return [
        {"about": note.about, "text": note.text, "remedy": note.remedy, "error": note.error, "unit": note.unit}
        for note in notes
    ]


def note_lines(word: str, notes: Sequence[Note]) -> list[str]:
    """Write a line for every note, with a word on what became of its part."""
    return [f"{word}: {_line(note)}" for note in notes]


def _line(note: Note) -> str:
    error = "" if note.error is None else f", by {plain(note.error)} {note.unit}".rstrip()
    return f"{note.about}: {note.text}{error}" + (f"; {note.remedy}" if note.remedy else "")


# A program or network written for another tool, and what of it the tool takes over.


# A network from elsewhere, and what its import kept, approximated and refused.
@dataclass(frozen=True)
class Note(Card):
    """One thing that an import says of a part of what it read.

    Attributes
    ----------
    about : str
        The part, named as in the source and, where it has a name there, in the network.
    text : str
        What became of it, in a clause.
    remedy : str
        The way out of a refusal; empty for what is kept or approximated.
    error : float or None
        By how much it is approximated; ``None`` where it is exact or cannot be told in a number.
    unit : str
        Of the error, such as ``"of the greatest weight"``; empty without one.
    """

    about: str
    text: str
    remedy: str = ""
    error: float | None = None
    unit: str = ""


@dataclass(frozen=True, eq=False)
class Imported(Formed):
    """A network from elsewhere with a summary of its import.

    Attributes
    ----------
    network : Network
        With weights where all could be taken over, else of structure with shapes, or of structure only.
    format : str
        As :data:`neuromap.exchange.formats.IMPORT_FORMATS` calls it.
    source : str
        File, or class of the module, that was read.
    producer : str
        Tool and version that wrote it, where the file says so; else empty.
    kept, approximated, refused : tuple of Note
        What is exactly as in the source; what is not, with errors; what was left out, with a way out. A source of which
        nothing can be taken over is refused with an error instead.
    work : mapping of str to int
        Multiply-accumulates of each node in one frame, as the source counts them; empty where they are not known.
    quantisation : Quantisation or None
        What putting float neurons and weights into a chip's integers cost; ``None`` where nothing was float.
    """

    network: Network
    format: str
    source: str
    producer: str = ""
    kept: tuple[Note, ...] = ()
    approximated: tuple[Note, ...] = ()
    refused: tuple[Note, ...] = ()
    work: Mapping[str, int] = field(default_factory=dict)
    quantisation: Quantisation | None = None

    _called = "an import"

    def __post_init__(self) -> None:
        object.__setattr__(self, "work", ReadOnlyMapping(self.work))

    def _facts(self) -> dict[str, object]:
        return {
            "network": self.network.name,
            "format": self.format,
            "source": self.source,
            "nodes": len(self.network.nodes),
            "edges": len(self.network.edges),
            "kept": len(self.kept),
            "approximated": len(self.approximated),
            "refused": len(self.refused),
        }

    def to_dict(self) -> dict[str, Any]:
        """Give the import as plain values, those of its JSON document."""
        found: dict[str, Any] = form(self, "dict")
        return found

    def to_json(self) -> str:
        """Write the import as a JSON document."""
        return str(form(self, "json"))

    def to_html(self) -> str:
        """Write the import as one self-contained HTML page."""
        return str(form(self, "html"))


@dataclass(frozen=True, eq=False)
class Exported(Formed):
    """What an export gives: the content of its files, not yet written, with a summary.

    Attributes
    ----------
    name : str
        Of the network or program.
    format : str
        As :data:`neuromap.exchange.formats.EXPORT_FORMATS` calls it.
    contents : mapping of str to str or bytes
        Content of every file by its name in the folder that is written; the only one of a format that is one file.
    figures : mapping of str to int or str
        What was written, in numbers: names with units, as the summary prints them.
    kept, approximated, refused : tuple of Note
        What the tool is given exactly; what it computes otherwise; what it has no place for, with a way out. A source
        of which nothing can be written is refused with an error instead.
    """

    name: str
    format: str
    contents: Mapping[str, str | bytes]
    figures: Mapping[str, int | str] = field(default_factory=dict)
    kept: tuple[Note, ...] = ()
    approximated: tuple[Note, ...] = ()
    refused: tuple[Note, ...] = ()

    _called = "an export"

    def __post_init__(self) -> None:
        object.__setattr__(self, "contents", ReadOnlyMapping(self.contents))
        object.__setattr__(self, "figures", ReadOnlyMapping(self.figures))

    def _facts(self) -> dict[str, object]:
        return {
            "name": self.name,
            "format": self.format,
            "files": ", ".join(self.contents),
            **self.figures,
            "kept": len(self.kept),
            "approximated": len(self.approximated),
            "refused": len(self.refused),
        }
