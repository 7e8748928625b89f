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
    """Tiles that share a core.

    Attributes
    ----------
    tiles : tuple of int
        Positions in ``Partition.tiles``.
    axon_of : tuple of ndarray of int64, each of shape (axons of the tile,)
        Axon of the core for every axon of each tile; tiles meet on an axon only if it carries one signal.
    type_of : tuple of ndarray of int64, each of shape (axon_types,)
        Axon type of the core for every type of each tile, a permutation.
    n_axons : int
        Axons in use.
    """

    tiles: tuple[int, ...]
    axon_of: tuple[Ints, ...]
    type_of: tuple[Ints, ...]
    n_axons: int

    def __post_init__(self) -> None:
        freeze_arrays(self)


def alone(tiles: Sequence[Tile], model: CoreModel) -> tuple[CoreLayout, ...]:
    """Give every tile a core of its own.

    Parameters
    ----------
    tiles : sequence of Tile
        Each legal alone.
    model : CoreModel
        Axon types of a core.

    Returns
    -------
    tuple of CoreLayout
        One per tile, in their order.
    """
    return tuple(layout_alone(number, tile, model) for number, tile in enumerate(tiles))


def layout_alone(number: int, tile: Tile, model: CoreModel) -> CoreLayout:
    """Give tile ``number`` a core of its own.

    Parameters
    ----------
    number : int
        Position in ``Partition.tiles``.
    tile : Tile
        Legal alone.
    model : CoreModel
        Axon types of a core.

    Returns
    -------
    CoreLayout
    """
    n_axons = tile.plan.n_axons
    return CoreLayout((number,), (np.arange(n_axons),), (np.arange(model.axon_types),), n_axons)
