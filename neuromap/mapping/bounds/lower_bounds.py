"""Lower bounds on the cores of any mapping of a rollout: what no tiling, packing, copying or splitting can beat.

On crossbar cores there are three arguments, each a theorem in docs/lower-bounds.md. *Crowding*: n neurons of a
population read at least so many distinct sources, and a core has so many axons; hence a core holds at most so many
neurons. *Reads*: then a source must be read in at least so many cores, and every read takes an axon and a neuron that
feeds it. *Shares*: prices per neuron such that no core, however mixed, holds neurons worth more than one core.
Synapse-list cores are counted in :mod:`neuromap.mapping.bounds.list_bounds`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.hardware.chip.chip_spec import ChipSpec, CoreKind
from neuromap.mapping.asked.budget import NO_LIMIT, Budget
from neuromap.mapping.bounds.bound import CoreBound, PopulationBound
from neuromap.mapping.bounds.crowds.crowding import Crowd, crowds_of
from neuromap.mapping.bounds.crowds.reads import fed_axons
from neuromap.mapping.bounds.crowds.shares import cores_by_shares
from neuromap.mapping.bounds.list_bounds import list_core_bound
from neuromap.mapping.bounds.mixtures.cores_by_prices import cores_by_prices
from neuromap.mapping.bounds.mixtures.mixture import mixture_of
from neuromap.mapping.bounds.populations.readers import read_out_neurons, readers_of
from neuromap.mapping.bounds.populations.two_hops import cores_by_two_hops
from neuromap.mapping.legalise.legalised import Legalised

__all__ = ["core_bound"]


def core_bound(
    network: Legalised, chip: ChipSpec, *, proven: bool = False, priced: bool = False, budget: Budget = NO_LIMIT
) -> CoreBound:
    """Bound the cores of every mapping of a rollout from below.

    It holds for all tilings, packings, placements, copies, replicas, relays and splitters with the schedule's delays,
    as long as every neuron from which weights lead to an output is computed from all its sources.

    Parameters
    ----------
    network : Legalised
        In ticks; relays and splitters that it has already do not matter.
    chip : ChipSpec
        Axons, neurons and axon types of a crossbar core, or axons, neurons and memory of one with synapse lists, and
        the range of delays. Its number of cores and defects do not matter.
    proven : bool
        Leave out what rests on floating point: the bound by singular values, and prices. Refusals do.
    priced : bool
        Seek prices of mixed cores too, with the bound of a solver (HiGHS) that nothing certifies: some seconds, and it
        may write a line of its own to the output.
    budget : Budget, optional
        Of crossbar cores: populations to which its stage ``bounds`` does not come count with their neurons only, and
        prices are not sought.

    Returns
    -------
    CoreBound
        With at least one core where any neuron is needed. It holds whatever the budget is; more time makes it sharper.
    """
    return _BOUNDS[chip.core_model](network, chip, proven, priced and not proven, budget)


def _crossbar_core_bound(network: Legalised, chip: ChipSpec, proven: bool, priced: bool, budget: Budget) -> CoreBound:
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


_BOUNDS: Mapping[CoreKind, Callable[[Legalised, ChipSpec, bool, bool, Budget], CoreBound]] = ReadOnlyMapping(
    {"crossbar": _crossbar_core_bound, "synapse-list": lambda network, chip, *_: list_core_bound(network, chip)}
)
"""How cores are bounded, by their kind."""
