"""CoreBound: how many cores every mapping takes at least."""

from __future__ import annotations

from dataclasses import dataclass

from neuromap.forms.card import Card

__all__ = ["CoreBound", "PopulationBound"]


@dataclass(frozen=True)
class PopulationBound:
    """What the neurons of one population need, whatever they share their cores with.

    Attributes
    ----------
    name : str
        Of the population.
    cores : int
        Cores among which its neurons spread at least.
    by : {"axons", "neurons", "synapses"}
        What keeps more of its neurons from a core; "synapses" is the memory of synapse-list cores.
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
    by : {"axons", "neurons", "synapses"}
        The resource that gives ``total``; "synapses" is the memory of synapse-list cores.
    neurons : int
        Neurons of cores that are taken at least. On crossbar cores: one for every axon that a neuron feeds, one for
        each that is read out.
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
