"""How a program lies in memory for the bit-sliced kernel.

A *plane* is 512 bits, one of each of 512 runs side by side; in memory 32 values of int16. *Rows* are the cores that are
bit-sliced, in order. Arrays are flat; A is the number of axons of a core.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

LANES = 512
"""Runs side by side."""
PLANE = 32
"""Values of int16 in a plane."""
WORDS = 8
"""Values of uint64 in a plane."""


class SlicedImage(NamedTuple):
    """What is only read; shared by all threads."""

    # A neuron's sum is one of numbers that are 0 or more: an axon with a negative weight counts where it is silent.
    # With ``first_sum`` it starts so that the bit of weight ``2 ** n_bits`` is set where the neuron fires, and no other
    # result reaches so far.

    n_rows: int
    n_axons: int
    slot_bits: int
    """The ring of due axons has ``2 ** slot_bits`` slots, more than the longest delay."""
    first_neuron: NDArray[np.int64]
    """(rows + 1,): first of a row's neurons that may ever fire."""
    restless: NDArray[np.uint8]
    """(rows,): 1 where a neuron fires without any event."""
    n_bits: NDArray[np.uint8]
    first_sum: NDArray[np.int64]
    first_list: NDArray[np.int64]
    """Of every neuron; the last one has a list beyond its own."""
    target: NDArray[np.int64]
    """(neurons,): row * A + axon; -1 without one; -2 - (64 * words * core + axon) on cores that are not rows."""
    delay: NDArray[np.uint8]
    level: NDArray[np.uint8]
    """(lists,): weight 2 ** level of all entries of a list."""
    first_entry: NDArray[np.int64]
    """(lists + 1,): multiples of 8."""
    entries: NDArray[np.uint16]
    """a: axon a. A: nothing, to fill up. A + 1 + a: axon a, where it is silent."""


class SlicedState(NamedTuple):
    """What the ticks change."""

    due: NDArray[np.int16]
    due_words: NDArray[np.uint64]
    """(slots, rows, A) planes of axons, and the same memory."""
    busy: NDArray[np.uint8]
    """(slots, rows): 1 where an axon may be due in any run."""
    planes: NDArray[np.int16]
    """Planes that entries count, of the core at work."""
    sums: NDArray[np.int16]
    """Planes of the sum of the neuron at work."""
    handed: NDArray[np.int16]
    handed_words: NDArray[np.uint64]
    """A plane on its way to other cores, and the same memory."""


class Fed(NamedTuple):
    """What the host feeds: rows ``start[t]`` to ``start[t + 1] - 1`` in tick t."""

    start: NDArray[np.int64]
    axon: NDArray[np.int64]
    """As ``SlicedImage.target``."""
    column: NDArray[np.int32]
    """Plane of ``planes``."""
    planes: NDArray[np.int16]
    """(columns,) planes: in which of the runs the spike is there."""
