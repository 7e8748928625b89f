"""How often places are counted in the windows of q positions: at most, over all sets of positions and of places.

Windows are three columns wide and move by one. A column of h positions and one of g places have at most as many pairs
as intervals side by side; columns meet their neighbours, so the best sums come out of one column after the other
(docs/lower-bounds.md has the proof).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from neuromap.mapping.bounds.windows.whole_windows import WholeWindows

__all__ = ["incidences", "times_counted"]

Ints = NDArray[np.int64]
WIDTH = 3
"""Columns of a window."""
POSITIONS, PLACES = 16, 40
"""Positions and places up to which pairs are counted."""
NEVER = -(10**6)
"""Far below what any columns have."""


def times_counted(feeds: Sequence[WholeWindows], positions: int, most: int) -> Ints | None:
    """Bound how often 0, 1, ... sources are counted in the windows of q positions."""
    # gives ``None`` where windows are not of one size, three columns wide, and moved by one
    # shapes: returns (positions + 1, most + 1)
    height, channels = feeds[0].size[0], sum(feed.channels for feed in feeds)
    if any(feed.size != (height, WIDTH) or feed.stride != (1, 1) for feed in feeds):
        return None
    most_places = min(PLACES, -(-most // channels))
    pairs = incidences(height, min(positions, POSITIONS), most_places)
    counted = np.repeat(height * WIDTH * channels * np.arange(positions + 1)[:, None], most + 1, axis=1)
    for q in range(1, len(pairs)):
        # sources of a channel are places; the more channels share them out evenly, the more is counted
        of_places = _concave(np.append(pairs[q], height * WIDTH * q))
        share = np.minimum(np.arange(most + 1) / channels, len(of_places) - 1)
        here = np.floor(channels * np.interp(share, np.arange(len(of_places)), of_places) + 1e-6).astype(np.int64)
        counted[q] = np.minimum(counted[q], here)
    return counted


def _concave(values: Ints) -> NDArray[np.float64]:
    """Give the least concave sequence that is nowhere below another."""
    hull = values.astype(np.float64)
    for middle in range(1, len(values) - 1):
        left, right = np.arange(middle)[:, None], np.arange(middle + 1, len(values))[None, :]
        slope = (values[right] - values[left]) / (right - left)
        hull[middle] = max(hull[middle], float((values[left] + slope * (middle - left)).max()))
    return hull


def incidences(height: int, positions: int, places: int) -> Ints:
    """Bound the pairs of a position and a place in its window."""
    # positions, places: how many there are at most
    # shapes: returns (positions + 1, places + 1)
    meet = _meetings(height, positions, places)
    shape = (positions + 1, places + 1)
    # by positions and places of the last column, then by those of all columns so far
    best = np.full((*shape, *shape), NEVER)
    best[0, 0, 0, 0] = 0
    while True:
        more = np.maximum(best, _one_column_more(best, meet))
        if (more == best).all():
            break
        best = more
    pairs: Ints = np.maximum.accumulate(np.maximum.accumulate(best.max(axis=(0, 1)), axis=0), axis=1)
    return pairs


def _one_column_more(best: Ints, meet: Ints) -> Ints:
    """Append any column; it meets its own places, and each of the two columns those of the other."""
    more = np.full(best.shape, NEVER)
    n_positions, n_places = meet.shape
    for h in range(n_positions):
        over_places = (best + meet[h][None, :, None, None]).max(axis=1)
        for g in range(n_places):
            sums = (over_places + meet[:, g][:, None, None]).max(axis=0) + meet[h, g]
            more[h, g, h:, g:] = sums[: n_positions - h, : n_places - g]
    return more


def _meetings(height: int, positions: int, places: int) -> Ints:
    """Bound the pairs of a column of h positions and a column of g places, so many rows high; shape (h + 1, g + 1)."""
    # h positions reach h + height - 1 places or more, and are counted height times; those beyond g are lost. Likewise
    # the other way round.
    h, g = np.arange(positions + 1)[:, None], np.arange(places + 1)[None, :]
    of_positions = height * h - np.maximum(0, h + height - 1 - g)
    of_places = height * g - np.maximum(0, g + height - 1 - h)
    pairs: Ints = np.maximum(np.minimum(np.minimum(of_positions, of_places), h * g), 0)
    return pairs
