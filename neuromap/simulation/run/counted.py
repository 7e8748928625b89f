"""What some ticks did, by core and by node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import freeze_arrays
from neuromap.arrays.value import Value
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.simulation.run.tick_run import TickSpikes
from neuromap.simulation.trace.recording import node_labels

__all__ = ["NodeSpikes", "SpikeLabels", "spikes_by_core"]

Ints = NDArray[np.int64]


def spikes_by_core(program: ChipProgram, ticks: Sequence[TickSpikes]) -> Ints:
    """Count the spikes that neurons of every core fired in some ticks, shape (C,)."""
    counts = np.zeros(program.n_cores, np.int64)
    for sent in ticks:
        counts += np.bincount(sent.cores, minlength=program.n_cores)
    return counts


@dataclass(frozen=True, eq=False)
class NodeSpikes(Value):
    """Spikes of nodes, copies of a neuron as one; all of shape (n,), int64, ordered by tick, node, index."""

    tick: Ints  # when
    node: Ints  # position in the program's nodes
    index: Ints  # neuron within the node

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @classmethod
    def none(cls) -> Self:
        """No spikes."""
        return cls(*(np.zeros(0, np.int64) for _ in range(3)))


class SpikeLabels:
    """Which neuron of which node fires where: what rasters and counts by node are made with.

    Relays, splitters and parts of sums count for no node; of outputs what is read out counts.

    Parameters
    ----------
    program : ChipProgram
        What runs; edited programs have the same labels.
    """

    def __init__(self, program: ChipProgram) -> None:
        self._node, self._index = node_labels(program)
        self.n_nodes = len(program.nodes)

    def of(self, ticks: Sequence[TickSpikes]) -> NodeSpikes:
        """Name the spikes of some ticks."""
        if not ticks:
            return NodeSpikes.none()
        parts = []
        for sent in ticks:
            node = self._node[sent.cores, sent.neurons]
            index = self._index[sent.cores, sent.neurons][node >= 0]
            # as one number: distinct rows of a table take ten times as long
            parts.append(np.unique(node[node >= 0].astype(np.int64) << 32 | index))
        named = np.concatenate(parts)
        tick = np.repeat([sent.tick for sent in ticks], [len(part) for part in parts]).astype(np.int64)
        return NodeSpikes(tick, named >> 32, named & 0xFFFFFFFF)

    def by_node(self, ticks: Sequence[TickSpikes]) -> Ints:
        """Count the spikes of every node in some ticks, shape (number of nodes,)."""
        return np.bincount(self.of(ticks).node, minlength=self.n_nodes).astype(np.int64)
