"""What the dependency wave asks of a program, whatever its cores are like."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.parts_of_ticks import in_parts
from neuromap.hardware.program.chip_program import ChipProgram

__all__ = ["NEVER", "Ticks", "Wiring", "ticks_since_sampling"]

Ticks: TypeAlias = NDArray[np.int64]

NEVER = -(2**62)
"""Tick of what the wave never reaches; below every tick that a program can have."""


def ticks_since_sampling(program: ChipProgram, node: int, rows: NDArray[np.int64]) -> Ticks:
    """Ticks from the sampling of an input frame until rows of the host table deliver it, the same for every frame."""
    (sampled,) = in_parts([program.nodes[node].sample_tick], program.period)
    ticks: Ticks = (program.host.exact_arrival(program.period)[rows] - sampled) // program.period.denominator
    return ticks


class Wiring(ABC):
    """A program as the wave walks it; neuron n of core c has the number ``c * N + n``."""

    # label: (C * N,): node of every neuron, -1 without
    # relay: (C * N,): whether it is a relay, a splitter or a part of a sum
    # part: (C * N,): whether it is a part of a sum

    def __init__(self, program: ChipProgram) -> None:
        self.label = program.neuron_node.astype(np.int64).ravel()
        self.relay = program.is_relay.ravel()
        self.part = np.zeros_like(self.relay) if program.is_part is None else program.is_part.ravel()
        self._n_nodes = len(program.nodes)

    @abstractmethod
    def linked(self) -> NDArray[np.bool_]:
        """Which node has a synapse onto which: shape (nodes, nodes), source first."""

    @abstractmethod
    def earliest(self, node: int) -> Ticks:
        """Ticks from the sampling of an input until each neuron is first reached; ``NEVER`` where it is not."""

    @abstractmethod
    def latest(self, node: int) -> Ticks | None:
        """Ticks from the sampling of an input until it last reaches each neuron, self-edges masked."""
        # ``NEVER`` where it does not; ``None`` where the wave runs in circles, through relays or neurons without a
        # label.

    @property
    def self_edges_only(self) -> bool:
        """Whether all cycles between the program's nodes, as its labels and synapses show them, are self-edges."""
        linked = self.linked().copy()
        np.fill_diagonal(linked, False)
        left = np.ones(len(linked), bool)
        while (first := left & ~linked[left].any(axis=0)).any():
            left &= ~first
        return not left.any()

    def longest_path(self, sends: NDArray[np.bool_]) -> int:
        """Bound the neurons on a path: every node at most once, and as many relays and unlabelled ones as send."""
        return self._n_nodes + int(np.count_nonzero((self.relay | (self.label < 0)) & sends)) + 1
