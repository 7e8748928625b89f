"""Choose how spikes fan out: by copies, which take neurons, or by splitters, which take a hop.

Copies of a neuron crowd its core. Every core more that its node takes reads the node's sources anew, so they need more
copies in turn. A splitter ends that: the node keeps one copy, and identity neurons elsewhere carry the rest. On an edge
whose delay has room for two hops it costs no tick; on any other, the schedule is made anew in ticks, with a latency of
two hops on that edge.

The choice is a search over the real cost: nodes are ranked by what splitting their edges would save, were all else
left as it is; the best proposals are mapped in full, and kept if they need fewer cores.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from neuromap.errors import DoesNotFitError
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.mapping.asked.options import MappingOptions
from neuromap.mapping.core.refusals import refuse_cores
from neuromap.mapping.legalise.delay_legs import legs_of_delay
from neuromap.mapping.legalise.legalise import legalise
from neuromap.mapping.legalise.ticks_per_step import fewest_ticks_per_step
from neuromap.mapping.partition.partition import Partition, partition, with_shared_cores
from neuromap.mapping.tile.tile_all import Tilings, axons_fed, tile_again
from neuromap.mapping.tile.tiling import Tile
from neuromap.network.network import EdgeKey
from neuromap.rollout.schedule.rollout import Rollout

__all__ = ["FanOut", "choose_fan_out"]

Ints = NDArray[np.int64]
Split = frozenset[EdgeKey]
WORTHWHILE = 0.5
"""Cores that splitting a node's edges must promise to save."""


@dataclass(frozen=True, eq=False)
class FanOut:
    """A partition, and the schedule and splitters that it is made for.

    Attributes
    ----------
    rollout : Rollout
        Tick-level where an edge without slack has a splitter.
    partition : Partition
        Tiles and cores.
    split : frozenset of (str, str)
        Edges whose spikes go over splitters.
    """

    rollout: Rollout
    partition: Partition
    split: Split


def choose_fan_out(
    rollout: Rollout,
    chip: ChipSpec,
    options: MappingOptions,
    progress: Callable[[int, int, str], None] | None = None,
) -> FanOut:
    """Partition a rollout, with splitters where they save cores.

    Parameters
    ----------
    rollout : Rollout
        Network, pattern and execution.
    chip : ChipSpec
        Limits.
    options : MappingOptions
        ``splitters`` says where splitters may stand. Pins have been held against network and chip.
    progress : callable, optional
        Called with parts tiled, parts in all, and the name of the last.

    Returns
    -------
    FanOut
        With cores shared, and no more of them than the chip has.

    Raises
    ------
    DoesNotFitError
        If no choice fits; the refusal is that of copies alone.
    """
    known: Tilings = {}  # most nodes are tiled alike in every trial
    refusal: DoesNotFitError | None = None
    best: FanOut | None = None
    try:
        best = _partition(rollout, options.pins.splitters, chip, options, progress, known)
    except DoesNotFitError as error:
        if options.splitters == "never" or error.infeasibility.limit not in ("copies", "cores"):
            raise
        refusal = error
    for anywhere in (False, True)[: {"never": 0, "slack": 1, "anywhere": 2}[options.splitters]]:
        for split in _proposals(rollout, best, chip, options, anywhere, known):
            try:
                found = _partition(rollout, split, chip, options, progress, known)
            except DoesNotFitError:
                continue
            if best is None or len(found.partition.cores) < len(best.partition.cores):
                best = found
    if best is None:
        assert refusal is not None, "a partition was refused, or it is the best"
        raise refusal
    parts = with_shared_cores(best.partition, chip, options)
    if len(parts.cores) > chip.n_usable_cores:
        raise _too_many_cores(parts, chip)
    return replace(best, partition=parts)


def _too_many_cores(parts: Partition, chip: ChipSpec) -> DoesNotFitError:
    def load(tile: int) -> int:
        return int(parts.tiles[tile].copies.sum())

    held = Counter(parts.tiles[max(core.tiles, key=load)].population for core in parts.cores)
    return refuse_cores(parts.network, held, chip)


def _partition(
    rollout: Rollout,
    split: Split,
    chip: ChipSpec,
    options: MappingOptions,
    progress: Callable[[int, int, str], None] | None,
    known: Tilings,
) -> FanOut:
    """Partition with splitters on the edges named; the schedule is made in ticks where one of them has no slack."""
    timed, stretch = _timed(rollout, split, chip, options.ticks_per_step)
    legal = legalise(timed, chip, ticks_per_step=stretch, split=split)
    return FanOut(timed, partition(legal, chip, options, progress, known), split)


