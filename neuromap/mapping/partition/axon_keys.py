"""Keys of axons: what an axon is to a core, as one number, so that sets of axons are compared as sorted arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.ragged import rank_in_run

__all__ = ["AxonKeys", "ranks"]

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class AxonKeys:
    """The numbers that stand for signal, type and rank of an axon, ordered in this order."""

    # Axons of different tiles may be one axon of a core iff their keys are equal. The *rank* tells a tile's axons of
    # one signal and type apart.

    n_types: int  # axon types
    n_ranks: int  # more than any rank: the axons of a core

    def encode(self, signal: Ints, axon_type: Ints, rank: Ints) -> Ints:
        """Give the key of every axon."""
        keys: Ints = (signal * self.n_types + axon_type) * self.n_ranks + rank
        return keys

    def first_of(self, signal: Ints) -> Ints:
        """Give the least key that an axon of a signal can have."""
        return signal * (self.n_types * self.n_ranks)

    def signal(self, keys: Ints) -> Ints:
        """Tell which signal every axon carries."""
        return keys // (self.n_types * self.n_ranks)

    def axon_type(self, keys: Ints) -> Ints:
        """Tell the type of every axon."""
        return keys // self.n_ranks % self.n_types


def ranks(signal: Ints, types: Ints) -> Ints:
    """Rank of every axon of a tile among those with its signal and type."""
    # shapes: signal, types (axons,); returns (axons,)
    order = np.lexsort((types, signal))
    rank = np.empty(len(order), np.int64)
    rank[order] = rank_in_run(signal[order], types[order])
    return rank
