"""Proven bounds on rows that are not mapped: cores and energy that no mapping can do without.

*Cores of any pattern.* The bound of the streaming rollout (:func:`neuromap.mapping.bounds.lower_bounds.core_bound`)
holds for every valid pattern, execution, number of ticks per step and choice of splitters; the proof is in
docs/theorems. *Cores of a class* are more where a node must be read at several delays under all its patterns
(docs/theorems/core-bounds.md).
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations

import networkx as nx

from neuromap.arrays.times import Time
from neuromap.errors import DoesNotFitError
from neuromap.explorer.answer.rows import Candidate
from neuromap.hardware.chip.chip_spec import ChipSpec, tick_costs
from neuromap.mapping.bounds.lower_bounds import CoreBound, core_bound
from neuromap.mapping.bounds.readers import readers_of
from neuromap.mapping.legalise.legalise import legalise
from neuromap.mapping.options.budget import NO_LIMIT, Budget
from neuromap.network.edge import EdgeKey
from neuromap.network.network import Network
from neuromap.rollout.indexed_pattern import shortest_walks
from neuromap.rollout.pattern import RolloutPattern
from neuromap.rollout.schedule.rollout import Rollout
from neuromap.simulation.cost.energy import Counts, energy_of

_FEMTO = 15
"""Decimals of a second to which ticks are timed."""


def core_bound_of_all(network: Network, chip: ChipSpec, wide: str = "refuse", budget: Budget = NO_LIMIT) -> CoreBound:
    """Cores and neurons that no mapping of any pattern in any execution can do without."""
    rollout = Rollout(network, RolloutPattern.streaming(network))
    network_in_ticks = legalise(rollout, chip)
    if wide == "refuse":
        return core_bound(network_in_ticks, chip, proven=True, budget=budget)
    neurons = sum(len(reader.neurons) for reader in readers_of(network_in_ticks))
    return CoreBound(max(1, -(-neurons // chip.neurons)), "neurons", neurons, 0, ())


def core_bound_of_class(given: RolloutPattern, chip: ChipSpec, least: int, budget: Budget = NO_LIMIT) -> int:
    """Cores that no mapping of any pattern of a behaviour class can do without, whatever its execution."""
    # Edges that leave one node and have different delays under all patterns of the class carry different signals. The
    # bound is that of the streaming rollout with these signals told apart.
    if budget.is_over("bounds"):
        return least
    network = given.network
    signals = _signals(given)
    first = 2 * chip.delay[0]  # from here on a delay says nothing of what hands a spike on
    if chip.kind.structure.DELAYS_BEHIND_AXONS or first + max(signals.values(), default=0) > chip.delay[1]:
        return least
    legal = legalise(Rollout(network, RolloutPattern.streaming(network)), chip)
    names = [population.name for population in legal.populations]
    if any(population.is_relay for population in legal.populations):
        return least
    links = tuple(replace(link, delay=first + signals[names[link.source], names[link.target]]) for link in legal.links)
    return max(least, core_bound(replace(legal, links=links), chip, proven=True, budget=budget).total)


def _signals(given: RolloutPattern) -> dict[EdgeKey, int]:
    """Give edges that leave one node different numbers where their delays differ under all patterns of the class."""
    # An edge to w has a longer delay than one to v if a walk leads from v to w over no more frames than their R differ.
    # Edges of which that is not known, in whatever order, are one signal; a self-edge may be as any other.
    network = given.network
    outgoing: dict[str, list[tuple[str, int]]] = {}
    for (source, target), r in given.items():
        outgoing.setdefault(source, []).append((target, r))
    found: dict[EdgeKey, int] = {}
    for u in network.nodes:
        targets = [v for (source, v) in network.edges if source == u]
        reach = {v: shortest_walks({v: 0}, lambda node: outgoing.get(node, ())) for v in targets}  # frames
        alike: nx.Graph[str] = nx.Graph()
        alike.add_nodes_from(targets)
        for v, w in combinations(targets, 2):
            apart = given[u, w] - given[u, v]
            differ = reach[v].get(w, math.inf) <= apart or reach[w].get(v, math.inf) <= -apart
            if u in (v, w) or not differ:
                alike.add_edge(v, w)
        for number, members in enumerate(nx.connected_components(alike)):
            found |= {(u, v): number for v in members}
    return found


def core_bound_of_row(network: Network, chip: ChipSpec, candidate: Candidate, least: int) -> int:
    """Cores that no mapping of a candidate can do without."""
    if candidate.splitters == "anywhere" or candidate.wide != "refuse" or candidate.phases != "least":
        return least
    rollout = Rollout(network, RolloutPattern(network, candidate.values), candidate.execution)
    try:
        legal = legalise(rollout, chip, ticks_per_step=candidate.ticks_per_step)
    except DoesNotFitError:
        return least
    return max(least, core_bound(legal, chip, proven=True).total)


def least_tick(chip: ChipSpec, cores: int, neurons: int, most_cores: int | None = None) -> float:
    """Seconds that a tick of any mapping takes at least: on a chip of timed ticks the access of its neurons in use."""
    # cores, neurons: cores and neurons in use, or what they are at least. Neurons spread over so many tiles as cost
    # least, with their barrier. Times are those of whole femtoseconds, as ticks are timed.
    costs = tick_costs(chip)
    if costs is None:
        return chip.tick_seconds
    in_use = 0 if chip.kind.structure.UPDATES_ALL else neurons  # axons may take neurons of crossbars that do nothing
    area, most = math.prod(chip.tile), min(most_cores or chip.n_usable_cores, chip.n_usable_cores)
    firsts = [tiles for tiles, _ in costs.barrier] or [1]
    ends = [*(area * (first - 1) for first in firsts[1:]), most]  # the most cores that wait no longer at the barrier
    steps = [(first, min(end, most)) for first, end in zip(firsts, ends, strict=True)]
    found = [
        round(costs.access, _FEMTO) * -(-in_use // end) + round(costs.barrier_of(first), _FEMTO)
        for first, end in steps
        if end >= cores
    ]
    return max(min(found, default=0.0), 10.0**-_FEMTO)


def energy_bound(
    chip: ChipSpec, period_ticks: Time, cores: int, neurons: int, tick_seconds: float | None = None
) -> float | None:
    """Energy per frame that no mapping can do without: what a silent chip takes in one frame period."""
    # period_ticks: frame period, or what it is at least
    # cores, neurons: cores and neurons in use, or what they are at least. A crossbar core updates all its neurons, a
    # core with synapse lists those in use
    # tick_seconds: what a tick takes at least, where ticks are timed
    # gives joules; ``None`` where the chip has no figures
    chips, ticks, frames = math.prod(chip.chips), period_ticks.numerator, period_ticks.denominator
    updates = (cores * chip.neurons if chip.kind.structure.UPDATES_ALL else neurons) * ticks
    counts = Counts(ticks=ticks, chips=chips, neuron_updates=updates, seconds=ticks * (tick_seconds or 0.0))
    joules = energy_of(chip, counts).joules
    return None if joules is None else joules / frames