def _timed(rollout: Rollout, split: Split, chip: ChipSpec, stretch: int | None) -> tuple[Rollout, int | None]:
    """Return the schedule and its ticks per step; one in ticks where splitters or the rollout itself ask for it.

    Then an edge takes what the rollout gives it, a step where the user fixes steps, one hop, or two with a splitter.
    """
    least, greatest = chip.delay
    if not rollout.is_tick_level:
        step = stretch or fewest_ticks_per_step(rollout, chip)
        if all(rollout.delays[e] * step >= 2 * least for e in split):
            return rollout, stretch
    inputs = set(rollout.network.inputs)
    floor = {e: max(rollout.latencies[e], stretch or 1) for e in rollout.delays}

    def timed(hop: int) -> Rollout:
        least_of = {e: 1 if e[0] in inputs else 2 * hop if e in split else hop for e in floor}
        latencies = {e: max(floor[e], least_of[e]) for e in floor}
        return rollout if latencies == dict(rollout.latencies) else rollout.with_latencies(latencies)

    for hop in range(least, 2 * least + 1):  # some delays cannot be made of hops of, say, 4 or 5 ticks; longer ones can
        found = timed(hop)
        if all(legs_of_delay(d, least, greatest) for e, d in found.delays.items() if e[0] not in inputs):
            return found, 1
    return timed(least), 1


def _slack(rollout: Rollout, chip: ChipSpec, options: MappingOptions) -> set[EdgeKey]:
    """Find the edges on the chip whose delay is one hop now and has room for two."""
    least, greatest = chip.delay
    step = 1 if rollout.is_tick_level else options.ticks_per_step or fewest_ticks_per_step(rollout, chip)
    return {
        e for e, d in rollout.delays.items() if e[0] not in rollout.network.inputs and 2 * least <= d * step <= greatest
    }


def _proposals(
    rollout: Rollout,
    best: FanOut | None,
    chip: ChipSpec,
    options: MappingOptions,
    anywhere: bool,
    known: Tilings,
) -> Iterator[Split]:
    """Propose sets of edges: all that pay by themselves, then fewer; blindly where nothing is mapped yet."""
    on_chip = {e for e in rollout.delays if e[0] not in rollout.network.inputs}
    allowed = on_chip if anywhere else _slack(rollout, chip, options)
    if best is None:
        if allowed:
            yield frozenset(allowed) | options.pins.splitters
        return
    gains = {
        u: gain for u in {e[0] for e in allowed} if (gain := _gain(u, best, allowed, chip, options, known)) > WORTHWHILE
    }
    ranked = sorted(gains, key=lambda u: (-gains[u], u))
    seen = {best.split}
    for count in (len(ranked), -(-len(ranked) // 2), 1):
        split = best.split | {e for e in allowed if e[0] in ranked[:count]}
        if split not in seen:
            seen.add(split)
            yield split


def _gain(
    node: str, found: FanOut, allowed: set[EdgeKey], chip: ChipSpec, options: MappingOptions, known: Tilings
) -> float:
    """Estimate the cores that splitting a node's edges saves, copies of its own sources included."""
    parts = found.partition
    network = parts.network
    index = next(i for i, p in enumerate(network.populations) if p.name == node and not p.is_relay)
    population = network.populations[index]
    kept, moved = np.full(len(population.neurons), int(population.is_output)), np.zeros(len(population.neurons), int)
    for link in network.links:
        if link.source == index:
            reader = network.populations[link.target]
            edge = (node, network.ports[reader.node].name)
            tiles = [tile for tile in parts.tiles if tile.population == link.target]
            copies = axons_fed(link, parts.sources[link.target], tiles)
            if not reader.is_relay and edge in allowed and edge not in found.split:
                moved += copies
            else:
                kept += copies
    if moved.max(initial=0) < 2:
        return 0.0
    own = [tile for tile in parts.tiles if tile.population == index]
    split = tile_again(network, parts.sources[index], index, kept + (moved > 0), chip, options, known)
    if split is None:
        return 0.0
    splitters = max(moved.sum() / chip.neurons, (moved > 0).sum() / chip.axons)
    if not options.packing:
        splitters = float(np.ceil(splitters))
    return _cost(own, parts, chip) - _cost(split, parts, chip) - float(splitters)


def _cost(tiles: list[Tile], parts: Partition, chip: ChipSpec) -> float:
    axons = sum(
        int(parts.sources[t.population].fed_by_chip[t.columns[t.plan.source[t.plan.source >= 0]]].sum()) for t in tiles
    )
    return len(tiles) + axons / chip.neurons
