"""The network of integers that runs on the chip, and how its inputs stand for values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import freeze_arrays
from neuromap.forms.card import Card
from neuromap.network.network import Network

__all__ = ["ChipNetwork", "FedNode", "ValueCode"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class ValueCode(Protocol):
    """How whole numbers become spikes of an input node, one number for each of its m values."""

    @property
    def lowest(self) -> Ints:
        """Least numbers, shape () or (m,)."""

    @property
    def highest(self) -> Ints:
        """Greatest numbers, shape () or (m,)."""

    def extra(self, tick: int) -> Floats:
        """Units that a tick adds to the values, shape () or (m,)."""

    def size(self, n_values: int) -> int:
        """Spikes that ``n_values`` values can take in a tick."""

    def spikes(self, numbers: Ints) -> NDArray[np.bool_]:
        """Say which spikes stand for numbers, shape (m,), within the bounds; shape (size(m),)."""


@dataclass(frozen=True, eq=False)
class FedNode(Card):
    """An input node whose spikes stand for values."""

    name: str  # of the node
    unit: Floats  # (m,): what 1 of the number that each value is rounded to is worth
    code: ValueCode  # how these numbers become spikes

    def __post_init__(self) -> None:
        freeze_arrays(self)


@dataclass(frozen=True, eq=False)
class ChipNetwork(Card):
    """A plan in integers."""

    network: Network  # A node for every ensemble, an input node for every feed
    fed: tuple[FedNode | None, ...]  # by ensemble
    scales: tuple[Ints, ...]  # (n,): thresholds, by ensemble: the voltage 1 of Nengo

    def __post_init__(self) -> None:
        freeze_arrays(self)
