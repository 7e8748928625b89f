"""Neurons no two of which fit one core, as together they read more than it has axons: each takes one of its own."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
MOST = 4096
"""Rows of which pairs are looked at; of more none is."""
WORD = 64
"""Items that are compared at once."""


def rows_apart(indptr: NDArray[np.integer], items: NDArray[np.integer], n_items: int, room: int) -> Ints:
    """Find rows any two of which have more items than there is room for, greedily, the widest first."""
    # shapes: indptr, items (n + 1,)
    width = np.diff(indptr)
    if not 0 < len(width) <= MOST:
        return np.zeros(0, np.int64)
    order = np.argsort(-width, kind="stable")
    order = order[width[order] + width[order[0]] > room]  # others fit beside the widest
    bits = np.zeros((len(order), -(-n_items // WORD) * WORD), bool)
    for place, row in enumerate(order.tolist()):
        bits[place, items[indptr[row] : indptr[row + 1]]] = True
    words = np.packbits(bits, axis=1).view(np.uint64)
    apart = np.zeros(len(order), bool)
    for place, own in enumerate(words):
        apart[place] = (np.bitwise_count(words[apart] | own).sum(axis=1, dtype=np.int64) > room).all()
    found: Ints = order[apart].astype(np.int64)
    return found
