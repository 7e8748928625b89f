"""Shares: cores from prices per neuron such that no core, however mixed, holds neurons worth more than one core."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.mapping.bounds.crowds.crowding import Crowd
from neuromap.mapping.bounds.populations.readers import Key

__all__ = ["cores_by_shares"]

Ints = NDArray[np.int64]
EFFORT = 200_000_000
"""Steps up to which the worth of a mixed core is computed."""
TINY, ROUNDING = 1e-9, 1e-6
"""On numbers that floating point may give a little too low and too high."""


def cores_by_shares(crowds: list[Crowd], chip: ChipSpec) -> int:
    """Bound the cores by prices: a neuron costs one over the neurons of its population that a core can hold."""
    # No core holds more than the *worth* of the best mixture, so cores times worth is at least the price of all. The
    # axons of a feed that several populations read are charged to the one that needs most cores, or shared out equally.
    # gives 0 where it would take too long
    readers: dict[Key, list[Crowd]] = {}
    for crowd in crowds:
        for key in crowd.need:
            readers.setdefault(key, []).append(crowd)
    best = 0
    for charge in (_charged_to_the_greediest, _shared_out):
        curves, price = [], 0.0
        for crowd in crowds:
            axons = charge(crowd, readers)
            if axons[-1] >= 1:  # a population whose axons are all charged to others pays nothing
                curves.append(np.floor(axons + TINY).astype(np.int64))
                price += crowd.rows / crowd.room
        if not curves or len(curves) * chip.axons * min(chip.axons, chip.neurons) > EFFORT:
            continue
        worth = _greatest_worth(curves, chip.axons)
        if worth == 0:  # no neuron has the axons that it needs; the mapper refuses the network
            continue
        best = max(best, int(np.ceil(price / worth - ROUNDING)))
        if all(len(found) == 1 for found in readers.values()):
            break  # nothing is shared, so both ways are the same
    return best


def _charged_to_the_greediest(crowd: Crowd, readers: dict[Key, list[Crowd]]) -> NDArray[np.float64]:
    """Axons that 0, 1, ... room neurons pay for, if of the readers of a feed the one that needs most cores pays all."""
    axons = np.zeros(crowd.room + 1)
    for key, least in crowd.need.items():
        if max(readers[key], key=lambda c: c.cores) is crowd:
            axons += least[: crowd.room + 1]
    return axons


def _shared_out(crowd: Crowd, readers: dict[Key, list[Crowd]]) -> NDArray[np.float64]:
    """Axons that 0, 1, ... room neurons pay for, if all readers of a feed pay the same part."""
    axons = np.zeros(crowd.room + 1)
    for key, least in crowd.need.items():
        axons += least[: crowd.room + 1] / len(readers[key])
    return axons


def _greatest_worth(curves: list[Ints], axons: int) -> float:
    """Find the most that neurons of different populations in one core are worth (a knapsack of its axons)."""
    best = np.zeros(axons + 1)
    for cost in curves:
        room = max(1, len(cost) - 1)
        last = np.flatnonzero(np.diff(np.append(cost, axons + 1)) > 0)  # the most neurons for so many axons
        taken = best.copy()
        for n in last[last > 0].tolist():
            axons_of, worth = min(int(cost[n]), axons), n / room
            taken[axons_of:] = np.maximum(taken[axons_of:], best[: axons + 1 - axons_of] + worth)
        best = taken
    return float(best[-1])
