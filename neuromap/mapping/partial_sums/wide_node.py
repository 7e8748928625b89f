"""What a node that is wider than a core reads."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from neuromap.arrays.frozen import freeze_arrays
from neuromap.arrays.value import Value
from neuromap.mapping.legalise.clip_thresholds import clip_thresholds
from neuromap.mapping.legalise.legalised import Matrix
from neuromap.network.network import Network

__all__ = ["WideNode", "wide_node"]

Ints = NDArray[np.int64]
ALIKE = 2
"""Features of one position read much the same where together they read up to so many times what one reads."""


@dataclass(frozen=True, eq=False)
class WideNode(Value):
    """A node whose sums are to be cut."""

    name: str  # of the node
    matrix: Matrix  # (n, s): weights of all edges into it, side by side in the network's order
    shapes: tuple[tuple[int, int, int], ...]  # sources of the edges
    threshold: Ints  # (n,): theta, clipped to where it still matters
    # (g, s): 1 where somebody of a group of neurons reads an input. Groups are features at one position where these
    # read much the same, so that they should share cores; else single neurons
    together: Matrix

    def __post_init__(self) -> None:
        freeze_arrays(self)


def wide_node(network: Network, name: str) -> WideNode:
    """Collect what a node of a network reads."""
    node = network.nodes[name]
    edges = {key: edge for key, edge in network.edges.items() if key[1] == name}
    matrices = [edge.matrix().astype(np.int64) for edge in edges.values()]
    joined: Matrix = sparse.csr_array(sparse.hstack(matrices, format="csr"))
    joined.eliminate_zeros()
    joined.sort_indices()
    shapes = tuple(shape for u, _ in edges if (shape := network.nodes[u].shape) is not None)
    assert node.threshold is not None, "the mapper asks for weights and thresholds first"
    features = 1 if node.shape is None else node.shape[2]
    threshold = clip_thresholds(node.threshold.astype(np.int64), [joined])
    return WideNode(name, joined, shapes, threshold, _together(joined, features))


def _together(matrix: Matrix, features: int) -> Matrix:
    reads = matrix.copy()
    reads.data = np.ones(reads.nnz, np.int64)
    n = matrix.shape[0]
    position = sparse.csr_array((np.ones(n, np.int64), (np.arange(n) // features, np.arange(n))))
    pooled: Matrix = sparse.csr_array(position @ reads)
    pooled.data[:] = 1
    alone, shared = (int(np.diff(some.indptr).max(initial=0)) for some in (reads, pooled))
    return pooled if shared <= ALIKE * alone else reads
