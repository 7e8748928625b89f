"""A quantisation as a JSON document."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from neuromap.forms.documents import json_text
from neuromap.quantise.quantisation import Quantisation


def to_dict(found: Quantisation) -> dict[str, Any]:
    """Give a quantisation as plain values; errors are relative, times in seconds."""
    # gives ``None`` for what has no bound or does not exist
    return {
        "format": "neuromap quantisation 1",
        "network": found.network,
        "chip": found.chip,
        "model_seconds_per_tick": found.dt,
        "chip_seconds_per_tick": found.tick_seconds,
        "search": found.search,
        "notes": list(found.notes),
        "nodes": [asdict(node) for node in found.nodes],
        "edges": [asdict(edge) for edge in found.edges],
        "distances": [asdict(distance) for distance in found.distances],
    }


def to_json(found: Quantisation) -> str:
    """Write a quantisation as a JSON document."""
    return json_text(to_dict(found))
