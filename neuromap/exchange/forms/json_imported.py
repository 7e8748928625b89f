"""An import as a JSON document."""

from __future__ import annotations

from typing import Any

from neuromap.exchange.forms.notes import note_dicts
from neuromap.exchange.imported import Imported
from neuromap.forms.documents import json_text
from neuromap.forms.formed import form

__all__ = ["to_dict", "to_json"]


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
