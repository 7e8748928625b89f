"""What goes onto a chip with crossbar cores: ensembles in integers, links with their decoders."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import freeze_arrays
from neuromap.backends.nengo.chip_plan import PlannedFeed
from neuromap.backends.nengo.leak_integers import LeakIntegers
from neuromap.forms.card import Card

__all__ = ["DECODER_ERROR", "CrossbarEnsemble", "CrossbarLink", "CrossbarPlan"]

Floats = NDArray[np.float64]

DECODER_ERROR = 0.002
"""Relative error of decoded values that axons are replicated for, where nothing is said."""


@dataclass(frozen=True, eq=False)
class CrossbarEnsemble(Card):
    """An ensemble of n neurons and D dimensions."""

    name: str  # of its node
    neurons: LeakIntegers  # its neurons
    voltage: Floats  # (n,): before the first tick, in parts of the threshold
    feed: PlannedFeed  # what the host sends
    # whether the host sends any value; else only what stands for spikes that are on their way before the first tick
    is_fed: bool

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @property
    def size(self) -> int:
        """Neurons."""
        return len(self.neurons.threshold)

    @property
    def spike(self) -> float:
        """What a spike is in Nengo's signals, in Hz."""
        return self.neurons.spike


@dataclass(frozen=True, eq=False)
class CrossbarLink(Card):
    """A connection from ensemble to ensemble on the chip."""

    # source, target: positions of the ensembles
    source: int
    target: int
    decoders: Floats  # (D_target, n_source): what a filtered spike train of 1 adds to the target's value
    activities: Floats  # (m, n_source): spikes of a tick at the points that the decoders were solved on
    tau: float  # time constant of its filter in seconds; 0 where there is none

    def __post_init__(self) -> None:
        freeze_arrays(self)


@dataclass(frozen=True, eq=False)
class CrossbarPlan(Card):
    """All that goes onto the chip."""

    name: str  # of the network
    dt: float  # seconds of a tick
    ticks_per_step: int  # ticks in a step of Nengo
    ensembles: tuple[CrossbarEnsemble, ...]
    links: tuple[CrossbarLink, ...]
    decoder_error: float  # relative error of decoded values that axons are replicated for
