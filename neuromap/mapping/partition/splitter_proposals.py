"""Where splitters may pay: nodes are ranked by the cores that splitting their edges would save."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from neuromap.errors import DoesNotFitError
from neuromap.mapping.partition.partition import Partition
from neuromap.mapping.partition.schedule import ticks_of_step
from neuromap.mapping.partition.split_trials import PartitionedRollout, Split, Trials
from neuromap.mapping.tile.copies import axons_fed
from neuromap.mapping.tile.tile import Tile
from neuromap.network.edge import EdgeKey

__all__ = ["propose_splits"]

Ints = NDArray[np.int64]
WORTHWHILE = 0.5
"""Cores that splitting a node's edges must promise to save."""


def propose_splits(trials: Trials, best: PartitionedRollout | None, *, anywhere: bool) -> Iterator[Split]:
    """Propose sets of edges: all that pay by themselves, then fewer; blindly where nothing is mapped yet."""
    allowed = _edges_on_chip(trials) if anywhere else _edges_with_slack(trials)
    if best is None:
        if allowed:
            yield frozenset(allowed) | trials.options.pins.splitters
        return
    gains = {u: gain for u in {e[0] for e in allowed} if (gain := _gain(u, best, allowed, trials)) > WORTHWHILE}
    ranked = sorted(gains, key=lambda u: (-gains[u], u))
    seen = {best.split}
    for count in (len(ranked), -(-len(ranked) // 2), 1):
        split = best.split | {e for e in allowed if e[0] in ranked[:count]}
        if split not in seen:
            seen.add(split)
            yield split


def _edges_on_chip(trials: Trials) -> set[EdgeKey]:
    inputs = trials.rollout.network.inputs
    return {e for e in trials.rollout.delays if e[0] not in inputs}


def _edges_with_slack(trials: Trials) -> set[EdgeKey]:
    """Find the edges on the chip whose delay is one leg now and has room for two."""
    least, greatest = trials.chip.delay
    step = ticks_of_step(trials.rollout, trials.chip, trials.options.ticks_per_step)
    delays = trials.rollout.delays
    return {e for e in _edges_on_chip(trials) if 2 * least <= delays[e] * step <= greatest}


def _gain(node: str, best: PartitionedRollout, allowed: set[EdgeKey], trials: Trials) -> float:
    """Estimate the cores that splitting a node's edges saves, copies of its own sources included."""
    parts = best.partition
    network, core = parts.network, trials.cores.model
    index = next(i for i, p in enumerate(network.populations) if p.name == node and not p.is_relay)
    kept, moved = _copies_by_way(index, best, allowed)
    if moved.max(initial=0) < 2:
        return 0.0
    own = [tile for tile in parts.tiles if tile.population == index]
    try:
        split = trials.tilings.tile(network, index, parts.sources[index], kept + (moved > 0), core, trials.budget)
    except DoesNotFitError:
        return 0.0
    splitters = max(moved.sum() / core.neurons, (moved > 0).sum() / core.axons)
    if not trials.options.packing:
        splitters = float(np.ceil(splitters))
    return _cost(own, parts, core.neurons) - _cost(split, parts, core.neurons) - float(splitters)


def _copies_by_way(index: int, best: PartitionedRollout, allowed: set[EdgeKey]) -> tuple[Ints, Ints]:
    """Count the copies of a population's neurons that stay, and those that new splitters would take over."""
    parts = best.partition
    network = parts.network
    population = network.populations[index]
    kept, moved = population.own_copies, np.zeros(len(population.neurons), int)
    for link in network.links:
        if link.source == index:
            reader = network.populations[link.target]
            edge = (population.name, network.ports[reader.node].name)
            tiles = [tile for tile in parts.tiles if tile.population == link.target]
            copies = axons_fed(link, parts.sources[link.target], tiles)
            if not reader.is_relay and edge in allowed and edge not in best.split:
                moved += copies
            else:
                kept += copies
    return kept, moved


def _cost(tiles: Sequence[Tile], parts: Partition, neurons: int) -> float:
    """Cores of a population's tiles, and those that the copies take that its axons ask for."""
    axons = sum(
        int(parts.sources[t.population].fed_by_chip[t.columns[t.plan.source[t.plan.source >= 0]]].sum()) for t in tiles
    )
    return len(tiles) + axons / neurons
