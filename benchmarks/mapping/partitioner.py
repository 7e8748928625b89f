"""A general graph partitioner (METIS) on the same networks: what it cuts, and how many of its parts no core can hold.

python -m benchmarks.mapping.partitioner CASE        one line of JSON
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from benchmarks.mapping.cases import CASES
from neuromap.network import Network

__all__ = ["Parts", "judge", "partition_with_metis"]

_CORE = 256
"""Axons and neurons of a core."""


@dataclass(frozen=True)
class Parts:
    """What became of a network in parts of at most 256 neurons, inputs included, copies not counted.

    Attributes
    ----------
    parts : int
        Parts in use.
    deliveries : int
        Distinct pairs of a source neuron and a part that reads it.
    illegal : int
        Parts with more than 256 neurons or more than 256 sources.
    cpu_seconds : float
        Time of the partitioner.
    """

    parts: int
    deliveries: int
    illegal: int
    cpu_seconds: float


def partition_with_metis(network: Network, *, seed: int = 1) -> Parts:
    """Cut the graph of all neurons and synapses into as many parts as its neurons fill cores.

    Raises
    ------
    ImportError
        Without pymetis.
    """
    import pymetis

    pairs = _synapses(network)
    graph = sparse.csr_array((pairs + pairs.T).astype(bool))
    n_parts = -(-graph.shape[0] // _CORE)
    start = time.process_time()
    adjacency = pymetis.CSRAdjacency(graph.indptr, graph.indices)
    _, part = pymetis.part_graph(n_parts, adjacency, options=pymetis.Options(seed=seed), recursive=False)
    spent = time.process_time() - start
    return judge(pairs, np.asarray(part, np.int64), spent)


def judge(synapses: sparse.coo_array, part: NDArray[np.int64], cpu_seconds: float = 0.0) -> Parts:
    """Count what a partition costs.

    Parameters
    ----------
    synapses : coo_array, shape (n, n)
        One entry per synapse, target neurons in rows.
    part : ndarray of int64, shape (n,)
        Part of every neuron, 0 or more.
    cpu_seconds : float
        Handed on.
    """
    target, source = synapses.coords
    n_parts = int(part.max()) + 1
    pairs = np.unique(source.astype(np.int64) * n_parts + part[target])
    axons = np.bincount(pairs % n_parts, minlength=n_parts)
    neurons = np.bincount(part, minlength=n_parts)
    illegal = int(((axons > _CORE) | (neurons > _CORE)).sum())
    return Parts(int((neurons > 0).sum()), len(pairs), illegal, cpu_seconds)


def _synapses(network: Network) -> sparse.coo_array:
    names = list(network.nodes)
    blocks = [
        [network.edges[u, v].matrix() if (u, v) in network.edges else _empty(network, v, u) for u in names]
        for v in names
    ]
    return sparse.coo_array(sparse.block_array(blocks, format="coo"))


def _empty(network: Network, v: str, u: str) -> sparse.coo_array:
    return sparse.coo_array((network.nodes[v].size, network.nodes[u].size), dtype=np.int64)


def main() -> int:
    """Cut the network of the case that is named."""
    title = sys.argv[1]
    found = partition_with_metis(CASES[title].network())
    print(json.dumps({"case": title, "packing": False, **asdict(found)}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
