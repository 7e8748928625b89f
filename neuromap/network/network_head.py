"""A network in the head of a JSON document about it."""

from __future__ import annotations

from typing import Any

from neuromap.network.network import Network

__all__ = ["network_head"]


def network_head(network: Network) -> dict[str, Any]:
    """Make the member ``network`` of a document."""
    return {
        "name": network.name,
        "nodes": len(network.nodes),
        "edges": len(network.edges),
        "inputs": list(network.inputs),
        "outputs": list(network.outputs),
    }
