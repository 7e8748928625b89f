"""Reads: how many axons are fed at least, since every source is read in so many cores, and by how many neurons."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.mapping.bounds.crowding import Crowd
from neuromap.mapping.bounds.readers import ChipKey, Key

__all__ = ["FedAxons", "fed_axons"]

Ints = NDArray[np.int64]
ROUNDING = 1e-6
"""On a number that floating point may give a little too high."""


class FedAxons(NamedTuple):
    """Axons that are fed at least, bias axons not counted."""

    of_feeds: dict[Key, int]
    of_columns: dict[Key, Ints]
    """Cores that read each column of a feed, at least."""
    relayed: int
    """On ways longer than a neuron's delay, beyond those that readers use."""

    @property
    def total(self) -> int:
        """All of them."""
        return sum(self.of_feeds.values()) + self.relayed

    @property
    def by_neurons(self) -> int:
        """Those that neurons feed; axons that the host feeds take no neuron."""
        return sum(count for key, count in self.of_feeds.items() if isinstance(key, ChipKey)) + self.relayed


def fed_axons(crowds: list[list[Crowd]], chip: ChipSpec, two_hops: Mapping[Key, Ints]) -> FedAxons:
    """Count the axons that are fed at least."""
    # Readers of one signal may share its axons, so the greatest of their demands counts, not the sum.
    # two_hops: cores that read each column of a feed at least, by what all of its readers read
    of_columns: dict[Key, Ints] = dict(two_hops)
    of_feed: dict[Key, int] = {}  # axons of all columns together
    for crowd in (crowd for some in crowds for crowd in some):
        for key, least in crowd.need.items():
            of_feed[key] = max(of_feed.get(key, 0), _axons_in_all_cores(crowd, least))
            reads = crowd.reads[key]
            of_columns[key] = np.maximum(of_columns[key], reads) if key in of_columns else reads
    axons = {key: max(of_feed.get(key, 0), int(reads.sum())) for key, reads in of_columns.items()}
    return FedAxons(axons, of_columns, _relay_axons(of_columns, chip))


def _axons_in_all_cores(crowd: Crowd, least: Ints) -> int:
    """Bound the axons of a feed: c cores that hold n_1 + ... + n_c = rows read at least sum of least[n_i]."""
    sizes = np.arange(1, crowd.room + 1)
    rate = float((least[1 : crowd.room + 1] / sizes).min())
    return int(np.ceil(crowd.rows * rate - ROUNDING))


def _relay_axons(reads: dict[Key, Ints], chip: ChipSpec) -> int:
    """Count the axons on ways longer than a neuron's delay, beyond those counted as reads."""
    # A way passes an axon at least every longest delay ticks; those that other readers use anyway may be among them, so
    # only the gaps between the times at which a neuron is read ask for more.
    at: dict[int, list[tuple[int, NDArray[np.bool_]]]] = {}
    for key in sorted(key for key in reads if isinstance(key, ChipKey)):
        at.setdefault(key.population, []).append((key.delay, reads[key] > 0))
    more = 0
    for times in at.values():
        last = np.zeros(len(times[0][1]), np.int64)
        for delay, read in times:
            more += int((-(-(delay - last[read]) // chip.delay[1]) - 1).sum())
            last[read] = delay
    return more
