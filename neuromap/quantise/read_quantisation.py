"""A quantisation from the plain values of its document, as another process of ours left them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from neuromap.quantise.quantisation import EdgeErrors, NodeErrors, Quantisation, TrainDistance

__all__ = ["read_quantisation"]


def read_quantisation(document: Mapping[str, Any]) -> Quantisation:
    """Make a quantisation of what :meth:`~neuromap.quantise.quantisation.Quantisation.to_dict` gave."""
    nodes = [{**node, "synapse_tau_errors": tuple(node["synapse_tau_errors"])} for node in document["nodes"]]
    return Quantisation(
        network=document["network"],
        chip=document["chip"],
        dt=document["model_seconds_per_tick"],
        tick_seconds=document["chip_seconds_per_tick"],
        search=document["search"],
        nodes=tuple(NodeErrors(**node) for node in nodes),
        edges=tuple(EdgeErrors(**edge) for edge in document["edges"]),
        notes=tuple(document["notes"]),
        distances=tuple(TrainDistance(**distance) for distance in document["distances"]),
    )
