"""CoreBound: how many cores every mapping takes at least."""

from __future__ import annotations

from dataclasses import dataclass

from neuromap.forms.card import Card

__all__ = ["CoreBound", "PopulationBound"]


@dataclass(frozen=True)
class PopulationBound:
    """What the neurons of one population need, whatever they share their cores with."""

    name: str  # of the population
    cores: int  # cores among which its neurons spread at least
    by: str  # what keeps more of its neurons from a core; "synapses" is the memory of synapse-list cores


@dataclass(frozen=True)
class CoreBound(Card):
    """Lower bound on the cores of every mapping of a rollout onto a chip."""

    total: int  # cores
    by: str  # the resource that gives ``total``; "synapses" is the memory of synapse-list cores
    # neurons of cores that are taken at least. On crossbar cores: one for every axon that a neuron feeds, one for each
    # that is read out
    neurons: int
    axons: int  # axons that are fed at least, bias axons not counted
    # population by population; those that no output depends on, relays and splitters need none
    populations: tuple[PopulationBound, ...]

    @property
    def per_population(self) -> tuple[tuple[str, int, str], ...]:
        """Name, cores and limiting resource of every population."""
        return tuple((p.name, p.cores, p.by) for p in self.populations)
