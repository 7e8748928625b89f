"""What lies where on the board: for every core in use its place, its nodes, and its relays and splitters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.array_types import Ints
from neuromap.arrays.frozen import ReadOnly
from neuromap.render.value import Card


@dataclass(frozen=True, eq=False)
class CoreMap(ReadOnly, Card):
    """Places and contents of the C cores that a program uses; small, whatever the program is."""

    names: tuple[str, ...]  # names of the nodes
    # cores, chips: columns and rows of cores on a chip, and of chips on the board
    cores: tuple[int, int]
    chips: tuple[int, int]
    places: int  # neurons that a core has room for
    dead: tuple[tuple[int, int], ...]  # x and y of cores that cannot be used
    coordinates: NDArray[np.int32]  # (C, 2): x and y on the board
    neurons: Ints  # (C,): neurons of nodes; relays, splitters and copies included
    # main, second: (C,): positions in ``names`` of the node with most neurons and of the one that follows; -1 for none
    main: Ints
    second: Ints
    # main_neurons, second_neurons: (C,): their neurons
    main_neurons: Ints
    second_neurons: Ints
    n_nodes: Ints  # (C,): nodes with neurons in the core
    # relays, splitters, parts: (C,): relays that only lengthen a delay, splitters, and parts of sums
    relays: Ints
    splitters: Ints
    parts: Ints
    copied: Ints  # (C,): neurons of nodes that stand on the chip more than once, relays and splitters apart
    cores_of_node: Ints  # (nodes,): cores that hold neurons of each node; shared cores count for each of their nodes

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
