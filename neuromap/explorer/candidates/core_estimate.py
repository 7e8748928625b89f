"""A cheap guess at the cores of a schedule, for choosing what to map first; nothing rests on it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuromap.explorer.candidates.graph import Graph
from neuromap.hardware.chip.chip_spec import ChipSpec

__all__ = ["CoreWeights", "core_weights"]

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class CoreWeights:
    """What the distinct signals of a schedule weigh."""

    # A neuron that is read at k different delays sends at least k spikes to different axons; a delay beyond the longest
    # takes relays. So cores grow with the distinct pairs of node and delay, weighted by the neurons of the node.

    # for every node that is no input: its neurons in cores, and its edges that have weights
    outgoing: tuple[tuple[float, tuple[int, ...]], ...]
    longest: int  # longest delay of a neuron in update steps

    def estimate(self, delays: Ints) -> NDArray[np.float32]:
        """Guess from delays, an array of shape (N, E): an array of shape (N,)."""
        total = np.zeros(len(delays), np.float32)
        for size, edges in self.outgoing:
            columns = [delays[:, e] for e in edges]
            for k, column in enumerate(columns):
                new = np.ones(len(delays), np.bool_)
                for other in columns[:k]:
                    new &= column != other
                total += np.float32(size) * new
            relays = np.max([(column - 1) // self.longest for column in columns], axis=0)
            total += np.float32(size) * relays.astype(np.float32)
        return total


def core_weights(graph: Graph, chip: ChipSpec) -> CoreWeights:
    """Take the sizes of nodes and the longest delay; where neurons have no copies nothing weighs."""
    if chip.core_model == "synapse-list":
        return CoreWeights((), chip.delay[1])
    network = graph.network
    sizes = [node.size for node in network.nodes.values()]
    outgoing = []
    for u in range(graph.n_nodes):
        edges = tuple(graph.leaving(u))
        if edges and u not in graph.inputs:
            outgoing.append((sizes[u] / chip.neurons, edges))
    return CoreWeights(tuple(outgoing), chip.delay[1])
