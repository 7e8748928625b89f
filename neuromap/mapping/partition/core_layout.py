"""How tiles share a core: which axon of the core each of their axons is, and how their types are renamed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import freeze_arrays
from neuromap.arrays.value import Value
from neuromap.mapping.core.core_model import CoreModel
from neuromap.mapping.tile.tile import Tile

__all__ = ["CoreLayout", "alone", "layout_alone"]

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class CoreLayout(Value):
    """Tiles that share a core."""

    tiles: tuple[int, ...]  # positions in ``Partition.tiles``
    # (axons of the tile,): axon of the core for every axon of each tile; tiles meet on an axon only if it carries one
    # signal
    axon_of: tuple[Ints, ...]
    type_of: tuple[Ints, ...]  # (axon_types,): axon type of the core for every type of each tile, a permutation
    n_axons: int  # axons in use

    def __post_init__(self) -> None:
        freeze_arrays(self)


def alone(tiles: Sequence[Tile], model: CoreModel) -> tuple[CoreLayout, ...]:
    """Give every tile a core of its own."""
    return tuple(layout_alone(number, tile, model) for number, tile in enumerate(tiles))


def layout_alone(number: int, tile: Tile, model: CoreModel) -> CoreLayout:
    """Give tile ``number`` a core of its own."""
    n_axons = tile.plan.n_axons
    return CoreLayout((number,), (np.arange(n_axons),), (np.arange(model.axon_types),), n_axons)
