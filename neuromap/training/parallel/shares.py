"""Which process computes which nodes: the longest first, always to the process that has least to do."""

from __future__ import annotations

import math

from neuromap.network.network import Network
from neuromap.network.transforms.kinds import Conv, Dense

__all__ = ["multiply_accumulates", "node_shares"]


def multiply_accumulates(network: Network) -> dict[str, int]:
    """Count the multiply-accumulates of a frame, node by node; those of inputs are none."""
    work = {name: 0 for name in network.nodes if name not in network.inputs}
    for edge in network.edges.values():
        transform, size = edge.transform, network.nodes[edge.target].size
        if isinstance(transform, Conv):
            work[edge.target] += size * math.prod(transform.weight_shape[:3])
        elif isinstance(transform, Dense):
            work[edge.target] += size * transform.weight_shape[-1]
        else:
            work[edge.target] += size
    return work


def node_shares(network: Network, processes: int) -> tuple[tuple[str, ...], ...]:
    """Share nodes out; processes without any are left out."""
    work = multiply_accumulates(network)
    shares: list[list[str]] = [[] for _ in range(processes)]
    loads = [0] * processes
    for name in sorted(work, key=lambda n: -work[n]):
        least = loads.index(min(loads))
        shares[least].append(name)
        loads[least] += work[name]
    return tuple(tuple(share) for share in shares if share)
