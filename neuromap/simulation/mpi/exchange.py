"""What ranks need of each other, whatever carries it: messages, one rank's word for all, arrays at rank 0."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.array_types import Ints


class Exchange(Protocol):
    """One rank's end of what connects all ranks; every method is called by all of them, in the same order."""

    @property
    def rank(self) -> int:
        """Which rank this is, from 0."""

    @property
    def size(self) -> int:
        """Ranks in all."""

    def open(self, most_out: Ints, most_in: Ints, dtype: Any) -> None:
        """Say how many records parcels to and from every rank hold at most, shape (R,), and their dtype."""
        # Ranks between which nothing ever goes have 0. What is one rank's ``most_out`` is the other's ``most_in``.

    def start(self, messages: Sequence[NDArray[Any]]) -> None:
        """Begin to hand a parcel to every rank, one after the other; that to itself is empty."""

    def finish(self) -> list[NDArray[Any]]:
        """Wait for the parcels of the last :meth:`start`, one from every rank."""

    def memory(self, n_bytes: int) -> NDArray[np.uint8] | None:
        """Make memory that all ranks see, whatever is in it, from a cache line on; None where they share none."""

    def share(self, array: Ints) -> list[Ints]:
        """Give all ranks the array of every rank, each with one axis."""

    def agree(self, value: float) -> float:
        """Give all ranks the value of rank 0."""

    def gather(self, array: Ints) -> list[Ints]:
        """Give rank 0 the array of every rank, each with one axis; other ranks get no array."""
