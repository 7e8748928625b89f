"""Split tiles whose neurons need more copies than their core holds, and leave all others as they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from neuromap.mapping.tile.tile import Planner, Tile

__all__ = ["split_overfull"]

Ints = NDArray[np.int64]


def split_overfull(tiles: Sequence[Tile], copies: Ints, planner: Planner) -> list[Tile] | None:
    """Give every neuron its copies, in as many even parts of its tile as that takes."""
    # gives ``None`` where a neuron has more copies than a core has neurons, is in two tiles or in none, or a part
    # cannot be planned
    # shapes: copies (n,)
    room = planner.core.neurons
    places = np.zeros(len(copies), np.int64)
    for tile in tiles:
        places[tile.neurons] += 1
    if (places > 1).any() or (places[copies > 0] == 0).any() or copies.max(initial=0) > room:
        return None
    found: list[Tile] = []
    for tile in tiles:
        share = copies[tile.neurons]
        parts = -(-int(share.sum()) // room)
        if parts <= 1:
            found.append(replace(tile, copies=share))
            continue
        pieces = _parts(tile.neurons, share, parts, room)
        for piece in pieces:
            part = planner.tile(piece, copies[piece])
            if part is None:
                return None
            found.append(part)
    return found


def _parts(neurons: Ints, share: Ints, parts: int, most: int) -> list[Ints]:
    """Cut a run of neurons into parts of about even load, none above ``most``."""
    even = int(share.sum()) / parts
    pieces, start, load = [], 0, 0
    for n, copies in enumerate(share.tolist()):
        if load + copies > most or load >= even:
            pieces.append(neurons[start:n])
            start, load = n, 0
        load += copies
    return [*pieces, neurons[start:]]
