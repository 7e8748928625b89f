"""Where a program meets the host: input and output tables, clocks of nodes, and nodes that were left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import ReadOnly
from neuromap.arrays.times import Time, tick_of_frame
from neuromap.render.value import Card


def left_out_line(ports: Sequence[NodePort], left_out: Mapping[str, int]) -> str:
    """Describe the nodes that were left out, in one line."""
    size = {port.name: port.size for port in ports}
    parts = (f"{name} ({n} of {size[name]} neuron{'s' * (size[name] != 1)})" for name, n in left_out.items())
    return f"left out, as no output depends on it: {', '.join(parts)}; --keep maps it all the same, to be recorded"


# Where a program meets the host: spikes fed to it, neurons read out, and the clocks of its nodes.


# ``HostTable.node`` of rows that carry a constant instead of an input: the bias axons.
BIAS = -1


@dataclass(frozen=True, eq=False)
class HostTable(ReadOnly, Card):
    """Spikes that the host delivers: one row per axon that it feeds (K rows)."""

    # A row with ``node >= 0`` delivers the spike of neuron ``index`` of that input node, a row with ``node == BIAS``
    # delivers a spike in every frame. Frame i arrives at tick ``arrival + i * period`` of its row; frames before
    # ``first_frame`` are not delivered (0 for inputs over R = 1 edges, 1 for R = 0 edges and bias axons). Where the
    # period is a fraction p/q, frame i arrives at ``arrival + floor((part + i * p) / q)``.
    # Where nodes send values, a row delivers the value of its neuron, and a bias row its constant.

    node: NDArray[np.int32]  # (K,): position in ``Program.nodes``, or ``BIAS``
    index: NDArray[np.int32]  # (K,): neuron within the node; on bias rows the constant, where 0 means 1
    # core, axon: (K,): the axon that is fed
    core: NDArray[np.int32]
    axon: NDArray[np.int32]
    # (K,): tick at which frame 0 arrives or would arrive; may be negative where ``first_frame`` is 1
    arrival: NDArray[np.int64]
    first_frame: NDArray[np.int8]  # (K,): first frame that is delivered
    # (K,): parts of a tick, 0 to q - 1, from ``arrival`` to the exact arrival of frame 0, if the period is a fraction;
    # else None
    part: NDArray[np.int64] | None = None

    @classmethod
    def empty(cls) -> HostTable:
        """Make the table of a program that the host feeds event by event."""
        return cls(*(np.zeros(0, np.int32),) * 4, np.zeros(0, np.int64), np.zeros(0, np.int8))

    def __len__(self) -> int:
        return len(self.node)

    @property
    def constants(self) -> NDArray[np.int32]:
        """Values that bias rows deliver where nodes send values; meaningless on other rows."""
        return np.where(self.index == 0, 1, self.index).astype(np.int32)

    def exact_arrival(self, period: Time) -> NDArray[np.int64]:
        """Return exact arrivals of frame 0 in parts of a tick (``arrays/times.py``): ticks, if the period is whole."""
        arrival = self.arrival.astype(np.int64) * period.denominator
        return arrival if self.part is None else arrival + self.part


@dataclass(frozen=True, eq=False)
class OutputTable(ReadOnly, Card):
    """Neurons that are read out: one row per neuron of an output node (M rows)."""

    # Output neurons without a row (none of their sources survive) never spike.

    node: NDArray[np.int32]  # (M,): position in ``Program.nodes``
    index: NDArray[np.int32]  # (M,): neuron within the node
    # core, neuron: (M,): the neuron on the chip; on crossbars it has no on-chip target
    core: NDArray[np.int32]
    neuron: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.node)


@dataclass(frozen=True)
class NodePort(Card):
    """Label and clock of one node of the network."""

    name: str  # name of the node
    size: int  # neurons of the node
    kind: str  # "input", "output" or "hidden"
    # for inputs the tick at which frame 0 is (or would be) sampled, for others the tick at which frame 0 would be
    # computed; frame i is ``i * period`` ticks later. Negative if frame 0 lies before tick 0. If the period is a
    # fraction, the exact time, a multiple of one part of a tick; rounded down, it is the tick
    sample_tick: Time

    def tick(self, period: Time, frame: int) -> int:
        """Return the tick of a frame of the node in a program with this frame period."""
        return tick_of_frame(self.sample_tick, period, frame)
