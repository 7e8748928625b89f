"""How many axons the neurons of a convolution take, if a core holds n of them (docs/lower-bounds.md has the proofs)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from neuromap.mapping.bounds.windows.double_sources import axons_by_sets
from neuromap.mapping.bounds.windows.whole_windows import TOO_MANY, WholeWindows, areas

__all__ = ["axons_of_feeds", "axons_of_windows"]

Ints = NDArray[np.int64]
NO_LIMIT = 4096
"""Axons up to which all is told where the core is not known."""
IMPOSSIBLE = -TOO_MANY
"""Sources with one axon where neurons cannot lie so: far below 0, whatever is added."""


def axons_of_windows(windows: WholeWindows, most: int, single: Ints, limit: int = NO_LIMIT) -> Ints:
    """Bound the axons that n neurons take in one core."""
    # Say that the n neurons lie at p positions, for every p. These read a(p) sources or more. Some have one axon, all
    # others two or more, so axons are sources plus *double* ones. The double ones are bounded from below twice:
    # - by the sources that are read less those with one axon, which are at most the sum of what the positions allow;
    # - by what the positions demand: position by position its sources less those with one axon. A source lies in so
    #   many
    # windows at most, in p at most, so the double ones are at least the sum of all demands over that number.
    # The best p counts, and for it the neurons shared out so that the positions allow most.
    # gives axons that any n of the rows take at least
    # shapes: single (windows.features + 1,); returns (min(most, rows) + 1,)
    return axons_of_feeds([windows], min(most, int(windows.rows.sum())), single, limit)


def axons_of_feeds(feeds: Sequence[WholeWindows], most: int, single: Ints, limit: int = NO_LIMIT) -> Ints:
    """Bound the axons that n neurons take in one core for several feeds, whose sources share the types."""
    # shapes: single (features + 1,); returns (most + 1,)
    features, sources = max(f.features for f in feeds), sum(f.sources for f in feeds)
    overlap = max(f.overlap for f in feeds)
    read: Ints = np.sum([f.channels * areas(f, most) for f in feeds], axis=0)  # by p positions, at least
    if (single == sources).all():  # no source is double: as few positions as possible
        positions = -(-np.arange(most + 1) // features)  # of n neurons, rounded up
        fewest: Ints = read[positions]
        return fewest
    least = np.full(most + 1, TOO_MANY)
    least[0] = 0
    allowed = np.full(most + 1, IMPOSSIBLE)  # by no position: only no neuron can lie there
    allowed[0] = 0
    for p in range(1, most + 1):
        allowed = _allowed_by_one_more(allowed, single)
        possible = allowed >= 0
        by_reads = read[p] - allowed
        by_demands = -(-(p * sources - allowed) // min(overlap, p))
        axons = read[p] + np.maximum(np.maximum(by_reads, by_demands), 0)
        least[possible] = np.minimum(least[possible], axons[possible])
        if read[p] >= least.max():
            break  # more positions only take more
    by_sets = axons_by_sets(feeds, read, sources - single, most, limit)
    if by_sets is not None:
        least = np.maximum(least, by_sets)
    # more neurons take no fewer axons than some of them do, so the bound of fewer neurons holds as well
    return np.maximum.accumulate(least)


def _allowed_by_one_more(before: Ints, single: Ints) -> Ints:
    """Add up the sources with one axon over one position more: the most for n neurons at all positions together."""
    # ``before[n]`` is the sum without it, below 0 where n do not fit there; every position holds one or more.
    n = len(before)
    allowed = np.full(n, IMPOSSIBLE)
    for m in range(1, min(len(single), n)):
        allowed[m:] = np.maximum(allowed[m:], before[: n - m] + single[m])
    return allowed
