"""What fits a crossbar core (docs/mapping.md): the core model of TrueNorth and its kin."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuromap.errors import DoesNotFitError
from neuromap.mapping.core.axon_plan import AxonPlan
from neuromap.mapping.core.core_model import Shortage
from neuromap.mapping.core.crossbar import AMPLE, Crossbar
from neuromap.mapping.core.plan_axons import plan_axons
from neuromap.mapping.core.refuse_neuron import least_axons, refuse_neuron
from neuromap.mapping.legalise.legalised import Legalised, Population
from neuromap.mapping.legalise.sources import Sources
from neuromap.network.neurons.leak_neuron import LeakNeuron

__all__ = ["CrossbarCore"]

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class CrossbarCore(Crossbar):
    """A crossbar core as a :class:`~neuromap.mapping.core.core_model.CoreModel`, which documents the methods."""

    def plan(self, weights: Ints, threshold: Ints, neuron: LeakNeuron | None = None) -> AxonPlan | None:
        """Find the plan with the fewest axons."""
        return plan_axons(weights, threshold, self, neuron)

    def has_axon_per_weight(self, values: Ints) -> bool:
        """Whether there is a type for each of these weights."""
        low, high = self.weight_range
        return len(values) <= self.axon_types and not (len(values) and (values[0] < low or values[-1] > high))

    def needs_bias(self, threshold: Ints) -> bool:
        """Whether leak and alpha cannot hold some threshold."""
        return bool((threshold < 1).any() or (threshold > self.free_threshold).any())

    def axons_alone(self, weights: Ints, threshold: Ints) -> int | None:
        """Count the axons that one neuron would take alone on a core with as many as one could wish for."""
        if least_axons(weights, self) > AMPLE // 2:
            return None
        plan = plan_axons(weights, threshold, self.with_ample_axons())
        return None if plan is None else plan.n_axons

    def shortage_together(self, weights: Ints, threshold: Ints, neuron: LeakNeuron | None = None) -> Shortage:
        """Say what neurons lack that fit a core one by one, but not together: axons, else types."""
        plan = plan_axons(weights, threshold, self.with_ample_axons(), neuron)
        if plan is None:
            return Shortage("axon_types", self.axon_types + 1, self.axon_types, "axon types or more")
        return Shortage("axons", plan.n_axons, self.axons, "axons")

    def refuse_neuron(
        self, network: Legalised, population: Population, sources: Sources, stuck: int
    ) -> DoesNotFitError:
        """Make the refusal of a population of which a neuron does not fit a core even alone."""
        return refuse_neuron(network, population, sources, stuck, self)
