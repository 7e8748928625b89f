"""Edges over which something reaches a neuron that is computed: only there a splitter has anything to carry."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from neuromap.network.edge import EdgeKey
from neuromap.network.network import Network

__all__ = ["edges_in_use"]


def edges_in_use(network: Network, keep: Collection[str] = ()) -> frozenset[EdgeKey]:
    """Find the edges with weights into neurons that an output depends on, or that are kept."""
    reads = {edge: value.matrix() for edge, value in network.edges.items()}
    computed: dict[str, NDArray[np.bool_]] = {
        name: np.full(node.size, name in network.outputs or name in keep or "all" in keep)
        for name, node in network.nodes.items()
    }
    waiting = {name for name, mine in computed.items() if mine.any()}
    while waiting:
        reader = waiting.pop()
        for (source, target), matrix in reads.items():
            if target == reader:
                read = matrix[np.flatnonzero(computed[reader])].indices
                if not computed[source][read].all():
                    computed[source][read] = True
                    waiting.add(source)
    return frozenset(edge for edge, matrix in reads.items() if np.diff(matrix.indptr)[computed[edge[1]]].any())
