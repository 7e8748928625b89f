"""Sizes of the caches, measured: what a system reports may be shared with others, and is not what is to be had.

A chain of reads at random places, each of which says where the next one is, takes as long as one read takes. While the
places fit a cache that time hardly grows with their number.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.forms.card import Card

__all__ = ["Caches", "measure_caches"]

_LINE = 8
"""Words of 64 bits in a cache line, of which one is read."""
_LEAST, _MOST = 1 << 14, 1 << 26
_READS, _REPEATS = 4000, 9
_NEAR, _LAST = 4.0, 0.5
"""How many times as long as in the smallest buffer a read may take, and how long beside one of the largest."""


@dataclass(frozen=True)
class Caches(Card):
    """What one thread has of the caches."""

    # within so much memory a random read takes at most four times as long as within 16 KiB: the first two levels of
    # most processors
    near_bytes: int
    last_bytes: int  # within so much it takes at most half as long as within 64 MiB: all levels


def measure_caches() -> Caches:
    """Measure the caches, in about a second; the chain is compiled at the first call on a machine."""
    from neuromap.simulation.engine.kernel.layout import aligned_empty

    powers = range(_LEAST.bit_length() - 1, _MOST.bit_length() - 1)
    sizes = [n for power in powers for n in (1 << power, 3 << (power - 1))] + [_MOST]
    words = aligned_empty(_MOST // 8, np.int64)
    words[:] = 0
    seconds = [_read_seconds(words, size) for size in sizes]
    return Caches(
        near_bytes=_last_within(sizes, seconds, _NEAR * seconds[0]),
        last_bytes=_last_within(sizes, seconds, _LAST * seconds[-1]),
    )


def _last_within(sizes: list[int], seconds: list[float], most: float) -> int:
    """Give the size before the first one at which a read takes longer."""
    fits = [taken <= most for taken in seconds]
    return sizes[max(0, fits.index(False) - 1)] if False in fits else sizes[-1]


def _read_seconds(words: NDArray[np.int64], size: int) -> float:
    """Seconds that a random read takes within a number of bytes: the least of some chains."""
    lines = size // (8 * _LINE)
    order = np.random.default_rng(0).permutation(lines) * _LINE
    words[order] = np.roll(order, -1)  # one ring through all of them
    follow = _follow()
    at = follow(words, 0, lines)
    taken = []
    for _ in range(_REPEATS):
        start = perf_counter()
        at = follow(words, at, _READS)
        taken.append(perf_counter() - start)
    return min(taken) / _READS


@cache
def _follow() -> Any:
    """``follow(words, at, n)``: where a chain of ``n`` reads ends, compiled."""
    from neuromap.compiling.numba_cache import cached

    def follow_chain(words, at, n):  # type: ignore[no-untyped-def]
        for _ in range(n):
            at = words[at]
        return at

    return cached(follow_chain)
