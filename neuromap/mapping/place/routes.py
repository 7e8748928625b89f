"""Routes: which copy of a neuron feeds which axon."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import freeze_arrays
from neuromap.forms.card import Card

__all__ = ["NO_TARGET", "Routes"]

Ints = NDArray[np.int64]
NO_TARGET = -1
"""Target core of a copy that is read out, or only recorded."""


@dataclass(frozen=True, eq=False)
class Routes(Card):
    """One row per copy of a neuron: where it sits and which axon it feeds."""

    # core, slot: (r,): the copy: core and neuron of the core
    core: Ints
    slot: Ints
    # tile, tile_row: (r,): the tile that the copied neuron belongs to, and its position within it
    tile: Ints
    tile_row: Ints
    # target_core, target_axon, delay: (r,): its target; target_core is -1 where the copy is read out, or only recorded
    target_core: Ints
    target_axon: Ints
    delay: Ints

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @property
    def wires(self) -> tuple[Ints, Ints]:
        """Source and target core of every copy that has a target."""
        on_chip = self.target_core != NO_TARGET
        return self.core[on_chip], self.target_core[on_chip]
