"""What the delays of a rollout cost on a chip: relays, and on crossbar cores a copy for every distinct delay.

A neuron of a crossbar core feeds one axon at one delay. So a neuron whose spikes are read at k delays takes k neurons
of the chip at least, and one more for every relay; readers that share a core, and the delay, share its axon. Where a
neuron has many targets, relays alone cost something.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.mapping.partition.edges_in_use import edges_in_use
from neuromap.network.edge import EdgeKey
from neuromap.rollout.schedule.delay_cost import DelayCost
from neuromap.rollout.schedule.rollout import Rollout

__all__ = ["delay_costs"]


def delay_costs(
    rollout: Rollout,
    chip: ChipSpec,
    ticks_per_step: int,
    split: frozenset[EdgeKey],
    leads: Mapping[str, int],
    keep: Collection[str] = (),
) -> list[DelayCost]:
    """Say what the delays of every node on the chip cost."""
    network = rollout.network
    in_use = edges_in_use(network, keep)
    leaving: dict[tuple[str, bool], list[EdgeKey]] = {}
    for edge in network.edges:
        if edge[0] not in network.inputs and edge in in_use:
            leaving.setdefault((edge[0], edge in split), []).append(edge)
    return [
        DelayCost(
            edges=read,
            neurons=neurons,
            free_ticks=chip.delay[1],
            is_per_delay=chip.core_model == "crossbar",
            ticks_per_step=ticks_per_step,
            leads=tuple(leads.get(v, 0) for _, v in read),
        )
        for edges in leaving.values()
        for read, neurons in _read_alike(rollout, edges)
    ]


def _read_alike(rollout: Rollout, edges: list[EdgeKey]) -> Iterator[tuple[tuple[EdgeKey, ...], int]]:
    """Count the neurons of a node that are read over the same of some edges; those that nobody reads are left out."""
    reads = [_is_read(rollout, edge) for edge in edges]
    group = np.zeros(len(reads[0]), np.int64)
    for is_read in reads:  # split the groups so far in two each
        group = np.unique(group * 2 + is_read, return_inverse=True)[1]
    _, first, counts = np.unique(group, return_index=True, return_counts=True)
    for neuron, count in zip(first.tolist(), counts.tolist(), strict=True):
        over = tuple(edge for edge, is_read in zip(edges, reads, strict=True) if is_read[neuron])
        if over:
            yield over, count


def _is_read(rollout: Rollout, edge: EdgeKey) -> NDArray[np.bool_]:
    matrix = rollout.network.edges[edge].matrix()
    read = np.zeros(matrix.shape[1], bool)
    read[matrix.indices] = True
    return read
