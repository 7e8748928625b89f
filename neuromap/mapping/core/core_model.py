"""What fits one core: the seam behind which a second kind of core can stand.

The stages from tiling to packing ask a core through this interface alone.
:class:`neuromap.mapping.core.crossbar_core.CrossbarCore` is the one implementation;
:func:`neuromap.mapping.core.core_of.core_of` makes it from a chip.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from neuromap.errors import DoesNotFitError
from neuromap.mapping.core.axon_plan import AxonPlan
from neuromap.mapping.legalise.legalised import Legalised, Population
from neuromap.mapping.legalise.sources import Sources
from neuromap.mapping.options.infeasible import Limit
from neuromap.network.neurons.leak_neuron import LeakNeuron

__all__ = ["CoreModel", "Cores", "Shortage"]

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Shortage:
    """What a core lacks."""

    limit: Limit  # the resource that is short
    # demand, bound: what is needed and what the core has
    demand: int
    bound: int
    what: str  # the resource in a sentence: needs ``demand`` of it


class CoreModel(Protocol):
    """A kind of core, as the mapper sees it. Weights come as dense int64 arrays of neurons times sources."""

    @property
    def name(self) -> str:
        """Name of the chip, for messages."""

    @property
    def axons(self) -> int:
        """Axons of the core."""

    @property
    def neurons(self) -> int:
        """Neurons of the core; every copy of a neuron takes one."""

    @property
    def axon_types(self) -> int:
        """Kinds of axons that a plan tells apart."""

    def plan(self, weights: Ints, threshold: Ints, neuron: LeakNeuron | None = None) -> AxonPlan | None:
        """Find the plan with the fewest axons."""
        # gives ``None`` where they do not fit
        # shapes: weights (n, s); threshold (n,)

    def has_axon_per_weight(self, values: Ints) -> bool:
        """Whether sources with these weights take one axon for each of their distinct weights, or fewer."""
        # values: distinct weights, ascending, of all that may share the core

    def needs_bias(self, threshold: Ints) -> bool:
        """Whether some threshold takes axons of its own."""

    def axons_alone(self, weights: Ints, threshold: Ints) -> int | None:
        """Count the axons that one neuron would take alone on a core with as many as one could wish for."""
        # weights: none of them 0
        # gives ``None`` where no number of axons serves it
        # shapes: weights (1, s); threshold (1,)

    def shortage_together(self, weights: Ints, threshold: Ints, neuron: LeakNeuron | None = None) -> Shortage:
        """Say what neurons lack that fit a core one by one, but not together."""

    def refuse_neuron(
        self, network: Legalised, population: Population, sources: Sources, stuck: int
    ) -> DoesNotFitError:
        """Make the refusal of a population of which a neuron does not fit a core even alone."""

    def with_neurons(self, neurons: int) -> Self:
        """Return the same core with so many neurons."""


@dataclass(frozen=True)
class Cores:
    """The cores of a board."""

    model: CoreModel  # what one of them is like
    number: int  # how many there are, dead ones included
    usable: int  # how many can hold neurons
