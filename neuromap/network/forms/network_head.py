"""A network in the head of a JSON document about it."""

from __future__ import annotations

from typing import Any

from neuromap.network.network import Network

__all__ = ["network_head"]


def network_head(network: Network) -> dict[str, Any]:
    """Make the member ``network`` of a document.

    Parameters
    ----------
    network : Network

    Returns
    -------
    dict
        Its name, how many nodes and edges it has, and the names of its inputs and outputs.
    """
    return {
        "name": network.name,
        "nodes": len(network.nodes),
        "edges": len(network.edges),
        "inputs": list(network.inputs),
        "outputs": list(network.outputs),
    }
