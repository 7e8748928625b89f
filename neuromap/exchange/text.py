"""An import as people read it in a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuromap.exchange.imported import Imported
from neuromap.exchange.notes import note_lines
from neuromap.files.messages import counted
from neuromap.forms.formed import form
from neuromap.forms.tables import new_table, printed

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["render_text"]

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
