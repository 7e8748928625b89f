"""Colour the sources of a core with axon types: sets of sources are whole numbers, a bit for each."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["colour_sources"]

Ints = NDArray[np.int64]


def colour_sources(weights: Ints, types: int) -> Ints | None:
    """Colour sources with types: two may share one iff no neuron needs different nonzero weights for them."""
    # Greedy in the order of saturation (Brélaz 1979): next comes the source with the fewest types left, among those the
    # one with most synapses, among those the first.
    # gives type of every source, from 0; ``None`` where this order runs out of types
    # shapes: weights (n, s); returns (s,)
    order = np.argsort(-np.count_nonzero(weights, axis=0), kind="stable")  # the lowest bit of a set comes next
    rows = np.ascontiguousarray(weights.T[order].astype(np.int16))  # of sources; the range of weights was checked
    present = rows != 0
    uncoloured = (1 << len(order)) - 1
    free = [uncoloured] * types  # sources for which a type is left
    fewer = [uncoloured if left >= types else 0 for left in range(types + 1)]  # those with at most so many types left
    colours = []
    while uncoloured:
        urgent = next(waiting for sources in fewer if (waiting := sources & uncoloured))
        bit = urgent & -urgent
        place = bit.bit_length() - 1
        colour = next(number for number, sources in enumerate(free) if sources & bit)
        colours.append((place, colour))
        uncoloured ^= bit
        against = ((rows != rows[place]) & present & present[place]).any(axis=1)
        hit = int.from_bytes(np.packbits(against, bitorder="little").tobytes(), "little") & free[colour] & uncoloured
        if hit:
            free[colour] ^= hit
            for left in range(types):
                fewer[left] |= hit & fewer[left + 1]
            if fewer[0] & uncoloured:
                return None
    found = np.empty(len(order), np.int64)
    found[order[[place for place, _ in colours]]] = [colour for _, colour in colours]
    return found
