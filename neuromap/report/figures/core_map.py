"""What lies where on the board: for every core in use its place, its nodes, and its relays and splitters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import freeze_arrays
from neuromap.forms.card import Card

__all__ = ["CoreMap"]

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class CoreMap(Card):
    """Places and contents of the C cores that a program uses; small, whatever the program is.

    Attributes
    ----------
    names : tuple of str
        Names of the nodes.
    cores, chips : tuple of int
        Columns and rows of cores on a chip, and of chips on the board.
    places : int
        Neurons that a core has room for.
    dead : tuple of (int, int)
        x and y of cores that cannot be used.
    coordinates : ndarray of int32, shape (C, 2)
        x and y on the board.
    neurons : ndarray of int64, shape (C,)
        Neurons of nodes; relays, splitters and copies included.
    main, second : ndarray of int64, shape (C,)
        Positions in ``names`` of the node with most neurons and of the one that follows; -1 for none.
    main_neurons, second_neurons : ndarray of int64, shape (C,)
        Their neurons.
    n_nodes : ndarray of int64, shape (C,)
        Nodes with neurons in the core.
    relays, splitters, parts : ndarray of int64, shape (C,)
        Relays that only lengthen a delay, splitters, and parts of sums.
    copied : ndarray of int64, shape (C,)
        Neurons of nodes that stand on the chip more than once, relays and splitters apart.
    cores_of_node : ndarray of int64, shape (nodes,)
        Cores that hold neurons of each node; shared cores count for each of their nodes.
    """

    names: tuple[str, ...]
    cores: tuple[int, int]
    chips: tuple[int, int]
    places: int
    dead: tuple[tuple[int, int], ...]
    coordinates: NDArray[np.int32]
    neurons: Ints
    main: Ints
    second: Ints
    main_neurons: Ints
    second_neurons: Ints
    n_nodes: Ints
    relays: Ints
    splitters: Ints
    parts: Ints
    copied: Ints
    cores_of_node: Ints

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @property
    def board(self) -> tuple[int, int]:
        """Columns and rows of cores on the whole board."""
        return self.cores[0] * self.chips[0], self.cores[1] * self.chips[1]

    @property
    def region(self) -> tuple[int, int, int, int]:
        """Least x and y, and columns and rows, of the smallest rectangle that holds all cores in use."""
        if not len(self.coordinates):
            return 0, 0, 1, 1
        low, high = self.coordinates.min(axis=0), self.coordinates.max(axis=0)
        return int(low[0]), int(low[1]), int(high[0] - low[0]) + 1, int(high[1] - low[1]) + 1
