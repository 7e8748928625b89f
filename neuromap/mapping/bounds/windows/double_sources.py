"""How many neurons some positions hold if only so many of their sources have two axons: every set of positions counts.

A source has one axon only if it may in every window that reads it. So of the sources that any q of the positions read,
those with one axon are at most what these q allow; a position of few neurons, which allows much, is no help to the
others (docs/lower-bounds.md has the proof).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from neuromap.mapping.bounds.windows.incidences import times_counted
from neuromap.mapping.bounds.windows.whole_windows import WholeWindows

__all__ = ["axons_by_sets"]

Ints = NDArray[np.int64]
EFFORT = 100_000_000
"""Steps up to which sets of positions are looked at."""


def axons_by_sets(feeds: Sequence[WholeWindows], read: Ints, double: Ints, most: int, limit: int) -> Ints | None:
    """Bound the axons that n neurons take in one core by what every set of their positions demands."""
    # Say that D sources have two axons. Any q positions read ``read[q]`` sources or more, and those of m neurons ask
    # for ``double[m]`` with two axons; window by window, these D sources can be counted so often at most.
    # read: sources that 0, 1, ... positions read at least
    # double: sources of a window with two axons, where the position holds m neurons, at least; rising
    # gives ``limit + 1`` for more neurons than fit; ``None`` where it would take too long
    # shapes: double (features + 1,); returns (most + 1,)
    positions = int(np.searchsorted(read[: most + 1], limit, side="right")) - 1
    if positions < 1:
        return None
    windows = _windows_of_double(feeds, read[: positions + 1], limit - int(read[1]))
    if windows.size * (int(windows.max()) + 1) * (len(double) - 1) > EFFORT:
        return None
    held = _most_neurons(double, windows)
    least = np.full(most + 1, limit + 1)
    least[0] = 0
    for p in range(1, positions + 1):
        for doubles in range(limit - int(read[p]) + 1):
            fit = slice(1, int(held[p, doubles]) + 1)
            least[fit] = np.minimum(least[fit], read[p] + doubles)
    return least


def _windows_of_double(feeds: Sequence[WholeWindows], read: Ints, most: int) -> Ints:
    """Bound how often 0, 1, ... sources are counted in the windows of q positions; shape (positions + 1, most + 1)."""
    q, doubles = np.arange(len(read))[:, None], np.arange(most + 1)[None, :]
    overlap, sources = max(f.overlap for f in feeds), sum(f.sources for f in feeds)
    in_windows = doubles * np.minimum(overlap, q)
    but_for_the_rest = sources * q - read[:, None] + doubles  # each of the others that are read is counted once or more
    least: Ints = np.minimum(np.minimum(in_windows, but_for_the_rest), sources * q)
    counted = times_counted(feeds, len(read) - 1, most)
    return least if counted is None else np.minimum(least, counted)


def _most_neurons(double: Ints, windows: Ints) -> Ints:
    """Find the most neurons at p positions whose every q, the fullest first, demand no more than there is."""
    # gives -1 where none can lie so
    # shapes: double (features + 1,); windows (positions + 1, D); returns (positions + 1, D)
    positions, demand = len(windows) - 1, np.arange(int(windows.max()) + 1)
    held = np.full((*windows.shape, len(demand)), -1, np.int16)
    held[0, :, 0] = 0
    for m in range(len(double) - 1, 0, -1):
        more = int(double[m])
        if more >= len(demand):
            continue
        for p in range(positions):
            before = held[p, :, : len(demand) - more]
            able = (before >= 0) & (demand[more:] <= windows[p + 1, :, None])
            after = held[p + 1, :, more:]
            np.maximum(after, before + np.int16(m), out=after, where=able)
    most: Ints = held.max(axis=2).astype(np.int64)
    return most
