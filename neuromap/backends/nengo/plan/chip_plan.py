"""What goes onto the chip, in units of Nengo: ensembles, what the host feeds them, and links between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import freeze_arrays
from neuromap.backends.nengo.plan.chip_neuron import ChipNeuron
from neuromap.forms.card import Card

__all__ = ["ChipPlan", "EnsembleOnChip", "PlannedEnsemble", "PlannedFeed", "PlannedLink"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PlannedFeed(Card):
    """Values that the host sends an ensemble in every tick, m of them.

    Attributes
    ----------
    weights : ndarray of float, shape (n, m)
        What a value of 1 adds to J.
    limit : ndarray of float, shape (m,)
        Values lie between minus and plus this; what is beyond is clipped.
    is_vector : bool
        Whether the values are a vector whose length is at most ``limit[0]``; a longer one is shortened.
    """

    weights: Floats
    limit: Floats
    is_vector: bool

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @property
    def greatest(self) -> Floats:
        """The greatest magnitude of what it adds to J, shape (n,)."""
        if self.is_vector:
            return np.asarray(np.linalg.norm(self.weights, axis=1) * self.limit[0])
        return np.asarray(np.abs(self.weights) @ self.limit)


class EnsembleOnChip(Protocol):
    """What an ensemble is on any kind of chip."""

    @property
    def name(self) -> str:
        """Of its node."""

    @property
    def size(self) -> int:
        """Neurons."""

    @property
    def spike(self) -> float:
        """What a spike is in Nengo's signals, in Hz."""

    @property
    def feed(self) -> PlannedFeed | None:
        """What the host sends."""


@dataclass(frozen=True, eq=False)
class PlannedEnsemble(Card):
    """An ensemble of n neurons.

    Attributes
    ----------
    name : str
        Of its node.
    neuron : ChipNeuron
        Kind of its neurons.
    bias : ndarray of float, shape (n,)
        Constant part of J.
    voltage : ndarray of float, shape (n,)
        Before the first tick, in parts of the threshold.
    feed : PlannedFeed or None
        What the host sends.
    """

    name: str
    neuron: ChipNeuron
    bias: Floats
    voltage: Floats
    feed: PlannedFeed | None

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @property
    def size(self) -> int:
        """Neurons."""
        return len(self.bias)

    @property
    def spike(self) -> float:
        """What a spike is in Nengo's signals, in Hz."""
        return self.neuron.spike


@dataclass(frozen=True, eq=False)
class PlannedLink(Card):
    """A connection from ensemble to ensemble on the chip.

    Attributes
    ----------
    source, target : int
        Positions of the ensembles.
    weights : ndarray of float, shape (n_target, n_source)
        What a filtered spike train of 1 adds to J.
    greatest : ndarray of float, shape (n_target,)
        The greatest magnitude of what it adds to J.
    tau : float
        Time constant of its filter in seconds; 0 where there is none.
    """

    source: int
    target: int
    weights: Floats
    greatest: Floats
    tau: float

    def __post_init__(self) -> None:
        freeze_arrays(self)


@dataclass(frozen=True, eq=False)
class ChipPlan(Card):
    """All that goes onto the chip.

    Attributes
    ----------
    name : str
        Of the network.
    dt : float
        Seconds of a tick.
    ticks_per_step : int
        Ticks in a step of Nengo, which is what a spike takes over a link.
    ensembles : tuple of PlannedEnsemble
    links : tuple of PlannedLink
    """

    name: str
    dt: float
    ticks_per_step: int
    ensembles: tuple[PlannedEnsemble, ...]
    links: tuple[PlannedLink, ...]
