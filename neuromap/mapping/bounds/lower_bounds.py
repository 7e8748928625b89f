"""Lower bounds on the cores of any mapping of a rollout: what no tiling, packing, copying or splitting can beat.

Three arguments, each a theorem in docs/lower-bounds.md. *Crowding*: n neurons of a population read at least so many
distinct sources, and a core has so many axons; hence a core holds at most so many neurons. *Reads*: then a source must
be read in at least so many cores, and every read takes an axon and a neuron that feeds it. *Shares*: prices per neuron
such that no core, however mixed, holds neurons worth more than one core.
"""

from __future__ import annotations

from dataclasses import dataclass

from neuromap.forms.card import Card
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.mapping.bounds.crowding import crowds_of
from neuromap.mapping.bounds.readers import read_out_neurons, readers_of
from neuromap.mapping.bounds.reads import fed_axons
from neuromap.mapping.bounds.shares import cores_by_shares
from neuromap.mapping.legalise.legalised import Legalised

__all__ = ["CoreBound", "PopulationBound", "core_bound"]


@dataclass(frozen=True)
class PopulationBound:
    """What the neurons of one population need, whatever they share their cores with.

    Attributes
    ----------
    name : str
        Of the population.
    cores : int
        Cores among which its neurons spread at least.
    by : {"axons", "neurons"}
        What keeps more of its neurons from a core.
    """

    name: str
    cores: int
    by: str


@dataclass(frozen=True)
class CoreBound(Card):
    """Lower bound on the cores of every mapping of a rollout onto a chip.

    Attributes
    ----------
    total : int
        Cores.
    by : {"axons", "neurons"}
        The resource that gives ``total``.
    neurons : int
        Neurons of cores that are taken at least: one for every axon that a neuron feeds, one for each that is read out.
    axons : int
        Axons that are fed at least, bias axons not counted.
    populations : tuple of PopulationBound
        Population by population; those that no output depends on, relays and splitters need none.
    """

    total: int
    by: str
    neurons: int
    axons: int
    populations: tuple[PopulationBound, ...]

    @property
    def per_population(self) -> tuple[tuple[str, int, str], ...]:
        """Name, cores and limiting resource of every population."""
        return tuple((p.name, p.cores, p.by) for p in self.populations)


def core_bound(network: Legalised, chip: ChipSpec, *, proven: bool = False) -> CoreBound:
    """Bound the cores of every mapping of a rollout from below.

    It holds for all tilings, packings, placements, copies, replicas, relays and splitters with the schedule's delays,
    as long as every neuron from which weights lead to an output is computed from all its sources.

    Parameters
    ----------
    network : Legalised
        In ticks; relays and splitters that it has already do not matter.
    chip : ChipSpec
        Axons, neurons and axon types of a core, and the range of delays. Its number of cores and defects do not matter.
    proven : bool
        Leave out what rests on floating point: the bound by singular values. Refusals do.

    Returns
    -------
    CoreBound
        With at least one core where any neuron is needed.
    """
    readers = readers_of(network)
    options = [crowds_of(reader, chip, proven) for reader in readers]
    best = [max(crowds, key=lambda crowd: (crowd.rows / crowd.room, crowd.rows)) for crowds in options]
    axons, neurons = fed_axons(options, chip)
    neurons += read_out_neurons(network, readers)
    populations = tuple(PopulationBound(c.reader.name, c.cores, c.limit(chip)) for c in best)
    candidates = [
        *((p.cores, p.by) for p in populations),
        (-(-neurons // chip.neurons), "neurons"),
        (-(-axons // chip.axons), "axons"),
        (cores_by_shares(best, chip), "axons"),
    ]
    total, by = max(candidates, key=lambda found: found[0])
    return CoreBound(total, by, neurons, axons, populations)
