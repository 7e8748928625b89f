"""Partial sums: neurons that read more than a core has axons, computed by several, exactly (docs/wide-neurons.md).

The inputs of a *wide* node are cut into runs that fit a core. For each of its neurons, each run and each sign of the
weights, *parts* count: slice k of T ticks starts from -kT, gets the run's sum S at once and so spikes
clamp(S - kT, 0, T) times in T ticks. *Mergers* join the spikes of several parts where a core cannot take them all, and
the wide neuron gathers what is left, each spike counting 1 or -1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import freeze_arrays
from neuromap.forms.card import Card
from neuromap.mapping.legalise.legalised import Matrix

__all__ = ["Clock", "Layer", "PartialSums"]

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Clock(Card):
    """Spikes of the host that come in every frame, on some axons at once, to some neurons of a layer."""

    # weight, axons: weight of every spike, and how many axons carry one
    weight: int
    axons: int
    neurons: Ints  # who gets them; positions in the layer

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @property
    def total(self) -> int:
        """What a neuron gets."""
        return self.weight * self.axons


@dataclass(frozen=True, eq=False)
class Layer(Card):
    """Neurons that hold parts of sums: slices, or mergers of what slices or mergers before them send."""

    matrix: Matrix  # (rows, sources): weights, none negative
    of_neuron: Ints  # (rows,): neuron of the node to whose sum each belongs
    offset: Ints  # (rows,): kT: what is taken off the sum
    most: Ints  # (rows,): spikes that each sends at most in a frame, one per tick from the first on

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @property
    def window(self) -> int:
        """Ticks in which all have sent what they send."""
        return int(self.most.max(initial=1))


@dataclass(frozen=True, eq=False)
class PartialSums(Card):
    """How the sums of one node are computed in parts."""

    ticks: int  # T: spikes that a slice sends at most in a frame
    # runs, most_inputs: runs into which the inputs are cut, and inputs of a run that neurons which share cores read at
    # most
    runs: int
    most_inputs: int
    # slices first, whose sources are the neurons of all edges into the node, side by side in the network's order; then
    # mergers
    layers: tuple[Layer, ...]
    gather: Matrix  # (n, rows of the last layer): 1 or -1 for what the node's neurons gather
    threshold: Ints  # (n,): theta, clipped to where it still matters
    clear_parts: Clock | None  # what empties slices; ``None`` where they empty themselves
    # what lifts the gathering neurons off their floor, and, in the node's tick, asks for their spike; ``None`` where
    # everything arrives in one tick, so that they are frame neurons
    lift: Clock | None
    clear: Clock | None  # what empties them one tick later
    spike_delay: int  # ticks from one layer to the next

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @property
    def window(self) -> int:
        """Ticks in which the node's neurons gather."""
        return self.layers[-1].window

    @property
    def lead(self) -> int:
        """Ticks by which the node's inputs arrive before its own tick."""
        return len(self.layers) * self.spike_delay + self.window - 1

    @property
    def busy(self) -> int:
        """Ticks that a frame takes of its neurons: the gathering and, where it takes more than one, the clearing."""
        return self.window + (self.lift is not None)

    @property
    def alpha(self) -> Ints:
        """Thresholds of the gathering neurons, where they are asked; shape (n,)."""
        assert self.lift is not None, "frame neurons are not asked"
        return 2 * self.lift.total + self.threshold

    @property
    def n_parts(self) -> int:
        """Neurons that hold parts."""
        return sum(len(layer.of_neuron) for layer in self.layers)

    def _facts(self) -> dict[str, object]:
        return {"ticks": self.ticks, "runs": self.runs, "parts": self.n_parts, "window": f"{self.window} ticks"}
