"""Proven lower bounds on the cores and energy of any mapping, for rows that are not mapped.

*Cores of any pattern.* The bound of the streaming rollout (:func:`neuromap.mapping.bounds.lower_bounds.core_bound`)
holds for every valid pattern, execution, number of ticks per step and choice of splitters; the proof is in
docs/theorems. The *cores of a class* are more if a node must be read at several delays under all its patterns
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
from neuromap.mapping.bounds.neuron_capacity import readers_of
from neuromap.mapping.legalise.legalise import legalise
from neuromap.mapping.options.budget import NO_LIMIT, Budget
from neuromap.network.edge import EdgeKey
from neuromap.network.network import Network
from neuromap.rollout.indexed_pattern import walks_along
from neuromap.rollout.pattern import RolloutPattern
from neuromap.rollout.schedule.rollout import Rollout
from neuromap.simulation.cost.energy import Counts, energy_of, updates_all

_FEMTO = 15
"""Decimal places of a second to which ticks are timed."""


def core_bound_of_all(network: Network, chip: ChipSpec, wide: str = "refuse", budget: Budget = NO_LIMIT) -> CoreBound:
    """Lower bound on the cores and neurons of any mapping of any pattern in any execution."""
    rollout = Rollout(network, RolloutPattern.streaming(network))
    network_in_ticks = legalise(rollout, chip)
    if wide == "refuse":
        return core_bound(network_in_ticks, chip, proven=True, budget=budget)
    neurons = sum(len(reader.neurons) for reader in readers_of(network_in_ticks))
    return CoreBound(max(1, -(-neurons // chip.neurons)), "neurons", neurons, 0, ())


def core_bound_of_class(given: RolloutPattern, chip: ChipSpec, least: int, budget: Budget = NO_LIMIT) -> int:
    """Lower bound on the cores of any mapping of any pattern of a behaviour class, in any execution."""
    # Edges that leave one node and have different delays under all patterns of the class carry different signals. The
    # bound is that of the streaming rollout with these signals distinguished.
    if budget.is_over("bounds"):
        return least
    network = given.network
    signals = _signals(given)
    first = 2 * chip.delay[0]  # from here on a delay does not tell what passes a spike on
    if chip.kind.structure.DELAYS_BEHIND_AXONS or first + max(signals.values(), default=0) > chip.delay[1]:
        return least
    legal = legalise(Rollout(network, RolloutPattern.streaming(network)), chip)
    names = [population.name for population in legal.populations]
    if any(population.is_relay for population in legal.populations):
        return least
    links = tuple(replace(link, delay=first + signals[names[link.source], names[link.target]]) for link in legal.links)
    return max(least, core_bound(replace(legal, links=links), chip, proven=True, budget=budget).total)


def _signals(given: RolloutPattern) -> dict[EdgeKey, int]:
    """Assign numbers to edges: two that leave one node differ if their delays do under all patterns of the class."""
    # An edge to w has a longer delay than one to v if a walk from v to w takes no more frames than their R differ by.
    # Edges of which this is not known in either order are one signal; a self-edge may equal any other.
    network = given.network
    edges = [(source, target, r) for (source, target), r in given.items()]
    found: dict[EdgeKey, int] = {}
    for u in network.nodes:
        targets = [v for (source, v) in network.edges if source == u]
        reach = {v: walks_along([v], edges) for v in targets}  # frames
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
    """Lower bound on the cores of any mapping of a candidate."""
    if candidate.splitters == "anywhere" or candidate.wide != "refuse" or candidate.phases != "least":
        return least
    rollout = Rollout(network, RolloutPattern(network, candidate.values), candidate.execution)
    try:
        legal = legalise(rollout, chip, ticks_per_step=candidate.ticks_per_step)
    except DoesNotFitError:
        return least
    return max(least, core_bound(legal, chip, proven=True).total)


def least_tick(chip: ChipSpec, cores: int, neurons: int, most_cores: int | None = None) -> float:
    """Lower bound on the seconds of a tick in any mapping; with timed ticks, access to the neurons in use."""
    # cores, neurons: cores and neurons in use, or lower bounds on them. Neurons are spread over as many tiles as cost
    # least, barrier included. Times are in whole femtoseconds, as ticks are timed.
    costs = tick_costs(chip)
    if costs is None:
        return chip.tick_seconds
    in_use = _least_in_use(chip, neurons)
    area, most = math.prod(chip.tile), min(most_cores or chip.n_usable_cores, chip.n_usable_cores)
    firsts = [tiles for tiles, _ in costs.barrier] or [1]
    ends = [*(area * (first - 1) for first in firsts[1:]), most]  # most cores within each step of the barrier
    steps = [(first, min(end, most)) for first, end in zip(firsts, ends, strict=True)]
    found = [
        round(costs.access, _FEMTO) * -(-in_use // end) + round(costs.barrier_of(first), _FEMTO)
        for first, end in steps
        if end >= cores
    ]
    return max(min(found, default=0.0), 10.0**-_FEMTO)


def _least_in_use(chip: ChipSpec, neurons: int) -> int:
    return 0 if chip.kind.structure.UPDATES_ALL else neurons  # axons may take neurons of crossbars that do nothing


def energy_bound(
    chip: ChipSpec, period_ticks: Time, cores: int, neurons: int, tick_seconds: float | None = None
) -> float | None:
    """Lower bound on the energy per frame of any mapping: that of a silent chip in one frame period."""
    # period_ticks: frame period, or a lower bound on it
    # cores, neurons: cores and neurons in use, or lower bounds on them. A crossbar core updates all its neurons, a
    # synapse-list core those in use
    # tick_seconds: lower bound on the length of a tick, if ticks are timed
    # returns joules; ``None`` if the chip has no figures
    chips, ticks, frames = math.prod(chip.chips), period_ticks.numerator, period_ticks.denominator
    updates = (cores * chip.neurons if updates_all(chip) else _least_in_use(chip, neurons)) * ticks
    counts = Counts(ticks=ticks, chips=chips, neuron_updates=updates, seconds=ticks * (tick_seconds or 0.0))
    joules = energy_of(chip, counts).joules
    return None if joules is None else joules / frames
