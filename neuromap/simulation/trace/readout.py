"""Chosen neurons of a program, with what they stand for, and their potentials."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import adopted, freeze_arrays
from neuromap.forms.card import Card
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.hardware.program.ports import NodePort

__all__ = ["Potentials", "Readout"]


@dataclass(frozen=True, eq=False)
class Readout(Card):
    """Chosen neurons of a program, K of them, with what they stand for.

    Attributes
    ----------
    nodes : tuple of NodePort
        Nodes that were chosen, the outputs first.
    core, neuron : ndarray of int32, shape (K,)
        Places on the chip. The rows are ordered by node, index, core, neuron.
    node : ndarray of int32, shape (K,)
        Position in ``nodes``; -1 for neurons that were chosen by their core and belong to no chosen node.
    index : ndarray of int32, shape (K,)
        Neuron within the node; -1 where ``node`` is.
    """

    nodes: tuple[NodePort, ...]
    core: NDArray[np.int32]
    neuron: NDArray[np.int32]
    node: NDArray[np.int32]
    index: NDArray[np.int32]

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def __len__(self) -> int:
        return len(self.core)

    @property
    def is_output(self) -> NDArray[np.bool_]:
        """Whether each is recorded as a neuron of an output node; shape (K,)."""
        return adopted(np.array([*(port.kind == "output" for port in self.nodes), False])[self.node])

    @classmethod
    def none(cls) -> Self:
        """Nobody."""
        return cls((), *(np.zeros(0, dtype=np.int32) for _ in range(4)))

    def rows(self, program: ChipProgram) -> NDArray[np.int32]:
        """Make the table of shape (C, N) that gives the row of every neuron here; -1 for the others."""
        table = np.full(program.shape, -1, dtype=np.int32)
        table[self.core, self.neuron] = np.arange(len(self))
        return table


@dataclass(frozen=True, eq=False)
class Potentials(Card):
    """Potentials of chosen neurons after every tick.

    Attributes
    ----------
    neurons : Readout
        The K neurons.
    values : ndarray of int32, shape (n_ticks, K)
        V after each tick.
    """

    neurons: Readout
    values: NDArray[np.int32]

    def __post_init__(self) -> None:
        freeze_arrays(self)
