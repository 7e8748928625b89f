"""Copies that whole windows ask for, counted so that a few neurons with many copies cannot stand for all."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.mapping.bounds.crowds.crowding import Crowd
from neuromap.mapping.bounds.populations.readers import ChipKey, Key
from neuromap.mapping.bounds.windows.whole_windows import areas

__all__ = ["EvenCopies", "even_copies"]

ROUNDING = 1e-6
"""On a number that floating point may give a little too high."""


class EvenCopies(NamedTuple):
    """Copies of all neurons of a population, at most so many of one counted."""

    copies: int
    most: int


def even_copies(hosts: Crowd, crowds: list[list[Crowd]], chip: ChipSpec) -> EvenCopies:
    """Bound the copies that some neurons of a population have for axons that relays cannot feed."""
    # Of every neuron at most as many count as windows meet in it, for every delay. docs/lower-bounds.md has the proof.
    best: dict[Key, EvenCopies] = {}
    population = hosts.reader.population
    for crowd in (crowd for some in crowds for crowd in some):
        for key in crowd.windows:
            if isinstance(key, ChipKey) and key.population == population and key.delay < 2 * chip.delay[0]:
                found = _of_crowd(hosts, crowd, key, chip)
                best[key] = max(best.get(key, found), found)
    return EvenCopies(sum(found.copies for found in best.values()), sum(found.most for found in best.values()))


def _of_crowd(hosts: Crowd, crowd: Crowd, key: Key, chip: ChipSpec) -> EvenCopies:
    """Take the best ratio of sources to positions that a core allows, less what others than the hosts may give."""
    windows = crowd.windows[key]
    most = min(chip.neurons, crowd.rows)
    together = np.sum([found.channels * areas(found, most) for found in crowd.windows.values()], axis=0)
    positions = max(1, int(np.flatnonzero(together <= chip.axons)[-1]))
    p = np.arange(1, positions + 1)
    rate = (windows.channels * areas(windows, most)[1 : positions + 1] / (p * windows.features)).min()
    matrix = next(feed.matrix for feed in crowd.reader.feeds if feed.key == key)[np.flatnonzero(crowd.which)]
    readers = np.bincount(matrix.indices, minlength=matrix.shape[1])
    others = readers.sum() - readers[hosts.reader.neurons[hosts.which]].sum()
    copies = crowd.rows * rate - others / windows.features
    return EvenCopies(max(0, int(np.ceil(copies - ROUNDING))), windows.overlap)
