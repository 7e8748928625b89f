"""Lower bounds on crossbar cores: by crowding, by reads, and by shares.

There are three arguments, each a theorem in docs/lower-bounds.md. *Crowding*: n neurons of a
population read at least so many distinct sources, and a core has so many axons; hence a core holds at most so many
neurons. *Reads*: then a source must be read in at least so many cores, and every read takes an axon and a neuron that
feeds it. *Shares*: prices per neuron such that no core, however mixed, holds neurons worth more than one core.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.mapping.bounds.cores_by_prices import cores_by_prices
from neuromap.mapping.bounds.lower_bounds import CoreBound, PopulationBound
from neuromap.mapping.bounds.lp_bounds import fed_axons, mixture_of
from neuromap.mapping.bounds.neuron_capacity import Crowd, crowds_of
from neuromap.mapping.bounds.readers import Key, Reader, read_out_neurons, readers_of
from neuromap.mapping.legalise.legalised import Legalised
from neuromap.mapping.options.budget import Budget

Ints = NDArray[np.int64]


def crossbar_core_bound(network: Legalised, chip: ChipSpec, proven: bool, priced: bool, budget: Budget) -> CoreBound:
    """Bound the cores of every mapping onto crossbars from below."""
    readers = readers_of(network)
    options: list[list[Crowd]] = []
    for reader in readers:
        if budget.is_over("bounds"):
            break
        options.append(crowds_of(reader, chip, proven))
    best = [max(crowds, key=lambda crowd: (crowd.rows / crowd.room, crowd.rows)) for crowds in options]
    fed = fed_axons(options, chip, cores_by_two_hops(readers, chip.axons))
    read_out = read_out_neurons(network, readers)
    axons, neurons = fed.total, max(fed.by_neurons + read_out, sum(len(reader.neurons) for reader in readers))
    populations = tuple(PopulationBound(c.reader.name, c.cores, c.limit(chip)) for c in best)
    candidates: list[tuple[int, str]] = [
        *((p.cores, p.by) for p in populations),
        (-(-neurons // chip.neurons), "neurons"),
        (-(-axons // chip.axons), "axons"),
        (cores_by_shares(best, chip), "axons"),
    ]
    if priced and options and not budget.is_over("bounds"):
        known = max(cores for cores, _ in candidates)
        candidates.append((cores_by_prices(mixture_of(options, fed, read_out, chip), chip, known), "axons"))
    total, by = max(candidates, key=lambda found: found[0])
    return CoreBound(total, by, neurons, axons, populations)


# Two hops: a source is read in as many cores as it takes to hold all that its readers read.
LARGEST = 40_000_000
"""Pairs of entries with a reader in common up to which they are counted."""


def cores_by_two_hops(readers: tuple[Reader, ...], axons: int) -> dict[Key, Ints]:
    """Bound the cores that read a source: each has an axon for it and at most all others for what its readers read."""
    # gives cores that read each column of a feed at least; empty where it would take too long
    widths = {feed.key: feed.matrix.shape[1] for reader in readers for feed in reader.feeds}
    if axons < 2 or not widths:
        return {}
    reads: Any = sparse.csr_array(sparse.block_array([_row_of_blocks(reader, widths) for reader in readers]))
    fan_in = np.diff(reads.indptr).astype(np.int64)
    if (fan_in * fan_in).sum() > LARGEST:
        return {}
    pattern: Any = sparse.csr_array((np.ones(reads.nnz, np.int32), reads.indices, reads.indptr), shape=reads.shape)
    near = np.diff(sparse.csr_array(pattern.T @ pattern).indptr).astype(np.int64)  # a source itself is among them
    cores = np.where(near > 0, np.maximum(1, -(-(near - 1) // (axons - 1))), 0)
    ends = np.cumsum(list(widths.values()))
    return dict(zip(widths, np.split(cores, ends[:-1]), strict=True))


def _row_of_blocks(reader: Reader, widths: dict[Key, int]) -> list[Any]:
    own = {feed.key: feed.matrix for feed in reader.feeds}
    return [own.get(key, sparse.csr_array((len(reader.neurons), n), dtype=np.int64)) for key, n in widths.items()]


# Shares: cores from prices per neuron such that no core, however mixed, holds neurons worth more than one core.


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
